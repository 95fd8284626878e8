"""A diagnosis finds a planted weakness and says so where there is none; worlds are built straight on answers."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from promptaudit.query.diagnosis.diagnose import Diagnosis, put_together
from promptaudit.query.diagnosis.groups import find_groups, words_of
from promptaudit.query.diagnosis.material import Material, MeasuredSample, Scorecard, Unit
from promptaudit.query.diagnosis.samples import sample_findings
from promptaudit.query.diagnosis.terminal import NOISE, lines_of
from promptaudit.query.diagnosis.terminal import NOTHING as NOTHING_STANDS_OUT
from promptaudit.system.display.encode import encoded
from promptaudit.system.display.figures import number
from promptaudit.system.display.policy import Texts, policy_of
from promptaudit.udfs.measures.entropy import plug_in_terms

NOTHING = NOTHING_STANDS_OUT.format(word="wording")
LABELS = (None, "number", "place", "person")
N, Q, R = 60, 12, 2
YEAR = np.arange(0, N, 6)  # of class number, every other sample of it


def texts(rng: np.random.Generator, n_words: int = 120) -> list[str]:
    """Texts of words as frequent as in real ones; those of YEAR have the word 'year' too."""
    share = 0.7 / np.arange(1, n_words + 1) ** 0.7
    made = [" ".join(f"w{word}" for word in np.flatnonzero(rng.random(n_words) < share)) for _ in range(N)]
    return [f"{text} Year?" if index in YEAR else f"{text}?" for index, text in enumerate(made)]


def answers(rng: np.random.Generator, steadiness: np.ndarray, by_wording: np.ndarray) -> np.ndarray:
    """Labels of shape (N, Q, R): the gold label with probability `steadiness`, drawn once a wording or in every ask."""
    gold = 1 + np.arange(N) % 3
    draws = rng.random((N, Q, R))
    draws = np.where(by_wording[:, None, None], draws[:, :, :1], draws)
    other = rng.integers(1, 4, (N, Q, R))
    other = np.where(by_wording[:, None, None], other[:, :, :1], other)
    return np.where(draws < steadiness[:, None, None], gold[:, None, None], other)


def unit_of(labels: np.ndarray, strategy: str = "simple", invalid_rate: float = 0.0) -> Unit:
    """A unit as `read_material` makes it."""
    shares = (labels[..., None] == np.arange(4)).mean(axis=2)
    p_tau = shares.mean(axis=1)
    sensitivity = plug_in_terms(p_tau).sum(axis=1) / np.log(4)
    ids = tuple(f"s{index:02}" for index in range(len(labels)))
    gold = 1 + np.arange(len(labels)) % 3
    samples = tuple(
        MeasuredSample(*sample, n_variants=Q)
        for sample in zip(ids, [LABELS[each] for each in gold], p_tau.tolist(), sensitivity.tolist(), strict=True)
    )
    given = {
        sample: (np.repeat(np.arange(Q), labels.shape[2]), labels[index].ravel())
        for index, sample in enumerate(ids)
        if sensitivity[index] > 0
    }
    scorecard = Scorecard(
        model_id="m",
        task_id="t",
        strategy=strategy,
        n_samples=len(labels),
        invalid_rate=invalid_rate,
        invalid_rate_low=invalid_rate / 2,
        n_samples_compared=len(sensitivity),
        n_samples_changed=int((sensitivity > 0).sum()),
        figures={"sensitivity": float(sensitivity.mean())},
    )
    return Unit(
        model_id="m",
        task_id="t",
        strategy=strategy,
        labels=LABELS,
        sample_ids=ids,
        p_tau=p_tau,
        gold=gold,
        sensitivity=sensitivity,
        samples=samples,
        answers=given,
        scorecard=scorecard,
        statuses={"unparsed": 7} if invalid_rate else {},
    )


def diagnosed(units: list[Unit], inputs: list[str], *, sensitive: bool = False, text: str | None = None) -> Diagnosis:
    """The diagnosis of units of one run."""
    of_tasks = {"t": {f"s{index:02}": each for index, each in enumerate(inputs)}}
    findings = [sample_findings(unit, seed=1) for unit in units]
    material = Material(tuple(units), of_tasks, Texts(policy_of(text), frozenset({"t"} if sensitive else ())))
    return put_together("r", "a", material, findings, find_groups(units, of_tasks, findings, 1))


def planted(seed: int) -> Diagnosis:
    """An annotator that is steady but for questions with a year, which it answers by the wording."""
    rng = np.random.default_rng(seed)
    is_weak = np.isin(np.arange(N), YEAR)
    return diagnosed([unit_of(answers(rng, np.where(is_weak, 0.2, 0.98), is_weak))], texts(rng))


WORLDS = ("steady", "noisy", "uneven", "by wording")


def without_weakness(seed: int, world: str) -> Diagnosis:
    """Annotators whose unsteadiness has nothing to do with what is asked."""
    rng = np.random.default_rng([seed, WORLDS.index(world)])
    steadiness, by_wording = np.full(N, 0.98), np.zeros(N, np.bool_)
    if world == "noisy":  # every sample alike, from ask to ask
        steadiness[:] = 0.7
    if world == "uneven":  # a sixth of the samples, from ask to ask
        steadiness[rng.permutation(N)[: N // 6]] = 0.3
    if world == "by wording":  # a sixth, by the wording: there are clusters, and they share nothing
        chosen = rng.permutation(N)[: N // 6]
        steadiness[chosen], by_wording[chosen] = 0.2, True
    return diagnosed([unit_of(answers(rng, steadiness, by_wording))], texts(rng))


@pytest.mark.parametrize("seed", range(3))
def test_a_planted_weakness_is_found_with_its_word(seed: int) -> None:
    found = planted(seed)
    first = found.groups[0]
    assert first.words[0].word == "year"
    assert first.gold_label == "number"
    assert {f"s{index:02}" for index in YEAR} >= set(first.sample_ids)
    assert len(first.sample_ids) >= 7
    assert first.points_to == "prompt"
    assert {row.sample_id for row in found.samples[:8]} <= {f"s{index:02}" for index in YEAR}
    assert not any(NOTHING in line for line in lines_of(found, 5))


@pytest.mark.parametrize("seed", range(3))
def test_without_one_nothing_stands_out(seed: int) -> None:
    found = without_weakness(seed, "steady")
    assert (found.stands_out, found.groups) == ((), ())
    assert NOISE.format(word="wording") in lines_of(found, 5)
    assert NOTHING not in lines_of(found, 5)
    unanimous = np.repeat((1 + np.arange(N) % 3)[:, None, None], Q, axis=1).repeat(R, axis=2)
    assert NOTHING in lines_of(diagnosed([unit_of(unanimous)], ["?"] * N), 5)


def test_noise_is_not_the_prompt_and_the_samples_that_change_are_told_with_the_figure() -> None:
    found = without_weakness(0, "uneven")
    (unit,) = found.units
    assert unit.by_kind.get("noise", 0) >= 8
    assert unit.by_kind.get("prompt", 0) <= 1
    said = "\n".join(lines_of(found, 5))
    n = sum(row.sensitivity is not None and row.sensitivity > 0 for row in found.samples)
    assert f"{n} of {N} samples change their label with the wording" in said
    assert f"Sensitivity {number(unit.figures['sensitivity'])}" in said
    assert "alike" not in said.partition("most sensitive samples")[0]


@pytest.mark.soak
@pytest.mark.parametrize("world", WORLDS)
def test_false_alarms(world: str) -> None:
    # 100 audits each: groups in at most about one of twenty, and as often a sample of noise that is said to be the prompt's
    found = [without_weakness(seed, world) for seed in range(100)]
    with_groups = sum(bool(each.groups) for each in found)
    with_prompts = sum(each.units[0].by_kind.get("prompt", 0) > 0 for each in found)
    assert with_groups <= 10
    if world != "by wording":
        assert with_prompts <= 12
    if world == "steady":
        assert sum(bool(each.stands_out) for each in found) <= 10


@pytest.mark.slow
def test_power() -> None:
    found = [planted(seed) for seed in range(40)]
    assert sum(bool(each.groups) and each.groups[0].words[0].word == "year" for each in found) >= 38


def test_where_each_sample_points() -> None:
    labels = np.repeat((1 + np.arange(N) % 3)[:, None, None], Q, axis=1).repeat(R, axis=2)
    labels[0] = 2  # steadily another label
    labels[1, : Q // 2 + 1] = 0  # no label in more than half
    labels[2, ::2] = 1  # by the wording
    unit = unit_of(labels, invalid_rate=0.2)
    by_id = {each.sample_id: each for each in sample_findings(unit, seed=1)}
    assert [by_id[f"s0{n}"].points_to for n in range(4)] == ["sample_or_label", "output_format", "prompt", None]
    assert by_id["s02"].wording_share == pytest.approx(1)
    once = {each.sample_id: each for each in sample_findings(unit_of(labels[:, :, :1]), seed=1)}
    assert once["s02"].points_to == "prompt_or_noise"
    one_wording = replace(unit_of(labels[:, :1]), sensitivity=np.full(N, np.nan), answers={})
    one_wording.p_tau[2] = [0, 0.5, 0.5, 0]
    assert {each.sample_id: each for each in sample_findings(one_wording, seed=1)}["s02"].points_to == "noise"
    found = diagnosed([unit], ["?"] * N)
    assert [(each.statuses, each.invalid_rate) for each in found.formats] == [({"unparsed": 7}, 0.2)]
    assert any("20.0 % of answers are no label (7 unparsed)" in line for line in lines_of(found, 3))


def test_confusions_count_and_have_intervals() -> None:
    labels = np.repeat((1 + np.arange(N) % 3)[:, None, None], Q, axis=1).repeat(R, axis=2)
    labels[[0, 3, 6, 9, 12, 15], :6] = 2  # of 20 samples of class number six say place under half of the wordings
    found = diagnosed([unit_of(labels)], ["?"] * N)
    (confusion,) = found.confusions
    assert (confusion.gold_label, confusion.said, confusion.n_samples_with_it, confusion.n_samples_mostly) == (
        "number",
        "place",
        6,
        6,
    )
    assert confusion.rate == pytest.approx(6 * 0.5 / 20)
    assert confusion.low is not None
    assert 0.03 < confusion.low < confusion.rate


def test_variants_of_other_kinds_are_no_wordings() -> None:
    rng = np.random.default_rng(1)
    unit = unit_of(answers(rng, np.full(N, 0.2), np.full(N, True)))
    findings = [sample_findings(unit, seed=1)]
    groups = find_groups([unit], {"t": {}}, findings, 1)
    for has_other_kinds, word, other in ((False, "wording", "prompts"), (True, "prompt", "wording")):
        found = put_together("r", "a", Material((unit,), {"t": {}}, Texts(), has_other_kinds), findings, groups)
        said = "\n".join(lines_of(found, 3))
        assert f"labels depend on the {word}, beyond noise" in said
        assert f"of {Q} {word}s; points to the prompt" in said
        assert other not in said
        assert "{" not in said


def test_texts_of_sensitive_tasks_are_withheld() -> None:
    rng = np.random.default_rng(0)
    is_weak = np.isin(np.arange(N), YEAR)
    units, inputs = [unit_of(answers(rng, np.where(is_weak, 0.2, 0.98), is_weak))], texts(rng)
    for found in (diagnosed(units, inputs, sensitive=True), diagnosed(units, inputs, text="none")):
        said = "\n".join(lines_of(found, 50)) + json.dumps(encoded(found))
        assert "withheld" in said
        assert "w1" not in said
        assert "year" not in said.casefold()
    full = diagnosed(units, inputs, sensitive=True, text="full")
    assert any("Year?" in line for line in lines_of(full, 50))


def test_hostile_texts_are_inert() -> None:
    inputs = ["\x1b[31mred\x1b[0m\u202e\x00<script>alert(1)</script>" + "x" * 1000] * N
    rng = np.random.default_rng(0)
    unit = unit_of(answers(rng, np.full(N, 0.5), np.ones(N, np.bool_)), strategy="\x1b]0;own\x07")
    for text in ("excerpt", "full"):
        said = "\n".join(lines_of(diagnosed([unit], inputs, text=text), 5))
        assert all(char.isprintable() or char == "\n" for char in said)


def test_words_are_runs_of_unicode_letters_and_digits() -> None:
    assert words_of("In WHAT year — l\u2019année 1998, größe_x?") == {
        "in",
        "what",
        "year",
        "l\u2019année",
        "1998",
        "grösse",
        "x",
    }
