"""Servers that compute few answers at once: what they could answer is answered, and little is computed for nobody."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from promptaudit.engines.pacing import lanes
from promptaudit.engines.pacing.in_flight import InFlight
from promptaudit.engines.pacing.lanes import Lanes, in_time
from promptaudit.engines.pacing.patience import Patience
from promptaudit.engines.pacing.pressure import pressure_of
from tests.support.virtual_time import pace_of, run_in_virtual_time

LIMIT_S = 60.0  # of a try, as in virtual_time
CEILING = 64


@dataclass
class Slow:
    """A server that computes so many answers at once, in the order of asking, each in seconds by how many it has."""

    slots: int
    answer_s: Callable[[int], float]
    cancels: bool = True  # what nobody waits for any more; computed all the same where it does not
    in_it: int = 0
    computed: int = 0
    landed: list[float] = field(default_factory=list)
    lost: int = 0

    def __post_init__(self) -> None:
        self.places = asyncio.Semaphore(self.slots)
        self.going_on: set[asyncio.Task[None]] = set()

    async def compute(self) -> None:
        self.in_it += 1
        try:
            async with self.places:
                await asyncio.sleep(self.answer_s(self.in_it))
                self.computed += 1
        finally:
            self.in_it -= 1

    async def ask(self, shared: Lanes) -> None:
        """One cell, asked as the engine asks it; lost after six tries."""
        for _ in range(6):
            turn = shared.take() or await shared.wait()
            assert turn is not None
            pace, sent_at = turn
            working = asyncio.ensure_future(self.compute())
            self.going_on.add(working)
            try:
                async with in_time(turn):
                    await (working if self.cancels else asyncio.shield(working))
            except TimeoutError:
                pace.timed_out(sent_at, lanes.clock())
                shared.serve()
                continue
            now = lanes.clock()
            self.landed.append(now)
            pace.accepted(sent_at, now, {}, 10)
            shared.serve()
            return
        self.lost += 1


def run(server: Callable[[], Slow], n_cells: int, monkeypatch: pytest.MonkeyPatch) -> Slow:
    """A server that was asked so many cells by all workers that a card allows."""

    async def do() -> Slow:
        asked, shared = server(), Lanes([pace_of(CEILING)])
        cells = iter(range(n_cells))

        async def work() -> None:
            for _ in cells:
                await asked.ask(shared)

        await asyncio.gather(*(work() for _ in range(CEILING)))
        await asyncio.gather(*asked.going_on, return_exceptions=True)
        return asked

    served: Slow = run_in_virtual_time(monkeypatch, do)
    return served


@pytest.mark.parametrize("cancels", [True, False])
@pytest.mark.parametrize(
    ("slots", "seconds", "n_cells", "share"),
    [
        (1, 0.5, 168, 0.95),
        (1, 1.5, 168, 0.95),
        (1, 4, 168, 0.95),
        (1, 10, 168, 0.95),
        (8, 4, 168, 0.9),
        (8, 30, 168, 0.9),
        (8, 57, 168, 0.9),
        # longer than the limit: the first minute brings nothing
        (8, 63, 168, 0.75),
        (2, 100, 168, 0.9),
        # many at once: it begins with a few
        (64, 2, 1680, 0.9),
        (64, 8, 1680, 0.85),
    ],
)
def test_a_slow_server_is_kept_busy_with_what_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, slots: int, seconds: float, n_cells: int, share: float, *, cancels: bool
) -> None:
    asked = run(lambda: Slow(slots, lambda _: seconds, cancels=cancels), n_cells, monkeypatch)
    assert (len(asked.landed), asked.lost) == (n_cells, 0)
    best_s = -(-n_cells // slots) * seconds
    assert best_s / asked.landed[-1] >= share
    assert asked.computed / n_cells <= 1.02


@pytest.mark.parametrize(("power", "share"), [(1.0, 0.95), (1.5, 0.75), (2.0, 0.85)])
def test_a_server_that_slows_down_under_load_is_asked_as_much_at_once_as_brings_most(
    monkeypatch: pytest.MonkeyPatch, power: float, share: float
) -> None:
    # four at once take 4 s each, which is one a second; beyond, an answer takes the longer the more others are computed
    n_cells = 1000
    asked = run(lambda: Slow(CEILING, lambda n: 4.0 * max(1.0, n / 4) ** power), n_cells, monkeypatch)
    assert (len(asked.landed), asked.lost, asked.computed) == (n_cells, 0, n_cells)
    tail = asked.landed[n_cells // 2 :]
    assert (len(tail) - 1) / (tail[-1] - tail[0]) >= share


def test_the_progress_line_says_that_a_server_is_slow() -> None:
    pace = pace_of(CEILING)
    assert pressure_of([pace], CEILING, 0.0) == ""
    for number in range(1, 40):
        pace.take(0.0)
        pace.accepted(0.0, 10.0 * number, {}, 10)
    assert pressure_of([pace], CEILING, 400.0) == f"slow: {pace.most.size} of 64 connections"


def test_who_answers_soon_is_given_all_that_the_card_allows() -> None:
    most, now = InFlight(CEILING, LIMIT_S), 0.0
    assert most.size == 16
    for _ in range(100):
        now += 0.01
        most.answered(now - 0.5, now)
    assert most.size == CEILING


def test_a_try_waits_for_its_turn_and_a_hung_one_is_given_up() -> None:
    patience = Patience(LIMIT_S, CEILING)
    for answered_at in (10.0, 20.0, 30.0):
        patience.answered(answered_at / 1e3, answered_at)  # sent in this order
    assert patience.expires_at(0.0) == 60  # sent before them all: it was passed over
    assert patience.expires_at(0.02) == 20 + 60
    assert patience.expires_at(0.05) == 30 + 60
    assert patience.expires_at(70.0) == 70 + 60


def test_silence_makes_the_limit_longer_for_all_but_the_first() -> None:
    patience = Patience(LIMIT_S, CEILING)
    assert patience.left_s(0.0, 59.0) == 1
    assert patience.left_s(0.0, 60.0) == 0
    # who was sent beside it waits longer, until something was answered
    assert patience.left_s(0.001, 60.001) == pytest.approx(180)
    for _ in range(80):
        patience.answered(100.0, 101.0)
    assert patience.limit_s == LIMIT_S
    assert patience.left_s(90.0, 150.0) == 0
    assert patience.limit_s == LIMIT_S
    # answers that take nearly the limit leave room for one that takes longer
    patience.answered(2000.0, 2055.0)
    assert patience.limit_s == 110


@pytest.mark.parametrize("n_kept", [1, 4, CEILING])
def test_what_is_kept_of_the_past_is_bounded(n_kept: int) -> None:
    patience = Patience(LIMIT_S, n_kept)
    for sent_at in range(1000):
        patience.answered(float(sent_at), sent_at + 0.5)
    assert len(patience._sent) <= 2 * n_kept
    assert patience.expires_at(999.2) == 999.5 + LIMIT_S


def test_silence_halves_what_is_in_flight_once_and_ends_in_the_end() -> None:
    pace = pace_of(CEILING)
    for now in range(16):
        pace.take(now * 1e-3)
    for now in range(16):
        pace.timed_out(now * 1e-3, 60.0 + now)
    assert (pace.most.size, pace.is_silent(76.0, 6)) == (8, False)
    for now in (310.0, 311.0):
        pace.timed_out(pace.take(80.0), now)
    assert (pace.most.size, pace.is_silent(311.0, 6)) == (8, True)
    pace.accepted(pace.take(312.0), 313.0, {}, 10)
    assert not pace.is_silent(700.0, 6)


@pytest.mark.parametrize(("status", "size"), [(200, 17), (404, 16), (500, 16), (504, 8), (524, 8)])
def test_a_gateway_whose_patience_is_over_is_congestion_and_an_error_is_no_answer(status: int, size: int) -> None:
    pace = pace_of(CEILING)
    pace.accepted(pace.take(0.0), 0.5, {}, 10, status=status)
    assert pace.most.size == size
