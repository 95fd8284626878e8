from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from promptaudit.report.sections.rule_against_judge import (
    conclusion,
    errors_on_controls,
    finding,
    findings,
    vouched,
    why_no_share,
)
from promptaudit.report.terminal.scorecard import vouching
from promptaudit.udfs.templates.rule_against_judge import rule_against_judge
from promptaudit.udfs.templates.spread import spread

N_SAMPLES, N_VARIANTS, N_RESAMPLES = 200, 12, 400


def row(**changes: Any) -> dict[str, Any]:
    """A row of rpt_rule_against_judge: a spread of .2 under the rule, .01 under an unverified judge, 95 % of it removed."""
    of = {"model_id": "m", "task_id": "t", "rule": "token_f1", "judge": "judge:j", "n_variants": 12, "n_samples": 200}
    known = {"spread_rule": (0.2, 0.15, 0.25), "spread_judge": (0.01, 0.0, 0.02), "difference": (0.19, 0.14, 0.24)}
    known |= {"share_removed": (0.95, 0.9, 1.0)}
    figures = {f"{name}{end}": own[k] for name, own in known.items() for k, end in enumerate(("", "_low", "_high"))}
    unknown = [f"{name}_rectified{end}" for name in ("difference", "share_removed") for end in ("", "_low", "_high")]
    unknown += ["spread_judge_rectified", "spread_judge_rectified_low", "accuracy_rectified"]
    errors = {"error_rate_right": 0.0, "error_rate_wrong": 0.05, "error_rate_blank": None, "error_rate_injected": None}
    return (
        {**of, **figures, **dict.fromkeys(unknown), "n_ruled": 0, "judge_state": "judge_unverified"} | errors | changes
    )


def world(seed: int, phrasing: float, effect: float, judge_errs: float = 0.0) -> dict[str, Any]:
    """A row as the marts have it, of a simulated model.

    It knows 70 % of the answers. Under each template it says a share of `phrasing` x u of them (u evenly from 0 to 1 over
    the templates) in words that the rule cannot read, and does not know `effect` x u of them. The judge reads all words and
    errs at random.
    """
    rng = np.random.default_rng(seed)
    strength = np.linspace(0, 1, N_VARIANTS)
    shape = (N_SAMPLES, N_VARIANTS)
    is_right = (rng.random((N_SAMPLES, 1)) < 0.7) & (rng.random(shape) >= effect * strength)
    is_read = rng.random(shape) >= phrasing * strength
    rule = (is_right & is_read).astype(float).ravel()
    judge = (is_right ^ (rng.random(shape) < judge_errs)).astype(float).ravel()
    samples, variants = (np.asarray(codes.ravel(), np.int64) for codes in np.indices(shape))
    unknown = np.full(rule.shape, np.nan)
    compared = rule_against_judge(samples, variants, rule, judge, *[unknown] * 4, 1, N_RESAMPLES)._asdict()
    intervals = {}
    for name, value in (("rule", rule), ("judge", judge)):
        found = spread(samples, variants, value, 1, N_RESAMPLES)
        intervals[f"spread_{name}_low"] = found.std_corrected_low
        intervals[f"spread_{name}_high"] = found.std_corrected_high
    known = {name: None if np.isnan(value) else value for name, value in (compared | intervals).items()}
    return row(**known)


@pytest.mark.parametrize("seed", range(5))
def test_a_spread_that_phrasing_makes_is_the_rules(seed: int) -> None:
    found = world(seed, phrasing=0.6, effect=0.0)
    assert finding(found) == "most"
    assert conclusion(found).startswith("Most of the spread is the rule's: ")


@pytest.mark.parametrize("seed", range(5))
def test_a_spread_of_the_answers_stays_under_the_judge(seed: int) -> None:
    found = world(seed, phrasing=0.0, effect=0.6)
    assert finding(found) == "stays"
    assert "a difference that may be 0" in conclusion(found)


@pytest.mark.parametrize("seed", range(5))
def test_templates_without_effect_show_none(seed: int) -> None:
    found = world(seed, phrasing=0.0, effect=0.0)
    assert finding(found) == "none"
    assert why_no_share(found) == "the rule's spread may be 0"
    assert conclusion(found).startswith("No effect of the templates is shown: ")


def test_a_judge_that_guesses_is_not_taken_for_one_that_sees_no_spread() -> None:
    # it rules half of all answers wrong: a spread of (1 - .5 - .5) x any is 0
    found = world(1, phrasing=0.0, effect=0.6, judge_errs=0.5)
    assert finding(found) == "most"
    assert finding(found | {"error_rate_right": 0.5, "error_rate_wrong": 0.5}) == "judge_errs"
    assert "would alone remove 100 %" in conclusion(found | {"error_rate_right": 0.5, "error_rate_wrong": 0.5})


def test_the_sentence_has_the_figures() -> None:
    assert conclusion(row()) == (
        "Most of the spread is the rule's: 0.200 under the rule, 0.010 under the judge; the judge removes 95 % of it "
        "[90 %, 100 %]. The judge is unverified: nobody has ruled beside it."
    )
    assert conclusion(row(spread_rule_low=0.0, spread_rule_high=0.03)) == (
        "No effect of the templates is shown: the spread may be 0 under the rule (at most 0.030) and under the judge (at "
        "most 0.020)."
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"share_removed_low": 0.51}, "most"),
        ({"share_removed_low": 0.5}, "part"),
        ({"share_removed_low": 0.1, "share_removed_high": 0.49}, "little"),
        ({"share_removed_low": 0.1, "share_removed_high": 0.5}, "part"),
        ({"difference_low": 0.0, "spread_judge_low": 0.01, "share_removed_high": 0.49}, "stays"),
        ({"difference_low": 0.0, "spread_judge_low": 0.01, "share_removed_high": 0.5}, "undecided"),
        ({"difference_low": 0.0}, "undecided"),
        ({"difference_low": -0.2, "difference_high": -0.1, "spread_judge_low": 0.2}, "more"),
        ({"spread_rule_low": 0.0}, "none"),
        ({"spread_rule_low": 0.0, "spread_judge_low": 0.01}, "only_judge"),
        ({"spread_rule_low": 0.0, "difference_high": -0.01}, "only_judge"),
        ({"error_rate_right": 0.85}, "judge_errs"),  # .85 + .05 = .9, the lower bound of the share
        ({"error_rate_right": 0.84}, "most"),
        ({"error_rate_right": None}, "most"),
        ({"difference_low": None, "difference_high": None}, "unmeasured"),
        ({"spread_judge": None}, "unmeasured"),
    ],
)
def test_a_finding_follows_the_intervals(changes: dict[str, Any], expected: str) -> None:
    assert finding(row(**changes)) == expected
    assert conclusion(row(**changes)).endswith(".")


def test_a_verified_judge_is_read_by_its_rectified_figures() -> None:
    # people see twice the judge's spread, as large as the rule's
    rectified = {"judge_state": "verified", "n_ruled": 600, "spread_judge": 0.1, "spread_judge_low": 0.05}
    rectified |= {"spread_judge_rectified": 0.2, "spread_judge_rectified_low": 0.1, "difference_rectified": 0.0}
    rectified |= {"difference_rectified_low": -0.1, "difference_rectified_high": 0.1, "share_removed_rectified": 0.0}
    rectified |= {"share_removed_rectified_low": -0.5, "share_removed_rectified_high": 0.4}
    assert finding(row(**rectified)) == "stays"
    assert "0.200 under the judge" in conclusion(row(**rectified))
    removed = rectified | {
        "difference_rectified_low": 0.1,
        "share_removed_rectified_low": 0.6,
        "error_rate_wrong": 1.0,
        "share_removed_rectified_high": 0.9,
    }
    assert finding(row(**removed)) == "most"  # what controls say gives way to what people say
    assert conclusion(row(**removed)).endswith(
        "Its own errors are taken out by 600 answers that people ruled on, "
        "and the intervals include what is uncertain about them."
    )


def test_a_judge_whose_errors_make_a_spread() -> None:
    rectified = {"judge_state": "verified", "n_ruled": 800, "spread_judge": 0.06, "spread_judge_low": 0.04}
    rectified |= {
        "spread_judge_rectified": 0.01,
        "spread_judge_rectified_low": 0.0,
        "spread_judge_rectified_high": 0.03,
    }
    rectified |= {"difference_rectified_low": 0.1, "difference_rectified_high": 0.2, "share_removed_rectified": 0.95}
    rectified |= {"share_removed_rectified_low": 0.8, "share_removed_rectified_high": 1.0}
    assert finding(row(**rectified)) == "most"
    # the spread that its harshness makes is none of the answers'
    none = {"spread_rule_low": 0.0, "difference_rectified_low": -0.01}
    assert finding(row(**rectified | none)) == "none"
    assert finding(row(**rectified | none | {"spread_judge_rectified_low": 0.01})) == "only_judge"
    assert vouching(row(**rectified)).endswith("; 800 answers that people ruled on take its own errors out")


def test_what_vouches_for_a_judge_is_said() -> None:
    assert (
        vouched(row(n_ruled=9))
        == "The judge is unverified: 9 answers that people ruled on are too few under some template."
    )
    assert vouched(row(error_rate_wrong=None)).endswith("no controls show how often it errs.")
    assert errors_on_controls(row(error_rate_right=0.7, error_rate_wrong=0.7)) == 1


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"n_variants": 1}, "fewer than two templates"),
        ({"spread_rule": None}, "fewer than two questions"),
        ({"spread_rule_low": None}, "no resamples"),
    ],
)
def test_what_is_not_measured_says_why(changes: dict[str, Any], reason: str) -> None:
    assert reason in conclusion(row(**{"spread_rule_low": None} | changes))
    assert why_no_share(row(spread_rule_low=None)) == "not measured"


def test_findings_name_the_models_and_no_more_than_fit() -> None:
    rows = [row(model_id=f"m{place}") for place in range(10)]
    assert findings(rows) == [("Most of the spread is the rule's", "m0, m1, m2, m3, m4, m5, m6, m7 and 2 more")]
    differing = [row(), row(judge="judge:other", spread_rule_low=0.0)]
    assert findings(differing) == [
        ("Most of the spread is the rule's", "m (judge:j)"),
        ("No effect of the templates is shown", "m (judge:other)"),
    ]
    alike = [row(), row(judge="judge:other"), row(rule="math_equal"), row(rule="math_equal", judge="judge:other")]
    assert findings(alike) == [("Most of the spread is the rule's", "m (token_f1), m (math_equal)")]
