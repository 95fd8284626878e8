"""The query behind what `compare` says in the words of a task, on tables made by hand."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from promptaudit.flows.warehouse.sql import sql

TABLES = """
create schema marts;
create table marts.rpt_run_comparisons (
    comparison_id text, base_run_id text, candidate_run_id text, base_model_id text, model_id text, task_id text, strategy text,
    measure text, verdict text
);
create table marts.fct_p_tau (
    audit_run_id text, model_id text, task_id text, strategy text, sample_id text, gold_label text, label text,
    label_index integer, p_tau double
);
create table marts.dim_samples (audit_run_id text, task_id text, sample_id text, input text, options text[]);
"""


def moved(
    said: dict[str, tuple[str | None, str | None]], *, measure: str = "micro_f1", replaced: tuple[str, ...] = ()
) -> list[dict[str, Any]]:
    """The rows of the query: `said` has what the base and the candidate call each sample, all of which are a."""
    with duckdb.connect() as con:
        con.execute(TABLES)
        compared = ["c", "base", "candidate", "old", "new", "t", "s", measure, "regressed"]
        con.execute("insert into marts.rpt_run_comparisons values (?, ?, ?, ?, ?, ?, ?, ?, ?)", compared)
        for sample, labels in said.items():
            for run, model, label in zip(("base", "candidate"), ("old", "new"), labels, strict=True):
                of_label = [run, model, "t", "s", sample, "a", label, -1 if label is None else ord(label), 1.0]
                con.execute("insert into marts.fct_p_tau values (?, ?, ?, ?, ?, ?, ?, ?, ?)", of_label)
                text = f"{run} of {sample}" if sample in replaced else sample
                con.execute("insert into marts.dim_samples values (?, 't', ?, ?, null)", [run, sample, text])
        return con.execute(sql("comparison", "answers_moved"), {"comparison": "c"}).pl().to_dicts()


def row(label: str | None, n: int, before: int, samples: int) -> dict[str, Any]:
    return {
        "model_id": "new", "task_id": "t", "strategy": "s", "moved_gold_label": "a", "moved_label": label, "n_moved": n,
        "n_moved_before": before, "n_moved_samples": samples,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ({"1": ("a", "b"), "2": ("a", "b"), "3": ("a", None), "4": (None, None)}, [row("b", 2, 0, 4)]),
        ({"1": ("a", None), "2": (None, None), "3": ("b", "b")}, [row(None, 2, 1, 3)]),
        ({"1": ("b", "a"), "2": ("a", "a")}, []),
    ],
)
def test_the_confusion_that_grew_most_is_found_and_no_answer_is_one(
    said: dict[str, tuple[str | None, str | None]], found: list[dict[str, Any]]
) -> None:
    assert moved(said) == found


def test_a_sample_whose_text_was_replaced_counts_for_nothing() -> None:
    said: dict[str, tuple[str | None, str | None]] = {"1": ("a", "b"), "2": ("a", "a"), "3": ("a", "b")}
    assert moved(said, replaced=("3",)) == [row("b", 1, 0, 2)]
    assert moved(said, replaced=("1", "3")) == []


def test_what_only_costs_more_has_no_confusion() -> None:
    assert moved({"1": ("a", "b")}, measure="cost_usd") == []
