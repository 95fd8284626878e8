"""Whether the interval of a judge's sensitivity holds the truth: few wordings of a rubric, two of three classes in use."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from promptaudit.udfs.measures.sensitivity import sensitivity_interval

N_WORLDS, N_CLASSES = 150, 3  # match, no match, no readable verdict


def how_right(n: int, draw: np.random.Generator) -> NDArray[np.float64]:
    """Answers of which some are plainly right, some plainly wrong and some between."""
    return draw.normal(0, 1.5, n) + draw.choice([-1.5, 2.0], n)


@pytest.mark.parametrize(("n_answers", "n_wordings"), [(100, 6), (40, 6), (100, 3)])
@pytest.mark.parametrize(("by_wording", "by_both"), [(0.3, 0.3), (0.05, 0.6)])
def test_the_interval_of_a_judge_holds_the_truth(
    n_answers: int, n_wordings: int, by_wording: float, by_both: float
) -> None:
    # a judge is mild or harsh by its rubric's wording, and wavers on each answer with it
    draw = np.random.default_rng(n_answers + n_wordings)
    sample, wording = (codes.ravel() for codes in np.indices((n_answers, n_wordings)))
    intervals = []
    for _ in range(N_WORLDS):
        score = how_right(n_answers, draw)[:, None] + draw.normal(0, by_wording, n_wordings)
        is_match = (score + draw.normal(0, by_both, score.shape) > 0).astype(np.int64)
        intervals.append(sensitivity_interval(sample, wording, None, is_match.ravel(), np.ones(len(sample)), N_CLASSES))
    truth = np.mean([each.mean for each in intervals])  # of as many wordings, on other answers
    held = sum(each.low <= truth <= each.high for each in intervals)
    assert held >= binom.ppf(1e-4, N_WORLDS, 0.95)
