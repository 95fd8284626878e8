"""How fast an endpoint is asked: windows, rates, pauses, in virtual time."""

from __future__ import annotations

import asyncio
import itertools
import math
import random

import pytest

from promptaudit.engines.pacing import lanes
from promptaudit.engines.pacing.lanes import Lanes
from promptaudit.engines.pacing.pressure import pressure_of
from promptaudit.engines.pacing.rates import Rate
from promptaudit.engines.pacing.window import Window
from tests.support.virtual_time import Limited, pace_of, run_in_virtual_time


def test_a_burst_of_rejections_halves_the_window_once() -> None:
    window = Window(64)
    for _ in range(64):
        window.rejected(sent_at=1.0, now=2.0)
    assert window.size == 32
    for _ in range(32):
        window.rejected(sent_at=2.5, now=3.0)
    assert window.size == 16


def test_rejections_at_random_leave_more_than_halving_would() -> None:
    window, dice, sizes = Window(64), random.Random(3), []
    for second in range(500):
        for _ in range(int(window.size)):
            if dice.random() < 1 / 16:
                window.rejected(second, second + 0.5)
            else:
                window.accepted()
        sizes.append(window.size)
    assert sum(sizes[100:]) / 400 > 7  # halving at each: 5


def test_a_window_grows_back_to_its_ceiling_and_no_further() -> None:
    window = Window(64)
    for _ in range(64):
        window.rejected(0.0, 1.0)
    n = 0
    while window.size < 64:
        window.accepted()
        n += 1
    # one quiet round, then 4 more for each: 32 + 32 + 36 + … + 60 = 400, and a few since a window grows within its round
    assert 400 <= n < 432
    window.accepted()
    assert window.size == 64


def test_a_known_limit_is_tried_ever_less_often() -> None:
    window, takes, rejected = Window(64), 20, []
    for second in range(1000):
        n = int(window.size)
        for _ in range(min(n, takes)):
            window.accepted()
        for _ in range(n - takes):
            window.rejected(second, second + 0.5)
        rejected.append(max(n - takes, 0))
    assert sum(rejected[100:]) <= 2 * 900 / 8
    assert window.size >= takes - 1


def test_a_window_never_closes() -> None:
    window = Window(4)
    for second in range(10):
        for _ in range(4):
            window.rejected(second, second + 0.5)
    assert window.size == 1


def test_without_rejections_nothing_but_the_ceiling_holds() -> None:
    pace = pace_of(64)
    pace.most.size = 64
    for index in range(64):
        assert pace.opens_at(0.001 * index) <= 0.001 * index
        pace.take(0.001 * index)
    assert pace.opens_at(1.0) == math.inf
    pace.accepted(0.0, 1.0, {}, 10)
    assert pace.opens_at(1.0) == 1.0
    assert pressure_of([pace], 64, 1.0) == ""


def test_one_rejection_sets_no_rate() -> None:
    rate = Rate()
    rate.rejected(0.0, 0.1)
    for index in range(100):
        rate.accepted(0.2 + index / 5)
    assert rate.per_second(20.0) == math.inf
    assert not rate.is_watching


def test_a_rate_is_set_once_by_a_burst_though_a_request_went_out_in_the_same_tick() -> None:
    rate = Rate()
    rate.rejected(0.0, 0.1)
    rate.paused(1.1)
    for index in range(10):
        rate.accepted(0.2 + index / 100)
    assert rate.rejected(1.0, 1.2, pause_s=1.0)
    rate.paused(2.2)
    first = rate.limit
    assert not rate.rejected(1.2, 1.25, pause_s=1.0)
    assert rate.limit == first
    assert rate.per_second(4.2) > 3 * first  # the search goes on


def test_a_window_is_halved_once_though_a_request_went_out_in_the_same_tick() -> None:
    window = Window(64)
    for sent_at in [1.0] * 32 + [2.0] * 32:
        window.rejected(sent_at, now=2.0 if sent_at == 1.0 else 3.0)
    assert window.size == 32


@pytest.mark.parametrize("kinds", [(), ("retry-after",), ("x-ratelimit",), ("retry-after", "x-ratelimit")])
# with 0.3 s 15 requests are in flight: a bucket that holds fewer and says so is waited for, and not used up
@pytest.mark.parametrize(("burst", "latency_s"), [(5, 0.005), (10, 0.005), (50, 0.005), (50, 0.3)])
def test_a_limit_of_50_a_second_is_used_and_kept(
    burst: int, latency_s: float, kinds: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Limited(50, burst, kinds, latency_s)
    shared = Lanes([pace_of(64)])
    run_in_virtual_time(monkeypatch, lambda: server.asked_by(64, 45, shared))
    rate, share = server.between(12 if kinds else 5, 45)
    assert rate >= 45
    assert share < 0.05
    assert server.lost == 0


@pytest.mark.parametrize("kinds", [(), ("retry-after",)])
@pytest.mark.parametrize("burst", [5, 10])
def test_so_it_is_where_answers_take_long(burst: int, kinds: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    server = Limited(50, burst, kinds, 0.3)
    run_in_virtual_time(monkeypatch, lambda: server.asked_by(64, 45, Lanes([pace_of(64)])))
    rate, share = server.between(12 if kinds else 5, 45)
    assert rate >= 45
    assert share < 0.05


def test_a_limit_that_falls_or_rises_is_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Limited(50, 10)
    shared = Lanes([pace_of(64)])

    async def run() -> None:
        asyncio.get_running_loop().call_at(20, setattr, server, "per_second", 20)
        asyncio.get_running_loop().call_at(40, setattr, server, "per_second", 100)
        await server.asked_by(64, 90, shared)

    run_in_virtual_time(monkeypatch, run)
    rate, share = server.between(23, 40)
    assert rate >= 18
    assert share < 0.05
    assert server.between(80, 90)[0] >= 90
    assert server.lost == 0


@pytest.mark.parametrize("seed", [1, 2])
def test_a_small_limit_that_falls_slowly_is_followed(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Limited(5, 1, latency_s=0.05)
    server.dice.seed(seed)

    async def run() -> None:
        loop = asyncio.get_running_loop()
        for at in range(10, 280):  # to 1.5 a second
            loop.call_at(at, setattr, server, "per_second", 5 - 3.5 * (at - 10) / 270)
        await server.asked_by(64, 280, Lanes([pace_of(64)]))

    run_in_virtual_time(monkeypatch, run)
    _, share = server.between(15, 280)
    assert share < 0.2
    assert server.lost == 0


def test_rejections_that_have_nothing_to_do_with_the_rate_do_not_stop_everything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = Limited(1, 1, latency_s=0.01)
    monkeypatch.setattr(Limited, "take", lambda self, _: (self.dice.random() > 0.1, {}))
    run_in_virtual_time(monkeypatch, lambda: server.asked_by(64, 60, Lanes([pace_of(64)])))
    assert server.between(30, 60)[0] > 150  # 2 in flight at 10 ms would be 200


def test_a_rejection_after_a_standstill_sets_no_low_rate() -> None:
    rate = Rate()
    rate.rejected(0.0, 0.0)
    for index in range(60):
        rate.accepted(index / 30)
    for index in range(2):
        rate.rejected(1.5, 1.9 + index / 100)
    assert rate.rejected(2.1, 2.2)  # which ends the search for it
    assert 28 <= rate.limit <= 34
    for index in range(25):  # 2.5 a second, 25 of 26
        rate.accepted(4.2 + index * 0.4)
    rate.rejected(14.0, 14.2)
    assert rate.limit == math.inf


def test_a_standstill_before_any_limit_sets_none() -> None:
    rate = Rate()
    rate.rejected(0.0, 0.0)
    for index in range(18):  # 8 a second, and few rejected
        rate.accepted(index / 8)
    for index in range(4):
        assert not rate.rejected(2.2, 2.3 + index / 1000)
    for index in range(60):
        rate.accepted(2.31 + index / 100)
    assert rate.rejected(2.5, 2.95)  # those before it were no cuts in vain
    assert 55 <= rate.limit <= 70  # enough was seen


def test_a_wait_that_is_asked_for_pauses_everyone(monkeypatch: pytest.MonkeyPatch) -> None:
    pace = pace_of(64)
    pace.most.size = 64
    shared = Lanes([pace])
    sent: list[float] = []

    async def ask() -> None:
        turn = shared.take() or await shared.wait()
        assert turn is not None
        sent.append(turn[1])

    async def run() -> None:
        first, second = shared.take(), shared.take()
        assert first
        assert second
        pace.rejected(first[1], lanes.clock(), 429, {"retry-after": "7"}, 10)
        assert (
            pressure_of(shared.paces, 64, lanes.clock())
            == "throttled: 63 of 64 connections, waits 7 s as asked, 1 × 429"
        )
        await asyncio.gather(*(ask() for _ in range(20)))

    run_in_virtual_time(monkeypatch, run)
    assert len(sent) == 20
    assert min(sent) >= 7


def test_who_waits_is_served_in_turn_and_may_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    pace = pace_of(1)
    shared = Lanes([pace])
    served: list[int] = []

    async def ask(index: int) -> None:
        turn = shared.take() or await shared.wait()
        assert turn is not None
        served.append(index)
        await asyncio.sleep(1)
        pace.accepted(turn[1], lanes.clock(), {}, 10)
        shared.serve()

    async def run() -> None:
        tasks = [asyncio.create_task(ask(index)) for index in range(6)]
        await asyncio.sleep(0.5)
        tasks[1].cancel()
        tasks[3].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    run_in_virtual_time(monkeypatch, run)
    assert served == [0, 2, 4, 5]
    assert pace.in_flight == 0


def test_who_is_served_and_cancelled_at_once_gives_the_place_back(monkeypatch: pytest.MonkeyPatch) -> None:
    pace = pace_of(1)
    shared = Lanes([pace])

    async def run() -> bool:
        turn = shared.take()
        assert turn is not None
        waiting = asyncio.create_task(shared.wait())
        await asyncio.sleep(0)
        pace.accepted(turn[1], lanes.clock(), {}, 10)
        shared.serve()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        return shared.take() is not None

    assert run_in_virtual_time(monkeypatch, run)


def test_requests_go_where_there_is_most_room(monkeypatch: pytest.MonkeyPatch) -> None:
    wide, narrow = pace_of(60, "wide"), pace_of(60, "narrow")
    wide.most.size = narrow.most.size = 60
    narrow.window.size = 11
    narrow.rejected(narrow.take(0.0), 0.0, 503, {}, 10)  # 10 are left
    shared = Lanes([wide, narrow])

    async def run() -> None:
        for _ in range(35):
            assert shared.take() is not None

    run_in_virtual_time(monkeypatch, run)
    assert (wide.in_flight, narrow.in_flight) == (30, 5)


def test_another_try_goes_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = pace_of(4), pace_of(4)
    shared = Lanes([one, two])

    async def run() -> None:
        for _ in range(4):
            turn = shared.take(avoid=one)
            assert turn is not None
            assert turn[0] is two
        last = shared.take(avoid=two)
        assert last is not None
        assert last[0] is one

    run_in_virtual_time(monkeypatch, run)


def test_a_dead_endpoint_is_looked_at_ever_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    alive, dead = pace_of(64), pace_of(64)
    shared = Lanes([alive, dead])
    looks: list[float] = []

    async def run() -> None:
        while lanes.clock() < 200:
            turn = shared.take()
            assert turn is not None
            await asyncio.sleep(0.1)
            if turn[0] is dead:
                looks.append(turn[1])
                dead.unreachable(turn[1], lanes.clock())
            else:
                alive.accepted(turn[1], lanes.clock(), {}, 10)

    run_in_virtual_time(monkeypatch, run)
    gaps = [late - early for early, late in itertools.pairwise(looks)]
    assert gaps == sorted(gaps)
    assert len(looks) <= 10  # 0.5 + 1 + 2 + … + 32 s, then every minute
    assert pressure_of(shared.paces, 64, lanes.clock()) == ""


def test_one_request_at_a_time_looks_whether_a_lone_endpoint_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    pace = pace_of(64)
    shared = Lanes([pace])
    looks: list[float] = []

    async def ask() -> float:
        while True:
            turn = shared.take() or await shared.wait()
            assert turn is not None
            looks.append(turn[1])
            await asyncio.sleep(0.001)
            now = lanes.clock()
            if now > 20:
                pace.accepted(turn[1], now, {}, 10)
                shared.serve()
                return now
            pace.unreachable(turn[1], now)
            shared.serve()

    async def run() -> list[float]:
        return list(await asyncio.gather(*(ask() for _ in range(64))))

    answered = run_in_virtual_time(monkeypatch, run)
    # 64 find it gone at once; then looks after 0.5, 1, 2, 4 and every 5 s, until the last lets all through
    assert len(looks) <= 64 + 8 + 64
    assert sum(0.01 < at <= 20 for at in looks) <= 8
    assert max(answered) < 26


def test_after_five_minutes_nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    pace = pace_of(64)
    shared = Lanes([pace])

    async def ask() -> float:
        while True:
            turn = shared.take() or await shared.wait()
            if turn is None:
                return lanes.clock()
            await asyncio.sleep(0.001)
            pace.unreachable(turn[1], lanes.clock())
            shared.serve()

    async def run() -> list[float]:
        return list(await asyncio.gather(*(ask() for _ in range(8))))

    gone = run_in_virtual_time(monkeypatch, run)
    assert all(300 <= at < 320 for at in gone)
