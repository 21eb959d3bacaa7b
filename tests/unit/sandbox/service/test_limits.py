"""The two rate limits (specification, section 8)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st

from cmsapi.sandbox import Behaviour, Limits, Sandbox
from cmsapi.sandbox.service.limits import HOUR, SlidingWindow, retry_after
from tests.support.calling import Caller

pytestmark = pytest.mark.looptime

GAPS = st.lists(st.sampled_from([0.0, 0.01, 0.25, 0.5, 0.999, 1.0, 7.0, 900.0, 3599.5, 3600.0]), max_size=80)


def brute(arrivals: Sequence[float], limits: Limits, at: float) -> bool:
    """Whether an arrival is admitted, by counting."""
    second = sum(1 for arrival in arrivals if arrival + 1.0 > at)
    hour = sum(1 for arrival in arrivals if arrival + HOUR > at)
    return second < limits.per_second and hour < limits.per_hour


@given(GAPS, st.integers(1, 6), st.integers(1, 9))
def test_a_window_admits_what_counting_admits(gaps: list[float], per_second: int, per_hour: int) -> None:
    """The window agrees with brute force, its headers count the hour, and a retry after the wait is admitted."""
    limits = Limits(per_second=per_second, per_hour=per_hour)
    window, admitted, at = SlidingWindow(limits), list[float](), 0.0
    for gap in gaps:
        at += gap
        wait = window.wait(at)
        assert brute(admitted, limits, at) == (wait == 0)
        assert brute(admitted, limits, at + retry_after(wait))
        if wait == 0:
            window.add(at)
            admitted.append(at)
        recent = [arrival for arrival in admitted if arrival + HOUR > at]
        headers = window.headers(at)
        assert str(per_hour - len(recent)) == headers["X-RateLimit-Remaining"]
        left = recent[0] + HOUR - at
        assert left <= int(headers["X-RateLimit-Reset"]) < left + 1


async def test_the_twenty_first_request_of_a_second_is_refused(box: Sandbox, call: Caller) -> None:
    """Exceeding the burst is a 429 with `Retry-After` that is not counted."""
    answers = [await call("GET", "/v1/me") for _ in range(21)]
    assert [answer.status for answer in answers] == [200] * 20 + [429]
    refused = answers[-1]
    assert (
        refused.code,
        refused.headers["Retry-After"],
        refused.headers["X-RateLimit-Remaining"],
    ) == ("rate_limited", "1", "980")
    await asyncio.sleep(1)
    assert (await call("GET", "/v1/me")).headers["X-RateLimit-Remaining"] == "979"
    assert (box.statistics.requests, box.statistics.rate_limited) == (22, 1)
    assert box.ledger.count(status=429, operation="get_me") == 1


async def test_the_hour_is_limited_too(caller_of_small_hour: Caller) -> None:
    """Exceeding the hour is a 429 whose `Retry-After` ends when the oldest request expires."""
    call = caller_of_small_hour
    answer = await call("GET", "/v1/me")
    for _ in range(4):
        await asyncio.sleep(10)
        answer = await call("GET", "/v1/me")
    assert tuple(answer.headers[f"X-RateLimit-{name}"] for name in ("Limit", "Remaining", "Reset")) == (
        "5",
        "0",
        "3560",
    )
    await asyncio.sleep(10)
    refused = await call("GET", "/v1/me")
    assert (refused.status, refused.headers["Retry-After"]) == (429, "3550")
    await asyncio.sleep(3550)
    assert (await call("GET", "/v1/me")).status == 200


async def test_each_key_has_its_own_windows(box: Sandbox, call: Caller) -> None:
    """Limits are per API key."""
    for _ in range(20):
        await call("GET", "/v1/me")
    assert (await call("GET", "/v1/me")).status == 429
    assert (await Caller(box, box.member_key)("GET", "/v1/me")).headers["X-RateLimit-Remaining"] == "999"


async def test_refused_requests_count_unless_set_otherwise() -> None:
    """4xx answers count and carry the headers; a setting lets them not count."""
    for counted, remaining in ((True, "998"), (False, "999")):
        call = Caller(Sandbox(behaviour=Behaviour(count_client_errors=counted)))
        assert "X-RateLimit-Reset" in (await call("GET", "/v1/keywords/none")).headers
        assert remaining == (await call("GET", "/v1/me")).headers["X-RateLimit-Remaining"]


async def test_what_does_not_count_is_taken_back_without_limits_too() -> None:
    """Removing the last arrival works without limits, too."""
    call = Caller(Sandbox(limits=Limits.unlimited(), behaviour=Behaviour(count_client_errors=False)))
    assert (await call("GET", "/v1/keywords/none")).status == 404
    assert (await call("GET", "/v1/me")).status == 200


async def test_rejected_requests_count_only_when_set() -> None:
    """A setting lets 429 answers count, so that rejected requests extend the wait."""
    for counted, status in ((False, 200), (True, 429)):
        call = Caller(Sandbox(limits=Limits(per_second=2), behaviour=Behaviour(count_rejected=counted)))
        for _ in range(5):
            await call("GET", "/v1/me")
            await asyncio.sleep(0.25)
        assert status == (await call("GET", "/v1/me")).status


async def test_a_burst_alone_can_be_limited() -> None:
    """An hour without a limit does not lift the burst's."""
    call = Caller(Sandbox(limits=Limits(per_second=3, per_hour=10**9)))
    assert [(await call("GET", "/v1/me")).status for _ in range(4)] == [200, 200, 200, 429]


def test_limits_are_positive() -> None:
    """A limit must be at least 1."""
    with pytest.raises(ValueError, match="per_second"):
        Limits(per_second=0)


@pytest.fixture
def caller_of_small_hour() -> Caller:
    """Give a caller of a sandbox with five requests an hour."""
    return Caller(Sandbox(limits=Limits(per_hour=5)))


def test_a_second_that_is_short_by_a_rounding_error_has_passed() -> None:
    """Times of one moment on two clocks may differ in the last digit, so that a second seems to be less than one."""
    window = SlidingWindow(Limits(per_second=1))
    window.add(63.489798)
    assert 64.489798 - 63.489798 < 1.0
    assert window.wait(64.489798) == 0.0
    assert window.wait(64.489) > 0.0
