"""Whatever the headers of an answer say, the answer counts: an absurd header is no header."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import attrs
import pytest
from hypothesis import example, given, strategies as st

import cmsapi
from benchmarks.virtual import in_virtual_time
from cmsapi.message import Headers, Request, Response
from cmsapi.sandbox import Fault, Sandbox
from cmsapi.transport.answers import ServerClock, read_retry_after

READ = ("date", "retry-after", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "content-type")
NUMBERS = st.one_of(st.integers(), st.floats()).map(str)
DATES = st.one_of(
    st.datetimes().map(lambda moment: format_datetime(moment.replace(tzinfo=UTC), usegmt=True)),
    st.builds(
        lambda day, year, zone: f"Thu, {day} Jan {year} 00:00:00 {zone}",
        st.integers(-1, 40),
        st.integers(0, 10**25),
        st.sampled_from(("GMT", "-0000", "+9999", "+99999999999999", "-2359", "EST", "")),
    ),
)
HEADERS = st.dictionaries(
    st.sampled_from(READ), st.one_of(DATES, NUMBERS, st.text(st.characters(codec="latin-1"), max_size=40))
)


@attrs.frozen
class Lying:
    """Carry requests to a sandbox, and put other headers on its answers."""

    sandbox: Sandbox
    headers: dict[str, str]

    async def send(self, request: Request) -> Response:
        """Carry one request."""
        answer = await self.sandbox.transport.send(request)
        return attrs.evolve(answer, headers=Headers({**answer.headers, **self.headers}))


@given(HEADERS)
@example({"date": "Thu, 01 Jan 99999999999999999999 00:00:00 GMT"})
@example({"date": "Fri, 31 Dec 9999 23:59:59 GMT"})
@example({"date": "Thu, 01 Jan 2026 00:00:00 +99999999999999"})
def test_no_header_costs_an_answer(headers: dict[str, str]) -> None:
    """Reads, creations and launches succeed, and errors stay what they are, whatever the headers are like."""

    async def main() -> None:
        sandbox = Sandbox(durations=30.0)
        transport: Any = Lying(sandbox, headers)
        client = cmsapi.Client(
            sandbox.api_key,
            base_url=sandbox.base_url,
            transport=transport,
            limits=cmsapi.RateLimits.unlimited(),
            retry=cmsapi.RetryPolicy(max_attempts=1),
        )
        async with client:
            assert (await client.me()).id == sandbox.user_ids[0]
            await client.folders.create(sandbox.workspace_id, "New")
            await client.keywords.analyze(sandbox.keyword_ids[0])
            with pytest.raises(cmsapi.NotFoundError):
                await client.keywords.get("kwd_unheard_of")
            sandbox.add_fault(Fault(match="GET /v1/me", status=429, retry_after=1))
            with pytest.raises(cmsapi.RateLimitedError):
                await client.me()

    in_virtual_time(main())


@pytest.mark.parametrize(
    ("said", "seconds"),
    [(90, 90.0), (0, 0.0), (-90, 0.0), (86_400 * 30, 2_592_000.0)],
    ids=["soon", "now", "past", "far"],
)
def test_retry_after_may_be_a_date(said: int, seconds: float) -> None:
    """A date is as good as a number, and is compared with the clock that wrote it."""
    now = datetime(2020, 5, 1, 12, tzinfo=UTC)
    headers = {
        "date": format_datetime(now, usegmt=True),
        "retry-after": format_datetime(now + timedelta(seconds=said), usegmt=True),
    }
    assert read_retry_after(headers) == seconds


def test_retry_after_may_be_a_date_without_a_clock() -> None:
    """Without a `Date` this machine's clock has to do."""
    soon = datetime.now(UTC) + timedelta(seconds=3600)
    assert read_retry_after({"retry-after": format_datetime(soon, usegmt=True)}) == pytest.approx(3600, abs=60)
    assert read_retry_after({"retry-after": "soon"}) is None


# The service's clock


def date(seconds: float) -> dict[str, str]:
    """Write a `Date`, cut to a second."""
    return {"date": format_datetime(datetime.fromtimestamp(int(seconds), UTC), usegmt=True)}


@pytest.mark.looptime
async def test_the_clock_is_an_interval() -> None:
    """The service's time lies between what its answers leave possible, and more answers leave less."""
    clock, loop = ServerClock(), asyncio.get_running_loop()
    assert clock.at(0.0) is clock.latest_at(0.0) is None
    ahead = 1_000_000.3
    spans = []
    for _ in range(20):
        sent_at = loop.time()
        await asyncio.sleep(0.37)
        clock.learn(date(loop.time() + ahead), sent_at)
        earliest, latest = clock.at(loop.time()), clock.latest_at(loop.time())
        assert earliest is not None
        assert latest is not None
        assert earliest.timestamp() <= loop.time() + ahead <= latest.timestamp()
        spans.append((latest - earliest).total_seconds())
    assert sorted(spans, reverse=True) == spans
    assert spans[-1] < 1.0


@pytest.mark.looptime
async def test_machines_that_contradict_each_other_widen_the_interval() -> None:
    """With two clocks four seconds apart, the time of either is possible; one that was set is learned anew."""
    clock, loop = ServerClock(), asyncio.get_running_loop()
    for number in range(10):
        await asyncio.sleep(1.3)
        clock.learn(date(loop.time() + 1_000_000.0 + 4.0 * (number % 2)), loop.time())
    earliest, latest = clock.at(loop.time()), clock.latest_at(loop.time())
    assert earliest is not None
    assert latest is not None
    assert earliest.timestamp() <= loop.time() + 1_000_000.0
    assert latest.timestamp() >= loop.time() + 1_000_004.0
    for step in (-3600.0, 7200.0):
        clock.learn(date(loop.time() + 1_000_000.0 + step), loop.time())
        now = clock.at(loop.time())
        assert now is not None
        assert now.timestamp() == pytest.approx(loop.time() + 1_000_000.0 + step, abs=1.0)
