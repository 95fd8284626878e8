"""Judges whose errors go with something, and people who rule on some of the answers, in worlds whose truth is known."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.float64]
ErrorsGoWith = Literal["format", "length", "template", "nothing", "little"]
SPREAD = 0.088  # the median of published template spreads
N_SAMPLES, N_TEMPLATES = 200, 12


class RuledWorld(NamedTuple):
    """Answers of shape (n_samples, n_templates), and how many answers each ruling stands for, 0 where nobody ruled."""

    accuracies: Table
    right: Table
    judged: Table
    is_in_format: NDArray[np.bool_]
    weight: Table

    def columns(self, template: int | None = None) -> tuple[NDArray[np.int64], NDArray[np.int64], *tuple[Table, ...]]:
        """Cells as `rectified_accuracy` takes them, of one template or of all."""
        sample, variant = np.indices(self.right.shape).reshape(2, -1)
        tables = (
            self.judged,
            np.ones(self.right.shape),
            self.weight,
            self.weight * self.judged,
            self.weight * self.right,
        )
        kept = slice(None) if template is None else variant == template
        return sample[kept], variant[kept], *(table.ravel()[kept] for table in tables)


def accuracies_of(spread: float) -> Table:
    """True accuracies of the templates, whose standard deviation (ddof 1) is the spread but for a thousandth."""
    return np.asarray(_chances(np.random.default_rng(0), 100_000, spread).mean(axis=0))


def _chances(rng: np.random.Generator, n: int, spread: float) -> Table:
    effects = np.linspace(-1, 1, N_TEMPLATES)
    return np.clip(0.8 * rng.beta(2, 1, (n, 1)) + 0.05 + spread * effects / effects.std(ddof=1), 0, 1)


def ruled_world(
    seed: int, errors: ErrorsGoWith, accuracies: Table, spread: float, n_a_template: int, *, by_sheet: bool = False
) -> RuledWorld:
    """A world in which people rule on so many answers of each template: drawn evenly, or as sheets draw them."""
    rng = np.random.default_rng([seed, 7])
    shape = N_SAMPLES, N_TEMPLATES
    right = (rng.random(shape) < _chances(rng, N_SAMPLES, spread)).astype(float)
    in_format = rng.random(shape) >= rng.permutation(np.linspace(0, 0.6, N_TEMPLATES))
    length = np.exp(rng.normal(0, 0.6, shape) + rng.permutation(np.linspace(-0.5, 0.5, N_TEMPLATES)))
    by_template = np.broadcast_to(rng.permutation(np.linspace(0, 0.35, N_TEMPLATES)), shape)
    fails, passes = {
        "format": (np.where(in_format, 0.05, 0.35), np.where(in_format, 0.08, 0.02)),
        "length": (np.clip(0.25 * np.log1p(length) - 0.1, 0, 0.6), np.clip(0.2 - 0.1 * length, 0, 0.3)),
        "template": (by_template, by_template / 2),
        "nothing": (np.full(shape, 0.1), np.full(shape, 0.1)),
        "little": (np.full(shape, 0.01), np.full(shape, 0.01)),
    }[errors]
    judged = np.where(right > 0, rng.random(shape) >= fails, rng.random(shape) < passes).astype(float)
    draw = _by_sheet if by_sheet else _evenly
    return RuledWorld(accuracies, right, judged, in_format, draw(rng, judged, in_format, n_a_template))


def _evenly(rng: np.random.Generator, judged: Table, _: NDArray[np.bool_], n: int) -> Table:
    weight = np.zeros(judged.shape)
    for template in range(judged.shape[1]):
        weight[rng.permutation(len(judged))[:n], template] = len(judged) / n
    return weight


def _by_sheet(rng: np.random.Generator, judged: Table, in_format: NDArray[np.bool_], n: int) -> Table:
    """Half of the rows evenly over format x verdict, half by what the verdicts suggest; within each in step with templates."""
    groups = [(in_format == form) & (judged == verdict) for form in (True, False) for verdict in (1, 0)]
    sizes = np.array([group.sum() for group in groups])
    of_format = sizes.reshape(2, 2).sum(axis=1)
    passing = (sizes.reshape(2, 2)[:, 0] + 1) / (of_format + 2)
    needs = np.repeat(of_format * np.sqrt(passing * (1 - passing)), 2)
    rows = n * judged.shape[1] * (0.5 / 4 + 0.5 * needs / needs.sum())
    weight = np.zeros(judged.shape)
    for group, size, wanted in zip(groups, sizes, np.minimum(sizes, rows.round()).astype(int), strict=True):
        place = np.full(judged.shape, np.inf)
        for template in range(judged.shape[1]):
            (own,) = np.nonzero(group[:, template])
            place[rng.permutation(own), template] = (np.arange(len(own)) + rng.random()) / max(1, len(own))
        weight.flat[np.argsort(place, axis=None)[:wanted]] = size / max(1, wanted)
    return weight
