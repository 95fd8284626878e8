"""Refused samples are told beside what their other wordings were answered."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from promptaudit.query.diagnosis.material import Material
from promptaudit.query.diagnosis.refusals import RefusedSample, find_refusals
from promptaudit.query.diagnosis.terminal import lines_of
from promptaudit.system.display.policy import Texts, policy_of
from promptaudit.warehouse import Warehouse
from tests.query.diagnosis.test_diagnose import N, answers, unit_of, without_weakness

COLUMNS = (
    "audit_run_id, model_id, task_id, strategy, prompt_variant_id, variant_index, is_original, sample_id, repetition, "
    "completion, label, answer_status"
)
SORRY = "I'm sorry, <b>I can't</b>"


def row(sample: str, variant: int, label: str | None, status: str = "valid", **changes: Any) -> tuple[Any, ...]:
    of = {"run": "r", "model": "m"} | changes
    said = SORRY if status == "refused" else label
    return (of["run"], of["model"], "t", "simple", f"v{variant}", variant, variant == 0, sample, 1, said, label, status)


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    """Of four wordings s1 is refused under one; s2 under both of its two; s3 never but where nobody looks."""
    rows = [row("s1", 0, "place"), row("s1", 1, None, "refused"), row("s1", 2, "place"), row("s1", 3, None, "unparsed")]
    rows += [
        row("s2", 0, None, "refused"),
        row("s2", 1, None, "refused"),
        row("s3", 0, "place"),
        row("s3", 1, None, "error"),
    ]
    rows += [row("s3", 1, None, "refused", **other) for other in ({"run": "q"}, {"model": "n"})]
    warehouse = Warehouse(tmp_path / "audit.duckdb")
    warehouse.published.path.parent.mkdir()
    with duckdb.connect(warehouse.published.path) as con:
        con.execute("create schema marts")
        types = ("varchar",) * 5 + ("integer", "boolean", "varchar", "integer", "varchar", "varchar", "varchar")
        named = ", ".join(f"{name} {kind}" for name, kind in zip(COLUMNS.split(", "), types, strict=True))
        con.execute(f"create table marts.fct_predictions ({named})")
        con.executemany(f"insert into marts.fct_predictions values ({', '.join('?' * len(types))})", rows)
    return warehouse


def refusals(warehouse: Warehouse, policy: str) -> tuple[RefusedSample, ...]:
    unit = unit_of(answers(np.random.default_rng(1), np.full(N, 0.9), np.zeros(N, bool)))
    material = Material((unit,), {"t": {"s1": "Where is\nit?"}}, Texts(policy_of(policy)))
    return find_refusals(warehouse, "r", material)


def test_refused_samples_stand_with_their_other_answers(warehouse: Warehouse) -> None:
    found = refusals(warehouse, "excerpt")
    assert [(each.sample_id, each.n_refused, each.n_answers) for each in found] == [("s2", 2, 2), ("s1", 1, 4)]
    assert found[1].other_answers == [("place", 2), (None, 1)]
    assert (found[1].n_variants_refused, found[1].n_variants, found[1].is_original_refused) == (1, 4, False)
    diagnosis = replace(without_weakness(1, "steady"), refusals=found)
    lines = list(lines_of(diagnosis, top=1))
    at = lines.index("refused samples")
    assert lines[at + 1 : at + 4] == [
        "  s2  2 of 2 answers are refusals, under 2 of 2 wordings, the original among them; other answers: none",
        "      m, t, simple",
        f"      {SORRY}",
    ]
    assert lines[at + 4] == "  1 more"
    assert (
        "  s1  1 of 4 answers are refusals, under 1 of 4 wordings, not the original; other answers: place 2, (no label) 1"
        in lines_of(diagnosis, top=2)
    )


def test_texts_of_sensitive_tasks_are_withheld(warehouse: Warehouse) -> None:
    found = refusals(warehouse, "none")
    assert {(each.refusal, each.input) for each in found} == {(None, None)}
