"""Gathers the answers of a grid from the published marts: those to the samples whose answers differ most."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from promptaudit.report.gather_shown import ShownCells, gather_shown
from promptaudit.report.queries import query
from promptaudit.system.display.figures import LONG
from promptaudit.system.display.policy import MOST_IN_ALL, Texts
from promptaudit.warehouse import Row
from promptaudit.warehouse.duckdb_file import Connection, rows_of

if TYPE_CHECKING:
    import polars as pl

MOST_ANSWERS = 150_000  # some 13 bytes each in a page
MOST_COUNTED = 5_000  # samples of a group without sensitivities, whose distinct answers are counted
MOST_FIELDS = 20_000  # characters of the columns that a prompt puts in


@dataclass(frozen=True, slots=True, kw_only=True)
class GridAnswers:
    """The answers that a grid may hold. Ranks count samples from 0, the largest disagreement first."""

    samples: list[Row]  # a row a rank
    answers: pl.DataFrame  # sorted by rank, prompt variant and repetition
    inputs: list[Row]
    variants: list[Row]
    shown: ShownCells = field(default_factory=ShownCells)


def gather_answers(con: Connection, audit_run_id: str, texts: Texts) -> GridAnswers:
    """Returns the answers to the most sensitive samples of each model, task and strategy; texts as long as `texts` says."""
    run = {"run": audit_run_id}
    samples = rows_of(con, query("grid_samples"), **run, most_answers=MOST_ANSWERS, most_counted=MOST_COUNTED)
    keys = {
        names: [row[name] for row in samples] for names, name in (("task_ids", "task_id"), ("sample_ids", "sample_id"))
    }
    groups = {
        names: [row[name] for row in samples] for names, name in (("model_ids", "model_id"), ("strategies", "strategy"))
    }
    cut = {"long": texts.long, "short": LONG, "most_characters": MOST_IN_ALL}
    answers = con.execute(query("grid_answers"), {**run, **keys, **groups, **cut}).pl()
    variants = rows_of(con, query("grid_variants"), **run)
    return GridAnswers(
        samples=samples,
        answers=answers,
        inputs=rows_of(con, query("grid_inputs"), **run, **keys, long=texts.long + 1, most_fields=MOST_FIELDS),
        variants=variants,
        shown=gather_shown(con, audit_run_id, texts, samples=samples, answers=answers, variants=variants),
    )
