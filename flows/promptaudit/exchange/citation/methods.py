"""Writes the methods paragraph of a run and the tables behind it. Names and texts of cards stand in code spans."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from promptaudit.registry.mart_columns import ABOUT, MartColumn, scorecard_columns
from promptaudit.system.display.figures import count, counted_of, in_unit, ranged, ranged_in, when
from promptaudit.system.display.markdown import cell, code, table
from promptaudit.warehouse import Ask, Row
from promptaudit.warehouse.sql import sql

OWN, TEMPLATES = "promptaudit", "Hua et al. 2025"
COPY = "warehouse/published/audit.duckdb"


class Cited(NamedTuple):
    """The rows that are cited of a run.

    They are its own row and the rows of its models, judges, wordings, scorecard and scoring over templates.
    """

    run: Row
    models: Sequence[Row]
    judges: Sequence[Row]
    wordings: Sequence[Row]
    scorecard: Sequence[Row]
    templates: Sequence[Row]
    seal: str


def cited(ask: Ask) -> Cited:
    """Reads the rows from which the methods of a published run are written."""
    (run,) = ask(sql("exchange.citation", "cited_run"))
    (newest,) = ask("select arg_max(seal, seal_index) as seal from raw.seals where audit_run_id = $run")
    models, judges, wordings, scorecard, templates = (
        ask(sql("exchange.citation", name))
        for name in ("cited_models", "cited_judges", "cited_wordings", "cited_figures", "cited_templates")
    )
    return Cited(run, models, judges, wordings, scorecard, templates, newest["seal"])


def methods(of: Cited) -> str:
    """Writes the methods as Markdown: a paragraph, then design, models, figures, measures and versions.

    Accuracy over templates has a part of its own where there are templates. The last part says how to check the folder.
    """
    columns = _measured(of.scorecard)
    parts = [
        (None, [" ".join(_paragraph(of, columns))]),
        ("Design", _design(of.wordings)),
        ("Models", _models(of.models)),
        ("Figures", _figures(of.scorecard, columns)),
        *([(f"Accuracy over templates ({TEMPLATES})", _over_templates(of.templates))] if of.templates else []),
        ("Measures", [f"- {column.label}{_source(column)}: {column.guide}" for column in columns if column.guide]),
        ("Versions", _versions(of.run)),
        ("How to check this folder", _check(of.seal)),
    ]
    lines = ["# Methods", ""]
    for heading, body in parts:
        lines += [*([f"## {heading}", ""] if heading else []), *body, ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _paragraph(of: Cited, columns: Sequence[MartColumn]) -> Iterable[str]:
    run, wordings = of.run, of.wordings
    yield (
        f"We measured how much the answers of {_names(row['model_id'] for row in of.models)} depend on how they are asked, "
        f"with promptaudit {cell(run['code_version'])} ({_code_of(run)})."
    )
    verb = "were imported" if run["origin"] == "import" else "were asked for"
    yield (
        f"The answers of run {code(run['audit_run_id'])} of audit {code(run['audit_id'])} {verb} from "
        f"{when(run['started_at'])} to {when(run['finished_at'])}."
    )
    tasks = {row["task_id"]: row for row in wordings}
    yield f"It has {_counted(len(tasks), 'task')}: {_and([_task(row) for row in tasks.values()])}."
    strategies = _names({row["strategy"]: None for row in wordings})
    yield (
        f"Each model answered each sample under {_span(row['n_variants'] for row in of.scorecard)} wordings of its prompt per "
        f"strategy ({strategies}), {_asked(wordings)}."
    )
    rephrasers = sorted({name for row in wordings for name in row["rephrasers"] or ()})
    temperatures = sorted({each for row in wordings for each in row["paraphrase_temperatures"] or ()})
    if rephrasers or temperatures:
        by = f" by {_names(rephrasers)}" if rephrasers else ""
        at = f" at the paraphrase temperatures {_and([f'{each:g}' for each in temperatures])}" if temperatures else ""
        yield f"The wordings beside the original are{by}{at}."
    if of.judges:
        judges = _and([f"{code(row['judge_id'])} ({code(row['ruled_by'] or '')})" for row in of.judges])
        yield f"Answers were put before {_counted(len(of.judges), 'judge')}: {judges}."
    n_landed, n_planned = (sum(row[name] for row in of.scorecard) for name in ("n_landed", "n_planned"))
    yield f"{counted_of(n_landed, n_planned)} answers landed{_cost(of.scorecard)}."
    if n_breaking := sum(row["n_variants_breaking"] for row in of.scorecard):
        yield f"{_counted(n_breaking, 'wording')} of a model broke, and count in every measure; N/A is a class there."
    chosen = "" if run["sample_seed"] is None else f" and that of the choice of samples {run['sample_seed']}"
    yield (
        f"Intervals are of 95 %, of {count(run['n_resamples'])} resamples where they are bootstrapped; the seed of resamples is "
        f"{run['seed']}{chosen}."
    )
    if papers := _papers(columns):
        yield f"{papers}; the others are promptaudit's own."
    if columns:
        yield f"Over all models, tasks and strategies, {_and([_range(of.scorecard, each) for each in columns])}."
    yield f"Every row and figure of the run is covered by its seal {code(of.seal)}."


def _measured(scorecard: Sequence[Row]) -> list[MartColumn]:
    columns = [column for column in scorecard_columns() if column.label and column.name != "cost_usd"]
    return [column for column in columns if any(row[column.name] is not None for row in scorecard)]


def _papers(columns: Sequence[MartColumn]) -> str:
    by_paper: dict[str, list[str]] = {}
    for column in columns:
        if column.source not in ("", OWN):
            by_paper.setdefault(column.source, []).append(column.label)
    sentence = _and([f"{_and(labels)} by {paper}" for paper, labels in by_paper.items()])
    return f"The measures are defined as {sentence}" if sentence else ""


def _source(column: MartColumn) -> str:
    return "" if column.source in ("", OWN) else f" ({column.source})"


def _range(scorecard: Sequence[Row], column: MartColumn) -> str:
    rows = sorted((row for row in scorecard if row[column.name] is not None), key=lambda row: row[column.name])
    least, most = (_figure(row, column) for row in (rows[0], rows[-1]))
    return f"{column.label} was {least}" if least == most else f"{column.label} was {least} to {most}"


def _figure(row: Row, column: MartColumn) -> str:
    low, high = (None, None) if column.ends is None else (row[end] for end in column.ends)
    return ranged_in(row[column.name], low, high, column.unit)


def _cost(scorecard: Sequence[Row]) -> str:
    # empty if some prices are not known
    known = [row["cost_usd"] for row in scorecard if row["cost_usd"] is not None]
    return f", at a cost of {in_unit(sum(known), 'usd')}" if known and len(known) == len(scorecard) else ""


def _task(row: Row) -> str:
    labels = f", {_counted(row['n_labels'], 'label')}" if row["n_labels"] else ""
    return f"{code(row['task_id'])} ({cell(row['kind'])}, {cell(row['level'])}{labels}, {_counted(row['n_samples'], 'sample')})"


def _asked(wordings: Sequence[Row]) -> str:
    originals = _span(n for row in wordings for n in row["original_repetitions"] or ())
    others = _span(n for row in wordings for n in row["repetitions"] or ())
    asked = (("the original", originals), ("each other wording", others))
    return _and([f"{who} {'once' if n == '1' else f'{n} times'}" for who, n in asked if n])


def _design(wordings: Sequence[Row]) -> list[str]:
    columns = (
        "task",
        "strategy",
        "rephraser",
        "paraphrase temperatures",
        "samples",
        "wordings",
        "asks of the original",
        "asks of others",
    )
    rows = [
        (
            code(row["task_id"]),
            code(row["strategy"]),
            _names(row["rephrasers"] or ()),
            ", ".join(f"{each:g}" for each in row["paraphrase_temperatures"] or ()),
            count(row["n_samples"]),
            count(row["n_variants"]),
            _span(row["original_repetitions"] or ()),
            _span(row["repetitions"] or ()),
        )
        for row in wordings
    ]
    return table(columns, rows, n_figures=4)


def _models(models: Sequence[Row]) -> list[str]:
    columns = ("model", "engine", "asked for", "parameters as sent", "answered as", "system fingerprints")
    rows = [
        (
            code(row["model_id"]),
            cell(row["engine"]),
            code(row["model"]),
            *(_names(row[name] or ()) for name in ("sampling", "served_models", "fingerprints")),
        )
        for row in models
    ]
    return table(columns, rows)


def _figures(scorecard: Sequence[Row], columns: Sequence[MartColumn]) -> list[str]:
    rows = [
        (
            *(code(row[name]) for name in ("task_id", "strategy", "model_id")),
            *(_figure(row, column) for column in columns),
        )
        for row in scorecard
    ]
    about = {sentence: [column.label for column in columns if column.about == name] for name, sentence in ABOUT.items()}
    notes = [f"{_and(labels)}: {sentence}" for sentence, labels in about.items() if labels]
    return [
        *table(("task", "strategy", "model", *(column.label for column in columns)), rows, n_figures=len(columns)),
        "",
        f"What the intervals are for: {'; '.join(notes)}.",
    ]


def _over_templates(templates: Sequence[Row]) -> list[str]:
    columns = ("task", "scoring", "model", "templates", "mean", "standard deviation", "corrected standard deviation")
    rows = [
        (
            *(code(row[name]) for name in ("task_id", "scoring_method", "model_id")),
            count(row["n_variants"]),
            ranged(row["accuracy_mean"], None, None),
            ranged(row["accuracy_std_sample"], None, None),
            ranged(*(row[f"accuracy_std_corrected{end}"] for end in ("", "_low", "_high"))),
        )
        for row in templates
    ]
    return table(columns, rows, n_figures=4)


def _versions(run: Row) -> list[str]:
    manifest = json.loads(run["manifest"] or "{}")
    libraries = json.loads(run["library_versions"])
    lines = [f"promptaudit {cell(run['code_version'])}, {_code_of(run)}"]
    lines += [f"sha256 of the {name}: {code(manifest[key])}" for name, key in _HASHED.items() if key in manifest]
    lines += [f"{cell(name)} {cell(version)}" for name, version in sorted(libraries.items())]
    return [f"- {line}" for line in lines]


_HASHED = {"code": "code", "dbt project": "dbt_project"}


def _code_of(run: Row) -> str:
    if run["code_commit"] is None:
        return "installed as a package, no commit"
    dirty = " with uncommitted changes" if run["is_code_dirty"] else ", without uncommitted changes"
    return f"commit {code(run['code_commit'])}{dirty}"


def _check(seal: str) -> list[str]:
    return [
        "`sha256sum -c SHA256SUMS` in this folder, or with promptaudit installed, wherever the folder lies:",
        "",
        "```console",
        f"$ promptaudit verify FOLDER --seal {seal}",
        "```",
        "",
        f"`{COPY}` has the run's answers, cards and figures: in this folder `promptaudit trace` and `promptaudit sql` read it.",
    ]


def _counted(n: int, what: str) -> str:
    return f"{count(n)} {what}{'' if n == 1 else 's'}"


def _names(names: Iterable[str]) -> str:
    return _and([code(name) for name in names])


def _span(values: Iterable[int]) -> str:
    there: list[Any] = sorted(set(values))
    return " to ".join(count(each) for each in dict.fromkeys((there[0], there[-1]))) if there else ""


def _and(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""
