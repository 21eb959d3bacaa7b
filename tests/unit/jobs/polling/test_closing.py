"""Closing a client: everybody who waits is told, with a way on, and nothing is left behind."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

import cmsapi
from cmsapi.jobs import Finished, GenerationReview, Job
from cmsapi.sandbox import Sandbox
from tests.support.jobs import box, client_of

pytestmark = pytest.mark.looptime


async def test_waiters_get_a_token_that_works() -> None:
    """Who waits when the client is closed gets an error whose message carries a usable token."""
    sandbox = box(60.0)
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])

        async def follow() -> None:
            async for _ in job.events():
                pass

        heard: list[Finished] = []
        job.on(Finished, heard.append)
        tasks = [asyncio.create_task(job.wait()), asyncio.create_task(job.wait(100)), asyncio.create_task(follow())]
        await asyncio.sleep(12)
    errors = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(error) for error in errors] == [cmsapi.ClientClosedError] * 3
    (token,) = re.findall(r"attach\('(.*)'\)", str(errors[0]))
    assert heard == []
    seen = len(sandbox.ledger)
    await asyncio.sleep(100)
    assert len(sandbox.ledger) == seen
    async with client_of(sandbox) as other:
        assert (await other.jobs.attach(token)).analysis_status == "success"


async def test_a_poll_under_way_is_ended() -> None:
    """A refresh that is under way when the client is closed ends with `ClientClosedError`, not with a cancellation."""
    sandbox = box(60.0, latency=(5.0, 5.0))
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        refreshing = asyncio.create_task(job.refresh())
        waiting = asyncio.create_task(job.wait())
        await asyncio.sleep(1)
    results = await asyncio.gather(refreshing, waiting, return_exceptions=True)
    assert [type(result) for result in results] == [cmsapi.ClientClosedError] * 2


async def test_cancelling_a_refresh_is_a_cancellation() -> None:
    """A cancelled refresh does not take the poll with it."""
    sandbox = box(60.0, latency=(5.0, 5.0))
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        refreshing = asyncio.create_task(job.refresh())
        await asyncio.sleep(1)
        refreshing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await refreshing
        await asyncio.sleep(20)
        assert job.status.polls == 1


async def test_a_launch_that_waits_for_quota_is_told_as_not_sent() -> None:
    """A launch that had not left when the client is closed was not sent."""
    sandbox = box(60.0)
    async with client_of(sandbox, limits=cmsapi.RateLimits(per_hour=1)) as client:
        await client.me()
        launching = asyncio.create_task(client.keywords.analyze(sandbox.keyword_ids[0]))
        await asyncio.sleep(7)
    with pytest.raises(cmsapi.ClientClosedError):
        await launching
    assert len(sandbox.ledger.launches()) == 0


async def test_a_hook_that_thinks_is_ended() -> None:
    """A hook that is thinking when the client is closed is cancelled; the article stays in review."""
    sandbox = box(10.0)
    content_id = sandbox.content_ids[0]

    async def think(review: GenerationReview) -> Any:
        await asyncio.sleep(1_000_000)

    async with client_of(sandbox) as client:
        job = await client.contents.generate(content_id, on_review=think)
        waiting = asyncio.create_task(job.wait())
        await asyncio.sleep(60)
    with pytest.raises(cmsapi.ClientClosedError):
        await waiting
    async with client_of(sandbox) as other:
        assert (await other.contents.generation(content_id)).status == "review"


async def test_a_hook_may_close_the_client() -> None:
    """A hook that closes its own client neither deadlocks nor fails."""
    sandbox = box(10.0)
    client = client_of(sandbox)

    async def close(review: GenerationReview) -> Any:
        await client.aclose()
        return "leave"

    job = await client.contents.generate(sandbox.content_ids[0], on_review=close)
    with pytest.raises(cmsapi.ClientClosedError):
        await job.wait(timeout=60)
    await asyncio.sleep(1)


async def test_a_copy_with_other_settings_is_closed_too() -> None:
    """Jobs of a copy made by `with_options` are ended with the client."""
    sandbox = box(60.0)
    async with client_of(sandbox) as client:
        copy = client.with_options(polling=cmsapi.PollPolicy(min_interval=1.0, max_interval=2.0))
        job = await copy.keywords.analyze(sandbox.keyword_ids[0])
        waiting = asyncio.create_task(job.wait())
        await asyncio.sleep(12)
    with pytest.raises(cmsapi.ClientClosedError):
        await waiting


async def test_a_job_that_is_over_outlives_its_client() -> None:
    """The result of a job that ended stays when the client is closed."""
    sandbox = box(10.0)
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        keyword = await job
    assert await job is keyword
    assert job.status.phase == "succeeded"


@pytest.mark.parametrize("seconds", [0.0, 3.0, 7.5, 12.0])
async def test_closing_at_any_moment_leaves_nothing(seconds: float) -> None:
    """Whatever is under way when the client is closed, no task and no timer goes on."""
    sandbox = Sandbox()
    async with client_of(sandbox) as client:
        tasks: list[asyncio.Task[Job[Any]]] = [
            *[asyncio.create_task(client.keywords.analyze(id_)) for id_ in sandbox.keyword_ids],
            *[asyncio.create_task(client.contents.generate(id_)) for id_ in sandbox.content_ids],
        ]
        await asyncio.sleep(seconds)
        jobs = [task.result() for task in tasks if task.done() and not task.exception()]
        waiting = [asyncio.create_task(job.wait()) for job in jobs]
        await asyncio.sleep(seconds)
    results = await asyncio.gather(*tasks, *waiting, return_exceptions=True)
    assert not [result for result in results if isinstance(result, asyncio.CancelledError)]
    seen = len(sandbox.ledger)
    await asyncio.sleep(1000)
    assert len(sandbox.ledger) == seen
