"""The door from Python: audits, their figures as polars frames, and the measures as plain functions.

    import promptaudit as pa

    run = pa.run("quickstart", warehouse="warehouse/audit.duckdb")    # as `promptaudit run`, in a process of its own
    run.scorecard, run.table("fct_sensitivity"), run.report()
    pss = pa.intra_pss(annotate, samples, repetitions=30)             # any callable (text, prompt) -> answer
    inter = pa.inter_pss(annotate, samples, prompt="...", paraphrase=pa.rules(), temperatures=[.1, 1, 2], variants=10)
    pa.open("warehouse").latest("nightly").scorecard
    pa.import_answers(frame, labels=["0", "1"], warehouse="warehouse/audit.duckdb")
    pa.measures.krippendorff_alpha([["a", "a"], ["b", "a"], ["b", "b"]])
    pa.register(duckdb.connect())                                     # the measures as functions of SQL

Frames go in as polars, or as anything with the Arrow interface (pandas, DuckDB, pyarrow), and come out as polars. Importing
this package takes a few milliseconds; a heavy library is imported by the function that needs it.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from promptaudit import measures
    from promptaudit.python.runs import Audits, Run, import_answers, open, run  # noqa: A004 - its name here
    from promptaudit.python.stability import Stability, inter_pss, intra_pss, rules
    from promptaudit.registry.errors import PromptauditError
    from promptaudit.registry.mart_columns import dbt_project
    from promptaudit.udfs.register import register

# a checkout has the packages in folders of their own, an installation here; pathlib takes longer to import than all this
_root = os.path.normpath(os.path.join(os.path.realpath(__path__[0]), *[os.pardir] * 3))  # noqa: PTH118
if os.path.isfile(os.path.join(_root, "flows", "__init__.py")):  # noqa: PTH113, PTH118
    __path__ += [_root, os.path.join(_root, "dbt")]  # noqa: PTH118

_PLACES = {
    "Audits": "promptaudit.python.runs",
    "PromptauditError": "promptaudit.registry.errors",
    "Run": "promptaudit.python.runs",
    "Stability": "promptaudit.python.stability",
    "dbt_project": "promptaudit.registry.mart_columns",
    "import_answers": "promptaudit.python.runs",
    "inter_pss": "promptaudit.python.stability",
    "intra_pss": "promptaudit.python.stability",
    "measures": "promptaudit.python.measures",
    "open": "promptaudit.python.runs",
    "register": "promptaudit.udfs.register",
    "rules": "promptaudit.python.stability",
    "run": "promptaudit.python.runs",
}
__all__ = [
    "Audits",
    "PromptauditError",
    "Run",
    "Stability",
    "dbt_project",
    "import_answers",
    "inter_pss",
    "intra_pss",
    "measures",
    "open",
    "register",
    "rules",
    "run",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the name stands for
    if name not in __all__:
        msg = f"module 'promptaudit' has no attribute {name!r}"
        raise AttributeError(msg)
    module = import_module(_PLACES[name])
    return module if name == "measures" else getattr(module, name)


def __dir__() -> list[str]:
    return __all__
