"""Balanced incomplete grids: which wordings each sample is asked under."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from itertools import count


def assigned_wordings(n_samples: int, n_wordings: int, wordings_per_sample: int, key: str) -> list[tuple[int, ...]]:
    """Returns the wordings that each sample is asked under, in the order in which they are dealt.

    Permutations of the wordings are laid end to end, and each sample takes the next q wordings. A sample that would get one
    twice where two permutations meet takes the next that it has not, and what it passes over stays for the next sample.
    Every wording is therefore asked floor or ceil of N q / Q times, and every two of them about equally often together:
    N q (q - 1) / (Q (Q - 1)) times on average. Permutation b orders wordings by the SHA-256 digest of "key:b:wording", so
    that equal arguments give equal grids everywhere. More samples add to the end and leave the others as they are.

    Args:
        n_samples: N, >= 0.
        n_wordings: Q, >= 1.
        wordings_per_sample: q, 1 to Q.
        key: what the permutations are drawn by.

    Returns:
        N tuples of q distinct wordings out of 0 to Q - 1.

    Raises:
        ValueError: q is not within 1 to Q.
    """
    if not 1 <= wordings_per_sample <= n_wordings:
        msg = f"a sample is asked under 1 to {n_wordings} wordings, not {wordings_per_sample}"
        raise ValueError(msg)
    dealt = _permutations(n_wordings, key)
    passed_over: list[int] = []
    return [_hand(dealt, passed_over, wordings_per_sample) for _ in range(n_samples)]


def _permutations(n_wordings: int, key: str) -> Iterator[int]:
    """Yields the wordings of one keyed permutation after another, without end."""
    for block in count():
        yield from sorted(range(n_wordings), key=lambda wording: sha256(f"{key}:{block}:{wording}".encode()).digest())


def _hand(dealt: Iterator[int], passed_over: list[int], size: int) -> tuple[int, ...]:
    """Returns the next distinct wordings, those passed over before the others; leaves what it passes over itself."""
    hand = passed_over[:size]
    passed_over[:] = passed_over[size:]
    while len(hand) < size:
        wording = next(dealt)
        (passed_over if wording in hand else hand).append(wording)
    return tuple(hand)
