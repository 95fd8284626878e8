"""Spread over templates where each sample was asked under some of them: against refits, and how often its bounds hold."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from promptaudit.udfs import resampling
from promptaudit.udfs.resampling import generator, weights
from promptaudit.udfs.templates.gaps import SampleParts
from promptaudit.udfs.templates.rule_against_judge import rule_against_judge
from promptaudit.udfs.templates.spread import Spread, bootstrap_fitted_variances, spread
from promptaudit.udfs.two_way_fit import two_way_fit
from tests.udfs.designs.worlds import dealt
from tests.udfs.templates.test_spread import answers, spread_of

Cells = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]


def asked(table: NDArray[np.float64], q: int, key: str = "key") -> Cells:
    """The cells of a table of samples x templates that a balanced incomplete grid asks."""
    sample, template = dealt(*table.shape, q, key)
    return sample, template, table[sample, template]


def fitted(cells: Cells, seed: int = 1, n_resamples: int = 0) -> Spread:
    return spread(*cells, seed, n_resamples, is_incomplete=True)


def test_resamples_are_fitted_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    n, q = 40, 3
    cells = asked(answers(np.random.default_rng(3), n, 8, 0.1), q)
    parts = SampleParts.of(*cells)
    figures = bootstrap_fitted_variances(parts, 9, 30)
    drawn = weights(generator(9, 5), n, 30).astype(int)
    for b in range(30):
        again = np.repeat(np.arange(n), drawn[:, b])
        rows = (again[:, None] * q + np.arange(q)).ravel()
        fit = two_way_fit(np.repeat(np.arange(n), q), cells[1][rows], cells[2][rows])
        assert figures[b] == pytest.approx(fit.effect_variance - fit.effect_noise, abs=1e-12)
    assert fitted(cells, 9, 30).variance_corrected_low == pytest.approx(np.percentile(figures, 2.5))
    monkeypatch.setattr(resampling, "_CHUNK_CELLS", 7 * (40 + 4 * 64))  # seven resamples at a time
    assert bootstrap_fitted_variances(parts, 9, 30) == pytest.approx(figures, abs=1e-15)


def test_the_fit_of_a_full_grid_has_the_spread_of_a_full_grid() -> None:
    table = answers(np.random.default_rng(2), 30, 6, 0.1)
    assert fitted(asked(table, 6), 4, 100) == pytest.approx(spread_of(table, 4, 100), abs=1e-12)


def test_a_template_asked_on_easy_questions_alone_is_no_spread() -> None:
    # every answer depends on its question alone
    question, template = np.indices((12, 4)).reshape(2, -1)
    kept = ((question + template) % 3 != 0) & ((template < 3) | (question > 5))
    cells = question[kept], template[kept], question[kept] / 12
    assert spread(*cells, 1, 0).std > 0.05
    figure = fitted(cells, 1, 100)
    assert (figure.std, figure.range) == pytest.approx((0, 0), abs=1e-12)
    assert figure[4:8] == (0, 0, 0, 0)
    assert figure.mean == pytest.approx(np.mean(question / 12))


def test_resamples_that_leave_templates_uncompared_are_left_out() -> None:
    # one sample alone compares the last template
    cells = asked(answers(np.random.default_rng(5), 20, 4, 0.1), 3)
    sample, template, value = (np.append(each, extra) for each, extra in zip(cells, (20, 4, 1.0), strict=True))
    joined = np.append(sample, 20), np.append(template, 0), np.append(value, 0.0)
    figures = bootstrap_fitted_variances(SampleParts.of(*joined), 1, 200)
    assert np.isnan(figures).mean() == pytest.approx((1 - 1 / 21) ** 21, abs=0.1)
    assert np.isfinite(fitted(joined, 1, 200)[:8]).all()
    apart = fitted((sample, template, value), 1, 50)  # and without its other cell none does
    assert np.isnan(apart[4:8]).all()
    assert apart.n_samples_complete == 20


@pytest.mark.parametrize("sigma", [0.0, 0.05, 0.1])
def test_bounds_hold_the_true_deviation(sigma: float) -> None:
    """100 questions under 4 of 12 templates each; 200 replicates gave .965 to 1.0, as a full grid too wide near 0."""
    rng = np.random.default_rng(int(1000 * sigma))
    figures = [
        fitted(asked(answers(rng, 100, 12, sigma), 4, str(replicate)), replicate, 200) for replicate in range(80)
    ]
    holds = [figure.std_corrected_low <= sigma <= figure.std_corrected_high for figure in figures]
    assert np.mean(holds) >= 0.9
    if sigma == 0.1:
        # bounds that never end would hold it too
        assert np.median([figure.std_corrected_high - figure.std_corrected_low for figure in figures]) < 0.13
        assert np.mean([figure.variance_corrected_low > 0 for figure in figures]) > 0.4
        assert np.mean([figure.std_corrected**2 for figure in figures]) == pytest.approx(sigma**2, rel=0.15)


def test_rule_against_judge_is_undefined_where_no_sample_has_every_template() -> None:
    sample, template, value = asked(answers(np.random.default_rng(1), 30, 6, 0.1), 3)
    figure = rule_against_judge(sample, template, value, 1 - value, *[np.full(len(value), np.nan)] * 4, 1, 50)
    assert figure.n_samples == 0
    assert np.isnan([figure.spread_rule, figure.difference, figure.share_removed, figure.share_removed_low]).all()


def test_a_range_over_templates_is_never_wider_than_accuracies_are() -> None:
    """Of few cells a fit leaves [0, 1]: three of 24 templates a question."""
    rng = np.random.default_rng(2)
    ranges = [fitted(asked((rng.random((30, 24)) < 0.5).astype(float), 3)).range for _ in range(10)]
    assert max(ranges) == 1
