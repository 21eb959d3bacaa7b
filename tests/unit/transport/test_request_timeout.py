"""Each request ends when its own time is over, although one timer serves them all."""

from __future__ import annotations

import asyncio

import pytest

import cmsapi
from cmsapi import errors
from tests.support.connecting import Connect
from tests.support.script import HANG, Script, answer, refusal

pytestmark = pytest.mark.looptime


async def test_requests_end_in_the_order_in_which_they_began(connect: Connect) -> None:
    """Requests that began at different times end at different times, also after one that was answered."""
    client, loop = connect(Script(answer(), HANG), timeouts=cmsapi.Timeouts(request=3.0)), asyncio.get_running_loop()
    await client.me()
    began, ended = loop.time(), []

    async def call() -> None:
        with pytest.raises(errors.OutcomeUnknownError):
            await client.request("POST", "/v1/things")
        ended.append(loop.time() - began)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(3):
            tasks.create_task(call())
            await asyncio.sleep(1.25)
    await call()
    assert ended == [3.0, 4.25, 5.5, 8.5]


async def test_a_cancelled_request_does_not_end_another_one(connect: Connect) -> None:
    """The time of the next request stays its own when the one before it is cancelled."""
    client, loop = connect(Script(answer(), HANG), timeouts=cmsapi.Timeouts(request=3.0)), asyncio.get_running_loop()
    await client.me()
    first = asyncio.create_task(client.request("POST", "/v1/things"))
    await asyncio.sleep(2.0)
    first.cancel()
    began = loop.time()
    with pytest.raises(errors.OutcomeUnknownError):
        await client.request("POST", "/v1/things")
    assert loop.time() - began == 3.0
    assert first.cancelled()


@pytest.mark.parametrize("raised", [ConnectionResetError, None], ids=["an error", "an answer"])
async def test_a_transport_that_hides_a_timeout_is_timed_again(
    connect: Connect, raised: type[Exception] | None
) -> None:
    """When a transport replaces the cancellation of an attempt, the next attempt has a time of its own."""
    times: list[float] = []

    class Hiding:
        async def send(self, request: cmsapi.Request) -> cmsapi.Response:
            times.append(asyncio.get_running_loop().time())
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                if raised is not None:
                    raise raised from None
            return refusal(503)

    retry = cmsapi.RetryPolicy(max_attempts=3, base=0.001, cap=0.001)
    client = connect(Hiding(), timeouts=cmsapi.Timeouts(request=3.0), retry=retry, limits=cmsapi.RateLimits.unlimited())
    began = asyncio.get_running_loop().time()
    with pytest.raises(errors.CMSError):
        await client.me()
    assert asyncio.get_running_loop().time() - began == pytest.approx(9.0, abs=0.1)
    assert len(times) == 3
