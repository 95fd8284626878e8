"""Nightly audits of how much a language model's answers depend on how it is asked.

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

The rooms of this package:

the path
    plan       What a run will ask and may spend: its design, its grid of cells, its budget.
    prompts    What a model is sent: templates, messages, kinds of variation, rephrasers.
    ask        Makes the wordings of a run, asks models and judges what is missing, and lands what they say.
    audit      An audit from its cards to its marts: a run and its steps, the format gate, rebuild, erase.
    marts      From raw rows to what readers see: transform, seal, publish, compare.

readers
    report     Reports on a run: a page for people and a scorecard for the terminal, both from published tables.
    gate       Holds a run against the rules of its audit's card, and tells people what is wrong.
    query      What people ask of published tables: SQL, diagnosis, history, which wording to ship.
    evidence   Lets a reviewer trust a figure: trace, verify, and the retention of raw rows.
    lineage    Which columns a figure is made of, and the events of a run for a lineage tool.

doors
    cli        The command line: each command is one call.
    nightly    One night of an audit: its Prefect flow, its deployments, what follows a run.
    exchange   Answers that come from elsewhere or go there: imports, people's sheets, citations.
    trial      Asks a few samples of a run again, with the prompts as they were and changed, and compares.
    python     What `import promptaudit` gives: audits, their figures as polars frames, the measures as functions.

ground
    cards      What is done with cards before a run: they are checked, written, priced and trusted.
    registry   Loads the cards that say what may be run, and the data they name.
    engines    What executes a model: an engine answers one request at a time.
    warehouse  The only memory between the steps of an audit: a DuckDB file and its published copy.
    system     Files, processes, settings, Prefect, and words and figures as people see them.
    udfs       The measures, readers and scoring methods as pure functions, which SQL calls by name.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from promptaudit.python import measures
    from promptaudit.python.runs import Audits, Run, import_answers, open, run  # noqa: A004 - its name here
    from promptaudit.python.stability import Stability, inter_pss, intra_pss, rules
    from promptaudit.registry.errors import PromptauditError
    from promptaudit.registry.mart_columns import dbt_project
    from promptaudit.udfs.register import register

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
