"""Fan-outs, on the sandbox in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from cmsapi import Client, Keyword
from cmsapi.errors import (
    ArgumentError,
    ClientClosedError,
    JobFailedError,
    JobWaitTimeoutError,
    NotFoundError,
    OutOfCreditsError,
)
from cmsapi.jobs.job import Job
from cmsapi.sandbox import Sandbox
from tests.support.box import client_of, now
from tests.support.spec import spec

pytestmark = pytest.mark.looptime


def stretched(sandbox: Sandbox, *numbers: int) -> tuple[str, ...]:
    """Return keywords whose analyses take the given numbers of seconds."""
    keywords = sandbox.keyword_ids[: len(numbers)]
    for keyword, seconds in zip(keywords, numbers, strict=True):
        sandbox.set_outcome(keyword, "success", duration=seconds)
    return keywords


async def test_outcomes_come_as_jobs_end(client: Client, sandbox: Sandbox) -> None:
    """The job that ends first is yielded first."""
    slow, fast = stretched(sandbox, 200, 20)
    seen = [(outcome.item, now() < 60) async for outcome in client.jobs.map(client.keywords.analyze, [slow, fast])]
    assert seen == [(fast, True), (slow, False)]


async def test_items_may_be_jobs_of_an_earlier_stage(client: Client, sandbox: Sandbox) -> None:
    """A second stage launches for the jobs of the first, and leaves nothing reserved in the hour."""
    first = [await client.keywords.analyze(keyword) for keyword in stretched(sandbox, 10, 10)]
    await asyncio.gather(*first)
    assert all(outcome.ok for outcome in await client.jobs.map(lambda job: client.keywords.analyze(job.target), first))
    assert len(sandbox.ledger.launches) == 4


async def test_ordered_outcomes_keep_the_order_of_the_items(client: Client, sandbox: Sandbox) -> None:
    """``ordered=True`` holds back outcomes that come before their turn; awaiting returns the list of all."""
    items = stretched(sandbox, 200, 20, 100)
    outcomes = await client.jobs.map(client.keywords.analyze, items, ordered=True)
    assert tuple(outcome.item for outcome in outcomes) == items
    assert [outcome.result().id for outcome in outcomes] == list(items)


async def test_a_failed_job_is_an_outcome(client: Client, sandbox: Sandbox) -> None:
    """A job that fails or is refused is a `Failed`; the others continue."""
    failing, *rest = sandbox.keyword_ids[:3]
    sandbox.set_outcome(failing, "failed")
    items = [failing, "kwd_missing", *rest]
    failed, refused, *good = await client.jobs.map(client.keywords.analyze, items, ordered=True)
    assert isinstance(failed.error, JobFailedError)
    assert isinstance(refused.error, NotFoundError)
    assert refused.job is None
    assert all(outcome.ok for outcome in good)


async def test_the_first_error_can_be_raised(client: Client, sandbox: Sandbox) -> None:
    """``errors="raise"`` raises the error of the first failed item, and launches no more."""
    sandbox.set_outcome(sandbox.keyword_ids[0], "failed")
    with pytest.raises(JobFailedError):
        await client.jobs.map(client.keywords.analyze, sandbox.keyword_ids, in_flight=2, errors="raise")
    await asyncio.sleep(600)
    assert len(sandbox.ledger.launches) <= 3


@pytest.mark.parametrize("bound", [1, 3])
async def test_in_flight_bounds_the_jobs_that_run(client: Client, sandbox: Sandbox, bound: int) -> None:
    """No more than ``in_flight`` jobs run at the service at any time."""
    outcomes = await client.jobs.map(client.keywords.analyze, sandbox.keyword_ids[:7], in_flight=bound)
    assert all(outcome.ok for outcome in outcomes)
    times = [launch.time for launch in sandbox.ledger.launches]
    assert all(later - earlier >= 60 for earlier, later in zip(times, times[bound:], strict=False))


async def test_max_credits_bounds_the_launches(client: Client, sandbox: Sandbox) -> None:
    """Items beyond ``max_credits`` fail without a request."""
    fan_out = client.jobs.map(client.keywords.analyze, sandbox.keyword_ids[:6], max_credits=2)
    errors = [outcome.error for outcome in await fan_out]
    assert sum(isinstance(error, OutOfCreditsError) for error in errors) == 4
    assert sandbox.ledger.count("analyze_keyword") == fan_out.progress.credits == 2


async def test_a_timeout_is_of_each_job(client: Client, sandbox: Sandbox) -> None:
    """``timeout=`` counts from the launch of each job, not from the start of the fan-out."""
    items = stretched(sandbox, 60, 60, 300, 60)
    outcomes = await client.jobs.map(client.keywords.analyze, items, in_flight=1, timeout=90, ordered=True)
    assert [outcome.ok for outcome in outcomes] == [True, True, False, True]
    assert isinstance(outcomes[2].error, JobWaitTimeoutError)


async def test_items_may_come_one_by_one(client: Client, sandbox: Sandbox) -> None:
    """An asynchronous iterable is launched as it yields, and outcomes do not wait for its end."""

    async def items() -> AsyncIterator[str]:
        for keyword in sandbox.keyword_ids[:3]:
            yield keyword
            await asyncio.sleep(500)

    moments = [now() async for _ in client.jobs.map(client.keywords.analyze, items())]
    assert [moment // 500 for moment in moments] == [0, 1, 2]


async def test_a_generator_is_read_as_jobs_can_be_launched(client: Client, sandbox: Sandbox) -> None:
    """A generator is not read ahead of the launches, so that it may be endless; its end reveals the total."""
    read = []

    def items() -> Iterator[str]:
        for keyword in sandbox.keyword_ids:
            read.append(keyword)
            yield keyword

    async with client.jobs.map(client.keywords.analyze, items(), in_flight=2) as fan_out:
        assert fan_out.progress.total is None
        await anext(fan_out)
        assert len(read) <= 5
        await fan_out
        assert fan_out.progress.total == len(read) == len(sandbox.keyword_ids)


async def test_no_items_end_at_once(client: Client, sandbox: Sandbox) -> None:
    """A fan-out without items returns nothing and sends nothing."""
    assert await client.jobs.map(client.keywords.analyze, list[str]()) == []
    assert not sandbox.ledger.requests


async def test_nothing_is_launched_before_it_is_asked_for(client: Client, sandbox: Sandbox) -> None:
    """Creating a fan-out launches nothing."""
    fan_out = client.jobs.map(client.keywords.analyze, sandbox.keyword_ids)
    await asyncio.sleep(600)
    assert fan_out.launched == []
    assert not sandbox.ledger.requests


@pytest.mark.parametrize("way", ["context", "break", "cancel", "drop"])
async def test_leaving_early_stops_the_launching(client: Client, sandbox: Sandbox, way: str) -> None:
    """However an iteration ends early, at most the jobs that fit into free places at that moment are launched."""
    fan_out = client.jobs.map(client.keywords.analyze, sandbox.keyword_ids, in_flight=3)
    if way == "context":
        async with fan_out:
            await anext(fan_out)
    elif way == "break":
        async for _ in fan_out:
            break
    else:
        task = asyncio.ensure_future(fan_out if way == "cancel" else anext(fan_out))
        await asyncio.sleep(30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    fan_out = None  # type: ignore[assignment]  # nothing refers to it any more
    await asyncio.sleep(600)
    assert len(sandbox.ledger.launches) <= 6


@pytest.mark.parametrize("way", ["async for", "await"])
async def test_a_cancelled_task_launches_no_more(way: str) -> None:
    """Cancelling the iterating task stops the launching at once, whoever holds the fan-out; iterating resumes it."""
    sandbox = Sandbox(keywords=50, durations=60)
    async with client_of(sandbox) as client:
        fan_out = client.jobs.map(client.keywords.analyze, sandbox.keyword_ids)

        async def iterate() -> None:
            if way == "await":
                await fan_out
            async for _ in fan_out:
                pass

        task = asyncio.create_task(iterate())
        await asyncio.sleep(0.5)
        task.cancel()
        await asyncio.wait([task])
        launched = len(sandbox.ledger.launches)
        await asyncio.sleep(600)
        assert len(sandbox.ledger.launches) <= launched + 1
        rest = [outcome async for outcome in fan_out] if way == "async for" else await fan_out
        assert launched < len(rest) == 50


async def test_another_caller_of_a_held_launch_does_not_wait() -> None:
    """A launch that is held back until its fan-out is iterated proceeds for another caller with the same target."""
    sandbox = Sandbox(keywords=60, durations=60)
    async with client_of(sandbox) as client:
        fan_out = client.jobs.map(client.keywords.analyze, sandbox.keyword_ids)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(fan_out), 0.01)
        assert len(sandbox.ledger.launches) < 60
        job = await asyncio.wait_for(client.keywords.analyze(sandbox.keyword_ids[-1]), 30)
        assert (await job).analysis_status == "success"


@pytest.mark.parametrize("error", [NameError, asyncio.CancelledError, pytest.fail.Exception, TypeError, ArgumentError])
async def test_mistakes_of_the_program_are_raised(client: Client, sandbox: Sandbox, error: type[BaseException]) -> None:
    """They are no outcomes, and end the launching; so do a result that is no job, and a refused argument."""

    async def launch(number: int) -> Any:
        if number != 3:
            return await client.keywords.analyze(sandbox.keyword_ids[number])
        if error is TypeError:
            return await client.keywords.get(sandbox.keyword_ids[number])
        if error is ArgumentError:
            return await client.keywords.analyze(await client.keywords.get(sandbox.keyword_ids[number]))  # type: ignore[arg-type]  # what is refused
        raise error

    with pytest.raises(error):
        await asyncio.wait_for(client.jobs.map(launch, range(20), in_flight=2), 600)
    launched = len(sandbox.ledger.launches)
    await asyncio.sleep(300)
    assert len(sandbox.ledger.launches) == launched <= 4


async def test_a_second_launch_of_an_item_is_refused_unsent(client: Client, sandbox: Sandbox) -> None:
    """A launching function may launch one job: a second one is refused before anything is sent."""
    first, second = sandbox.keyword_ids[:2]

    async def launch(keyword: str) -> Job[Keyword]:
        await client.keywords.analyze(keyword)
        return await client.keywords.analyze(second)

    with pytest.raises(ArgumentError):
        await client.jobs.map(launch, [first])
    assert not sandbox.ledger.launches_of(second)


async def test_a_list_that_is_awaited_again_is_whole(client: Client, sandbox: Sandbox) -> None:
    """A time limit for all outcomes loses none of those that arrived before it."""
    fan_out = client.jobs.map(client.keywords.analyze, stretched(sandbox, 20, 60, 100))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(fan_out, 50)
    assert len(await fan_out) == len(await fan_out) == 3


async def test_without_credits_the_rest_fails_unsent(client: Client, sandbox: Sandbox) -> None:
    """Once the service has no credit left, further items fail without a request."""
    sandbox.credits = {"analysis": 3}
    outcomes = await client.jobs.map(client.keywords.analyze, sandbox.keyword_ids, in_flight=1)
    assert sum(outcome.ok for outcome in outcomes) == 3
    assert all(isinstance(outcome.error, OutOfCreditsError) for outcome in outcomes[3:])
    assert sandbox.ledger.count("analyze_keyword") == 4


async def test_a_closed_client_ends_the_iteration(client: Client, sandbox: Sandbox) -> None:
    """Closing the client during a fan-out raises an error instead of leaving it waiting."""
    fan_out = client.jobs.map(client.keywords.analyze, sandbox.keyword_ids, in_flight=2)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(anext(fan_out), 5)
    await client.aclose()
    with pytest.raises(ClientClosedError):
        await fan_out


@spec("8.1", "8.2")
async def test_a_fan_out_fits_the_hour() -> None:
    """450 one-minute analyses need at least 900 requests: all finish within the hour, and nothing is refused."""
    sandbox = Sandbox(keywords=450, durations=60)
    async with client_of(sandbox) as client:
        outcomes = await client.jobs.map(client.keywords.analyze, sandbox.keyword_ids)
    assert all(outcome.ok for outcome in outcomes)
    assert now() < 3600
    assert sandbox.ledger.count(status=429) == 0
    assert len(sandbox.ledger.launches) == 450


async def test_a_cancelled_anext_loses_nothing(client: Client, sandbox: Sandbox) -> None:
    """Repeated calls with a time limit yield each outcome once."""
    fan_out = client.jobs.map(client.keywords.analyze, sandbox.keyword_ids)
    items = []
    while True:
        try:
            items.append((await asyncio.wait_for(anext(fan_out), 0.05)).item)
        except TimeoutError:
            pass
        except StopAsyncIteration:
            break
    assert sorted(items) == sorted(sandbox.keyword_ids)


async def test_as_completed_waits_for_jobs_of_anywhere(client: Client, sandbox: Sandbox) -> None:
    """Jobs that were launched elsewhere become outcomes as they end, and are their own items."""
    slow, fast = stretched(sandbox, 200, 20)
    jobs = [await client.keywords.analyze(keyword) for keyword in (slow, fast)]
    outcomes = [outcome async for outcome in client.jobs.as_completed(jobs)]
    assert [outcome.item for outcome in outcomes] == [jobs[1], jobs[0]]
    assert all(outcome.ok for outcome in outcomes)
    assert len(sandbox.ledger.launches) == 2


async def test_progress_counts(client: Client, sandbox: Sandbox) -> None:
    """Progress counts items, credits and requests, and predicts no end before it has seen a job end."""
    sandbox.set_outcome(sandbox.keyword_ids[0], "failed")
    fan_out = client.jobs.map(client.keywords.analyze, sandbox.keyword_ids[:6], in_flight=2)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(anext(fan_out), 20)
    assert (fan_out.progress.total, fan_out.progress.running, fan_out.progress.done) == (6, 2, 0)
    assert fan_out.progress.seconds_left is None
    await anext(fan_out)
    left = fan_out.progress.seconds_left
    assert left is not None
    assert 60 <= left <= 900
    outcomes = [outcome async for outcome in fan_out]
    end = fan_out.progress
    assert len(outcomes) == 5
    assert (end.running, end.succeeded, end.failed, end.credits, end.seconds_left) == (0, 5, 1, 6, 0)


async def test_follow_survives_cancelled_anext_and_ends(client: Client, sandbox: Sandbox) -> None:
    """A stream of progress that is read with a time limit misses no end."""
    fan_out = client.jobs.map(client.keywords.analyze, sandbox.keyword_ids[:5], in_flight=2)

    async def follow() -> list[int]:
        stream, done = fan_out.follow(), []
        while True:
            try:
                done.append((await asyncio.wait_for(anext(stream), 0.05)).done)
            except TimeoutError:
                pass
            except StopAsyncIteration:
                return done

    following = asyncio.create_task(follow())
    await fan_out
    async with asyncio.timeout(10):
        done = await following
    assert done == sorted(done)
    assert done[-1] == 5
    assert len(set(done)) > 2


async def test_jobs_that_have_ended_need_no_room_in_the_hour(client: Client, sandbox: Sandbox) -> None:
    """`as_completed` launches nothing, so a full hour does not hold back known outcomes."""
    jobs = [await client.keywords.analyze(keyword) for keyword in sandbox.keyword_ids[:3]]
    await asyncio.gather(*jobs)
    while client.rate_limit.free:
        await client.keywords.get(sandbox.keyword_ids[0])
    began = now()
    assert all(outcome.ok for outcome in await client.jobs.as_completed(jobs))
    assert now() == began


async def test_a_list_that_shrinks_meanwhile_loses_no_item(client: Client, sandbox: Sandbox) -> None:
    """Items that the loop removes from its own list are launched nevertheless."""
    todo = list(sandbox.keyword_ids[:6])
    async for outcome in client.jobs.map(client.keywords.analyze, todo, in_flight=2):
        todo.remove(outcome.item)
    assert not todo


async def test_what_is_no_list_of_items_is_refused(client: Client, sandbox: Sandbox) -> None:
    """A single text instead of items, and launches that were not awaited, are refused by name."""
    with pytest.raises(ArgumentError, match="timeout"):  # each job would be paid for, and none waited for
        client.jobs.map(client.keywords.analyze, [], timeout=0)
    with pytest.raises(ArgumentError, match="items"):
        client.jobs.map(client.keywords.analyze, sandbox.keyword_ids[0])
    launch = client.keywords.analyze(sandbox.keyword_ids[0])
    with pytest.raises(ArgumentError, match="await"):
        client.jobs.as_completed([launch])  # type: ignore[arg-type]  # what is refused
    launch.close()


async def test_stopping_at_once_gives_the_hour_back(client: Client, sandbox: Sandbox) -> None:
    """Requests that were reserved for launches that never began are free for later ones."""
    for turns in list(range(5)) * 20:
        fan_out = client.jobs.map(client.keywords.analyze, sandbox.keyword_ids)
        first = asyncio.ensure_future(anext(fan_out))
        for _ in range(turns):
            await asyncio.sleep(0)
        first.cancel()
        await fan_out.aclose()
    outcomes = await asyncio.wait_for(client.jobs.map(client.keywords.analyze, sandbox.keyword_ids[:3]), 600)
    assert all(outcome.ok for outcome in outcomes)
