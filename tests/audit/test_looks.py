"""The batches of a run that may stop early, who is asked the next one, and what a look decides by the gate."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.audit.design import Design
from flows.audit.looks import SampleBatches, batch_rows, batches_of
from flows.audit.runs import open_run
from flows.audit.stopping import look, rows_of_look
from flows.warehouse import Warehouse
from models_registry.errors import CardError, PromptauditError
from tests.audit.test_grid import design, variants

GATE = "  stop: gate\n  gate: [sensitivity_high <= 0.2, micro_f1_low >= 0.6 at model_id = lexical]\n"
LEXICAL = ("lexical", "t", "simple")


def opened(folder: Path, more: str = GATE, n: int = 42) -> tuple[SampleBatches, Design]:
    own = design(folder, "original: 2, variants: 1", n=n, more=more)
    warehouse = Warehouse(folder / "audit.duckdb")
    warehouse.apply_schema()
    batches = batches_of(warehouse, open_run(warehouse, own))
    assert batches is not None
    return batches, own


def scored(batches: SampleBatches, *rows: str) -> None:
    """Puts rows into the scorecard: estimate and bounds of sensitivity and of micro-F1, all but the run's id."""
    with batches.warehouse.write() as con:
        con.execute("create schema if not exists marts")
        con.execute(
            "create or replace table marts.fct_predictions (audit_run_id varchar, model_id varchar, task_id varchar, "
            "strategy varchar, prompt_variant_id varchar, answer_status varchar, is_quarantined boolean)"
        )
        con.execute(
            "create or replace table marts.rpt_audit (audit_run_id varchar, model_id varchar, task_id varchar, "
            "strategy varchar, sensitivity double, sensitivity_corrected double, sensitivity_corrected_low double, "
            "sensitivity_corrected_high double, micro_f1 double, micro_f1_low double, micro_f1_high double)"
        )
        for row in rows:
            con.execute(f"insert into marts.rpt_audit values ('{batches.audit_run_id}', {row})")


def test_every_sample_is_in_one_of_five_batches_of_equal_size(tmp_path: Path) -> None:
    batches, own = opened(tmp_path)
    sizes = [len(each) for each in batches.by_task["t"]]
    assert sum(sizes) == 42
    assert len(sizes) == 5
    assert max(sizes) - min(sizes) <= 1
    named = [name for each in batches.by_task["t"] for name in each]
    assert sorted(named) == sorted(sample.sample_id for sample in own.samples["t"].samples)
    assert named != [sample.sample_id for sample in own.samples["t"].samples]
    assert batch_rows("another", own) == [
        {**row, "audit_run_id": "another"} for row in batch_rows(batches.audit_run_id, own)
    ]
    assert [batches.n_samples("t", batch) for batch in (1, 5)] == [sizes[0], 42]


def test_a_batch_is_asked_of_those_who_go_on_with_all_batches_before_it(tmp_path: Path) -> None:
    batches, own = opened(tmp_path)
    own_variants = variants(own)
    assert batches.running(own, own_variants) == [LEXICAL]
    asked = batches.up_to(2, own, own_variants)
    assert {len(ids) for each in asked for ids in each.dealt.values()} == {batches.n_samples("t", 2)}
    assert [sorted(each.dealt) for each in asked] == [[1, 2], [1], [1], [1]]
    assert list(batches.to_ask(own, own_variants, 4)) == [4, 5]
    scored(batches, "'lexical', 't', 'simple', 0.1, 0.1, 0.08, 0.12, 0.9, 0.88, 0.92")
    batches.land(rows_of_look(batches, look(batches, own, [LEXICAL], 3), 3))
    assert batches.stopped() == {LEXICAL: 3}
    assert batches.n_looked == 3
    assert batches.up_to(4, own, own_variants) == []
    assert list(batches.to_ask(own, own_variants, 4)) == []
    assert batches.notes(own) == [
        (
            f"stopped early: lexical × t × simple after {batches.n_samples('t', 3)} of 42 samples: its rules are decided "
            "(micro_f1_low >= 0.6 at model_id = lexical passed; sensitivity_high <= 0.2 passed)"
        )
    ]


@pytest.mark.parametrize(
    ("sensitivity", "micro_f1", "decisions"),
    [
        # within the limits, but not by what a look demands
        ("0.15, 0.15, 0.11, 0.19", "0.9, 0.88, 0.92", [None, "passed"]),
        ("0.3, 0.3, 0.28, 0.32", "0.9, 0.88, 0.92", ["failed", "passed"]),
        ("0.1, 0.1, 0.08, 0.12", "null, null, null", ["passed", None]),
    ],
)
def test_a_group_stops_where_every_rule_about_it_is_decided(
    tmp_path: Path, sensitivity: str, micro_f1: str, decisions: list[str | None]
) -> None:
    batches, own = opened(tmp_path, n=120)
    scored(batches, f"'lexical', 't', 'simple', {sensitivity}, {micro_f1}")
    (seen,) = look(batches, own, [LEXICAL], 1)
    assert [each.decision for each in seen.subjects] == decisions
    assert seen.stops == (None not in decisions)


@pytest.mark.parametrize(("n_invalid", "stops"), [(4, False), (12, True)])
def test_a_group_goes_on_whose_wording_may_be_quarantined_by_chance(
    tmp_path: Path, n_invalid: int, stops: bool
) -> None:
    batches, own = opened(tmp_path, n=120)
    scored(batches, "'lexical', 't', 'simple', 0.1, 0.1, 0.08, 0.12, 0.9, 0.88, 0.92")
    with batches.warehouse.write() as con:  # of 24 answers; the limit is a tenth
        con.execute(
            f"insert into marts.fct_predictions select '{batches.audit_run_id}', 'lexical', 't', 'simple', 'v1', "
            f"if(range < {n_invalid}, 'unparsed', 'valid'), true from range(24)"
        )
    (seen,) = look(batches, own, [LEXICAL], 1)
    assert seen.stops == stops
    (seen,) = look(batches, own, [LEXICAL], 1, is_measurable=False)
    assert not seen.stops


def test_of_few_samples_the_first_batches_have_them(tmp_path: Path) -> None:
    batches, _ = opened(tmp_path, n=2)
    assert [len(each) for each in batches.by_task["t"]] == [1, 0, 1, 0, 0]


def test_a_group_that_no_rule_is_about_and_one_without_a_row_go_on(tmp_path: Path) -> None:
    batches, own = opened(tmp_path, more=GATE.replace("sensitivity_high <= 0.2, ", ""))
    scored(batches)
    other = ("other", "t", "simple")
    seen = look(batches, own, [LEXICAL, other], 1)
    assert [each.stops for each in seen] == [False, False]
    rows = rows_of_look(batches, seen, 1)
    assert [(row["model_id"], row["subject"], row["decision"]) for row in rows] == [
        ("lexical", "micro_f1_low >= 0.6 at model_id = lexical", None), ("other", "none", None),
    ]  # fmt: skip


def test_without_a_run_to_hold_it_against_a_night_asks_everything(tmp_path: Path) -> None:
    own = design(tmp_path, "original: 1, variants: 1", more="  stop: compare\n")
    warehouse = Warehouse(tmp_path / "audit.duckdb")
    warehouse.apply_schema()
    run = open_run(warehouse, own)
    assert batches_of(warehouse, run) is None
    assert warehouse.read("select stop, base_run_id from raw.designs") == [{"stop": None, "base_run_id": None}]
    assert warehouse.read("select * from raw.sample_batches") == []


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("  stop: gate\n", "stop: gate stops where rules of the gate on values are decided, and it has none"),
        ("  stop: gate\n  gate: [no regressed on micro_f1]\n", "and it has none"),
        (GATE.replace("sensitivity_high <= 0.2", "no changed"), "gate.0: 'no changed' is about a difference"),
        (
            GATE.replace("sensitivity_high <= 0.2", "cost_usd <= 1"),
            "gate.0: a run that may stop early decides rules on",
        ),
        (
            "  stop: compare\n  gate: [accuracy_mean >= 0.2]\n",
            "gate.0: a run that may stop early decides rules on figures that have an interval",
        ),
        (
            "  stop: compare\n  design: {wordings_per_sample: 2}\n",
            "stop needs all wordings of a sample, and design.wordings_per_sample asks some",
        ),
    ],
)
def test_a_card_that_cannot_be_decided_early_is_refused(tmp_path: Path, more: str, said: str) -> None:
    with pytest.raises(PromptauditError) as raised:
        design(tmp_path, "original: 1, variants: 1", more=more)
    assert isinstance(raised.value, CardError) or "CardError" in str(raised.value)
    assert said in str(raised.value)
