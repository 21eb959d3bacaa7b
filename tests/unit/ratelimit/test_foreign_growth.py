"""Other clients of the key are expected to go on as they did."""

from __future__ import annotations

import pytest

from cmsapi.ratelimit.foreign_growth import ForeignGrowth
from cmsapi.ratelimit.foreign_usage import ForeignUsage
from cmsapi.ratelimit.limiter import RateLimiter
from cmsapi.ratelimit.permits import Permit, Quota
from cmsapi.ratelimit.sliding_windows import SlidingWindows

HOUR = 3600.0
TEN_MINUTES = 600.0


def watched(moments: list[float], until: float) -> float:
    """Return what is expected for ten minutes after the answers of each second told which requests have come."""
    growth, expected = ForeignGrowth(), 0.0
    for second in range(int(until) + 1):
        now = float(second)
        there = [moment for moment in moments if now - HOUR < moment <= now]
        if there:
            usage = ForeignUsage(len(there), there[0] + HOUR, now + HOUR)
            expected = growth.expected(usage, now, TEN_MINUTES, hour=HOUR)
    return expected


def every(seconds: float, *, since: float) -> list[float]:
    """Return when a client calls that has begun at a time, and calls again and again."""
    return [since + number * seconds for number in range(int(3 * HOUR / seconds))]


@pytest.mark.parametrize("since", [-3000.0, -1800.0, -300.0, 1.0])
def test_a_client_that_has_begun_goes_on(since: float) -> None:
    """Until its oldest request leaves the hour, as many more are expected as come."""
    for until in (120.0, 500.0):
        more = min(TEN_MINUTES, since + HOUR - until) / 10.8
        assert watched(every(10.8, since=since), until) == pytest.approx(more, rel=0.5, abs=3.0)


@pytest.mark.parametrize("until", [0.0, 1.0, 60.0, 600.0, 3000.0])
def test_a_steady_client_uses_no_more(until: float) -> None:
    """Where as many requests leave the hour as come, no growth is expected."""
    assert watched(every(10.8, since=-2 * HOUR), until) < 3.0


def test_a_burst_is_not_taken_for_a_habit() -> None:
    """Others that have called very often may have ended: little is expected of them, and less and less."""
    burst = [-20.0 + number / 15.0 for number in range(300)]
    assert watched(burst, 1.0) <= 60.0
    assert watched(burst, 300.0) < 15.0


@pytest.mark.looptime
async def test_plans_count_on_half_of_what_is_left_at_least() -> None:
    """However much others use, half of the requests that are left are planned with."""
    limiter = RateLimiter(SlidingWindows(20, 1000, reserve=0, first_alone=False))
    permit: Permit = await limiter.acquire()
    # 899 requests of others within the last 20 s.
    limiter.end(permit, "answered", Quota(1000, 100, 3580.0))
    now = limiter.time()
    assert limiter.free(now) == 100
    assert limiter.free(now, 300.0) == pytest.approx(70, abs=1)
    assert limiter.free(now, HOUR) == 50
