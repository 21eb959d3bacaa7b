"""Many jobs at once: order, bounds, errors, and leaving early."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import cmsapi
from cmsapi.api.models.keyword import Keyword
from cmsapi.config import PollPolicy
from cmsapi.jobs import AsCompleted, ContentIdeas, Fanout, Job, Outcome
from cmsapi.sandbox import Credits, Fault, Lognormal, Sandbox
from tests.support.jobs import box, client_of

pytestmark = pytest.mark.looptime


def in_flight(sandbox: Sandbox) -> int:
    """Return the largest number of jobs that ran at the same time."""
    moments = [(job.launched_at, 1) for job in sandbox.jobs] + [(job.ends_at, -1) for job in sandbox.jobs]
    running = most = 0
    for _, step in sorted(moments):
        running += step
        most = max(most, running)
    return most


async def test_outcomes_come_in_the_order_of_their_ends() -> None:
    """`map` hands each item's job and value out when it ends, each item once."""
    sandbox = Sandbox(keywords=30, durations=Lognormal(60.0, 1.5))
    async with client_of(sandbox) as client:
        outcomes = [outcome async for outcome in client.jobs.map(client.keywords.analyze, sandbox.keyword_ids)]
        assert sorted(outcome.item for outcome in outcomes) == sorted(sandbox.keyword_ids)
        assert [outcome.item for outcome in outcomes] != list(sandbox.keyword_ids)
        for outcome in outcomes:
            assert outcome.error is None
            assert outcome.job is not None
            assert outcome.value is not None
            assert outcome.job.target == outcome.value.id == outcome.item
        ended = [outcome.job.status.observed_at for outcome in outcomes if outcome.job]
        assert ended == sorted(ended, key=lambda time: time.timestamp() if time else 0.0)
    assert len(sandbox.ledger.launches()) == 30


@pytest.mark.parametrize("most", [1, 3, 20])
async def test_no_more_than_asked_for_are_in_flight(most: int) -> None:
    """Never are more jobs launched and not over than `in_flight` says."""
    sandbox = Sandbox(keywords=25, durations=Lognormal(30.0, 0.8))
    async with client_of(sandbox) as client:
        fanout = client.jobs.map(client.keywords.analyze, sandbox.keyword_ids, in_flight=most)
        assert len([outcome async for outcome in fanout]) == 25
        assert fanout.launched == []
    assert in_flight(sandbox) == most


async def test_items_are_taken_when_there_is_room() -> None:
    """An endless iterable is read only as far as jobs can be in flight."""
    sandbox = box(30.0, keywords=50)
    taken: list[str] = []

    def items() -> Iterator[str]:
        for number in count():
            taken.append(sandbox.keyword_ids[number])
            yield taken[-1]

    async with client_of(sandbox) as client, client.jobs.map(client.keywords.analyze, items(), in_flight=4) as fanout:
        async for outcome in fanout:
            assert outcome.error is None
            assert len(taken) <= 2 * 4 + 1
            break


async def test_async_iterables_are_items_too() -> None:
    """Items may come from an asynchronous iterable, however slowly."""
    sandbox = box(5.0)

    async def items() -> AsyncIterator[str]:
        for keyword_id in sandbox.keyword_ids[:5]:
            await asyncio.sleep(20)
            yield keyword_id

    async with client_of(sandbox) as client:
        outcomes = [outcome async for outcome in client.jobs.map(client.keywords.analyze, items())]
    assert [outcome.item for outcome in outcomes] == list(sandbox.keyword_ids[:5])


async def test_errors_are_collected() -> None:
    """By default a failed launch and a failed job are outcomes among the others."""
    sandbox = box(10.0, credits=Credits(analysis=4))
    sandbox.set_outcome(sandbox.keyword_ids[1], "failed")
    async with client_of(sandbox) as client:
        fanout = client.jobs.map(client.keywords.analyze, sandbox.keyword_ids[:6], in_flight=2)
        outcomes = {outcome.item: outcome async for outcome in fanout}
    kinds = [type(outcomes[id_].error) for id_ in sandbox.keyword_ids[:6]]
    nothing = type(None)
    assert kinds[:5] == [nothing, cmsapi.JobFailedError, nothing, nothing, cmsapi.OutOfCreditsError]
    # It may have been on its way when that was refused.
    assert kinds[5] is cmsapi.OutOfCreditsError
    assert outcomes[sandbox.keyword_ids[1]].job is not None
    assert outcomes[sandbox.keyword_ids[5]].job is None


async def test_the_first_error_is_raised_on_demand() -> None:
    """`errors="raise"` stops launching at the first error and says which item it was and what goes on."""
    sandbox = box(30.0, keywords=20)
    sandbox.set_outcome(sandbox.keyword_ids[0], "failed")
    async with client_of(sandbox) as client:
        fanout = client.jobs.map(client.keywords.analyze, sandbox.keyword_ids, in_flight=5, errors="raise")
        with pytest.raises(cmsapi.JobFailedError) as caught:
            async for _ in fanout:
                pass
        launched = len(sandbox.ledger.launches())
        assert f"It was item '{sandbox.keyword_ids[0]}'" in caught.value.__notes__[-1]
        assert f"{len(fanout.launched)} launched jobs continue" in caught.value.__notes__[-1]
        await asyncio.sleep(100)
        assert len(sandbox.ledger.launches()) == launched < 20
        for job in fanout.launched:
            await job


async def test_leaving_early_stops_launching_and_keeps_what_is_launched() -> None:
    """After leaving the context nothing more is launched or polled, and `launched` has the jobs that go on."""
    sandbox = box(30.0, keywords=20)
    async with client_of(sandbox) as client:
        async with client.jobs.map(client.keywords.analyze, sandbox.keyword_ids, in_flight=6) as fanout:
            async for _ in fanout:
                break
        seen = len(sandbox.ledger)
        await asyncio.sleep(500)
        assert len(sandbox.ledger) == seen
        launched = {entry.target_id for entry in sandbox.ledger.launches()}
        assert 1 <= len(fanout.launched) < 12
        for job in fanout.launched:
            assert job.target in launched
            assert (await job).analysis_status == "success"
        # What had ended before can still be had, and then it is over.
        assert len([outcome async for outcome in fanout]) < 6
        assert [outcome async for outcome in fanout] == []
    assert len(sandbox.ledger.launches()) == len(launched)


async def test_leaving_keeps_a_job_that_is_being_sent_and_calls_back_what_waits_for_quota() -> None:
    """Of launches without an answer, those that left are waited for, and those that did not are not paid."""
    sandbox = box(30.0, latency=(1.0, 1.0))
    limits = cmsapi.RateLimits(per_second=1)
    async with client_of(sandbox, limits=limits) as client:
        await client.me()
        await asyncio.sleep(1.0)
        async with client.jobs.map(client.keywords.analyze, sandbox.keyword_ids, in_flight=5) as fanout:
            first = asyncio.ensure_future(anext(fanout))
            await asyncio.sleep(0.5)
            assert not fanout.launched
            first.cancel()
        launched = list(fanout.launched)
        await asyncio.sleep(100)
        assert [job.target for job in launched] == [entry.target_id for entry in sandbox.ledger.launches()]
        assert len(launched) == 1
        await asyncio.gather(first, return_exceptions=True)


async def test_leaving_does_not_wait_for_launches_that_were_refused_for_now() -> None:
    """A launch that a 429 has put off is called back when the fan-out is left, and not waited for."""
    sandbox = box(30.0, rules=[Fault(match="POST *analyze", status=429, retry_after=3000, times=None)])
    async with client_of(sandbox) as client:
        began = asyncio.get_running_loop().time()
        async with client.jobs.map(client.keywords.analyze, sandbox.keyword_ids[:3]) as fanout:
            first = asyncio.ensure_future(anext(fanout))
            await asyncio.sleep(5)
            first.cancel()
        assert asyncio.get_running_loop().time() - began < 6
        assert fanout.launched == []
        await asyncio.gather(first, return_exceptions=True)


async def test_leaving_before_the_first_outcome_launches_nothing() -> None:
    """A fan-out that is not iterated launches nothing, before and after it is left."""
    sandbox = box(30.0)
    async with client_of(sandbox) as client:
        async with client.jobs.map(client.keywords.analyze, sandbox.keyword_ids) as fanout:
            pass
        assert [outcome async for outcome in fanout] == []
    assert len(sandbox.ledger) == 0


async def test_outcomes_that_are_not_taken_stop_the_launching() -> None:
    """A loop left without closing goes on paying for twice the jobs in flight at the most."""
    sandbox = box(5.0, keywords=100)
    async with client_of(sandbox) as client:
        fanout = client.jobs.map(client.keywords.analyze, sandbox.keyword_ids, in_flight=5)
        async for _ in fanout:
            break
        await asyncio.sleep(3000)
        assert len(sandbox.ledger.launches()) <= 1 + 2 * 5
        rest = [outcome async for outcome in fanout]
        assert len(rest) == 99


async def test_an_iterable_that_fails_is_told_after_the_outcomes() -> None:
    """What the caller's own iterable raises comes when the jobs launched so far are over, as often as asked."""
    sandbox = box(30.0)

    def items() -> Iterator[str]:
        yield from sandbox.keyword_ids[:3]
        raise ZeroDivisionError("the caller's own")

    async with client_of(sandbox) as client:
        fanout = client.jobs.map(client.keywords.analyze, items())
        outcomes = [await anext(fanout) for _ in range(3)]
        assert all(outcome.error is None for outcome in outcomes)
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                await anext(fanout)


async def test_an_iterable_in_which_something_was_cancelled_ends_no_jobs() -> None:
    """A cancellation inside of the caller's iterable comes after the outcomes, as an error of its own."""
    sandbox = box(30.0)

    async def items() -> AsyncIterator[str]:
        yield sandbox.keyword_ids[0]
        await asyncio.sleep(5.0)
        raise asyncio.CancelledError

    async with client_of(sandbox) as client:
        fanout = client.jobs.map(client.keywords.analyze, items())
        assert (await anext(fanout)).error is None
        with pytest.raises(cmsapi.JobError, match="`items` waited for something that was cancelled"):
            await anext(fanout)


async def test_a_wait_that_is_given_up_keeps_its_job_listed() -> None:
    """A job whose waiters were ended by a refused key is not over, so it stays in `launched`."""
    sandbox = box(30.0)
    async with client_of(sandbox) as client:
        fanout = client.jobs.map(client.keywords.analyze, sandbox.keyword_ids[:2])
        pending = asyncio.ensure_future(anext(fanout))
        await asyncio.sleep(2)
        sandbox.revoke(sandbox.api_key)
        outcome = await pending
        assert isinstance(outcome.error, cmsapi.UnauthorizedError)
        assert outcome.job in fanout.launched
        await anext(fanout)
        sandbox.restore(sandbox.api_key)
        assert [(await job).analysis_status for job in fanout.launched] == ["success", "success"]


@pytest.mark.parametrize(
    ("options", "parameter"),
    [({"in_flight": 0}, "in_flight"), ({"in_flight": "many"}, "in_flight"), ({"errors": "ignore"}, "errors")],
)
async def test_wrong_options_are_refused(
    client: cmsapi.Client, sandbox: Sandbox, options: dict[str, object], parameter: str
) -> None:
    """A wrong bound or word is refused before anything is launched."""
    with pytest.raises(cmsapi.ArgumentError) as caught:
        client.jobs.map(client.keywords.analyze, sandbox.keyword_ids, **options)  # type: ignore[arg-type]
    assert caught.value.parameter == parameter
    assert len(sandbox.ledger) == 0


async def test_any_launch_can_be_mapped() -> None:
    """The launch may be a function of one's own that does more than launch."""
    sandbox = box(10.0)

    async def write(title: str) -> Job[cmsapi.jobs.GenerationReview]:
        content = await client.contents.create(
            sandbox.workspace_id,
            title,
            page_id=(await client.contents.get(sandbox.content_ids[0])).page.id,  # type: ignore[union-attr]
        )
        return await client.contents.generate(content.id, on_review=lambda review: "confirm")

    async with client_of(sandbox) as client:
        titles = ["One", "Two", "Three"]
        reviews = {outcome.item: outcome.value async for outcome in client.jobs.map(write, titles)}
    assert {title for title, review in reviews.items() if review and review.decision == "confirm"} == set(titles)


async def test_a_launch_function_that_gives_the_result_is_told_so() -> None:
    """A launch function that awaits the job inside gives an outcome with an error for each item."""
    sandbox = box(5.0)
    async with client_of(sandbox) as client:

        async def launch(keyword_id: str) -> Any:
            return await (await client.keywords.analyze(keyword_id))

        outcomes = [outcome async for outcome in client.jobs.map(launch, sandbox.keyword_ids[:3])]
    assert sorted(outcome.item for outcome in outcomes) == sorted(sandbox.keyword_ids[:3])
    for outcome in outcomes:
        with pytest.raises(cmsapi.ArgumentError, match="must return the job and not await it") as caught:
            outcome.result()
        assert caught.value.parameter == "launch"


async def test_a_launch_that_was_not_awaited_is_named() -> None:
    """A launch function that forgets `await` hears that it must await, not the contrary."""
    sandbox = box(5.0)
    async with client_of(sandbox) as client:

        async def launch(keyword_id: str) -> Any:
            return client.keywords.analyze(keyword_id)

        (outcome,) = [outcome async for outcome in client.jobs.map(launch, sandbox.keyword_ids[:1])]
    assert isinstance(outcome.error, cmsapi.ArgumentError)
    assert "return await" in str(outcome.error)
    assert "not await it" not in str(outcome.error)
    assert not sandbox.ledger.launches()


async def test_an_item_whose_own_work_was_cancelled_is_an_outcome() -> None:
    """A launch function in which something was cancelled does not lose its item, nor end the others."""
    sandbox = box(5.0)
    async with client_of(sandbox) as client:

        async def launch(keyword_id: str) -> Job[Keyword]:
            if keyword_id == sandbox.keyword_ids[0]:
                raise asyncio.CancelledError
            return await client.keywords.analyze(keyword_id)

        outcomes = {o.item: o.error async for o in client.jobs.map(launch, sandbox.keyword_ids[:2])}
    assert isinstance(outcomes[sandbox.keyword_ids[0]], cmsapi.JobError)
    assert outcomes[sandbox.keyword_ids[1]] is None


async def test_the_burst_is_kept_by_a_wide_fan_out() -> None:
    """A hundred jobs at once, launched and polled, never meet a 429."""
    sandbox = box(20.0, keywords=100, latency=(0.02, 0.2))
    async with client_of(sandbox, polling=PollPolicy(min_interval=8.0, max_interval=10.0)) as client:
        fanout = client.jobs.map(client.keywords.analyze, sandbox.keyword_ids, in_flight=100)
        assert len([outcome async for outcome in fanout]) == 100
    assert sandbox.ledger.count(status=429) == 0


# as_completed and gather


async def launched(client: cmsapi.Client, sandbox: Sandbox, number: int) -> list[Job[Keyword]]:
    """Launch some analyses."""
    return [await client.keywords.analyze(id_) for id_ in sandbox.keyword_ids[:number]]


async def test_as_completed_gives_the_first_first() -> None:
    """Jobs come in the order of their ends, failures among them."""
    sandbox = box(1000.0)
    async with client_of(sandbox) as client:
        jobs = await launched(client, sandbox, 3)
        completed = client.jobs.as_completed(jobs)
        for job, outcome in ((jobs[2], "success"), (jobs[0], "failed"), (jobs[1], "success")):
            sandbox.finish(job.target, outcome)  # type: ignore[arg-type]
            ended = await anext(completed)
            assert ended.job is job
            assert ended.item == job.target
            assert (ended.error is None) is (outcome == "success")
        with pytest.raises(StopAsyncIteration):
            await anext(completed)


async def test_as_completed_takes_more_on_the_way() -> None:
    """Jobs added while iterating come too; an iteration that had ended goes on."""
    sandbox = box(10.0)
    async with client_of(sandbox) as client:
        jobs = await launched(client, sandbox, 5)
        completed = client.jobs.as_completed(jobs[:1])
        seen: list[Outcome[str, Keyword]] = []
        async for outcome in completed:
            seen.append(outcome)
            if len(seen) < 4:
                completed.add(jobs[len(seen)])
        assert [outcome.job for outcome in seen] == jobs[:4]
        completed.add(jobs[4])
        assert [outcome.job async for outcome in completed] == jobs[4:]


async def test_as_completed_serves_two_iterations() -> None:
    """Two loops over the same jobs share them and both end; one that is cancelled loses nothing."""
    sandbox = box(10.0)
    async with client_of(sandbox) as client:
        completed = client.jobs.as_completed(await launched(client, sandbox, 3))
        hasty = asyncio.ensure_future(anext(completed))
        await asyncio.sleep(0)
        hasty.cancel()
        await asyncio.gather(hasty, return_exceptions=True)

        async def collect() -> list[Outcome[str, Keyword]]:
            return [outcome async for outcome in completed]

        parts = await asyncio.gather(collect(), collect())
    assert len(parts[0]) + len(parts[1]) == 3


@pytest.mark.filterwarnings("error")
async def test_launches_that_were_not_awaited_are_no_jobs() -> None:
    """`as_completed`, `add` and `gather` refuse launches in place of jobs, and launch nothing."""
    sandbox = box(5.0)
    async with client_of(sandbox) as client:
        launch: Any = client.keywords.analyze
        first, second = sandbox.keyword_ids[:2]
        completed: AsCompleted[Keyword] = client.jobs.as_completed([])
        with pytest.raises(cmsapi.ArgumentError, match="got coroutine") as caught:
            client.jobs.as_completed([launch(first), launch(second)])
        assert caught.value.parameter == "jobs"
        with pytest.raises(cmsapi.ArgumentError, match="got coroutine"):
            completed.add(launch(first))
        with pytest.raises(cmsapi.ArgumentError, match="got coroutine"):
            await client.jobs.gather(launch(first))
        with pytest.raises(cmsapi.ArgumentError, match="got str"):
            completed.add("job")  # type: ignore[arg-type]
        assert [outcome async for outcome in completed] == []
        gc.collect()
    assert not sandbox.ledger


async def test_closing_as_completed_ends_who_asks_at_that_moment() -> None:
    """Tasks that wait for the next outcome end when the jobs are no longer waited for; more may be added later."""
    sandbox = box(1000.0)
    async with client_of(sandbox) as client:
        jobs = await launched(client, sandbox, 3)
        completed = client.jobs.as_completed(jobs)

        async def collect() -> list[Outcome[str, Keyword]]:
            return [outcome async for outcome in completed]

        loops = [asyncio.create_task(collect()) for _ in range(2)]
        await asyncio.sleep(5)
        await completed.aclose()
        async with asyncio.timeout(5):
            assert await asyncio.gather(*loops) == [[], []]
        sandbox.finish(jobs[0].target)
        completed.add(jobs[0])
        assert [outcome.job async for outcome in completed] == jobs[:1]


async def test_leaving_as_completed_stops_the_polls() -> None:
    """After leaving the context the jobs that are left are not polled, and they go on."""
    sandbox = box(30.0)
    async with client_of(sandbox) as client:
        jobs = await launched(client, sandbox, 3)
        async with client.jobs.as_completed(jobs) as completed:
            sandbox.finish(jobs[0].target)
            async for outcome in completed:
                assert outcome.job is jobs[0]
                break
        seen = len(sandbox.ledger)
        await asyncio.sleep(100)
        assert len(sandbox.ledger) == seen
        assert [outcome async for outcome in completed] == []
        await jobs[1]


async def test_gather_keeps_the_order() -> None:
    """Results come in the order of the jobs, and one job may be asked for twice."""
    sandbox = Sandbox(durations=Lognormal(30.0, 1.0))
    async with client_of(sandbox) as client:
        jobs = await launched(client, sandbox, 5)
        results = await client.jobs.gather(*jobs, jobs[0])
        assert [result.id for result in results] == [*sandbox.keyword_ids[:5], sandbox.keyword_ids[0]]
        assert await client.jobs.gather() == []


async def test_gather_explains_the_siblings() -> None:
    """The first error is raised when all jobs are over, with a note on the others, and no note grows twice."""
    sandbox = box(30.0)
    for keyword_id in sandbox.keyword_ids[1:9]:
        sandbox.set_outcome(keyword_id, "failed")
    async with client_of(sandbox) as client:
        jobs = await launched(client, sandbox, 10)
        for _ in range(2):
            with pytest.raises(cmsapi.JobFailedError) as caught:
                await client.jobs.gather(*jobs)
            assert caught.value.job is jobs[1]
            (note,) = caught.value.__notes__
            assert note.startswith("8 of 10 jobs have no result: <Job keyword_analysis")
            assert "…" in note
        assert all(job.done() for job in jobs)
        few = jobs[8:]
        with pytest.raises(cmsapi.JobFailedError) as caught:
            await client.jobs.gather(*few)
        assert "…" not in caught.value.__notes__[0]


async def test_gather_of_a_failing_hook_adds_notes_to_copies() -> None:
    """A note on one waiter's error is not seen by the next waiter."""

    def fail(review: cmsapi.jobs.GenerationReview) -> str:
        raise RuntimeError("no idea")

    sandbox = box(10.0)
    async with client_of(sandbox) as client:
        job = await client.contents.generate(sandbox.content_ids[0], on_review=fail)  # type: ignore[arg-type]
        for _ in range(2):
            with pytest.raises(RuntimeError) as caught:
                await client.jobs.gather(job)
            assert len(caught.value.__notes__) == 2


# Closing


@pytest.mark.parametrize("waits_for", ["jobs", "quota", "items"])
async def test_closing_the_client_ends_a_fan_out(waits_for: str) -> None:
    """An iteration ends with the error that the client was closed, whatever the fan-out was waiting for."""
    sandbox = box(1000.0)

    async def items() -> AsyncIterator[str]:
        yield sandbox.keyword_ids[0]
        await asyncio.sleep(1_000_000)

    async with client_of(sandbox, limits=cmsapi.RateLimits(per_second=1, per_hour=3)) as client:
        if waits_for == "items":
            fanout: Fanout[str, Keyword] = client.jobs.map(client.keywords.analyze, items())
        else:
            fanout = client.jobs.map(
                client.keywords.analyze, sandbox.keyword_ids, in_flight=1 if waits_for == "jobs" else 10
            )

        async def iterate() -> list[Outcome[str, Keyword]]:
            return [outcome async for outcome in fanout]

        iterating = asyncio.create_task(iterate())
        await asyncio.sleep(7)
        await client.aclose()
        with pytest.raises(cmsapi.ClientClosedError):
            await asyncio.wait_for(iterating, 10)


async def test_a_launch_function_may_close_the_client() -> None:
    """Closing the client inside of a launch ends the fan-out, and the close as well."""
    sandbox = box(30.0)
    client = client_of(sandbox)

    async def launch(keyword_id: str) -> Job[Keyword]:
        if keyword_id == sandbox.keyword_ids[2]:
            await client.aclose()
        return await client.keywords.analyze(keyword_id)

    async def iterate() -> None:
        async for outcome in client.jobs.map(launch, sandbox.keyword_ids[:5], in_flight=2):
            assert outcome.item != sandbox.keyword_ids[4]

    async with asyncio.timeout(300):
        with pytest.raises(cmsapi.ClientClosedError):
            await iterate()
        await client.aclose()
    assert len(sandbox.ledger.launches()) == 2


async def test_closing_the_client_ends_as_completed_and_gather() -> None:
    """A wait for several jobs ends with the error that the client was closed, with their tokens."""
    sandbox = box(1000.0)
    async with client_of(sandbox) as client:
        jobs = await launched(client, sandbox, 2)
        completed = client.jobs.as_completed(jobs)

        async def collect() -> list[Outcome[str, Keyword]]:
            return [outcome async for outcome in completed]

        collecting = asyncio.create_task(collect())
        gathering = asyncio.create_task(client.jobs.gather(*jobs))
        await asyncio.sleep(1)
        completed.add(jobs[0])
        await client.aclose()
        outcomes = await asyncio.wait_for(collecting, 10)
        assert [type(outcome.error) for outcome in outcomes] == [cmsapi.ClientClosedError] * 3
        with pytest.raises(cmsapi.ClientClosedError):
            await gathering
        with pytest.raises(cmsapi.ClientClosedError):
            completed.add(jobs[0])


async def test_faults_on_the_way_are_outcomes() -> None:
    """A launch whose outcome cannot be found out is an outcome that says so; nothing is launched twice."""
    rules = [Fault(match="POST *searches", drop=True, when="after", probability=0.3, times=None)]
    sandbox = box(20.0, rules=rules)
    words = [f"word {number}" for number in range(20)]
    async with client_of(sandbox) as client:

        def search(keyword: str) -> Awaitable[Job[ContentIdeas]]:
            return client.content_ideas.search(sandbox.workspace_id, keyword)

        outcomes = [outcome async for outcome in client.jobs.map(search, words)]
    unknown = [outcome for outcome in outcomes if isinstance(outcome.error, cmsapi.LaunchUnknownError)]
    assert 0 < len(unknown) < len(outcomes) == 20
    assert len(sandbox.ledger.launches()) == sandbox.ledger.count(operation="start_content_idea_search") == 20


@pytest.mark.parametrize("fault", [{"drop": True, "when": "after"}, {"status": 502, "when": "after"}, {"slow": 60.0}])
async def test_leaving_waits_some_seconds_for_answers(fault: dict[str, Any], tmp_path: Path) -> None:
    """A program that has to stop is through in time, and the next one settles the launch whose answer is lost."""
    sandbox = box(10.0, rules=[Fault(match="POST *", times=1, **fault)])
    state = f"sqlite:///{tmp_path}/state.db"
    loop = asyncio.get_running_loop()
    async with client_of(sandbox, state=state) as client:
        async with client.jobs.map(client.keywords.analyze, sandbox.keyword_ids[:3]) as fan_out:
            await anext(fan_out)
            left_at = loop.time()
        assert loop.time() - left_at < 6.0
    async with client_of(sandbox, state=state) as client:
        async with asyncio.TaskGroup() as tasks:
            jobs = [tasks.create_task(client.keywords.analyze(each)) for each in sandbox.keyword_ids[:3]]
        for job in jobs:
            await job.result()
    charged = {entry.target_id for entry in sandbox.ledger.launches()}
    assert charged == set(sandbox.keyword_ids[:3])
