"""200 simulated weeks: how many send a message beside the two there is reason for, and how many miss one."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from tests.support.simulated_weeks import EDIT, PROMPT, PROVIDER, SWAP, told_nights

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(3 * 3600)]

N_WEEKS = int(os.environ.get("CALIBRATION_WEEKS", "200"))


def test_weeks_with_another_alarm() -> None:
    weeks = [told_nights(seed, n_resamples=1000) for seed in range(N_WEEKS)]
    others = [week for week in weeks if set(week) - {SWAP, EDIT}]
    right = [week for week in weeks if week.get(SWAP) == {PROVIDER} and week.get(EDIT) == {PROMPT}]
    nights = Counter(night for week in others for night in set(week) - {SWAP, EDIT})
    print(f"\n{N_WEEKS} weeks: {len(others)} with another alarm (on nights {dict(nights)}), both found in {len(right)}")
    assert len(others) <= 0.1 * N_WEEKS
    assert len(right) >= 0.95 * N_WEEKS
