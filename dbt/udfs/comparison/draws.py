"""Draws seeded exchanges of whole samples and of whole variants between two runs, and resamples of samples."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from promptaudit.udfs.comparison.figures import Floats
from promptaudit.udfs.comparison.matching import SAME_WORDING
from promptaudit.udfs.resampling import chunks, generator, resampled_units

_SAMPLES, _VARIANTS, _RESAMPLES = 6, 7, 8  # purposes of the generators


def exchanged_samples(seed: int, n_samples: int, n_draws: int) -> Iterator[Floats]:
    """Yields whether each sample's rows change places, in chunks of draws of shape (n, n_samples), 0 or 1."""
    rng = generator(seed, _SAMPLES)
    for n in chunks(n_draws, n_samples):
        bits = np.frombuffer(rng.bytes(n * (-(-n_samples // 8))), np.uint8).reshape(n, -1)
        yield np.unpackbits(bits, axis=1, count=n_samples).astype(np.float64)


def resampled_samples(seed: int, n_samples: int, n_draws: int) -> Iterator[Floats]:
    """Yields how often each sample is drawn, in chunks of draws of shape (n, n_samples)."""
    for weight in resampled_units(seed, _RESAMPLES, [n_samples], n_draws, n_samples):
        yield weight.T


def exchanged_variants(seed: int, stratum: NDArray[np.int64], n_draws: int) -> Floats:
    """Returns which variants make up the first run when whole variants change places.

    The two of a shared wording change places or do not; those of a stratum of other wordings are dealt anew, the same
    number to each run.

    Args:
        seed: of the draws.
        stratum: shape (n_slots,), as of `Slots`.
        n_draws: how many.

    Returns:
        Shape (n_draws, 2 n_slots), 1 for a variant of the first run; the second has the others.
    """
    rng = generator(seed, _VARIANTS)
    n_slots = len(stratum)
    first = np.empty((n_draws, 2 * n_slots))
    for number in np.unique(stratum):
        slots = np.flatnonzero(stratum == number)
        if number == SAME_WORDING:
            stays = rng.integers(0, 2, size=(n_draws, len(slots)))
            first[:, slots], first[:, n_slots + slots] = stays, 1 - stays
        else:
            units = np.append(slots, n_slots + slots)
            ranks = rng.random((n_draws, len(units))).argsort(axis=1).argsort(axis=1)
            first[:, units] = ranks < len(slots)
    return first
