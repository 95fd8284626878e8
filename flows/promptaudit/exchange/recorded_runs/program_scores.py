"""Keeps the score that a program gave its answers as its verdict, and notes where our reading differs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Self

import polars as pl

from promptaudit.exchange.recorded_runs.formats.answers import PROGRAM_SCORE
from promptaudit.registry.errors import UsageError
from promptaudit.system.keys import as_json, content_id
from promptaudit.warehouse import Warehouse, rows_as
from promptaudit.warehouse.rows import frame_of
from promptaudit.warehouse.sql import sql


class Scale(NamedTuple):
    """The worst and the best score of a task or, where none is declared, the least and the greatest that were given."""

    low: float
    high: float
    is_declared: bool = False

    @classmethod
    def of(cls, text: str) -> Self:
        """Parses the scale that `--scale LOW,HIGH` declares. Raises UsageError for any other text."""
        try:
            low, high = map(float, text.split(","))
        except ValueError:
            low = high = math.nan
        if not math.isfinite(high - low) or low == high:
            msg = f"--scale {text[:80]!r}: two numbers are wanted, the worst score and the best, as 1,10"
            raise UsageError(msg)
        return cls(low, high, is_declared=True)

    def __str__(self) -> str:
        """Writes the scale as `1 to 10`."""
        return f"{self.low:g} to {self.high:g}"

    def share(self, score: float) -> float | None:
        """Computes how far a score is from worst to best, in [0, 1]. None where the scale is not declared."""
        return (score - self.low) / (self.high - self.low) if self.is_declared else None


SHARES = Scale(0, 1, is_declared=True)
Scales = Mapping[tuple[str, str], Scale]
"""Scale by program and task, where scores are others than 0 and 1."""


def scales_of(rows: pl.DataFrame, declared: Scale | None = None) -> tuple[Scales, list[str]]:
    """Finds the scales of scores that are grades and not verdicts, and writes a note for each.

    A declared scale holds for all scores. Without one, scores of a task that are all 0 or 1 are verdicts, and scores
    between 0 and 1 are shares of what is right. On any other scale they say nothing of right and wrong until it is
    declared: a 1 may be the worst of ten grades. Raises UsageError for a score outside the declared scale, or where
    nothing has a score.
    """
    scales, notes = {}, []
    scored = rows.filter(pl.col("program").is_not_null() & pl.col(PROGRAM_SCORE).is_not_null())
    if declared is not None:
        _refuse_outside(scored, declared)
    for (program, task), of_task in scored.group_by(["program", "task"], maintain_order=True):
        scores = of_task[PROGRAM_SCORE]
        if declared is None and scores.is_in([0.0, 1.0]).all():
            continue
        low, high, mean = (float(each) for each in (scores.min(), scores.max(), scores.mean()))  # type: ignore[arg-type]
        scale = declared or (SHARES if low >= 0 and high <= 1 else Scale(low, high))
        scales[str(program), str(task)] = scale
        what = f"task '{task}': {len(scores)} scores of {program} are grades from {low:.3g} to {high:.3g} with mean {mean:.3g}"
        notes.append(
            f"{what}: on that scale nobody says what is right, so judge:{program} scores nothing; they are in fct_verdicts; "
            "--scale LOW,HIGH says which grade is the worst and which the best"
            if not scale.is_declared
            else f"{what}: no verdicts, and accuracy by judge:{program} is their mean"
            + (f" as shares of the scale {declared}" if declared else "")
        )
    return scales, notes


def _refuse_outside(scored: pl.DataFrame, declared: Scale) -> None:
    if scored.is_empty():
        msg = f"--scale {declared.low:g},{declared.high:g}: no answer has a score of the program that recorded it"
        raise UsageError(msg)
    least, most = sorted((declared.low, declared.high))
    is_on = pl.col(PROGRAM_SCORE).is_between(least, most)
    for row in scored.filter(~is_on).head(1).iter_rows(named=True):
        msg = (
            f"{row['file']}: sample {row['sample_id'][:60]!r} of task '{row['task']}': score {row[PROGRAM_SCORE]:g} lies outside "
            f"of --scale {declared.low:g},{declared.high:g}; scores on several scales are imported apart"
        )
        raise UsageError(msg)


def verdicts_of(
    audit_run_id: str, rows: pl.DataFrame, files: Sequence[Mapping[str, str]], landed_at: datetime, scales: Scales
) -> pl.DataFrame:
    """Builds the rows of raw.verdicts: scores of 0 and 1 as verdicts, grades as JSON with their scale as the reply."""
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
                "completion": None
                if scale is None
                else as_json({"score": score, "scale": scale[:2], "share": scale.share(score)}),
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
    """Notes each program that scored answers of a published run differently than the task's rule does."""
    notes = []
    rows = warehouse.published.read(sql("exchange.recorded_runs", "scored_differently"), run=audit_run_id)
    for row in rows_as(_ScoredDifferently, rows):
        there, here = ("right", "not right") if row.is_correct_there else ("not right", "right")
        notes.append(
            f"{row.n_different} of {row.n_scored} answers are scored differently than by {row.program}, "
            f"the first: task '{row.task_id}', sample '{row.sample_id[:60]}', {there} there and {here} here: "
            f"{row.completion!r}; "
            f"its scores stand beside ours as scoring method judge:{row.program}"
        )
    return notes
