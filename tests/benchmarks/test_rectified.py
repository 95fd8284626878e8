"""Coverage, bias and spread of rectified accuracies where a judge's errors go with something, at full size.

Figures are printed with what was run. 200 worlds a line take two minutes of one core; `RECTIFIED_WORLDS=50` draws fewer.
"""

from __future__ import annotations

import os
from typing import get_args

import numpy as np
import pytest

from promptaudit.udfs.templates.prediction_powered import rectified_accuracy
from tests.udfs.templates.ruled_worlds import N_TEMPLATES, SPREAD, ErrorsGoWith, accuracies_of, ruled_world

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(3600)]

N_WORLDS = int(os.environ.get("RECTIFIED_WORLDS", "200"))


@pytest.mark.parametrize("by_sheet", [False, True], ids=["evenly", "by_sheet"])
@pytest.mark.parametrize("n_a_template", [10, 20, 40, 83])
@pytest.mark.parametrize("true", [0, SPREAD])
@pytest.mark.parametrize("errors", get_args(ErrorsGoWith))
def test_rectified_accuracies(errors: ErrorsGoWith, true: float, n_a_template: int, by_sheet: bool) -> None:
    accuracies = accuracies_of(true)
    deviation = accuracies.std(ddof=1)
    means, templates, covers, widths = [], [], [], []
    for seed in range(N_WORLDS):
        world = ruled_world(seed, errors, accuracies, true, n_a_template, by_sheet=by_sheet)
        got = rectified_accuracy(*world.columns(), seed, 200)
        means.append((got.accuracy - accuracies.mean(), got.std))
        is_in = got.accuracy_low <= accuracies.mean() <= got.accuracy_high
        covers.append((is_in, np.isnan(got.std) or got.std_low <= deviation <= got.std_high))
        widths.append(got.accuracy_high - got.accuracy_low)
        for template in range(0, N_TEMPLATES, 3):
            own = rectified_accuracy(*world.columns(template), seed, 0)
            if not np.isnan(own.accuracy):
                inside = own.accuracy_low <= accuracies[template] <= own.accuracy_high
                templates.append((inside, own.accuracy_high - own.accuracy_low))
    bias, _ = np.mean(means, axis=0)
    spreads = np.array([std for _, std in means])
    root_mean_square = np.sqrt(np.nanmean(np.square(spreads)))
    (covered, covered_std), (covered_template, width) = np.mean(covers, axis=0), np.mean(templates, axis=0)
    print(
        f"\n{errors:9s} spread {deviation:.3f}, {n_a_template} rulings a template: covers {covered_template:.3f} a template "
        f"(width {width:.3f}), {covered:.3f} of the mean (width {np.mean(widths):.3f}), bias {bias:+.4f}; spread "
        f"{np.nanmean(spreads):.3f} (root mean square {root_mean_square:.3f}), covers {covered_std:.3f}"
    )
    assert abs(bias) < 0.008
    assert covered_template >= 0.93
    assert covered >= 0.91  # .95 less two standard errors of 200 worlds
    assert covered_std >= 0.9
