"""A rule's spread beside a judge's, in worlds where the truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from promptaudit.udfs.templates.prediction_powered import rectified_accuracy
from promptaudit.udfs.templates.rule_against_judge import RuleAgainstJudge, rule_against_judge
from promptaudit.udfs.templates.spread import spread
from tests.udfs.templates.ruled_worlds import Table, accuracies_of, ruled_world


def compared(
    rule: Table, judge: Table, n_resamples: int = 400, weight: Table | None = None, right: Table | None = None
) -> RuleAgainstJudge:
    """Of two tables of questions x templates, and of how many answers people's rulings stand for."""
    sample, variant = np.indices(rule.shape).reshape(2, -1)
    unknown = np.full(rule.shape, np.nan)
    ruled = [unknown] * 4
    if weight is not None and right is not None:
        ruled = [np.ones(rule.shape), weight, weight * judge, weight * right]
    return rule_against_judge(
        sample, variant, rule.ravel(), judge.ravel(), *(each.ravel() for each in ruled), 7, n_resamples
    )


def right(rng: np.random.Generator, n: int, accuracies: Table) -> Table:
    """Answers to n questions, right with each template's accuracy; templates share half of a question's luck."""
    shape = (n, len(accuracies))
    luck = np.where(rng.random(shape) < 0.5, rng.random((n, 1)), rng.random(shape))
    return np.asarray(luck < accuracies, np.float64)


def meaning(rng: np.random.Generator, n: int, n_variants: int) -> Table:
    """A model that is right or wrong about a question whatever the template."""
    return np.repeat(np.asarray(rng.random((n, 1)) < 0.7, np.float64), n_variants, axis=1)


def test_phrasing_follows_the_template_and_meaning_does_not() -> None:
    rng = np.random.default_rng(1)
    judge = meaning(rng, 100, 12)
    # the rule cannot read a part of the right answers, from none to most by template
    rule = judge * right(rng, 100, np.linspace(0.3, 1, 12))
    got = compared(rule, judge)
    assert got.spread_rule > 0.1
    assert got.spread_judge == 0
    assert got.share_removed == 1
    assert got.difference_low > 0.05
    assert got.share_removed_low > 0.5

    # a judge wrong in one of fifty verdicts spreads by luck alone
    wrong = rng.random(judge.shape) < 0.02
    unsteady = compared(rule, np.where(wrong, 1 - judge, judge))
    assert unsteady.std_judge > 0
    assert unsteady.share_removed > 0.85
    assert unsteady.share_removed_low > 0.5
    assert unsteady.difference_low > 0


def test_answers_that_truly_change() -> None:
    rng = np.random.default_rng(2)
    answers = right(rng, 100, np.linspace(0.3, 0.9, 12))
    # rule and judge misread one in fifty each, not the same ones
    rule, judge = (np.where(rng.random(answers.shape) < 0.02, 1 - answers, answers) for _ in range(2))
    got = compared(rule, judge)
    assert got.spread_rule > 0.1
    assert got.spread_judge > 0.1
    assert got.difference_low < 0 < got.difference_high
    assert got.share_removed == pytest.approx(0, abs=0.08)
    assert -0.3 < got.share_removed_low < 0 < got.share_removed_high < 0.3


def test_templates_without_effect() -> None:
    rng = np.random.default_rng(3)
    even = np.full(12, 0.6)
    got = [compared(right(rng, 100, even), right(rng, 100, even), n_resamples=100) for _ in range(60)]
    assert min(figure.std_rule for figure in got) > 0.01
    for side in ("spread_rule", "spread_judge"):
        spreads = [getattr(figure, side) for figure in got]
        assert np.mean(np.array(spreads) == 0) > 0.4
        assert np.quantile(spreads, 0.9) < 0.035
    # nothing to remove, and no difference: in one of twenty at most, as 95 % says
    assert np.mean([np.isnan(figure.share_removed) for figure in got]) >= 0.95
    assert np.mean([figure.difference_low <= 0 <= figure.difference_high for figure in got]) >= 0.95


def test_a_judge_that_errs_at_random_removes_spread_and_people_give_it_back() -> None:
    rng = np.random.default_rng(4)
    rule = right(rng, 1500, np.linspace(0.2, 0.8, 12))
    wrong = rng.random(rule.shape) < 0.1
    weight = (rng.random(rule.shape) < 0.3).astype(float)
    # right with probability a, the answer passes with .9 a + .1 (1 - a) = .1 + .8 a: a deviation shrinks to .8 of it
    got = compared(rule, np.where(wrong, 1 - rule, rule), 400, weight, rule)
    assert got.share_removed == pytest.approx(0.2, abs=0.04)
    assert got.share_removed_low > 0.1
    assert got.share_removed_rectified == pytest.approx(0, abs=0.06)
    assert got.share_removed_rectified == 1 - got.spread_judge_rectified / got.spread_rule
    assert got.share_removed_rectified_low < 0 < got.share_removed_rectified_high
    assert got.difference_rectified_low < 0 < got.difference_rectified_high


def test_a_judge_that_sees_more_spread_removes_less_than_nothing() -> None:
    rng = np.random.default_rng(5)
    got = compared(right(rng, 200, np.linspace(0.5, 0.8, 8)), right(rng, 200, np.linspace(0.1, 0.9, 8)))
    assert got.share_removed < -1
    assert got.share_removed_high < 0
    assert got.difference_high < 0


def test_each_side_is_its_own_spread() -> None:
    rng = np.random.default_rng(6)
    rule, judge = right(rng, 60, np.linspace(0.3, 0.9, 6)), right(rng, 60, np.linspace(0.4, 0.8, 6))
    sample, variant = np.indices(rule.shape).reshape(2, -1)
    got = compared(rule, judge, 100)
    by_rule, by_judge = (spread(sample, variant, table.ravel(), 7, 100) for table in (rule, judge))
    assert (got.spread_rule, got.std_rule) == (by_rule.std_corrected, by_rule.std_sample)
    assert (got.spread_judge, got.std_judge) == (by_judge.std_corrected, by_judge.std_sample)
    assert got.difference == by_rule.std_corrected - by_judge.std_corrected
    assert got.share_removed == pytest.approx(1 - by_judge.std_corrected / by_rule.std_corrected)


def test_the_same_draws_stand_on_both_sides() -> None:
    rule = right(np.random.default_rng(7), 50, np.linspace(0.2, 0.9, 6))
    # half the rule's figures everywhere: half its spread in each resample, so the share has no uncertainty
    got = compared(rule, rule / 2, n_resamples=100)
    assert (got.share_removed, got.share_removed_low, got.share_removed_high) == pytest.approx((0.5, 0.5, 0.5))
    assert got.difference_high > got.difference_low


def test_cells_that_either_lacks_are_left_out() -> None:
    rng = np.random.default_rng(8)
    rule, judge = right(rng, 40, np.linspace(0.2, 0.9, 5)), right(rng, 40, np.linspace(0.4, 0.8, 5))
    gappy_rule, gappy_judge = rule.copy(), judge.copy()
    gappy_rule[0, 1] = gappy_judge[1, 2] = np.nan
    got, complete = compared(gappy_rule, gappy_judge), compared(rule[2:], judge[2:])
    assert got.n_samples == 38
    assert got[:8] == complete[:8]
    assert got[20:] == complete[20:]
    both = ~np.isnan(gappy_rule + gappy_judge)
    assert got.std_rule == pytest.approx(np.std([rule[both[:, v], v].mean() for v in range(5)], ddof=1))
    # a template that the judge never saw is none of theirs
    unseen = np.concatenate([judge[:, :4], np.full((40, 1), np.nan)], axis=1)
    assert compared(rule, unseen) == pytest.approx(compared(rule[:, :4], judge[:, :4]), nan_ok=True)


def judged_by_format(rng: np.random.Generator, harshness: float, n: int = 200) -> tuple[Table, Table, Table]:
    """Rule, judge and truth of a model that no template changes.

    From none to 60 % of its answers are malformed, by template: the rule reads none of these. The judge passes 95 % of right
    answers and 5 % of wrong ones, of malformed right ones less by the harshness.
    """
    is_right = np.repeat(rng.random((n, 1)) < 0.7, 12, axis=1)
    is_malformed = rng.random((n, 12)) < np.linspace(0, 0.6, 12)
    passes = np.where(is_malformed, 0.95 - harshness, 0.95)
    judge = np.asarray(rng.random((n, 12)) < np.where(is_right, passes, 0.05), np.float64)
    return np.asarray(is_right & ~is_malformed, np.float64), judge, is_right.astype(float)


@pytest.mark.parametrize(("harshness", "raw", "rectified"), [(0.3, 0.7, 0.95), (0.0, 0.97, 0.95)])
def test_a_judge_harsher_on_malformed_answers(harshness: float, raw: float, rectified: float) -> None:
    rng = np.random.default_rng(11)
    shares, bounds = [], []
    for _ in range(20):
        rule, judge, truth = judged_by_format(rng, harshness)
        weight = (rng.permuted(np.tile(np.arange(200)[:, None], 12), axis=0) < 83) * (200 / 83)
        got = compared(rule, judge, 100, weight, truth)
        shares.append((got.share_removed, got.share_removed_rectified))
        bounds.append(got.share_removed_rectified_high)
        assert got[:10] == pytest.approx(compared(rule, judge, 100)[:10])
    assert np.mean(shares, axis=0) == pytest.approx([raw, rectified], abs=0.05)
    assert np.mean(np.array(bounds) >= 1 - 1e-9) >= 0.9  # the truth


def test_the_rectified_spread_is_that_of_rectified_accuracies() -> None:
    world = ruled_world(5, "format", accuracies_of(0), 0, 40)
    rule = np.random.default_rng(13).permuted(world.right, axis=0)
    got = compared(rule, world.judged, 100, world.weight, world.right)
    own = rectified_accuracy(*world.columns(), 7, 100)
    assert (got.spread_judge_rectified, got.spread_judge_rectified_low, got.spread_judge_rectified_high) == (
        pytest.approx(own[4:7], abs=1e-3)  # percentiles of variances there, of spreads here
    )
    assert got.difference_rectified == got.spread_rule - got.spread_judge_rectified
    # nobody ruled under the last template
    world.weight[:, -1] = 0
    assert np.isnan(compared(rule, world.judged, 100, world.weight, world.right)[10:19]).all()


def test_edges() -> None:
    rule = right(np.random.default_rng(10), 30, np.linspace(0.2, 0.9, 6))
    undrawn = compared(rule, rule, n_resamples=0)
    assert undrawn.difference == 0
    assert np.isnan([undrawn.difference_low, undrawn.share_removed]).all()
    one_sample, one_template = compared(rule[:1], rule[:1]), compared(rule[:, :1], rule[:, :1])
    assert np.isnan([*one_sample[:8], *one_sample[10:19]]).all()
    assert one_sample.std_rule >= 0
    assert np.isnan(one_template[:19]).all()
    nothing = compared(rule, np.full(rule.shape, np.nan))
    assert np.isnan(nothing[:19]).all()
    assert nothing[19:] == (0, 0)
