"""Requests made ready ahead: none is lost or doubled, and what the plan raises reaches a worker."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from promptaudit.ask.workers import _Ahead
from promptaudit.engines import Request
from promptaudit.registry.errors import WarehouseLocked
from tests.support.engine_requests import request_of


def planned(n: int, *, locked: bool = False) -> Iterator[Request]:
    for number in range(n):
        yield request_of(prediction_id=str(number))
    if locked:
        msg = "open elsewhere"
        raise WarehouseLocked(msg)


async def taken(ahead: _Ahead, pause: bool) -> list[str]:
    found = []
    while (request := ahead.take()) is not None:
        found.append(request.prediction_id)
        if pause:
            await asyncio.sleep(0)
    return found


@pytest.mark.parametrize("n", [0, 1, 5, 64, 200])
@pytest.mark.parametrize("pause", [False, True])
def test_every_request_comes_once(n: int, pause: bool) -> None:
    async def run() -> list[str]:
        return await taken(_Ahead(planned(n), 64), pause)

    assert sorted(asyncio.run(run()), key=int) == [str(number) for number in range(n)]


def test_a_plan_that_cannot_go_on_is_no_end_of_it() -> None:
    async def run() -> None:
        await taken(_Ahead(planned(10, locked=True), 4), pause=True)

    with pytest.raises(WarehouseLocked, match="open elsewhere"):
        asyncio.run(run())
