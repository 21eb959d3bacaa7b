"""Closing a client ends its calls, and each of them says what became of it; a cancelled call stays cancelled."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import cmsapi
from cmsapi import errors
from tests.support.connecting import Connect
from tests.support.script import HANG, Script, TellingScript, answer, refusal

pytestmark = pytest.mark.looptime


@pytest.mark.parametrize(
    ("service", "options", "when", "error"),
    [
        (Script(answer(), HANG), {"limits": cmsapi.RateLimits(per_hour=1)}, 1.0, errors.ClientClosedError),
        (TellingScript(answer(), HANG, connects=5.0), {}, 1.0, errors.ClientClosedError),
        (TellingScript(answer(), HANG, connects=5.0), {}, 6.0, errors.OutcomeUnknownError),
        (Script(answer(), HANG), {"timeouts": cmsapi.Timeouts(deadline=9.0)}, 1.0, errors.OutcomeUnknownError),
        (Script(answer(), refusal(429, headers={"Retry-After": "60"})), {}, 1.0, errors.ClientClosedError),
    ],
    ids=["waiting for quota", "connecting", "sent", "sent, with a deadline", "between attempts"],
)
async def test_closing_ends_a_call_wherever_it_is(
    connect: Connect, service: Script, options: dict[str, Any], when: float, error: type[errors.CMSError]
) -> None:
    """The call ends at once, and its error says whether it may have taken effect."""
    client, loop = connect(service, **options), asyncio.get_running_loop()
    await client.me()
    call = asyncio.create_task(client.request("POST", "/v1/things"))
    await asyncio.sleep(when)
    closed_at = loop.time()
    await client.aclose()
    assert call.done()
    assert type(call.exception()) is error
    assert ("may have taken effect" in str(call.exception())) == (error is errors.OutcomeUnknownError)
    assert loop.time() == closed_at


@pytest.mark.parametrize("ends_at", [3.0, 9.0], ids=["request timeout", "deadline"])
async def test_a_cancellation_in_the_moment_of_a_timeout_stays_one(connect: Connect, ends_at: float) -> None:
    """A call that is cancelled when its time ends is cancelled, and has not timed out."""
    request = 3.0 if ends_at == 3.0 else 30.0
    client = connect(Script(HANG), timeouts=cmsapi.Timeouts(request=request, deadline=9.0))
    call = asyncio.create_task(client.me())
    # Begun after the call, so that both happen in one turn of the loop.
    await asyncio.sleep(ends_at)
    call.cancel()
    ended = await asyncio.gather(call, return_exceptions=True)
    assert isinstance(ended[0], asyncio.CancelledError | errors.DeadlineError)
    assert client.rate_limit.in_flight <= 1


async def test_a_timeout_of_the_caller_is_the_callers(connect: Connect) -> None:
    """`asyncio.timeout` around a call raises its own `TimeoutError`, and not an error of the call."""
    client = connect(Script(HANG), timeouts=cmsapi.Timeouts(request=3.0, deadline=9.0))
    with pytest.raises(TimeoutError) as caught:
        async with asyncio.timeout(2.0):
            await client.me()
    assert type(caught.value) is TimeoutError
    task = asyncio.current_task()
    assert task is not None
    assert not task.cancelling()
