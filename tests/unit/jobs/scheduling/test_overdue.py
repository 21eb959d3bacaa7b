"""Jobs that run far longer than nearly all others are reported: once each, in few lines, and not without evidence."""

from __future__ import annotations

import asyncio
import logging

import pytest

from cmsapi.sandbox import Sandbox
from tests.support.jobs import box, client_of

pytestmark = pytest.mark.looptime

STUCK = 1e9


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the warnings of overdue jobs."""
    return [record.getMessage() for record in caplog.records if "has run for" in record.getMessage()]


async def run(sandbox: Sandbox, healthy: int, stuck: int, seconds: float) -> list[str]:
    """Let some jobs of half a minute end, then wait for stuck ones; return why these are polled next."""
    ids = sandbox.keyword_ids
    async with client_of(sandbox) as client:

        async def finish() -> None:
            while True:
                await asyncio.sleep(30)
                for keyword_id in ids[:healthy]:
                    if any(job.target_id == keyword_id and not job.done for job in sandbox.jobs):
                        sandbox.finish(keyword_id)

        finishing = asyncio.create_task(finish())
        outcomes = [outcome async for outcome in client.jobs.map(client.keywords.analyze, ids[:healthy])]
        finishing.cancel()
        assert all(outcome.ok for outcome in outcomes)
        jobs = [await client.keywords.analyze(keyword_id) for keyword_id in ids[healthy : healthy + stuck]]
        waiters = [asyncio.create_task(job.wait()) for job in jobs]
        await asyncio.sleep(seconds)
        whys = [job.status.why_next for job in jobs]
        for waiter in waiters:
            waiter.cancel()
        await asyncio.gather(*waiters, return_exceptions=True)
        return whys


async def test_an_overdue_job_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    """One line tells that a job runs far longer than others, and its status goes on telling it."""
    with caplog.at_level(logging.WARNING, logger="cmsapi"):
        (why,) = await run(box(STUCK, keywords=50), 40, 1, 2000.0)
    (line,) = lines(caplog)
    assert "while 99 % of such jobs ended within" in line
    assert why.endswith("; it runs far longer than nearly all such jobs")


async def test_many_overdue_jobs_share_a_line(caplog: pytest.LogCaptureFixture) -> None:
    """All stuck jobs are counted in a line every ten minutes."""
    with caplog.at_level(logging.WARNING, logger="cmsapi"):
        whys = await run(box(STUCK, keywords=50), 40, 10, 1500.0)
    found = lines(caplog)
    assert 1 <= len(found) <= 3
    more = [int(line.partition("like ")[2].split()[0]) for line in found if "like " in line]
    assert len(found) + sum(more) == 10
    assert all("far longer" in why for why in whys)


async def test_without_learned_ends_no_job_is_overdue(caplog: pytest.LogCaptureFixture) -> None:
    """A client that has seen few ends does not know what is long."""
    with caplog.at_level(logging.WARNING, logger="cmsapi"):
        (why,) = await run(box(STUCK, keywords=50), 5, 1, 5000.0)
    assert not lines(caplog)
    assert "far longer" not in why
