"""Batches: in virtual time with the state in memory, and across several programs with the state in a file."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from cmsapi import Client, Keyword, PollPolicy, RateLimits
from cmsapi.errors import ArgumentError, ConflictError, JobFailedError, LaunchUnknownError, OutOfCreditsError
from cmsapi.jobs.job import Job
from cmsapi.jobs.kinds import JobKind
from cmsapi.jobs.review import GenerationReview
from cmsapi.jobs.token import Token
from cmsapi.sandbox import Fault, Limits, Sandbox
from cmsapi.state.store import Row
from cmsapi.testing import HandlerTransport
from tests.support.box import client_of

T = TypeVar("T")
QUICK: Any = {"durations": 0.5, "limits": Limits(per_second=10**9, per_hour=10**9)}  # polled every 0.2 s

virtual = pytest.mark.looptime


def program(directory: Path, sandbox: Sandbox, main: Callable[[Client], Awaitable[T]]) -> T:
    """Run a program in an event loop of its own; all programs of a directory share a state."""

    async def run() -> T:
        polling, limits = PollPolicy(min_interval=0.1, max_interval=0.2), RateLimits.unlimited()
        state = f"sqlite:///{directory}/state.db"
        async with client_of(sandbox, state=state, polling=polling, limits=limits) as client:
            return await main(client)

    return asyncio.run(run())


@virtual
async def test_a_finished_batch_costs_no_request() -> None:
    """500 finished analyses that are run again give all their results without a request."""
    sandbox = Sandbox(keywords=500, **QUICK)
    async with client_of(sandbox, limits=RateLimits.unlimited()) as client:
        first = await client.jobs.batch("b").map(client.keywords.analyze, sandbox.keyword_ids, ordered=True)
        before = len(sandbox.ledger.requests)
        again = await client.jobs.batch("b").map(client.keywords.analyze, sandbox.keyword_ids, ordered=True)
    assert len(sandbox.ledger.requests) == before
    assert [outcome.value for outcome in again] == [outcome.value for outcome in first]
    assert all(outcome.earlier for outcome in again)
    assert not any(outcome.earlier for outcome in first)


@virtual
async def test_failed_items_stay_failed_until_they_are_retried(client: Client, sandbox: Sandbox) -> None:
    """Five failing items that are run three times cost five credits, and another five after `retry_failed`."""
    items = sandbox.keyword_ids[:5]
    for keyword in items:
        sandbox.set_outcome(keyword, "failed")
    batch = client.jobs.batch("b")
    for _ in range(3):
        outcomes = await batch.map(client.keywords.analyze, items)
        assert all(isinstance(outcome.error, JobFailedError) for outcome in outcomes)
    assert sum(launch.credits for launch in sandbox.ledger.launches) == 5
    assert sorted(batch.failed) == sorted(items)
    assert await batch.retry_failed() == 5
    assert batch.failed == []
    for keyword in items:
        sandbox.set_outcome(keyword, "success")
    assert all(outcome.ok for outcome in await batch.map(client.keywords.analyze, items))
    assert sum(launch.credits for launch in sandbox.ledger.launches) == 10


@virtual
async def test_a_second_run_keeps_the_failures_of_the_first(client: Client, sandbox: Sandbox) -> None:
    """Failed items are kept until they are retried, even if another part of the batch is run after them."""
    failing, other = sandbox.keyword_ids[:2]
    sandbox.set_outcome(failing, "failed")
    async with client.jobs.batch("in two parts") as batch:
        await batch.map(client.keywords.analyze, [failing])
        await batch.map(client.keywords.analyze, [other])
        assert batch.failed == [failing]


@virtual
async def test_unknown_items_stay_unknown_until_they_are_retried(client: Client, sandbox: Sandbox) -> None:
    """A launch of which there is no trace is not repeated by a rerun, only after `retry_unknown`."""
    sandbox.faults.rules.append(Fault(match="analyze_keyword", drop="before", times=1))
    items = sandbox.keyword_ids[:1]
    batch = client.jobs.batch("b")
    for earlier in (False, True):
        (outcome,) = await batch.map(client.keywords.analyze, items)
        assert isinstance(outcome.error, LaunchUnknownError)
        assert outcome.earlier is earlier
    assert batch.unknown == list(items)
    assert (await batch.status()).unknown == 1
    assert await batch.retry_unknown() == 1
    assert [outcome.ok for outcome in await batch.map(client.keywords.analyze, items)] == [True]
    assert len(sandbox.ledger.launches) == 1


@virtual
async def test_items_that_were_never_launched_are_launched_by_the_next_run(client: Client, sandbox: Sandbox) -> None:
    """An item that was refused for lack of credits has not failed: the next run launches it."""
    sandbox.credits = {"analysis": 2}
    batch = client.jobs.batch("b")
    outcomes = await batch.map(client.keywords.analyze, sandbox.keyword_ids[:4], in_flight=1)
    assert [isinstance(outcome.error, OutOfCreditsError) for outcome in outcomes] == [False, False, True, True]
    assert len(batch.unfinished) == 2
    sandbox.credits = {"analysis": 9}
    assert all(outcome.ok for outcome in await batch.map(client.keywords.analyze, sandbox.keyword_ids[:4]))
    assert len(sandbox.ledger.launches) == 4


@virtual
async def test_two_items_of_one_name_are_refused(client: Client, sandbox: Sandbox) -> None:
    """Indistinguishable items are refused before anything is launched, unless ``key=`` distinguishes them."""
    items = [("a", sandbox.keyword_ids[0]), ("b", sandbox.keyword_ids[0])]

    async def launch(item: tuple[str, str]) -> Job[Keyword]:
        return await client.keywords.analyze(item[1])

    with pytest.raises(ValueError, match="key"):
        await client.jobs.batch("b").map(launch, items, key=lambda item: item[1])
    assert not sandbox.ledger.launches
    assert len(await client.jobs.batch("b").map(launch, items, key=lambda item: item[0])) == 2


@virtual
async def test_a_batch_joins_what_runs(client: Client, sandbox: Sandbox) -> None:
    """Two batches of one keyword, while its analysis is running, have one item each and share one launch."""
    keyword = sandbox.keyword_ids[:1]
    both = [client.jobs.batch(name).map(client.keywords.analyze, keyword) for name in "ab"]
    (one,), (other,) = await asyncio.gather(*map(asyncio.ensure_future, both))
    assert one.value == other.value
    assert len(sandbox.ledger.launches) == 1
    assert [(each.name, each.succeeded) for each in await client.jobs.batches()] == [("a", 1), ("b", 1)]
    assert await client.jobs.batch("a").forget() == 1
    before = len(sandbox.ledger.requests)
    assert [outcome.ok for outcome in await client.jobs.batch("b").map(client.keywords.analyze, keyword)] == [True]
    assert len(sandbox.ledger.requests) == before


@virtual
async def test_progress_counts_all_runs(client: Client, sandbox: Sandbox) -> None:
    """A batch's progress includes the outcomes and credits of earlier runs."""
    await client.jobs.batch("b").map(client.keywords.analyze, sandbox.keyword_ids[:3])
    batch = client.jobs.batch("b")
    fan_out = batch.map(client.keywords.analyze, sandbox.keyword_ids[:5])
    assert [(await anext(fan_out)).earlier for _ in range(3)] == [True] * 3
    assert (batch.progress.total, batch.progress.succeeded, batch.progress.done) == (5, 3, 3)
    await fan_out
    assert (batch.progress.done, batch.progress.credits) == (5, 5)


@virtual
async def test_forget_makes_a_batch_new(client: Client, sandbox: Sandbox) -> None:
    """A forgotten batch has no items, and launches them all again."""
    batch = client.jobs.batch("b")
    await batch.map(client.keywords.analyze, sandbox.keyword_ids[:2])
    assert await batch.forget() == 2
    assert await client.jobs.batches() == []
    assert not any(outcome.earlier for outcome in await batch.map(client.keywords.analyze, sandbox.keyword_ids[:2]))
    assert len(sandbox.ledger.launches) == 4


@virtual
async def test_articles_wait_for_their_decision(client: Client, sandbox: Sandbox) -> None:
    """Articles without a decision are in review, for `reviews` and for a rerun with ``on_review=``."""
    items = sandbox.content_ids[:3]
    batch = client.jobs.batch("b")
    for outcome in await batch.map(client.contents.generate, items):
        assert isinstance(outcome.value, GenerationReview)
        assert outcome.value.decision is None
    assert ((await batch.status()).review, len(batch.unfinished)) == (3, 3)
    reviews = await client.jobs.reviews()
    assert {review.content_id for review in reviews} == set(items)
    await reviews[0].cancel()
    assert len(await client.jobs.reviews()) == 2
    outcomes = await client.jobs.batch("b").map(client.contents.generate, items, on_review="confirm")
    assert sorted(str(outcome.result().decision) for outcome in outcomes) == ["cancel", "confirm", "confirm"]
    assert (await batch.status()).succeeded == 3
    assert len(sandbox.ledger.launches) == 3


def test_results_outlive_their_program(tmp_path: Path) -> None:
    """Another program gets results and failures from the state: it sends only what opening the state costs."""
    sandbox = Sandbox(**QUICK)
    items = sandbox.keyword_ids[:4]
    sandbox.set_outcome(items[0], "failed", duration=3)  # long enough to be seen at work, whatever the load

    async def run(client: Client) -> Any:
        return await client.jobs.batch("b").map(client.keywords.analyze, items, ordered=True)

    first = program(tmp_path, sandbox, run)
    before = len(sandbox.ledger.requests)
    again = program(tmp_path, sandbox, run)
    assert len(sandbox.ledger.requests) <= before + 1
    assert [outcome.ok for outcome in again] == [False, True, True, True]
    assert [outcome.value for outcome in again] == [outcome.value for outcome in first]
    assert str(again[0].error) == str(first[0].error)


def test_jobs_outlive_their_program(tmp_path: Path) -> None:
    """A program that continues a batch waits for its predecessor's jobs, and launches only the rest."""
    sandbox = Sandbox(**QUICK)

    async def begin(client: Client) -> None:
        async with client.jobs.batch("b") as batch:
            fan_out = batch.map(client.keywords.analyze, sandbox.keyword_ids[:3])
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(fan_out), 0.3)

    async def go_on(client: Client) -> Any:
        batch = client.jobs.batch("b")
        status = await batch.status()
        return status.running, await batch.map(client.keywords.analyze, sandbox.keyword_ids[:5])

    program(tmp_path, sandbox, begin)
    running, outcomes = program(tmp_path, sandbox, go_on)
    assert running == 3
    assert [outcome.ok for outcome in outcomes] == [True] * 5
    assert len(sandbox.ledger.launches) == 5


def test_articles_outlive_their_program(tmp_path: Path) -> None:
    """The next program decides on an article in review, and the one after sees the decision."""
    sandbox = Sandbox(**QUICK)
    items = sandbox.content_ids[:1]

    async def generate(client: Client) -> Any:
        return await client.jobs.batch("b").map(client.contents.generate, items)

    async def decide(client: Client) -> Any:
        (review,) = await client.jobs.reviews()
        return await review.confirm()

    program(tmp_path, sandbox, generate)
    assert program(tmp_path, sandbox, decide).id == items[0]
    before = len(sandbox.ledger.requests)
    (outcome,) = program(tmp_path, sandbox, generate)
    assert (outcome.earlier, outcome.value.decision) == (True, "confirm")
    assert len(sandbox.ledger.requests) <= before + 1


@virtual
async def test_two_runs_at_once_launch_an_item_once(client: Client, sandbox: Sandbox) -> None:
    """Overlapping runs of one batch, like those of a cron job, pay once for each search and share its ideas."""

    async def run() -> list[Any]:
        batch = client.jobs.batch("b")
        return await batch.map(lambda word: client.content_ideas.search(sandbox.workspace_id, word), ["tea", "milk"])

    runs = await asyncio.gather(run(), run())
    assert len(sandbox.ledger.launches) == 2
    assert all(outcome.ok for outcomes in runs for outcome in outcomes)


@virtual
async def test_a_wait_begins_with_its_run(client: Client, sandbox: Sandbox) -> None:
    """A run long after the launch polls its jobs, whatever the values of ``timeout`` and `PollPolicy.job_timeout`."""
    keyword = sandbox.keyword_ids[:1]
    (first,) = await client.jobs.batch("b").map(client.keywords.analyze, keyword, timeout=20)
    assert not first.ok
    await asyncio.sleep(90_000)
    (second,) = await client.jobs.batch("b").map(client.keywords.analyze, keyword, timeout=20)
    assert second.ok


@virtual
async def test_an_earlier_outcome_has_its_job(client: Client, sandbox: Sandbox) -> None:
    """The job of an item that an earlier run finished is done, and costs no poll."""
    sandbox.set_outcome(sandbox.keyword_ids[0], "failed")
    await client.jobs.batch("b").map(client.keywords.analyze, sandbox.keyword_ids[:2])
    before = len(sandbox.ledger.requests)
    failed, succeeded = await client.jobs.batch("b").map(client.keywords.analyze, sandbox.keyword_ids[:2])
    assert failed.job is not None
    assert succeeded.job is not None
    assert (failed.job.status, succeeded.job.status) == ("failed", "succeeded")
    assert await succeeded.job == succeeded.value
    assert len(sandbox.ledger.requests) == before


@virtual
async def test_items_that_may_change_need_a_key(client: Client, sandbox: Sandbox) -> None:
    """A model as an item is refused without ``key=``: its text would name another item in the next run."""
    keyword = await client.keywords.get(sandbox.keyword_ids[0])
    with pytest.raises(ArgumentError, match="key"):
        await client.jobs.batch("b").map(lambda each: client.keywords.analyze(each.id), [keyword])
    outcomes = await client.jobs.batch("b").map(
        lambda each: client.keywords.analyze(each.id), [keyword], key=lambda each: each.id
    )
    assert outcomes[0].ok
    assert len(sandbox.ledger.launches) == 1


@virtual
@pytest.mark.parametrize("earlier", [False, True])
async def test_an_error_of_a_decision_is_raised(client: Client, sandbox: Sandbox, earlier: bool) -> None:
    """A mistake in ``on_review`` ends the iteration, even if the article came from an earlier run."""
    if earlier:
        await client.jobs.batch("b").map(client.contents.generate, sandbox.content_ids[:1])

    def decide(review: GenerationReview) -> None:
        raise NameError("typo")

    with pytest.raises(NameError):
        await client.jobs.batch("b").map(client.contents.generate, sandbox.content_ids[:1], on_review=decide)
    assert (await client.contents.generation(sandbox.content_ids[0])).status == "review"


@virtual
async def test_a_decision_that_is_refused_changes_no_record(client: Client, sandbox: Sandbox) -> None:
    """A batch reports the decision that was carried out, not the later one that was refused."""
    (outcome,) = await client.jobs.batch("b").map(client.contents.generate, sandbox.content_ids[:1])
    await outcome.result().confirm()
    with pytest.raises(ConflictError):
        await outcome.result().cancel()
    (again,) = await client.jobs.batch("b").map(client.contents.generate, sandbox.content_ids[:1])
    assert again.result().decision == "confirm"


@virtual
async def test_what_ends_a_program_is_raised_while_an_earlier_launch_is_settled(sandbox: Sandbox) -> None:
    """``pytest.fail`` in a transport ends the iteration also where a process has died while it launched."""
    transport = HandlerTransport(lambda request: pytest.fail("from the transport"))
    async with client_of(sandbox, transport=transport) as client:
        batch, row = client.jobs.batch("b"), Row("analysis", "kw", "kw", token=str(Token(JobKind.ANALYSIS, "kw", "kw")))
        await client._launcher.recovery.poller.store.insert(row, 0.0, ("b", "kw"))  # noqa: SLF001  a process that died
        with pytest.raises(pytest.fail.Exception):
            await asyncio.wait_for(batch.map(client.keywords.analyze, ["kw"]), 600)
