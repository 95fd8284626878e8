"""A few simulated weeks: the swap and the edit are told on their nights, each once and with its reason; quiet nights are not."""

from __future__ import annotations

from dataclasses import replace

from tests.support.simulated_weeks import (
    CHURN,
    EDIT,
    PROMPT,
    PROVIDER,
    SWAP,
    eventful_week,
    quiet_nights,
    swapped_nights,
    told_nights,
)
from tests.udfs.comparison_worlds import Design

SMALL = Design(n_samples=60, n_variants=12)


def test_the_shipped_week_tells_two_things() -> None:
    assert told_nights(eventful_week(0, n_resamples=400)) == {SWAP: {PROVIDER}, EDIT: {PROMPT}}


def test_a_quiet_week_in_which_two_nights_alone_would_tell_something_tells_nothing() -> None:
    quiet = quiet_nights(9, design=SMALL, n_nights=5, n_resamples=400, n_models=2)
    assert told_nights(replace(quiet, is_confirmed=False))
    assert told_nights(quiet) == {}


def test_a_provider_swap_that_moves_no_mean_is_told_on_its_night() -> None:
    swapped = swapped_nights(3, design=SMALL, n_resamples=400, kept=0.79, n_models=2)
    (changed,) = (row for row in swapped.rows(2, 3) if row["measure"] == CHURN and row["model_id"] == "0")
    assert changed["difference"] < 0.06
    assert told_nights(swapped) == {3: {PROVIDER}}
