"""Any process of a state tells how far any batch is, and one of them calls back at its end."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import attrs
import pytest

import cmsapi
from cmsapi.jobs import GenerationReview, Job
from cmsapi.runtime.accounts import accounts_of_loop
from cmsapi.sandbox import Fault, Lognormal, Sandbox
from cmsapi.state.entry import Entry
from tests.support.jobs import box, client_of
from tests.support.memory import ProcessState

pytestmark = pytest.mark.looptime


def counts(status: cmsapi.BatchStatus) -> tuple[int, ...]:
    """Return the counts that all processes must agree on."""
    shown = status.progress
    return (shown.total or 0, shown.finished, shown.running, shown.waiting, shown.failed, shown.unknown, shown.credits)


async def run(client: cmsapi.Client, items: Any, **options: Any) -> cmsapi.Batch:
    """Run the nightly batch to its end."""
    async with client.jobs.batch("nightly") as batch:
        async for _ in batch.map(client.keywords.analyze, items, **options):
            pass
    return batch


async def test_a_client_that_runs_nothing_of_a_batch_sees_how_far_it_is() -> None:
    """Counts, credits and the forecast are those of the run, before, while and after it runs; that sends nothing."""
    sandbox = box(60.0)
    sandbox.set_outcome(sandbox.keyword_ids[0], "failed")
    async with client_of(sandbox) as client, client_of(sandbox) as other:
        batch = other.jobs.batch("nightly")
        assert (await batch.refresh()).progress == cmsapi.Progress()
        running = asyncio.create_task(run(client, sandbox.keyword_ids[:6], in_flight=4))
        await asyncio.sleep(20)
        before = len(sandbox.ledger)
        status = await batch.refresh()
        assert counts(status) == (6, 0, 4, 2, 0, 0, 4)
        assert (status.active, status.processes, status.done) == (True, 1, False)
        assert status.progress.seconds_left
        assert status.progress.eta is not None
        assert not status.progress.stopped
        assert batch.progress == status.progress
        assert len(sandbox.ledger) == before
        mine = await running
        status = await batch.refresh()
        assert counts(status) == (6, 6, 0, 0, 1, 0, 6)
        assert (status.active, status.done, status.progress.done) == (False, True, True)
        assert status.progress.requests == mine.progress.requests > 6
        assert (batch.failed, len(batch.ended)) == ((sandbox.keyword_ids[0],), 6)


async def test_a_batch_can_be_asked_before_its_first_item(tmp_path: Path) -> None:
    """A `map` that has not begun yet has written nothing."""
    sandbox = box(30.0)
    async with client_of(sandbox, state=f"sqlite:///{tmp_path}/state.db") as client:
        batch = client.jobs.batch("nightly")
        batch.map(client.keywords.analyze, sandbox.keyword_ids[:2])
        assert (await batch.refresh()).progress == cmsapi.Progress()


async def test_a_watcher_leaves_forgotten_what_another_process_forgot(caplog: pytest.LogCaptureFixture) -> None:
    """A client that only looks at a batch writes nothing, so that the failed item is launched again."""
    sandbox = box(30.0)
    sandbox.set_outcome(sandbox.keyword_ids[0], "failed")
    async with client_of(sandbox) as client, client_of(sandbox) as other:
        await run(client, sandbox.keyword_ids[:2])
        watched = other.jobs.batch("nightly")
        assert (await watched.refresh()).progress.failed == 1
        sandbox.set_outcome(sandbox.keyword_ids[0], "success")
        async with client.jobs.batch("nightly") as batch:
            assert await batch.retry_failed() == (sandbox.keyword_ids[0],)
            await watched.refresh()
            assert len(watched.ended) == 1
            assert [each.ok async for each in batch.map(client.keywords.analyze, sandbox.keyword_ids[:2])] == [True] * 2
    assert len(sandbox.ledger.launches()) == 3
    assert not caplog.records


@pytest.mark.parametrize("forgets", ["failed", "all"])
async def test_a_run_leaves_forgotten_what_another_process_forgot(
    forgets: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A run that knows an outcome does not write it anew at its end: the next run launches the item again."""
    sandbox = box(30.0)
    first, *rest = sandbox.keyword_ids[:3]
    sandbox.set_outcome(first, "failed")
    async with client_of(sandbox) as client, client_of(sandbox) as other:
        async with client.jobs.batch("nightly") as batch:
            outcomes = batch.map(client.keywords.analyze, (first, *rest), in_flight=1)
            assert not (await anext(outcomes)).ok
            async with other.jobs.batch("nightly") as another:
                assert await (another.retry_failed() if forgets == "failed" else another.forget()) == (first,)
            assert [outcome.ok async for outcome in outcomes] == [True] * 2
            assert sorted(batch.ended) == sorted(rest)
        sandbox.set_outcome(first, "success")
        await run(other, (first, *rest))
    assert len(sandbox.ledger.launches()) == 4
    assert not caplog.records


async def test_a_run_that_is_left_shows_what_is_not_launched() -> None:
    """Once no process works on a batch it has no forecast, and what waits is not launched."""
    sandbox = box(60.0)
    async with client_of(sandbox) as client, client_of(sandbox) as other:
        async with client.jobs.batch("nightly") as batch:
            outcomes = batch.map(client.keywords.analyze, sandbox.keyword_ids[:5], in_flight=2)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(10):
                    await anext(outcomes)
        status = await other.jobs.batch("nightly").refresh()
        assert counts(status) == (5, 0, 2, 3, 0, 0, 2)
        assert (status.active, status.done, status.progress.stopped) == (False, False, True)
        assert status.progress.seconds_left is None
        await run(other, sandbox.keyword_ids[:5])
        assert counts(await batch.refresh()) == (5, 5, 0, 0, 0, 0, 5)


async def test_credits_are_those_of_all_runs() -> None:
    """What was launched again counts again; what another batch has launched counts there."""
    sandbox = box(30.0)
    items = sandbox.keyword_ids[:3]
    sandbox.set_outcome(items[0], "failed")
    async with client_of(sandbox) as client:
        await asyncio.gather(*(_run_as(client, name, items) for name in ("nightly", "second")))
        nightly, second = [await client.jobs.batch(name).refresh() for name in ("nightly", "second")]
        assert nightly.progress.credits + second.progress.credits == 3 == len(sandbox.ledger.launches())
        async with client.jobs.batch("nightly") as batch:
            paid = batch.progress.credits
            await batch.retry_failed()
            assert counts(await batch.refresh()) == (3, 2, 0, 1, 0, 0, paid)
        batch = await run(client, items)
        assert (await batch.refresh()).progress.credits == batch.progress.credits == paid + 1


async def test_launches_that_are_found_again_count_once(tmp_path: Path) -> None:
    """What a run that was cut has paid without an answer is among the credits of the run that finds it."""
    lost = Fault(match="POST *analyze", drop=True, when="after", times=4)
    sandbox, state = box(30.0, rules=[lost]), f"sqlite:///{tmp_path}/state.db"
    items = sandbox.keyword_ids[:10]
    async with client_of(sandbox, state=state) as client:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3):
                await run(client, items)
    for _ in range(2):
        async with client_of(sandbox, state=state) as client:
            batch = await run(client, items)
            assert batch.progress.credits == (await batch.refresh()).progress.credits == 10
    assert len(sandbox.ledger.launches()) == 10


async def _run_as(client: cmsapi.Client, name: str, items: Any) -> None:
    async with client.jobs.batch(name) as batch:
        async for _ in batch.map(client.keywords.analyze, items):
            pass


async def test_what_may_have_been_launched_is_unknown_to_all() -> None:
    """An unknown launch is a finished item without a result, and is not among the credits."""
    sandbox = box(30.0, rules=[Fault(match="POST *searches", drop=True, when="after")])

    async with client_of(sandbox) as client:

        async def search(keyword: str) -> Job[Any]:
            return await client.content_ideas.search(sandbox.workspace_id, keyword)

        async with client.jobs.batch("ideas") as batch:
            async for _ in batch.map(search, ["tents", "boots"], in_flight=1):
                pass
            assert (batch.progress.failed, batch.progress.unknown) == (1, 1)
        status = await client.jobs.batch("ideas").refresh()
        assert counts(status) == (2, 2, 0, 0, 1, 1, 1)
        async with client.jobs.batch("ideas") as batch:
            again = [outcome async for outcome in batch.map(search, ["tents", "boots"])]
        (unknown,) = [outcome.error for outcome in again if isinstance(outcome.error, cmsapi.LaunchUnknownError)]
        assert "joined" not in unknown.evidence
        assert "1 failed (1 of them unknown)" in str(status.progress)


async def test_what_the_service_refuses_is_finished_for_all() -> None:
    """An item that cannot be launched does not keep a batch from being done."""
    sandbox = box(30.0)
    async with client_of(sandbox) as client, client_of(sandbox) as other:
        batch = await run(client, (sandbox.keyword_ids[0], "kwd_unheard_of"))
        status = await other.jobs.batch("nightly").refresh()
        assert counts(status) == (2, 2, 0, 0, 1, 0, 1)
        assert status.done
        assert (batch.progress.finished, batch.progress.failed) == (2, 1)


async def test_batches_are_listed_while_the_service_is_away(tmp_path: Path) -> None:
    """A state that a process with the key has worked with says whose it is, so that nothing is sent."""
    sandbox, state = box(30.0), f"sqlite:///{tmp_path}/state.db"
    async with client_of(sandbox, state=state) as client:
        await run(client, sandbox.keyword_ids[:3])
    sandbox.add_fault(Fault(match="GET *", drop=True, times=None))
    before = len(sandbox.ledger)
    async with client_of(sandbox, state=state) as client:
        (status,) = await client.jobs.batches()
        assert (counts(status), status.done) == ((3, 3, 0, 0, 0, 0, 3), True)
        assert len(sandbox.ledger) == before


async def test_all_batches_are_listed_by_when_they_were_worked_on() -> None:
    """The newest comes first; a forgotten one is gone, and without its credits if it runs again."""
    sandbox = box(30.0)
    async with client_of(sandbox) as client, client_of(sandbox) as other:
        assert await other.jobs.batches() == []
        for number, name in enumerate(("one", "two", "three")):
            await _run_as(client, name, sandbox.keyword_ids[number : number + 1])
        found = await other.jobs.batches()
        assert [status.name for status in found] == ["three", "two", "one"]
        assert all(status.done and status.worked_at is not None and not status.active for status in found)
        assert found[0].to_dict()["progress"]["finished"] == 1
        async with other.jobs.batch("two") as batch:
            await batch.forget()
        assert [status.name for status in await client.jobs.batches()] == ["three", "one"]
        assert (await batch.refresh()).progress == cmsapi.Progress()


async def test_a_batch_is_followed_from_another_process() -> None:
    """It gives changes until the batch is done, and ends then."""
    sandbox = box(30.0)
    async with client_of(sandbox) as client, client_of(sandbox) as other:
        following = asyncio.create_task(_followed(other))
        await run(client, sandbox.keyword_ids[:8], in_flight=2)
        seen = await following
    finished = [status.progress.finished for status in seen]
    assert finished == sorted(finished)
    assert {0, 2, 4, 6, 8} <= set(finished)
    assert [status.done for status in seen] == [False] * (len(seen) - 1) + [True]


async def _followed(client: cmsapi.Client) -> list[cmsapi.BatchStatus]:
    return [status async for status in client.jobs.batch("nightly").follow()]


async def test_the_end_is_told_once_whichever_process_finishes() -> None:
    """Two runs of one batch call back once together; a rerun that launches nothing does not, new work does."""
    sandbox = box(30.0)
    told: list[cmsapi.BatchStatus] = []

    async def tell(status: cmsapi.BatchStatus) -> None:
        await asyncio.sleep(1)
        told.append(status)

    async with client_of(sandbox) as client, client_of(sandbox) as other:
        await asyncio.gather(*(run(each, sandbox.keyword_ids[:4], on_done=tell) for each in (client, other)))
        assert [(status.name, status.done, status.progress.finished) for status in told] == [("nightly", True, 4)]
        await run(other, sandbox.keyword_ids[:4], on_done=tell)
        assert len(told) == 1
        await run(other, sandbox.keyword_ids[:5], on_done=told.append)
        assert [status.progress.finished for status in told] == [4, 5]


async def test_a_call_that_failed_is_made_by_the_next_run() -> None:
    """What `on_done` raises is raised by the run; the next run, of any process, calls again."""
    sandbox = box(30.0)
    told: list[cmsapi.BatchStatus] = []

    def fail(status: cmsapi.BatchStatus) -> None:
        raise OSError("no mail server")

    async with client_of(sandbox) as client, client_of(sandbox) as other:
        with pytest.raises(OSError, match="no mail server"):
            await run(client, sandbox.keyword_ids[:2], on_done=fail)
        await run(other, sandbox.keyword_ids[:2], on_done=told.append)
        assert len(told) == 1
    assert len(sandbox.ledger.launches()) == 2


async def test_an_end_is_not_told_before_there_is_one() -> None:
    """A run that is stopped by its credits is not the end of the batch."""
    sandbox = box(30.0)
    told: list[cmsapi.BatchStatus] = []
    async with client_of(sandbox) as client:
        await run(client, sandbox.keyword_ids[:4], max_credits=3, on_done=told.append)
        assert not told
        assert not (await client.jobs.batch("nightly").refresh()).done
        await run(client, sandbox.keyword_ids[:4], on_done=told.append)
        assert len(told) == 1
        with pytest.raises(cmsapi.ArgumentError, match="on_done"):
            client.jobs.batch("nightly").map(client.keywords.analyze, [], on_done="mail")  # type: ignore[arg-type]


async def test_a_state_on_a_disk_tells_the_same(tmp_path: Path) -> None:
    """What one client has written to a file is told by one that opens it later."""
    sandbox = Sandbox(keywords=20)
    state = f"sqlite:///{tmp_path}/state.db"
    async with client_of(sandbox, state=state) as client:
        batch = await run(client, sandbox.keyword_ids[:3])
        mine = await batch.refresh()
    async with client_of(sandbox, state=state) as client:
        (status,) = await client.jobs.batches()
    assert status == mine
    assert counts(status) == (3, 3, 0, 0, 0, 0, 3)


@attrs.frozen
class Unreachable:
    """Carry the first requests of launches to a sandbox, and then none for a while."""

    sandbox: Sandbox
    launches: int

    async def send(self, request: cmsapi.Request) -> cmsapi.Response:
        """Send a request, or fail before anything has left."""
        if request.method == "POST" and len(self.sandbox.ledger.launches()) >= self.launches:
            raise cmsapi.NotSentError("no connection")
        return await self.sandbox.transport.send(request)


async def test_a_batch_is_not_done_while_items_only_could_not_be_sent() -> None:
    """A failure that says nothing of an item leaves it to the next run, so that a supervisor sees what is left."""
    sandbox = box(30.0)
    items = sandbox.keyword_ids[:6]
    called: list[cmsapi.BatchStatus] = []
    retry = cmsapi.RetryPolicy(max_attempts=1)
    async with client_of(sandbox, transport=Unreachable(sandbox, 2), retry=retry) as cut:
        batch = await run(cut, items, in_flight=1, on_done=called.append)
        assert len(batch.unfinished) == 4
        status = await batch.refresh()
        assert counts(status) == (6, 2, 0, 4, 0, 0, 2)
        assert (status.done, status.progress.stopped, called) == (False, True, [])
    async with client_of(sandbox) as client:
        batch = await run(client, items, on_done=called.append)
        assert counts(await batch.refresh()) == (6, 6, 0, 0, 0, 0, 6)
    assert len(called) == 1
    assert len(sandbox.ledger.launches()) == 6


async def test_a_batch_is_not_done_while_a_failed_hook_has_not_decided() -> None:
    """An article whose `on_review` raised waits for its decision; the run that decides it is the end of the batch."""
    sandbox = box(30.0)
    told: list[cmsapi.BatchStatus] = []

    async def generate(client: cmsapi.Client, hook: Any) -> cmsapi.BatchStatus:
        async def launch(content_id: str) -> Job[Any]:
            return await client.contents.generate(content_id, on_review=hook)

        async with client.jobs.batch("articles") as batch:
            async for _ in batch.map(launch, sandbox.content_ids[:3], on_done=told.append):
                pass
            return await batch.refresh()

    def fail(review: GenerationReview) -> str:
        if review.content_id != sandbox.content_ids[0]:
            raise OSError("no judge")
        return "confirm"

    async with client_of(sandbox) as client:
        status = await generate(client, fail)
        assert counts(status) == (3, 1, 2, 0, 0, 0, 3)
        assert (status.done, status.progress.done, told) == (False, False, [])
        assert len((await client.jobs.overview()).reviews) == 2
    async with client_of(sandbox) as client:
        status = await generate(client, lambda review: "leave")
        assert (counts(status), status.done, len(told)) == ((3, 3, 0, 0, 0, 0, 3), True, 1)
    assert len(sandbox.ledger.launches()) == 3


async def test_a_batch_of_no_items_is_done() -> None:
    """Its callback is called, and a page that follows it ends."""
    called: list[cmsapi.BatchStatus] = []
    async with client_of(box(30.0)) as client:
        batch = await run(client, [], on_done=called.append)
        assert [status.done async for status in batch.follow()] == [True]
    assert [counts(status) for status in called] == [(0,) * 7]


class FarState(ProcessState):
    """A state whose answers are on their way for half a second, in which jobs end."""

    async def entries(self, scope: str) -> dict[str, Entry]:
        """Return the open entries of half a second ago."""
        found = await super().entries(scope)
        await asyncio.sleep(0.5)
        return found

    async def outcomes(self, scope: str, *, batch: str | None = None, since: float = 0.0) -> list[Entry]:
        """Return the outcomes of half a second ago."""
        found = await super().outcomes(scope, batch=batch, since=since)
        await asyncio.sleep(0.5)
        return found


async def test_counts_never_go_back_while_jobs_end() -> None:
    """A reader for whom other processes end jobs between its two reads counts each of them once."""
    accounts_of_loop().states["memory:"] = FarState()
    sandbox = Sandbox(durations=Lognormal(20.0, 0.8), keywords=12)
    async with client_of(sandbox) as client, client_of(sandbox) as other:
        running = asyncio.create_task(run(client, sandbox.keyword_ids))
        seen = [cmsapi.Progress()]
        while not running.done():
            seen.append((await other.jobs.batch("nightly").refresh()).progress)
    paid = [progress.credits for progress in seen]
    assert paid == sorted(paid)
    ended = [progress.finished for progress in seen]
    assert ended == sorted(ended)
