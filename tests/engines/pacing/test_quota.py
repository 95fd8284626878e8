"""What an endpoint says is left of its limits."""

from __future__ import annotations

import math

import pytest

from promptaudit.engines.pacing.quota import Quota, seconds_of


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("6m0s", 360),
        ("20ms", 0.02),
        ("1s", 1),
        ("1h2m3.5s", 3723.5),
        ("350µs", 0.00035),
        ("7us", 7e-6),
        ("90ns", 9e-8),
        ("12", 12),
        ("0.5", 0.5),
        (" 3s ", 3),
        ("0s", 0),
        ("-4", 0),
        ("inf", 300),
        ("2h", 300),
    ],
)
def test_durations_as_go_writes_them(text: str, seconds: float) -> None:
    assert seconds_of(text) == pytest.approx(min(seconds, 300))


@pytest.mark.parametrize("text", ["", "soon", "1 s", "1s2", "s", "nan", "1d", "-1s", "1" * 400 + "x", "1s" * 200])
def test_what_is_no_duration(text: str) -> None:
    assert seconds_of(text) is None


def limit(remaining: int, reset: str, what: str = "requests") -> dict[str, str]:
    named = {"limit": "10", "remaining": str(remaining), "reset": reset}
    return {f"x-ratelimit-{name}-{what}": value for name, value in named.items()}


def test_an_endpoint_that_names_no_limit_never_holds_back() -> None:
    quota = Quota(64)
    quota.read({}, 0.0, 5, 100)
    assert quota.is_open
    assert quota.opens_at(1.0, 5) == 1.0


def test_nothing_left_waits_for_the_reset_and_then_sends_nearly_all_at_once() -> None:
    quota = Quota(64)
    quota.read(limit(0, "2s"), 100.0, 0, 100)
    assert quota.opens_at(100.0, 0) == 102.0
    assert quota.opens_at(101.9, 0) == 102.0
    for _ in range(9):  # of 10: resets are rounded
        assert quota.opens_at(102.0, 0) == 102.0
        quota.sent()
    assert quota.opens_at(102.0, 9) == 104.0


def test_requests_on_their_way_count_as_sent() -> None:
    quota = Quota(64)
    quota.read(limit(5, "1m"), 0.0, 3, 100)
    for _ in range(2):
        assert quota.opens_at(0.0, 3) == 0.0
        quota.sent()
    assert quota.opens_at(0.0, 5) == 60.0
    quota.read(limit(4, "1m"), 1.0, 0, 100)  # all are answered: what it says is so
    assert quota.opens_at(1.0, 0) == 1.0


def test_an_older_answer_does_not_bring_back_what_is_used() -> None:
    quota = Quota(2)
    quota.read(limit(3, "1s"), 0.0, 1, 100)
    quota.read(limit(9, "1s"), 0.0, 1, 100)  # answered earlier, arrived later; more than 2 cannot have overtaken it
    sent = 0
    while quota.opens_at(0.0, 1) == 0.0:
        quota.sent()
        sent += 1
    assert sent == 6


def test_tokens_that_do_not_suffice_for_the_next_request_wait_too() -> None:
    quota = Quota(64)
    quota.read(limit(99, "6m0s", "tokens"), 0.0, 0, 100)
    assert quota.opens_at(0.0, 0) == 300.0
    quota.read(limit(100, "6m0s", "tokens"), 1.0, 0, 100)
    assert quota.opens_at(1.0, 0) == 1.0


@pytest.mark.parametrize("headers", [limit(0, "soon"), {"x-ratelimit-remaining-requests": "-1"}, limit(10**30, "1s")])
def test_odd_headers_are_passed_over(headers: dict[str, str]) -> None:
    quota = Quota(64)
    quota.read(headers, 0.0, 0, 100)
    assert quota.opens_at(0.0, 0) < math.inf
    assert quota.is_open
