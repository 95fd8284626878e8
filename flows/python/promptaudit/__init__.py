"""The door from Python: audits, their figures as polars frames, and the measures as plain functions.

    import promptaudit as pa

    run = pa.run("quickstart", warehouse="warehouse/audit.duckdb")    # as `promptaudit run`, in a process of its own
    run.scorecard, run.table("fct_sensitivity"), run.report()
    pa.open("warehouse").latest("nightly").scorecard
    pa.import_answers(frame, labels=["0", "1"], warehouse="warehouse/audit.duckdb")
    pa.measures.krippendorff_alpha([["a", "a"], ["b", "a"], ["b", "b"]])

Frames go in as polars, or as anything with the Arrow interface (pandas, DuckDB, pyarrow), and come out as polars. To import
this package takes a few milliseconds; what is heavy is imported by the function that needs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from models_registry.errors import PromptauditError
    from promptaudit import measures
    from promptaudit.runs import Audits, Run, import_answers, open, run  # noqa: A004 - its name here

__all__ = ["Audits", "PromptauditError", "Run", "import_answers", "measures", "open", "run"]

_PLACES = {"PromptauditError": "models_registry.errors", "measures": "promptaudit.measures"}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the name stands for
    if name not in __all__:
        msg = f"module 'promptaudit' has no attribute {name!r}"
        raise AttributeError(msg)
    module = import_module(_PLACES.get(name, "promptaudit.runs"))
    return module if name == "measures" else getattr(module, name)


def __dir__() -> list[str]:
    return __all__
