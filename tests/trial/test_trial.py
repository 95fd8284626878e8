"""The arms of a trial, and that choosing the worst samples is not taken for a repair."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from promptaudit.plan.design import Design
from promptaudit.prompts.messages import FILLED, TRIED, dressing
from promptaudit.registry.cards import AuditCard, TaskCard
from promptaudit.registry.errors import UsageError
from promptaudit.registry.registry import Registry
from promptaudit.registry.samples import Sample
from promptaudit.trial.arms import change_of
from promptaudit.trial.base_run import Base, PromptVariant
from promptaudit.trial.effects import Effect, compared
from promptaudit.trial.figures import Level, levels
from promptaudit.trial.plan import TrialOptions, arm_names, notes_on
from promptaudit.udfs.differences.answers import paired_values
from promptaudit.udfs.differences.pairs import Compared
from promptaudit.warehouse import rows_as

CARD = TaskCard.model_validate(
    {"labels": ["a", "b"], "instruction": "Say a or b.", "output_format": "One letter.", "data": {"path": "d.csv"}}
)
N, Q, R, C = 200, 12, 2, 4


def variant(strategy: str) -> PromptVariant:
    row = dict.fromkeys(PromptVariant._fields) | {
        "strategy": strategy,
        "instruction": "Say a or b.",
        "variant_index": 0,
    }
    return rows_as(PromptVariant, [row])[0]


def base(card: TaskCard = CARD, strategy: str = "simple") -> Base:
    """A run's one variant."""
    return Base(
        audit_run_id="r",
        audit_id="audit",
        task_id="t",
        card=card,
        models={},
        variants=(variant(strategy),),
        samples={"s": Sample("s", "x", None, {})},
        format_limits="{}",
    )


def edited(**fields: object) -> TaskCard:
    return TaskCard.model_validate({**CARD.model_dump(exclude_defaults=True), **fields})


def test_names_of_arms() -> None:
    assert arm_names(("simple", "detail"), unchanged=True, filler=True) == (
        "simple",
        "simple+filler",
        "simple+tried",
        "detail",
        "detail+filler",
        "detail+tried",
    )
    assert arm_names(("simple",), unchanged=False, filler=False) == ("simple+tried",)
    assert arm_names(("simple",), unchanged=True, filler=False) == ("simple", "simple+tried")
    assert {dressing(f"one_shot{ending}") for ending in ("", FILLED, TRIED)} == {"one_shot"}


@pytest.mark.parametrize(
    ("now", "message"),
    [
        (CARD, "asks as it did"),
        (edited(labels=["a", "c"]), "its labels are not those"),
        (edited(labels=["b", "a"]), "its labels are not those"),
        (edited(level="ordinal"), "level is not as in run r"),
        (edited(data={"path": "other.csv"}), "asks as it did"),
    ],
)
def test_an_edit_that_is_none_or_another_question(now: TaskCard, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        change_of(base(), now, None)


def test_an_empty_text_is_nothing_to_try() -> None:
    with pytest.raises(UsageError, match="--add: a text is wanted"):
        change_of(base(), CARD, "  \n")


def test_an_edited_reader_or_format_is_a_change() -> None:
    assert change_of(base(), edited(reader="label_in_text"), None).edited is not None
    assert change_of(base(), edited(output_format="A letter."), None).edited is not None


@pytest.mark.parametrize("has_other_kinds", [True, False])
def test_that_a_base_run_chose_by_other_prompts_is_said(*, has_other_kinds: bool) -> None:
    of = replace(base(), has_other_kinds=has_other_kinds)
    design = Design(
        audit_id="audit",
        audit=AuditCard(tasks=["t"], models=["m"]),
        registry=Registry(),
        tasks={"t": CARD},
        templates={},
        models={},
        judges={},
        samples={},
        fingerprint="",
        plan_fingerprint="",
    )
    notes = notes_on(of, design, [variant(f"simple{TRIED}")], TrialOptions(audit="audit", on="worst:1", added="x"))
    assert [note for note in notes if "asks the wordings alone" in note] == list(notes)
    assert bool(notes) == has_other_kinds


def draws(rng: np.random.Generator, p: np.ndarray) -> np.ndarray:
    """Counts (N, Q, C) of answers that each wording draws once a sample and says in every repetition."""
    labels = np.array([rng.choice(C, Q, p=own) for own in p])
    return (labels[..., None] == np.arange(C)) * float(R)


def worst(counts: np.ndarray, n: int = 30) -> np.ndarray:
    """The n most sensitive samples."""
    p = counts.sum(axis=1) / (Q * R)
    entropy = -np.where(p > 0, p * np.log(np.maximum(p, 1e-300)), 0).sum(axis=1)
    return np.argsort(-entropy, kind="stable")[:n]


def difference_of(before: np.ndarray, after: np.ndarray) -> Compared:
    """How far the sensitivity of samples moved between two arms, counts of shape (N, Q, C) each, N/A first."""
    parts = []
    for side, counts in enumerate((before, after)):
        sample, wording, label = (axis.repeat(R) for axis in np.nonzero(counts))
        place = np.tile(np.arange(1, R + 1), len(sample) // R)
        own = np.full(len(sample), side)
        parts.append((own, sample, wording, own * 0 - 1, wording == 0, place, label - 1, own * 0 - 1))
    found = paired_values(*map(np.concatenate, zip(*parts, strict=True)), "abc", "nominal", are_drawn=False)
    return next(compared(row) for row in found if row.measure == "sensitivity")


def test_choosing_the_worst_is_no_repair() -> None:
    # a model that says the same to the same prompt: unchanged prompts asked again are the base run's answers to the digit,
    # so that any other wording seems to help; a filler is such a wording, and beside it nothing is left
    p = np.tile([0.0, 0.97, 0.02, 0.01], (N, 1))
    against_unchanged = against_filler = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        unchanged, filler, tried = (draws(rng, p) for _ in range(3))
        chosen = worst(unchanged)
        against_unchanged += difference_of(unchanged[chosen], tried[chosen]).p_value <= 0.05
        against_filler += difference_of(filler[chosen], tried[chosen]).p_value <= 0.05
    assert against_unchanged >= 95
    assert against_filler <= 10


def test_a_repair_is_found_beside_the_filler() -> None:
    weak, sound = np.array([0.0, 0.4, 0.3, 0.3]), np.array([0.0, 0.97, 0.02, 0.01])
    for seed in range(20):
        rng = np.random.default_rng(seed)
        p = np.tile(sound, (N, 1))
        p[:20] = weak
        chosen = worst(draws(rng, p))
        filler, tried = draws(rng, p), draws(rng, np.tile(sound, (N, 1)))
        found = difference_of(filler[chosen], tried[chosen])
        assert found.p_value <= 0.05
        assert found.difference < 0


def test_levels_by_hand() -> None:
    # two samples, two wordings; gold is the label at place 1; the second sample is N/A under its second wording
    counts = np.array([[[0, 2, 0], [0, 2, 0]], [[0, 2, 0], [2, 0, 0]]], np.float64)
    found = levels(counts, np.array([1, 1]), seed=1, n_resamples=100)
    assert found["sensitivity"].figure == pytest.approx(np.log(2) / np.log(3) / 2)
    assert found["micro_f1"].figure == pytest.approx(0.75)
    assert found["invalid_rate"].figure == pytest.approx(0.25)
    # distances of the four ordered pairs: 0, 1/2, 1/2, 0
    assert found["consistency"].figure == pytest.approx(0.75)
    assert "micro_f1" not in levels(counts, np.array([1, -1]), seed=1, n_resamples=100)
    assert "sensitivity" not in levels(counts[:, :1], np.array([1, 1]), seed=1, n_resamples=100)


@pytest.mark.parametrize(
    ("measure", "low", "high", "q", "verdict"),
    [
        ("sensitivity", -0.4, -0.1, 0.01, "improved"),
        ("sensitivity", 0.1, 0.4, 0.01, "regressed"),
        ("micro_f1", 0.1, 0.4, 0.01, "improved"),
        ("consistency", -0.4, -0.1, 0.01, "regressed"),
        ("micro_f1", 0.1, 0.4, 0.06, "none_shown"),
        ("micro_f1", -0.01, 0.01, 0.9, "same"),
        ("consistency", None, None, np.nan, "too few samples: 10 are needed"),
    ],
)
def test_verdicts(measure: str, low: float | None, high: float | None, q: float, verdict: str) -> None:
    level, beside = Level(0.0), Level(0.1, -0.9, 0.9)
    beyond = Level(None if low is None or high is None else (low + high) / 2, low, high)
    plain = Effect(
        measure=measure, before=level, filler=None, after=level, difference=beyond, beyond_filler=None, p_value=None
    )
    controlled = replace(plain, filler=level, difference=beside, beyond_filler=beyond)
    for effect in (plain, controlled):
        assert effect.judged(q, 0.02, is_unconfirmed=False).verdict == verdict
    if verdict in ("improved", "regressed"):
        assert plain.judged(q, 0.02, is_unconfirmed=True).verdict == "unconfirmed"
