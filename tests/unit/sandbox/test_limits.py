"""The two windows of a key."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from hypothesis import given, strategies as st

from cmsapi.sandbox import Limits, Sandbox
from cmsapi.sandbox.limits import HOUR, SECOND, KeyWindows
from tests.support.spec import spec
from tests.unit.sandbox.conftest import CheckedWire

pytestmark = pytest.mark.looptime


@spec("8:burst", "8.1", "8.4", "7:429")
async def test_refuses_the_21st_request_of_a_second(wire: CheckedWire) -> None:
    """The 21st request in a second gets a 429 with Retry-After and rate headers, and does not count."""
    answers = [await wire.send("GET", "/v1/me") for _ in range(25)]
    assert Counter(answer.status for answer in answers) == {200: 20, 429: 5}
    assert answers[-1].json()["error"]["code"] == "rate_limited"
    assert (answers[-1].headers["retry-after"], answers[-1].headers["x-ratelimit-remaining"]) == ("1", "980")
    await asyncio.sleep(1)
    assert await wire.status("GET", "/v1/me") == 200


@spec("8:hourly", "8.1", "8.4")
async def test_refuses_the_1001st_request_of_an_hour() -> None:
    """The hour is a sliding window: a place becomes free when its oldest request is an hour old."""
    wire = CheckedWire(Sandbox(limits=Limits(used=999, used_age=600)))
    assert await wire.status("GET", "/v1/me") == 200
    refused = await wire.send("GET", "/v1/me")
    assert (refused.status, refused.headers["retry-after"], refused.headers["x-ratelimit-reset"]) == (
        429,
        "3000",
        "3000",
    )
    await asyncio.sleep(2999.9)
    assert await wire.status("GET", "/v1/me") == 429
    await asyncio.sleep(0.1)
    assert (await wire.send("GET", "/v1/me")).headers["x-ratelimit-remaining"] == "998"


@pytest.mark.parametrize(
    ("limits", "before", "after"), [(Limits(used=100), 899, 948), (Limits(colleague=360), 999, 818)]
)
async def test_others_use_the_key(limits: Limits, before: int, after: int) -> None:
    """Requests of the previous hour leave evenly; meanwhile a colleague's take places, only in this key's windows."""
    sandbox = Sandbox(limits=limits)
    wire, member = CheckedWire(sandbox), CheckedWire(sandbox, sandbox.member_key)
    assert (await wire.send("GET", "/v1/me")).headers["x-ratelimit-remaining"] == str(before)
    await asyncio.sleep(1800)
    assert (await wire.send("GET", "/v1/me")).headers["x-ratelimit-remaining"] == str(after)
    assert (await member.send("GET", "/v1/me")).headers["x-ratelimit-remaining"] == str(before)


@given(st.lists(st.floats(0, 1.5), max_size=60), st.integers(1, 5), st.integers(1, 20))
def test_no_arrivals_exceed_a_window(gaps: list[float], per_second: int, per_hour: int) -> None:
    """Whatever the arrivals, no second and no hour admits more than its limit, and the stated wait is exact."""
    windows, now, admitted = KeyWindows(Limits(per_second, per_hour), 0.0), 0.0, []
    for gap in gaps:
        now += gap * 100
        if (wait := windows.arrive(now)) is None:
            admitted.append(now)
        else:
            assert 0 < wait <= HOUR
    for at in admitted:
        assert sum(at - SECOND < other <= at for other in admitted) <= per_second
        assert sum(at - HOUR < other <= at for other in admitted) <= per_hour
