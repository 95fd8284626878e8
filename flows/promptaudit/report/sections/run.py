"""Describes a run, what it was made by, and how to read its report: a sentence and a source for each measure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from promptaudit.registry.mart_columns import ABOUT, MartColumn, scorecard_columns
from promptaudit.report.blocks.blocks import Table
from promptaudit.report.data import ReportData
from promptaudit.report.sections.columns import Column, table, tally, words
from promptaudit.system.display.figures import ABSENT, count, cut, usd, when
from promptaudit.warehouse import Row

MOST_FILES = 50
Fact = tuple[str, str]


def line(data: ReportData) -> str:
    """Names the run, its start and its seal, as the heading of what made it."""
    seal = data.run.get("seal")
    sealed = f", seal {seal[:12]}" if seal else ""
    return f"{data.run['audit_run_id'][:12]} of {when(data.run['started_at'])}{sealed}"


def facts(data: ReportData) -> list[Fact]:
    """Lists the run's identity as (name, value)."""
    run = data.run
    planned, landed, errors = (
        sum(row[name] or 0 for row in data.scorecard) for name in ("n_planned", "n_landed", "n_error")
    )
    n_priced = sum(row["cost_usd"] is not None for row in data.scorecard)
    commit = run["code_commit"] or "not a checkout"
    if run["code_commit"]:
        commit += " with uncommitted changes" if run["is_code_dirty"] else ", clean"
    return [
        ("Run", run["audit_run_id"]),
        ("Audit", run["audit_id"]),
        ("Origin", run["origin"]),
        ("State", run["state"]),
        ("Started", when(run["started_at"])),
        ("Finished", when(run["finished_at"]) if run["finished_at"] else "not closed yet"),
        ("Answers planned", count(planned)),
        ("Answers landed", f"{count(landed)}, of which {count(errors)} ended in an error"),
        ("Answers missing", count(planned - landed)),
        ("Cost", _cost(data.scorecard) + (", where prices are known" if 0 < n_priced < len(data.scorecard) else "")),
        *_judging(data.judging.judges),
        ("Fingerprint of the cards", run["fingerprint"]),
        ("Fingerprint of the plan", run["plan_fingerprint"]),
        ("Seed", str(run["seed"])),
        ("Resamples an interval", count(run["n_resamples"])),
        ("Measures", f"version {run['measure_version']}"),
        ("Texts", data.texts.summary),
        ("Code", f"promptaudit {run['code_version']}"),
        ("Commit", commit),
    ]


def _judging(judges: list[Row]) -> list[Fact]:
    if not judges:
        return []
    settled, unread = (sum(row[name] or 0 for row in judges) for name in ("n_rulings", "n_unreadable"))
    rulings = f"{count(settled)}, of which {count(unread)} could not be read"
    return [("Rulings of judges", rulings), ("Cost of judges", _cost(judges))]


def _cost(rows: list[Row]) -> str:
    known = [row["cost_usd"] for row in rows if row["cost_usd"] is not None]
    return usd(sum(known)) if known else f"{ABSENT} (no price is known)"


_MODELS = (
    *(words("Model", "model_id"), words("Engine", "engine"), words("Asked for", "model")),
    Column("Input, USD a million tokens", lambda of: price(of.row["input_usd_per_mtok"])),
    *(Column("Output", lambda of: price(of.row["output_usd_per_mtok"])), words("Fingerprint", "fingerprint")),
)
_JUDGES = (
    *(words("Judge", "judge_id"), Column("Model", lambda of: _judge_model(of.row))),
    *(Column("Fingerprint", lambda of: of.row["judge_key"][:16]), tally("Repetitions", "repetitions")),
    *(tally("Replies", "n_replies"), tally("Rulings", "n_rulings"), tally("Unreadable", "n_unreadable")),
)


def tables(data: ReportData) -> list[Table]:
    """Makes the tables of cards, libraries and files behind the run."""
    tasks = (
        *(words("Task", "task_id"), words("Kind", "kind"), words("Level", "level")),
        Column("Labels", lambda of: cut(", ".join((of.row["labels"] or [])[:50]))),
        Column("Instruction", lambda of: cut(of.row["instruction"] or ABSENT, data.texts.long)),
        words("Fingerprint", "fingerprint"),
    )
    out = [table("Models", _MODELS, data.models, n_heads=1), table("Tasks", tasks, data.tasks, n_heads=1)]
    if data.judging.judges:  # as they are now, with what decides their verdicts as a hash
        out.append(table("Judges", _JUDGES, data.judging.judges, n_heads=1))
    libraries = [(name, str(version)) for name, version in sorted(_mapping(data.run["library_versions"]).items())]
    out.append(_named("Library versions", ("Library", "Version"), libraries))
    if files := _files(_mapping(data.run["source"])):
        rest = "" if len(files) <= MOST_FILES else f"The first {MOST_FILES} of {len(files)} files."
        out.append(_named("Imported files", ("File", "sha256"), files[:MOST_FILES], is_open=True, note=rest))
    if options := options_of_import(data):
        values = [(name, json.dumps(value, ensure_ascii=False)) for name, value in sorted(options.items())]
        out.append(_named("Options of the import", ("Option", "Value"), values))
    return out


def options_of_import(data: ReportData) -> dict[str, Any]:
    """Reads the options under which recorded answers were imported; empty for a run that asked models itself."""
    return _mapping(_mapping(data.run["source"]).get("options"))


def _named(
    caption: str, columns: tuple[str, str], pairs: Sequence[tuple[str, str]], *, is_open: bool = False, note: str = ""
) -> Table:
    rows = [(cut(name), cut(value)) for name, value in pairs]
    return Table(caption=caption, columns=columns, rows=rows, is_open=is_open, note=note)


def _judge_model(row: Mapping[str, Any]) -> str:
    return f"panel of {cut(', '.join(row['panel']), 160)}" if row["panel"] else row["model_id"] or ABSENT


def _files(source: dict[str, Any]) -> list[tuple[str, str]]:
    files = source.get("files")
    cards = [_mapping(file) for file in files] if isinstance(files, list) else []
    return [(str(card.get("name", ABSENT)), str(card.get("sha256", ABSENT))) for card in cards]


def price(value: float | None) -> str:
    """Prints a price, or a dash."""
    return ABSENT if value is None else f"{value:g}"


def _mapping(value: object) -> dict[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}


HUA = "Hua et al. 2025"
HERE = "promptaudit"


class Measure(NamedTuple):
    """A measure's name, what it says, and the paper it is from."""

    name: str
    sentence: str
    source: str


ACCURACY = Measure(
    "Accuracy by variant",
    "Share of right answers under each wording; the spread between wordings is what a single prompt would have hidden.",
    "Mizrahi et al. 2024",
)


def measures() -> tuple[Measure, ...]:
    """Lists the scorecard's measures and accuracy by variant, as the page explains them."""
    own = (Measure(column.label, _sentence(column), column.source) for column in scorecard_columns() if column.guide)
    return (*own, ACCURACY)


def _sentence(column: MartColumn) -> str:
    if column.ends is None or column.about is None:
        return column.guide
    return f"{column.guide} Its 95 % interval is {ABOUT[column.about]}."


NIGHTS = (
    Measure(
        "Regressed, changed",
        (
            "A night is compared with the normal nights before it, on the samples that they share. Regressed means "
            "that a figure is worse beyond chance and by more than the audit's smallest effect. Changed means that the "
            "same questions are answered otherwise than normal nights explain, whether or not a figure moved."
        ),
        HERE,
    ),
)
SCORING = (
    Measure(
        "Accuracy ± std",
        (
            "The mean over templates of the share of right answers, and how far that share varies between templates "
            "(standard deviation, ddof 1). An answer that a scoring method cannot score counts as not right, and is "
            "left out of the figures for scored answers only."
        ),
        HUA,
    ),
    Measure(
        "Corrected spread",
        "The same standard deviation without the part that the luck of single answers adds even where templates have no "
        "effect; its interval is by resampling questions. An interval that begins at 0 shows no effect of the templates.",
        HERE,
    ),
    Measure(
        "Share removed",
        (
            "1 minus the judge's corrected spread divided by the rule's: the part of the spread that comes from how "
            "the rule reads answers and not from the answers. It is missing where the rule's own spread may be 0, and "
            "negative where the judge sees more."
        ),
        HERE,
    ),
    Measure(
        "judge_unverified",
        "A judge that errs at random blurs differences between templates too: wrong on a tenth of all answers, it removes a "
        "fifth of any spread. Only rulings of people show how often it errs; until there are enough (`annotate --sheet`), the "
        "share removed is at best an upper guess.",
        HERE,
    ),
    Measure(
        "Rectified",
        (
            "What people would say of all answers, estimated from the judge's verdicts on all and the rulings of "
            "people on some (prediction-powered inference). It is the mean verdict plus the mean difference between "
            "people and judge on the answers that both ruled on. Each ruling is weighted by the answers it stands for, "
            "and the verdicts by how much they tell. However the judge errs, its errors cancel, and the interval "
            "includes what is uncertain about them. It needs rulings on ten samples, and for the spread on ten under "
            "each template."
        ),
        HERE,
    ),
    Measure(
        "people",
        "The majority of the persons who ruled on an answer. As a scoring method it is about the questions whose every answer, "
        "under all templates and of all models, they ruled on; others count neither as right nor as wrong. A tie is unscored.",
        HERE,
    ),
    Measure(
        "Controls",
        (
            "Answers with a known verdict that are hidden among the others: right ones, wrong ones, blank ones, and "
            "injected ones, which are wrong and tell the judge to call them right. A rate is the share of wrong "
            "verdicts among those that could be read."
        ),
        HERE,
    ),
    Measure(
        "Mean Spearman",
        "How alike two templates rank the models, over all pairs of templates; ties share their rank. The textbook formula "
        "knows no ties and counts the undefined pairs too.",
        HUA,
    ),
    Measure(
        "κ and perfect agreement",
        "Cohen's κ (two raters) and Fleiss' κ (any number): agreement beyond what chance gives, 1 is perfect, 0 is chance. "
        "Perfect agreement is the share of answers on which all say the same.",
        "Cohen 1960, Fleiss 1971",
    ),
)
TRACING = (
    "The name in small type behind the figures is that of their row in the marts. promptaudit trace NAME "
    "follows it to the raw answers behind it; a single figure is named by the column between mart and digits, "
    "as in rpt_audit.sensitivity.4f1c2a9b0d3e."
)
