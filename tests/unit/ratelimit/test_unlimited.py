"""Paths that the service counts in no window (specification 8, rule 3) are counted in none here either."""

from __future__ import annotations

import pytest

import cmsapi
from cmsapi import errors
from cmsapi.sandbox import Sandbox
from tests.support.connecting import Connect
from tests.support.script import HANG, LOST, UNSENT, Script, answer, refusal

pytestmark = pytest.mark.looptime

PATHS = ["/health", "/openapi.json", "/docs"]


@pytest.mark.parametrize("path", PATHS)
async def test_an_unlimited_path_is_not_counted_and_gets_no_key(connect: Connect, path: str) -> None:
    """It needs no turn, leaves the windows as they are, and goes out without the key."""
    service = Script(answer(), answer(200, {"ok": True}, {"X-RateLimit-Limit": "5", "X-RateLimit-Remaining": "0"}))
    client = connect(service, limits=cmsapi.RateLimits(per_hour=1, max_wait=0))
    await client.me()
    before = client.rate_limit
    assert await client.request("GET", path, params={"verbose": True}) == {"ok": True}
    assert (before.remaining, client.rate_limit) == (0, before)
    assert "authorization" in service.requests[0].headers
    assert "authorization" not in service.requests[1].headers
    with pytest.raises(errors.RateLimitWaitError):
        await client.request("GET", f"/v1{path}")


@pytest.mark.parametrize("step", [refusal(429, "rate_limited", {"Retry-After": "900"}), refusal(503), LOST, UNSENT])
async def test_what_fails_there_is_repeated_and_holds_nothing_back(connect: Connect, step: object) -> None:
    """It is repeated like every read, and its 429 lets no other call rest."""
    service = Script(answer(), step, answer(200, {"ok": True}))
    client = connect(service, limits=cmsapi.RateLimits(per_hour=10))
    await client.me()
    assert await client.request("GET", "/health") == {"ok": True}
    now = client.rate_limit
    assert (len(service.requests), now.remaining, now.paused_for, now.in_flight) == (3, 9, 0, 0)


async def test_the_deadline_holds_there(connect: Connect) -> None:
    """A path without a limit has the same patience as every call."""
    client = connect(Script(HANG), timeouts=cmsapi.Timeouts(deadline=3))
    with pytest.raises(errors.DeadlineError):
        await client.request("GET", "/health")
    assert client.rate_limit.in_flight == 0


async def test_doctor_counts_what_the_service_counts() -> None:
    """After `doctor` both sides have counted the same requests."""
    box = Sandbox()
    async with cmsapi.Client(box.api_key, base_url=box.base_url, transport=box.transport) as client:
        await client.doctor()
        counted = client.rate_limit.remaining
    request = cmsapi.Request("GET", f"{box.base_url}/v1/me", {"Authorization": f"Bearer {box.api_key}"})
    served = await box.transport.send(request)
    assert counted == int(served.headers["x-ratelimit-remaining"]) + 1
