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


def verdicts_of(
    audit_run_id: str, rows: pl.DataFrame, files: Sequence[Mapping[str, str]], landed_at: datetime
) -> pl.DataFrame:
    """Returns the rows of raw.verdicts for scores of 0 and 1; one between them is no verdict."""
    source = as_json(list(files))
    scored = rows.filter(pl.col("program").is_not_null() & pl.col(PROGRAM_SCORE).is_in([0.0, 1.0]))
    wanted = ("prediction_id", "program", PROGRAM_SCORE)
    verdicts = [
        {
            "audit_run_id": audit_run_id,
            "verdict_id": content_id("verdict", audit_run_id, program, prediction_id, str(score)),
            "prediction_id": prediction_id,
            "judge_id": program,
            "repetition": 1,
            "ask": 1,
            "is_settled": True,
            "is_match": score == 1,
            "is_completion_escaped": False,
            "n_attempts": 1,
            "source": source,
            "landed_at": landed_at,
        }
        for prediction_id, program, score in scored.select(wanted).iter_rows()
    ]
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
