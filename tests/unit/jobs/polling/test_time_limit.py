"""The end of a wait: seconds from the launch, a default for the client, and what goes on after it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import cmsapi
from cmsapi.config import PollPolicy
from cmsapi.jobs import Finished, GenerationReview, Job
from cmsapi.sandbox import Sandbox
from tests.support.jobs import box, client_of, polls

pytestmark = pytest.mark.looptime

KIND = "keyword_analysis"
# No service takes as long.
STUCK = 1e9


def now() -> float:
    """Return the time of the loop."""
    return asyncio.get_running_loop().time()


async def test_a_job_is_waited_for_until_the_default_is_over() -> None:
    """The default of the client ends the wait and the polls; the error carries the token, and the job goes on."""
    sandbox = box(STUCK)
    async with client_of(sandbox, polling=PollPolicy(job_timeout=2000)) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        await asyncio.sleep(1000)
        with pytest.raises(cmsapi.JobWaitTimeoutError, match="within 2000 s of its launch") as caught:
            await job
        assert now() == pytest.approx(2000, abs=1)
        assert caught.value.token == job.token
        assert not job.done()
        # A poll that is on its way arrives.
        await asyncio.sleep(1)
        seen = len(sandbox.ledger)
        await asyncio.sleep(86_400)
        assert len(sandbox.ledger) == seen
        sandbox.finish(sandbox.keyword_ids[0])
        assert (await client.jobs.attach(job.token)).analysis_status == "success"


async def test_the_default_is_a_day_and_may_be_no_end() -> None:
    """A client waits for a day; with `PollPolicy(job_timeout=None)` a wait has no timer."""
    assert PollPolicy().job_timeout == 86_400
    sandbox = box(3000.0)
    async with client_of(sandbox, polling=PollPolicy(job_timeout=None)) as client:
        keyword = await client.jobs.run(client.keywords.analyze(sandbox.keyword_ids[0]))
        assert keyword.analysis_status == "success"


async def test_each_waiter_has_its_own_time() -> None:
    """The default ends one wait, and a `timeout` of its own lets another one see the end."""
    sandbox = box(300.0)
    async with client_of(sandbox, polling=PollPolicy(job_timeout=60)) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        patient = asyncio.create_task(job.wait(timeout=600))
        with pytest.raises(cmsapi.JobWaitTimeoutError):
            await job
        assert now() == pytest.approx(60, abs=1)
        assert (await patient).analysis_status == "success"


@pytest.mark.parametrize("attached", [True, False])
async def test_an_older_job_is_polled_once_more(attached: bool) -> None:
    """A job whose time was over before the wait began is polled, so that an end that no poll has seen yet counts."""
    sandbox = box(300.0)
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        await asyncio.sleep(200)
        async with client_of(sandbox, state="memory:") as other:
            again: Job[Any] = other.jobs.attach(job.token) if attached else job
            began = now()
            with pytest.raises(cmsapi.JobWaitTimeoutError, match="within 60 s of its launch"):
                await again.wait(60, since_launch=True)
            assert now() - began < 15
            await asyncio.sleep(1)
            seen = len(polls(sandbox, KIND))
            assert 1 <= seen <= 2
            await asyncio.sleep(200)
            assert (await again.wait(60, since_launch=True)).analysis_status == "success"
            assert len(polls(sandbox, KIND)) == seen + 1


async def test_an_older_job_waits_for_its_poll() -> None:
    """Where the hour has no requests left, the wait for an older job lasts until it has got its poll."""
    sandbox = box(300.0)
    async with client_of(sandbox, limits=cmsapi.RateLimits(per_hour=3, reserve=0)) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        await client.me()
        await client.me()
        await asyncio.sleep(400)
        assert (await job.wait(60, since_launch=True)).analysis_status == "success"


async def test_a_watch_counts_from_its_beginning() -> None:
    """The launch of a watched job is not known, so that its time begins with the watch."""
    sandbox = box(STUCK)
    async with client_of(sandbox) as client:
        await client.keywords.analyze(sandbox.keyword_ids[0])
        await asyncio.sleep(500)
        watched = client.jobs.watch("keyword_analysis", sandbox.keyword_ids[0])
        with pytest.raises(cmsapi.JobWaitTimeoutError, match="of the beginning of its watch"):
            await watched.wait(60, since_launch=True)
        assert now() == pytest.approx(560, abs=1)


async def test_a_decision_that_is_under_way_is_not_cut() -> None:
    """While `on_review` is deciding, the default does not end a wait; a `timeout` of the caller does."""
    sandbox = box(30.0)

    async def decide(review: GenerationReview) -> Any:
        await asyncio.sleep(1000)
        return "confirm"

    async with client_of(sandbox, polling=PollPolicy(job_timeout=60)) as client:
        content_id = sandbox.content_ids[0]
        job = await client.contents.generate(content_id, on_review=decide)
        with pytest.raises(cmsapi.JobWaitTimeoutError):
            await job.wait(100, since_launch=True)
        assert (await job).decision == "confirm"
        assert now() > 1000


@pytest.mark.parametrize("many", ["run", "gather", "as_completed", "map", "batch"])
async def test_whatever_waits_for_jobs_takes_a_timeout(many: str) -> None:
    """Each way to wait for jobs ends so many seconds after the launch, and polls the stuck job no more."""
    sandbox = box(STUCK)
    keyword_id = sandbox.keyword_ids[0]
    async with client_of(sandbox) as client:
        jobs = client.jobs
        ways: dict[str, Callable[[], Awaitable[Any]]] = {
            "run": lambda: jobs.run(client.keywords.analyze(keyword_id), timeout=90),
            "gather": lambda: gathered(client, keyword_id),
            "as_completed": lambda: only(launched_and_completed(client, keyword_id)),
            "map": lambda: only(jobs.map(client.keywords.analyze, [keyword_id], timeout=90)),
            "batch": lambda: only(jobs.batch("one").map(client.keywords.analyze, [keyword_id], timeout=90)),
        }
        with pytest.raises(cmsapi.JobWaitTimeoutError, match="within 90 s of its launch") as caught:
            await ways[many]()
        assert now() == pytest.approx(90, abs=1)
        assert caught.value.job is not None
        await asyncio.sleep(1)
        seen = len(sandbox.ledger)
        await asyncio.sleep(1000)
        assert len(sandbox.ledger) == seen


async def gathered(client: cmsapi.Client, keyword_id: str) -> Any:
    """Launch a job, and gather it."""
    return await client.jobs.gather(await client.keywords.analyze(keyword_id), timeout=90)


async def launched_and_completed(client: cmsapi.Client, keyword_id: str) -> Any:
    """Launch a job, and give its outcome."""
    async for outcome in client.jobs.as_completed([await client.keywords.analyze(keyword_id)], timeout=90):
        yield outcome


async def only(outcomes: Any) -> Any:
    """Return the result of the only outcome."""
    (outcome,) = [outcome async for outcome in outcomes]
    return outcome.result()


async def test_a_bad_timeout_is_refused_before_anything_is_sent() -> None:
    """Each of them names the parameter, and no launch is sent."""
    sandbox = Sandbox()
    async with client_of(sandbox) as client:
        jobs, bad = client.jobs, float("nan")
        with pytest.raises(cmsapi.ArgumentError, match="`timeout`"):
            jobs.map(client.keywords.analyze, sandbox.keyword_ids, timeout=bad)
        with pytest.raises(cmsapi.ArgumentError, match="`timeout`"):
            jobs.as_completed([], timeout=bad)
        with pytest.raises(cmsapi.ArgumentError, match="`timeout`"):
            await jobs.gather(timeout=bad)
        with pytest.raises(cmsapi.ArgumentError, match="`timeout`"):
            jobs.batch("one").map(client.keywords.analyze, sandbox.keyword_ids, timeout=bad)
    assert not sandbox.ledger


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), "60"])
def test_the_default_is_a_positive_number_or_none(seconds: Any) -> None:
    """A client cannot be made with a time that ends no wait, or each of them at once."""
    with pytest.raises(cmsapi.ConfigError, match="more than 0, or None for no end"):
        PollPolicy(job_timeout=seconds)


async def test_a_hook_and_listeners_end_with_the_time_of_their_job(caplog: pytest.LogCaptureFixture) -> None:
    """A job that never ends is not polled for ever for its hook or its listeners: they end as its waits do."""
    sandbox = box(1e7)
    async with client_of(sandbox, polling=cmsapi.PollPolicy(job_timeout=600)) as client:
        job = await client.contents.generate(sandbox.content_ids[0], on_review=lambda review: "confirm")
        with pytest.raises(cmsapi.JobWaitTimeoutError):
            async for _ in job.events():
                pass
        # A poll in the last second ends them: the clock of a service tells a launch to the second.
        assert 599 <= job.status.elapsed <= 640
        polled = job.status.polls
        await asyncio.sleep(3600)
        assert job.status.polls == polled
    assert "on_review does not decide any more" in caplog.text


async def test_listeners_end_where_a_list_shows_their_jobs() -> None:
    """Jobs that are polled together, by the list that shows them, are not polled for ever for their listeners."""
    sandbox = box(STUCK, keywords=200)
    async with client_of(sandbox, polling=PollPolicy(job_timeout=600)) as client:
        lists = [[keyword.id async for keyword in client.keywords.list(page_id)] for page_id in sandbox.page_ids]
        jobs = [await client.keywords.analyze(keyword_id) for keyword_id in max(lists, key=len)]
        for job in jobs:
            job.on(Finished, print)
        await asyncio.sleep(3600)
        seen = len(sandbox.ledger)
        await asyncio.sleep(3600)
        assert len(sandbox.ledger) == seen
