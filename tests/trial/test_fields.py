"""Trials of extraction: accuracy of all fields and of each, before and after, and the samples that are most often wrong."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from promptaudit.prompts.messages import TRIED
from promptaudit.registry.cards import TaskCard
from promptaudit.registry.errors import UsageError
from promptaudit.trial.arms import change_of
from promptaudit.trial.base_run import Base, PromptVariant, SampleChoice, choose, read_base
from promptaudit.trial.effects import effects_of
from promptaudit.warehouse import Warehouse, rows_as
from tests.support.handmade_warehouse import Gated

CARD = TaskCard.model_validate(
    {
        "kind": "extraction",
        "instruction": "Read it.",
        "fields": {"total": "number", "day": "date"},
        "data": {"path": "d.csv"},
    }
)
TASK = {"level": "nominal", "reader": "{}", "card": CARD.model_dump_json(), "fingerprint": "f"}
SAMPLES, WORDINGS = ("s1", "s2", "s3"), 4


def variant(index: int) -> PromptVariant:
    row = dict.fromkeys(PromptVariant._fields) | {"strategy": "simple", "instruction": f"Read it {index}."}
    return rows_as(PromptVariant, [row | {"variant_index": index, "is_original": index == 0}])[0]


def base(card: TaskCard = CARD) -> Base:
    return Base(
        audit_run_id="r",
        audit_id="audit",
        task_id="t",
        card=card,
        models={},
        variants=tuple(map(variant, range(WORDINGS))),
        samples=dict.fromkeys(SAMPLES),  # type: ignore[arg-type]
        format_limits="{}",
    )


def edited(fields: dict[str, Any], **changes: Any) -> TaskCard:
    return TaskCard.model_validate({**CARD.model_dump(exclude_defaults=True), "fields": fields, **changes})


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A run whose total is right under the first half of the wordings unless it was tried, and whose day is wrong for s1."""
    gated = Gated(
        tmp_path_factory.mktemp("fields"), ("dim_audit_runs", "fct_predictions", "fct_field_values", "fct_sensitivity")
    )
    run = gated.run()
    gated._pending.append(("raw.tasks", {"audit_run_id": run, "task_id": "t", "kind": "extraction", **TASK}))
    for place, (sample, cluster) in enumerate(zip(SAMPLES, ("page", "page", None), strict=True)):
        row = {"audit_run_id": run, "task_id": "t", "sample_id": sample, "sample_index": place, "input": "x"}
        gated._pending.append(("raw.samples", {**row, "cluster": cluster}))
    for strategy in ("simple", f"simple{TRIED}"):
        for sample in SAMPLES:
            for index in range(WORDINGS):
                key = {
                    "prediction_id": f"{strategy}{sample}{index}",
                    "strategy": strategy,
                    "sample_id": sample,
                    "repetition": 1,
                }
                is_cut = (strategy, sample, index) == ("simple", "s3", 3)
                said = {**key, "answer_status": "unparsed" if is_cut else "valid"}
                place = {"variant_index": index, "is_original": index == 0}
                gated.row("fct_predictions", run, **said, **place)
                rights = {"total": strategy != "simple" or index < WORDINGS / 2, "day": sample != "s1" and not is_cut}
                for field, is_right in rights.items():
                    gated.row("fct_field_values", run, **said, field=field, is_correct=is_right)
    return gated.published(), run


def test_accuracies_of_all_fields_and_of_each_are_compared(tried: tuple[Path, str]) -> None:
    warehouse, run = tried
    audit = SimpleNamespace(seed=1, resamples=100, min_effect=0.02)
    trial: Any = SimpleNamespace(
        base=base(),
        design=SimpleNamespace(models=("m",), audit=audit),
        strategies=("simple",),
        asks_unchanged=True,
        filler=None,
    )
    (effects,) = effects_of(Warehouse(warehouse), run, trial)
    assert (effects.n_samples, effects.n_variants, effects.when_chosen) == (3, 4, None)
    figures = {
        each.measure: (each.before.figure, each.after.figure, each.difference.figure) for each in effects.measures
    }
    expected = {
        "accuracy:all_fields": (1 / 3, 2 / 3, 1 / 3),  # of s2 and s3 under two of four wordings; of s2 and s3
        "invalid_rate": (1 / 12, 0, -1 / 12),
        "accuracy:field:total": (1 / 2, 1, 1 / 2),
        "accuracy:field:day": (7 / 12, 2 / 3, 1 / 12),
    }
    assert list(figures) == list(expected)
    for measure, three in expected.items():
        assert figures[measure] == pytest.approx(three), measure
    assert {each.verdict for each in effects.measures} == {"too few samples: 10 are needed"}
    lines = list(effects.lines(("unchanged", "tried", "tried - unchanged")))
    assert [line.split()[:2] for line in lines[2:]] == [
        ["Accuracy,", "all_fields"],
        ["Invalid", "rate"],
        ["Accuracy,", "total"],
        ["Accuracy,", "day"],
    ]


def test_the_worst_samples_are_most_often_wrong(tried: tuple[Path, str]) -> None:
    warehouse, run = tried
    which = {"task": "t", "model": None, "strategy": "simple"}
    assert choose(Warehouse(warehouse), run, "worst:2", **which).sample_ids == ("s1", "s2")
    with pytest.raises(UsageError, match="has no mean consistency for task 't'; name samples by their ids"):
        choose(Warehouse(warehouse), run, "least_consistent:2", **which)


def test_samples_keep_their_clusters(tried: tuple[Path, str]) -> None:
    warehouse, run = tried
    chosen = SampleChoice(task_id="t", sample_ids=SAMPLES, model=None, strategy=None)
    samples = read_base(Warehouse(warehouse), run, "nightly", chosen).samples.values()
    assert [sample.cluster for sample in samples] == ["page", "page", None]


@pytest.mark.parametrize(
    ("now", "message"),
    [
        (CARD, "asks as it did"),
        (edited({"total": {"rule": "number", "gold": "sum"}, "day": "date"}), "asks as it did"),
        (edited({"total": "number"}), "its fields are not those"),
        (edited({"total": "exact", "day": "date"}), "its fields are not those"),
    ],
)
def test_an_edit_that_is_none_or_asks_for_other_fields(now: TaskCard, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        change_of(base(), now, None)


def test_an_edited_description_or_format_is_a_change() -> None:
    described = edited({"total": {"rule": "number", "description": "what is to pay"}, "day": "date"})
    assert change_of(base(), described, None).edited is described
    assert change_of(base(), edited({"total": "number", "day": "date"}, output_format="JSON."), None).edited is not None
