"""What a run is and was made by, as printed facts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from promptaudit.report.blocks.blocks import Table
from promptaudit.report.data import ReportData
from promptaudit.report.sections.columns import Column, table, tally, words
from promptaudit.system.display.figures import ABSENT, count, cut, usd, when
from promptaudit.warehouse import Row

MOST_FILES = 50

Fact = tuple[str, str]


def line(data: ReportData) -> str:
    """Returns the run, when it started and its seal, as the heading of what made it."""
    seal = data.run.get("seal")
    return f"{data.run['audit_run_id'][:12]} of {when(data.run['started_at'])}" + (
        f", seal {seal[:12]}" if seal else ""
    )


def facts(data: ReportData) -> list[Fact]:
    """Returns the run's identity as (name, value)."""
    run = data.run
    planned, landed, errors = (
        sum(row[name] or 0 for row in data.scorecard) for name in ("n_planned", "n_landed", "n_error")
    )
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
        ("Cost", cost(data.scorecard)),
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
    """Returns what judging came to; nothing without judges."""
    if not judges:
        return []
    settled, unread = (sum(row[name] or 0 for row in judges) for name in ("n_rulings", "n_unreadable"))
    known = [row["cost_usd"] for row in judges if row["cost_usd"] is not None]
    return [
        ("Rulings of judges", f"{count(settled)}, of which {count(unread)} could not be read"),
        ("Cost of judges", usd(sum(known)) if known else f"{ABSENT} (no price is known)"),
    ]


def cost(scorecard: list[Row]) -> str:
    """Returns what the run cost as far as prices are known."""
    known = [row["cost_usd"] for row in scorecard if row["cost_usd"] is not None]
    if not known:
        return f"{ABSENT} (no price is known)"
    some = "" if len(known) == len(scorecard) else ", where prices are known"
    return usd(sum(known)) + some


_MODELS = (
    words("Model", "model_id"),
    words("Engine", "engine"),
    words("Asked for", "model"),
    Column("Input, USD a million tokens", lambda of: price(of.row["input_usd_per_mtok"])),
    Column("Output", lambda of: price(of.row["output_usd_per_mtok"])),
    words("Fingerprint", "fingerprint"),
)
_JUDGES = (
    words("Judge", "judge_id"),
    Column("Model", lambda of: _judge_model(of.row)),
    Column("Fingerprint", lambda of: of.row["judge_key"][:16]),
    tally("Repetitions", "repetitions"),
    tally("Replies", "n_replies"),
    tally("Rulings", "n_rulings"),
    tally("Unreadable", "n_unreadable"),
)


def tables(data: ReportData) -> list[Table]:
    """Returns the cards, libraries and files behind the run."""
    tasks = (
        words("Task", "task_id"),
        words("Kind", "kind"),
        words("Level", "level"),
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
    """Returns the options under which recorded answers were imported; none of a run that asked itself."""
    return _mapping(_mapping(data.run["source"]).get("options"))


def _named(
    caption: str, columns: tuple[str, str], pairs: Sequence[tuple[str, str]], *, is_open: bool = False, note: str = ""
) -> Table:
    rows = [(cut(name), cut(value)) for name, value in pairs]
    return Table(caption=caption, columns=columns, rows=rows, is_open=is_open, note=note)


def _judge_model(row: Mapping[str, Any]) -> str:
    return f"panel of {cut(', '.join(row['panel']), 160)}" if row["panel"] else row["model_id"] or ABSENT


def _files(source: dict[str, Any]) -> list[tuple[str, str]]:
    """Names of imported files with their sha256."""
    files = source.get("files")
    cards = [_mapping(file) for file in files] if isinstance(files, list) else []
    return [(str(card.get("name", ABSENT)), str(card.get("sha256", ABSENT))) for card in cards]


def price(value: float | None) -> str:
    """Returns a price, or a dash."""
    return ABSENT if value is None else f"{value:g}"


def _mapping(value: object) -> dict[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}
