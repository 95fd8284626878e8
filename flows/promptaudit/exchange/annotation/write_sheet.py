"""Writes a sheet for people to rule on answers: drawn by strata, blinded, safe to open in a spreadsheet."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from promptaudit.exchange.annotation.draw import Answer, answers_of, draw, of_questions, of_rulable, shuffled
from promptaudit.exchange.annotation.width import Promise, Rectifiable, promise, rectifiable, rulings_of_task
from promptaudit.registry.errors import DataError, UsageError, refuse_unknown
from promptaudit.system.display.spreadsheet import CsvRows, cell_of
from promptaudit.system.settings import Settings
from promptaudit.udfs.raters.verdict_groups import GROUPS
from promptaudit.warehouse import Published, Warehouse, rows_as
from promptaudit.warehouse.sql import over, sql

COLUMNS = ("item", "task", "question", "options", "references", "answer", "is_match", "reason")
RULED = (
    "select distinct prompt_variant_id as item from marts.fct_verdicts "
    "where audit_run_id = $run and prompt_variant_id is not null and starts_with(rater, 'person:')"
)
_REWORDINGS = (
    "select * from rewordings where audit_run_id = $run and list_contains($tasks, task_id) order by task_id, wording_id"
)
TASKS = "select task_id from marts.dim_tasks where audit_run_id = $run"


class AnswerText(NamedTuple):
    """An answer that people rule on, with what was asked."""

    item: str
    task: str
    kind: str
    labels: Sequence[str] | None
    question: str | None
    options: Sequence[str] | None
    gold_label: str | None
    reference_answers: Sequence[str] | None
    reader: str | None  # JSON
    completion: str
    option_order: Sequence[int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StratumCounts:
    """How many distinct answers of a stratum the run has and how many the sheet has. The ratio is each one's chance."""

    n_rows: int
    n_answers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A sheet that was written, of answers or of rewordings (no strata).

    People who fill it in should not see the strata.
    """

    audit_run_id: str
    path: Path
    n_rows: int
    n_answers: int
    n_ruled: int
    strata: Mapping[str, StratumCounts]
    promises: tuple[Promise, ...]
    of_wordings: bool = False

    def lines(self) -> list[str]:
        """Writes the rows of the sheet, the widths that its rulings will reach, and its strata."""
        what = "rewordings" if self.of_wordings else "distinct answers"
        head = f"{self.path}: {self.n_rows} of the {self.n_answers} {what} of run {self.audit_run_id}"
        head += f", {self.n_ruled} of which people ruled on" if self.n_ruled else ""
        strata = [f"  {each.n_rows} of {each.n_answers}  {name}" for name, each in self.strata.items()]
        return [head, *(each.line for each in self.promises), *strata]


def write_sheet(  # noqa: PLR0913 - one option each
    settings: Settings,
    run: str | None,
    path: Path,
    *,
    n: int = 100,
    questions: int | None = None,
    width: float | None = None,
    seed: int = 42,
    task: str | None = None,
    force: bool = False,
) -> Sheet:
    """Writes n distinct answers of a published run (the newest) for people to rule on, drawn by strata (`draw`).

    With `width` it writes as many as are still needed to know rectified accuracies within so much, both ways, for every
    model and judge of each task, and leaves out what people ruled on. With `questions` it writes every distinct answer
    to so many questions of each task instead, under every template: Hua et al. (2025) had people rule on fifty.

    Nothing in the sheet shows model, template, rule or judge; `item` is a hash. Left out are blank answers, and samples
    without a key unless a judge rules on them. The same run, n or questions, seed and task give the same bytes. Cells
    that a spreadsheet would take for a formula begin with an apostrophe, control characters are written out, and the
    middle of a text longer than a cell is left out. Raises UsageError for a file that exists (unless `force`) or is no
    .csv, an unknown task, and a width that no rulings reach or that is reached already.
    """
    audit_run_id, published, chosen = _opened(settings, run, path, task, force=force)
    answers = answers_of(published.read(of_rulable("answers"), run=audit_run_id, tasks=chosen))
    if not answers:
        msg = f"run {audit_run_id} has no answer to rule on: all are blank, or of samples without a key on which no judge rules"
        raise DataError(msg)
    judged = rectifiable(published.read(of_rulable("widths"), run=audit_run_id, tasks=chosen), answers)
    if width is not None:
        items = shuffled(list(_for_width(answers, judged, width, seed)), seed)
        if not items:
            n_ruled = sum(answer.is_ruled for answer in answers)
            msg = f"--width {width:g}: the {n_ruled} answers that people ruled on are enough; nothing is left to write"
            raise UsageError(msg)
    else:
        items = draw(answers, n, seed) if questions is None else of_questions(answers, questions, seed)
    rows = published.read(sql("exchange.annotation", "texts"), run=audit_run_id, items=items)
    texts = {text.item: text for text in rows_as(AnswerText, rows)}
    _write(path, [sheet_row(texts[item]) for item in items], force=force)
    return Sheet(
        audit_run_id=audit_run_id,
        path=path,
        n_rows=len(items),
        n_answers=len(answers),
        n_ruled=sum(answer.is_ruled for answer in answers),
        strata=_counts(answers, set(items)),
        promises=tuple(_promises(answers, judged, set(items))),
    )


def write_wordings(
    settings: Settings, run: str | None, path: Path, *, task: str | None = None, force: bool = False
) -> Sheet:
    """Writes every rewording of a published run beside its original, for people to say whether it asks the same.

    The original stands under `references`, the rewording under `answer`, and what is never reworded under `question`.
    Raises as `write_sheet` does, and DataError for a run without rewordings.
    """
    audit_run_id, published, chosen = _opened(settings, run, path, task, force=force)
    rows = published.read(over(_REWORDINGS, rewordings=sql("ask", "rewordings")), run=audit_run_id, tasks=chosen)
    if not rows:
        msg = f"run {audit_run_id} has no rewordings to rule on: templates and formats are none"
        raise DataError(msg)
    ruled = published.read(RULED, run=audit_run_id)
    cells = [
        {
            "item": row["wording_id"],
            "task": row["task_id"],
            "question": row["output_format"],
            "references": row["original"],
            "answer": row["rewording"],
        }
        for row in rows
    ]
    _write(path, [{name: cell_of(each.get(name, "")) for name in COLUMNS} for each in cells], force=force)
    return Sheet(
        audit_run_id=audit_run_id,
        path=path,
        n_rows=len(rows),
        n_answers=len(rows),
        n_ruled=len({row["item"] for row in ruled} & {row["wording_id"] for row in rows}),
        strata={},
        promises=(),
        of_wordings=True,
    )


def _opened(
    settings: Settings, run: str | None, path: Path, task: str | None, *, force: bool
) -> tuple[str, Published, list[str]]:
    if path.suffix.lower() != ".csv":
        msg = f"--sheet {path}: a .csv file is written"
        raise UsageError(msg)
    if path.exists() and not force:
        raise UsageError(_is_there(path))
    from promptaudit.warehouse.run_names import resolve_id

    warehouse = Warehouse(settings.warehouse)
    audit_run_id = resolve_id(warehouse, run)
    tasks = [row["task_id"] for row in warehouse.published.read(TASKS, run=audit_run_id)]
    refuse_unknown("--task", task, tasks, f"run {audit_run_id} has none of that name")
    return audit_run_id, warehouse.published, tasks if task is None else [task]


def _for_width(answers: Sequence[Answer], judged: Sequence[Rectifiable], width: float, seed: int) -> Iterator[str]:
    if not judged:
        msg = f"--width {width:g}: no judge ruled on ten samples or more, so nothing is rectified; --answers takes a number"
        raise UsageError(msg)
    for task_id, of_task in _by_task(answers, judged):
        own = [answer for answer in answers if answer.stratum.task_id == task_id]
        n = rulings_of_task(of_task, own, width)
        if n is None:
            widest = max(of_task, key=lambda each: each.half_width(each.n_answers))
            least = math.ceil(widest.half_width(widest.n_answers) * 1000) / 1000
            msg = (
                f"--width {width:g}: with all {widest.n_answers} answers of {widest.model_id} to {task_id} ruled on, its samples "
                f"alone leave {least:.3f}; --width {least:.3f} or more can be reached"
            )
            raise UsageError(msg)
        yield from draw(own, n, seed, more=True)


def _promises(answers: Sequence[Answer], judged: Sequence[Rectifiable], items: Collection[str]) -> Iterator[Promise]:
    for task_id, of_task in _by_task(answers, judged):
        own = [answer for answer in answers if answer.stratum.task_id == task_id]
        if (found := promise(of_task, own, items)) is not None:
            yield found


def _by_task(answers: Sequence[Answer], judged: Sequence[Rectifiable]) -> Iterator[tuple[str, list[Rectifiable]]]:
    for task_id in dict.fromkeys(answer.stratum.task_id for answer in answers):
        if of_task := [each for each in judged if each.task_id == task_id]:
            yield task_id, of_task


def _counts(answers: Sequence[Answer], items: Collection[str]) -> dict[str, StratumCounts]:
    named = sorted(answers, key=lambda answer: (GROUPS.index(answer.stratum.group), not answer.stratum.is_in_format))
    n_answers = Counter(answer.stratum.name for answer in named)
    n_rows = Counter(answer.stratum.name for answer in named if answer.item in items)
    return {name: StratumCounts(n_rows=n_rows[name], n_answers=n) for name, n in n_answers.items()}


def sheet_row(text: AnswerText) -> dict[str, str]:
    """Makes a row of the sheet. Options stand under the signs that the model saw, and so do the right ones."""
    labels, gold = list(text.labels or ()), text.gold_label
    reader = json.loads(text.reader) if text.reader else None
    signs = (reader.get("option_letter") if isinstance(reader, dict) else None) or labels
    options = list(text.options or ())
    order = list(text.option_order or range(len(options)))
    shown = [f"{sign}. {options[place]}" for sign, place in zip(signs, order, strict=False)]
    right = list(text.reference_answers or ())
    if not right and gold is not None:
        right = [shown[order.index(labels.index(gold))] if gold in labels[: len(shown)] else gold]
    offered = shown or (labels if text.kind == "classification" else [])
    cells = {
        "item": text.item,
        "task": text.task,
        "question": text.question or "",
        "options": "\n".join(offered),
        "references": "\n".join(right),
        "answer": text.completion,
        "is_match": "",
        "reason": "",
    }
    return {name: cell_of(value) for name, value in cells.items()}


def _write(path: Path, rows: Sequence[Mapping[str, str]], *, force: bool) -> None:
    try:
        # the sheet holds the key, so only its owner may read it
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
