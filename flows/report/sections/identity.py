"""What a run is and was made by, as printed facts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from flows.display.figures import ABSENT, count, cut, usd, when
from flows.report.blocks.blocks import Table, limited
from flows.report.gather import Gathered
from flows.warehouse import Row

MOST_FILES = 50

Fact = tuple[str, str]


def facts(found: Gathered) -> list[Fact]:
    """The run's identity as (name, value)."""
    run = found.run
    planned = sum(row["n_planned"] or 0 for row in found.scorecard)
    landed = sum(row["n_landed"] or 0 for row in found.scorecard)
    errors = sum(row["n_error"] or 0 for row in found.scorecard)
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
        ("Cost", cost(found.scorecard)),
        *_judging(found.judged.judges),
        ("Fingerprint of the cards", run["fingerprint"]),
        ("Fingerprint of the plan", run["plan_fingerprint"]),
        ("Seed", str(run["seed"])),
        ("Resamples an interval", count(run["n_resamples"])),
        ("Measures", f"version {run['measure_version']}"),
        ("Texts", found.texts.said),
        ("Code", f"promptaudit {run['code_version']}"),
        ("Commit", commit),
    ]


def _judging(judges: list[Row]) -> list[Fact]:
    """What judging came to; nothing without judges."""
    if not judges:
        return []
    settled, unread = (sum(row[name] or 0 for row in judges) for name in ("n_rulings", "n_unreadable"))
    known = [row["cost_usd"] for row in judges if row["cost_usd"] is not None]
    return [
        ("Rulings of judges", f"{count(settled)}, of which {count(unread)} could not be read"),
        ("Cost of judges", usd(sum(known)) if known else f"{ABSENT} (no price is known)"),
    ]


def cost(scorecard: list[Row]) -> str:
    """What the run cost as far as prices are known."""
    known = [row["cost_usd"] for row in scorecard if row["cost_usd"] is not None]
    if not known:
        return f"{ABSENT} (no price is known)"
    some = "" if len(known) == len(scorecard) else ", where prices are known"
    return usd(sum(known)) + some


def tables(found: Gathered) -> list[Table]:
    """The cards, libraries and files behind the run."""
    out = []
    models = [
        (row["model_id"], row["engine"], row["model"], price(row["input_usd_per_mtok"]),
         price(row["output_usd_per_mtok"]),
         row["fingerprint"])
        for row in found.models
    ]  # fmt: skip
    kept, note = limited(models)
    columns: tuple[str, ...] = ("Model", "Engine", "Asked for", "Input, USD a million tokens", "Output", "Fingerprint")
    out.append(Table(caption="Models", columns=columns, rows=kept, note=note))
    tasks = [
        (row["task_id"], row["kind"], row["level"], cut(", ".join((row["labels"] or [])[:50])),
         cut(row["instruction"] or ABSENT, found.texts.long),
         row["fingerprint"])
        for row in found.tasks
    ]  # fmt: skip
    kept, note = limited(tasks)
    out.append(
        Table(
            caption="Tasks",
            columns=("Task", "Kind", "Level", "Labels", "Instruction", "Fingerprint"),
            rows=kept,
            note=note,
        )
    )
    if found.judged.judges:
        out.append(_judges(found.judged.judges))
    libraries = sorted(_mapping(found.run["library_versions"]).items())
    out.append(
        Table(
            caption="Library versions",
            columns=("Library", "Version"),
            rows=[(cut(name), cut(str(version))) for name, version in libraries],
        )
    )
    source = _mapping(found.run["source"])
    if files := _files(source):
        rest = "" if len(files) <= MOST_FILES else f"The first {MOST_FILES} of {len(files)} files."
        out.append(
            Table(
                caption="Imported files", columns=("File", "sha256"), rows=files[:MOST_FILES], is_open=True, note=rest
            )
        )
    if options := _mapping(source.get("options")):
        shown = [(cut(name), cut(json.dumps(value, ensure_ascii=False))) for name, value in sorted(options.items())]
        out.append(Table(caption="Options of the import", columns=("Option", "Value"), rows=shown))
    return out


def _judges(judges: list[Row]) -> Table:
    """The judges as they are now, with what decides their verdicts as a hash."""
    lines = [
        (row["judge_id"], f"panel of {cut(', '.join(row['panel']), 160)}" if row["panel"] else row["model_id"] or ABSENT,
         row["judge_key"][:16], count(row["repetitions"]), count(row["n_replies"]), count(row["n_rulings"]),
         count(row["n_unreadable"]))
        for row in judges
    ]  # fmt: skip
    kept, note = limited(lines)
    columns = ("Judge", "Model", "Fingerprint", "Repetitions", "Replies", "Rulings", "Unreadable")
    return Table(caption="Judges", columns=columns, rows=kept, n_heads=1, n_figures=4, note=note)


def _files(source: dict[str, Any]) -> Sequence[tuple[str, ...]]:
    """Names of imported files with their sha256."""
    files = source.get("files")
    found = [_mapping(file) for file in files] if isinstance(files, list) else []
    return [(cut(str(file.get("name", ABSENT))), cut(str(file.get("sha256", ABSENT)))) for file in found]


def price(value: float | None) -> str:
    """A price, or a dash."""
    return ABSENT if value is None else f"{value:g}"


def _mapping(value: object) -> dict[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}
