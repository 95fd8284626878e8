"""Writes a sheet for people to rule on answers: sampled by disagreement, blinded, safe to open in a spreadsheet."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flows.display.spreadsheet import CsvRows, cell_of
from flows.settings import Settings
from flows.system.keys import content_id
from flows.warehouse import Warehouse
from flows.warehouse.sql import sql
from models_registry.errors import DataError, UsageError, nearest

COLUMNS = ("item", "task", "question", "options", "references", "answer", "is_match", "reason")
JUDGES_DISAGREE, RULE_AND_JUDGE, RULES_DISAGREE = "judges disagree", "rule and judge disagree", "rules disagree"
UNSCORED, RIGHT, WRONG = "rule unscored", "all say right", "all say wrong"
STRATA = (RULE_AND_JUDGE, JUDGES_DISAGREE, RULES_DISAGREE, UNSCORED, RIGHT, WRONG)  # in the order they are filled from
TASKS = "select task_id from marts.dim_tasks where audit_run_id = $run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stratum:
    """The number of a stratum's distinct answers in a run, and of those that stand in the sheet."""

    n_rows: int
    n_answers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A sheet that was written, with its strata by name. Whoever fills the sheet in should not see them."""

    audit_run_id: str
    path: Path
    n_rows: int
    n_answers: int
    strata: Mapping[str, Stratum]


def write_sheet(  # noqa: PLR0913 - one option each
    settings: Settings, run: str | None, path: Path, *, n: int = 100, questions: int | None = None, seed: int = 42,
    task: str | None = None, force: bool = False,
) -> Sheet:  # fmt: skip
    """Writes n distinct answers of a published run (the newest) for people to rule on, equally many of every stratum.

    With `questions` it writes every distinct answer to so many questions of each task instead, under whichever template it
    was given: Hua et al. (2025) had people rule on fifty.

    Nothing in it tells model, template, rule or judge; `item` is a hash. Blank and quarantined answers and samples
    without a key are left out. The same run, n or questions, seed and task give the same bytes. Cells that a spreadsheet
    would take for a formula begin with an apostrophe, control characters are written out, of a longer text than a cell
    holds the middle is left out. Raises UsageError for a file that is there (unless `force`), that is no .csv, or an
    unknown task.
    """
    if path.suffix.lower() != ".csv":
        msg = f"--sheet {path}: a .csv file is written"
        raise UsageError(msg)
    if path.exists() and not force:
        raise UsageError(_is_there(path))
    from flows.warehouse.run_names import resolve_id

    audit_run_id = resolve_id(Warehouse(settings.warehouse), run)
    published = Warehouse(settings.warehouse).published
    tasks = [row["task_id"] for row in published.read(TASKS, run=audit_run_id)]
    if task is not None and task not in tasks:
        msg = f"--task {task}: run {audit_run_id} has no such task{nearest(task, tasks)}"
        raise UsageError(msg)
    chosen = tasks if task is None else [task]
    answers = published.read(sql("annotation", "answers"), run=audit_run_id, tasks=chosen)
    if not answers:
        msg = f"run {audit_run_id} has no answer to rule on: all are blank, quarantined or of samples without a key"
        raise DataError(msg)
    strata = {row["item"]: stratum_of(row["rules"] or (), row["judges"] or (), row["is_unscored"]) for row in answers}
    items = choose(strata, n, seed) if questions is None else of_questions(answers, questions, seed)
    texts = {row["item"]: row for row in published.read(sql("annotation", "texts"), run=audit_run_id, items=items)}
    _write(path, [sheet_row(texts[item]) for item in items], force=force)
    n_answers, n_rows = Counter(strata.values()), Counter(strata[item] for item in items)
    counts = {name: Stratum(n_rows=n_rows[name], n_answers=n_answers[name]) for name in STRATA if n_answers[name]}
    return Sheet(audit_run_id=audit_run_id, path=path, n_rows=len(items), n_answers=len(answers), strata=counts)


def stratum_of(rules: Iterable[bool], judges: Iterable[bool], is_unscored: bool) -> str:  # noqa: FBT001
    """Returns the stratum of an answer by the verdicts of rules and of judges on it, and whether a rule could not score it.

    Judges who differ among themselves come first, then judges of one mind against a rule.
    """
    by_rules, by_judges = set(rules), set(judges)
    if len(by_judges) > 1:
        return JUDGES_DISAGREE
    if len(by_rules | by_judges) > 1:
        return RULE_AND_JUDGE if by_judges else RULES_DISAGREE
    if not by_rules and (is_unscored or not by_judges):
        return UNSCORED
    return RIGHT if True in by_rules | by_judges else WRONG


def choose(strata: Mapping[str, str], n: int, seed: int) -> list[str]:
    """Returns n items of a mapping of item to stratum, or all: equally many a stratum, shuffled.

    What does not divide evenly, and what a stratum lacks, is taken from the others in the order of STRATA. Within a
    stratum the smallest seeded hashes are taken, so that further answers disturb few; another hash shuffles.
    """
    ranked = {name: sorted(item for item in strata if strata[item] == name) for name in STRATA}
    ranked = {
        name: sorted(items, key=lambda item: _rank("take", seed, item)) for name, items in ranked.items() if items
    }
    share, over = divmod(n, len(ranked))
    taken = {name: items[: share + (place < over)] for place, (name, items) in enumerate(ranked.items())}
    lacking = n - sum(len(items) for items in taken.values())
    for name, items in ranked.items():
        more = items[len(taken[name]) :][:lacking]
        taken[name] += more
        lacking -= len(more)
    return sorted((item for items in taken.values() for item in items), key=lambda item: _rank("shuffle", seed, item))


def of_questions(answers: Sequence[Mapping[str, Any]], n: int, seed: int) -> list[str]:
    """Returns the items of every answer to n questions of each task, or to all, shuffled; rows of `answers.sql`.

    The questions are those with the smallest seeded hashes, so that a larger n keeps those of a smaller one.
    """
    asked: dict[str, set[str]] = {}
    for row in answers:
        asked.setdefault(row["task_id"], set()).add(row["sample_id"])
    chosen: set[tuple[str, str]] = set()
    for task_id, samples in asked.items():
        ranks = {sample_id: _rank("question", seed, f"{task_id} {sample_id}") for sample_id in samples}
        chosen |= {(task_id, sample_id) for sample_id in sorted(ranks, key=ranks.__getitem__)[:n]}
    items = [row["item"] for row in answers if (row["task_id"], row["sample_id"]) in chosen]
    return sorted(items, key=lambda item: _rank("shuffle", seed, item))


def _rank(what: str, seed: int, item: str) -> str:
    return content_id("annotate", what, str(seed), item)


def sheet_row(text: Mapping[str, Any]) -> dict[str, str]:
    """Returns a row of the sheet from a row of `texts.sql`: options under the signs that the model saw, and the right ones."""
    labels, gold = list(text["labels"] or ()), text["gold_label"]
    reader = json.loads(text["reader"]) if text["reader"] else None
    signs = (reader.get("option_letter") if isinstance(reader, dict) else None) or labels
    options = list(text["options"] or ())
    order = list(text["option_order"] or range(len(options)))
    shown = [f"{sign}. {options[place]}" for sign, place in zip(signs, order, strict=False)]
    right = list(text["reference_answers"] or ())
    if not right and gold is not None:
        right = [shown[order.index(labels.index(gold))] if gold in labels[: len(shown)] else gold]
    offered = shown or (labels if text["kind"] == "classification" else [])
    cells = {
        "item": text["item"], "task": text["task"], "question": text["question"] or "", "options": "\n".join(offered),
        "references": "\n".join(right), "answer": text["completion"], "is_match": "", "reason": "",
    }  # fmt: skip
    return {name: cell_of(value) for name, value in cells.items()}


def _write(path: Path, rows: Sequence[Mapping[str, str]], *, force: bool) -> None:
    try:
        # with the key in it, it is its owner's alone
        with open(path, "w" if force else "x", encoding="utf-8", newline="", opener=_private) as file:
            sheet = CsvRows(file)
            sheet.row(COLUMNS)
            for row in rows:
                sheet.row(row[column] for column in COLUMNS)
    except FileExistsError:
        raise UsageError(_is_there(path)) from None
    except OSError as error:
        msg = f"{path}: cannot be written: {error.strerror}"
        raise UsageError(msg) from None


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _is_there(path: Path) -> str:
    return f"--sheet {path} is there already and may hold rulings; --force writes over it"
