"""Worlds of templates and models whose true rankings are known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from promptaudit.udfs.templates.rankings import CorrectedRanking, corrected_ranking, ranking_consistency

N_TEMPLATES, N_MODELS = 12, 6


class RankedNight(NamedTuple):
    """The true mean Spearman of a night, the plain one, and the corrected one."""

    truth: float
    plain: float
    found: CorrectedRanking


def ranked_night(seed: int, *, n: int, gap: float = 0.25, interaction: float = 0.0, best: float = 0.0) -> RankedNight:
    """Returns a night of six models under 12 templates on n questions.

    Args:
        seed: of the draws.
        n: questions.
        gap: half the distance, on the logit, from the worst to the best model.
        interaction: standard deviation of what template and model do together; without any, all templates rank alike.
        best: how much better the best model is than the others have it be.
    """
    rng = np.random.default_rng([seed, n])
    models = np.linspace(-gap, gap, N_MODELS)
    models[-1] += best
    level = models + 0.3 * rng.normal(size=(N_TEMPLATES, 1)) + interaction * rng.normal(size=(N_TEMPLATES, N_MODELS))
    of_questions = (
        rng.normal(size=(n, 1, 1))
        + 0.7 * rng.normal(size=(n, 1, N_MODELS))
        + 0.3 * rng.normal(size=(n, N_TEMPLATES, 1))
    )
    answers = (rng.random((n, N_TEMPLATES, N_MODELS)) < expit(0.5 + level + of_questions)).astype(np.float64)
    template, model = np.indices(level.shape).reshape(2, -1)
    codes = np.indices(answers.shape).reshape(3, -1)
    return RankedNight(
        truth=ranking_consistency(template, model, level.ravel()).mean_spearman,
        plain=ranking_consistency(template, model, answers.mean(axis=0).ravel()).mean_spearman,
        found=corrected_ranking(*codes, answers.ravel(), seed),
    )
