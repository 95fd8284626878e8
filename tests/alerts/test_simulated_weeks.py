"""A few simulated weeks: the swap and the edit are told on their nights, each once and with its reason."""

from __future__ import annotations

from tests.support.simulated_weeks import EDIT, PROMPT, PROVIDER, SWAP, told_nights


def test_the_shipped_week_tells_two_things() -> None:
    assert told_nights(0, n_resamples=400) == {SWAP: {PROVIDER}, EDIT: {PROMPT}}
