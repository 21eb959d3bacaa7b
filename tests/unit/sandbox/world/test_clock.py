"""The clock follows the running loop."""

from __future__ import annotations

import asyncio

import pytest

from cmsapi.sandbox import Sandbox
from cmsapi.sandbox.world.clock import FIRST_MOMENT, Clock
from tests.support.calling import Caller


@pytest.mark.looptime
async def test_time_is_the_loops(box: Sandbox, call: Caller) -> None:
    """`Date` and timestamps start at 2026 and move with the loop."""
    answer = await call("GET", "/v1/me")
    assert answer.headers["Date"] == "Thu, 01 Jan 2026 00:00:00 GMT"
    await asyncio.sleep(86_400)
    assert (await call("GET", "/v1/me")).headers["Date"] == "Fri, 02 Jan 2026 00:00:00 GMT"
    assert box.now() == FIRST_MOMENT + 86_400


def test_the_clock_goes_on_in_another_loop() -> None:
    """Without a loop the clock stands still; on a second loop it continues from its last reading."""
    clock = Clock()

    async def reading() -> float:
        await asyncio.sleep(0.01)
        return clock.seconds()

    assert clock.moment(clock.seconds()) == FIRST_MOMENT
    first = asyncio.run(reading())
    assert first == clock.seconds()
    assert first <= asyncio.run(reading()) < first + 1
    assert FIRST_MOMENT <= clock.moment(clock.seconds()) < FIRST_MOMENT + 1
