"""Keeps what the program that recorded an answer scored it, as that program's verdict, and says where our reading differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import polars as pl

from promptaudit.flows.recorded_runs.formats.answers import PROGRAM_SCORE
from promptaudit.flows.system.keys import as_json, content_id
from promptaudit.flows.warehouse import Warehouse, rows_as
from promptaudit.flows.warehouse.rows import frame_of
from promptaudit.flows.warehouse.sql import sql


class Scale(NamedTuple):
    """The least and the greatest score that a program gave the answers to a task; of shares, 0 and 1."""

    low: float
    high: float

    @property
    def is_of_shares(self) -> bool:
        """Whether scores lie between wrong, 0, and right, 1."""
        return self == SHARES


SHARES = Scale(0, 1)
Scales = Mapping[tuple[str, str], Scale]
"""By program and task, where scores are others than 0 and 1."""


def scales_of(rows: pl.DataFrame) -> tuple[Scales, list[str]]:
    """Returns the scales of the scores that are grades and no verdicts, and a note for each.

    Where all scores of a task are 0 or 1 they are verdicts. Between 0 and 1 they are shares of what is right. On any other scale
    they say nothing of right and wrong: a 1 may be the worst of ten grades.
    """
    scales, notes = {}, []
    scored = rows.filter(pl.col("program").is_not_null() & pl.col(PROGRAM_SCORE).is_not_null())
    for (program, task), of_task in scored.group_by(["program", "task"], maintain_order=True):
        scores = of_task[PROGRAM_SCORE]
        if scores.is_in([0.0, 1.0]).all():
            continue
        low, high, mean = (float(each) for each in (scores.min(), scores.max(), scores.mean()))  # type: ignore[arg-type]
        scales[str(program), str(task)] = SHARES if low >= 0 and high <= 1 else Scale(low, high)
        what = f"task '{task}': {len(scores)} scores of {program} are grades from {low:.3g} to {high:.3g} with mean {mean:.3g}"
        notes.append(
            f"{what}: no verdicts, and accuracy by judge:{program} is their mean"
            if scales[str(program), str(task)].is_of_shares
            else f"{what}: on that scale nobody says what is right, so judge:{program} scores nothing; they are in fct_verdicts"
        )
    return scales, notes


def verdicts_of(
    audit_run_id: str, rows: pl.DataFrame, files: Sequence[Mapping[str, str]], landed_at: datetime, scales: Scales
) -> pl.DataFrame:
    """Returns the rows of raw.verdicts: scores of 0 and 1 as verdicts, grades as JSON with their scale as the reply."""
    source = as_json(list(files))
    scored = rows.filter(pl.col("program").is_not_null() & pl.col(PROGRAM_SCORE).is_not_null())
    verdicts = []
    for prediction_id, program, task, score in scored.select(
        "prediction_id", "program", "task", PROGRAM_SCORE
    ).iter_rows():
        scale = scales.get((program, task))
        verdicts.append(
            {
                "audit_run_id": audit_run_id,
                "verdict_id": content_id("verdict", audit_run_id, program, prediction_id, str(score)),
                "prediction_id": prediction_id,
                "judge_id": program,
                "repetition": 1,
                "ask": 1,
                "is_settled": True,
                "is_match": score == 1 if scale is None else None,
                "completion": None if scale is None else as_json({"score": score, "scale": list(scale)}),
                "is_completion_escaped": False,
                "n_attempts": 1,
                "source": source,
                "landed_at": landed_at,
            }
        )
    return frame_of("verdicts", verdicts)


class _ScoredDifferently(NamedTuple):
    program: str
    n_scored: int
    n_different: int
    task_id: str
    sample_id: str
    is_correct_there: bool
    completion: str


def differences(warehouse: Warehouse, audit_run_id: str) -> list[str]:
    """Returns a note for each program that scored answers of a published run otherwise than the task's rule does."""
    notes = []
    rows = warehouse.published.read(sql("recorded_runs", "scored_differently"), run=audit_run_id)
    for row in rows_as(_ScoredDifferently, rows):
        there, here = ("right", "not right") if row.is_correct_there else ("not right", "right")
        notes.append(
            f"{row.n_different} of {row.n_scored} answers are scored differently than by {row.program}, "
            f"the first: task '{row.task_id}', sample '{row.sample_id[:60]}', {there} there and {here} here: "
            f"{row.completion!r}; "
            f"its scores stand beside ours as scoring method judge:{row.program}"
        )
    return notes
