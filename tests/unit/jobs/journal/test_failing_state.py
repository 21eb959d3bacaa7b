"""What becomes of launches when the state fails for a while, or takes its time."""

from __future__ import annotations

import asyncio
from typing import Any

import attrs
import pytest

import cmsapi
from cmsapi.config import LaunchPolicy
from cmsapi.jobs import Job
from cmsapi.jobs.launching.reconcile import STAYS_OPEN
from cmsapi.runtime.accounts import accounts_of_loop
from cmsapi.sandbox import Fault
from cmsapi.state.entry import Entry, Lease
from tests.support.jobs import box, client_of
from tests.support.launches import leave, open_entries, posts, rely_on_books, scope, sent
from tests.support.memory import ProcessState

pytestmark = pytest.mark.looptime

WRITES = ("update", "end", "release")


class FailingState(ProcessState):
    """A state in memory of which some writes fail while they are told to, and whose documents come late."""

    def __init__(self) -> None:
        super().__init__(lease_ttl=1000.0)
        self.fails: tuple[str, ...] = ()
        self.slow = 0.0

    def _check(self, what: str) -> None:
        if what in self.fails:
            raise cmsapi.StateError("the disk is full")

    async def begin(self, lease: Lease, entry: Entry) -> Entry | None:
        """Write an entry and hold it, if that works."""
        self._check("begin")
        return await super().begin(lease, entry)

    async def update(self, lease: Lease, entry: Entry) -> None:
        """Write the entry anew, if that works."""
        self._check("update")
        await asyncio.sleep(self.slow)
        await super().update(lease, entry)

    async def note(self, lease: Lease, outcome: Entry) -> None:
        """Keep an outcome, if that works."""
        self._check("note")
        await super().note(lease, outcome)

    async def end(self, lease: Lease, outcome: Entry | None = None) -> bool:
        """Delete the entry, if that works."""
        self._check("end")
        lost = await super().end(lease, outcome)
        await asyncio.sleep(self.slow)
        return lost

    async def release(self, lease: Lease) -> None:
        """Let others claim the entry, if that works."""
        self._check("release")
        await super().release(lease)

    async def get_document(self, scope: str, name: str) -> Any:
        """Return a document after a while."""
        await asyncio.sleep(0.5)
        return await super().get_document(scope, name)

    async def replace(self, lease: Lease, entry: Entry) -> None:
        """Write another entry in the place of one, and release it, as another process may in time."""
        other = ProcessState(self)
        for owner in await other.heartbeat(lease.scope):
            await other.evict(lease.scope, owner)
        await other.claim(lease)
        await other.update(lease, entry)
        await other.release(lease)


def failing() -> FailingState:
    """Let the clients of this loop share a state that can fail."""
    accounts_of_loop().states["memory:"] = failing = FailingState()
    return failing


@pytest.mark.parametrize("kind", ["keyword_analysis", "generation"])
async def test_what_is_found_is_not_lost_with_the_state(kind: str) -> None:
    """A launch that is found after its answer was lost gives its job although that cannot be written down."""
    sandbox = box(60.0, rules=[Fault(match="POST */*", drop=True, when="after")])
    failing_state = failing()
    async with client_of(sandbox, launch=LaunchPolicy(settle=5.0)) as client:
        await client.me()
        analysis = kind == "keyword_analysis"
        launch: Any = client.keywords.analyze if analysis else client.contents.generate
        launching = asyncio.create_task(launch((sandbox.keyword_ids if analysis else sandbox.content_ids)[0]))
        await asyncio.sleep(3.0)
        failing_state.fails = WRITES
        job = await launching
        assert (job.id == job.target) is analysis
        failing_state.fails = ()
        await job
    assert len(sandbox.ledger.launches()) == 1
    assert [entry.status for entry in (await open_entries(sandbox)).values()] == ["review"] * (not analysis)


@pytest.mark.parametrize("kind", ["idea_search", "generation"])
async def test_a_job_is_written_down_once_the_state_works_again(kind: str) -> None:
    """The identifier in an answer is not lost with the process, because no request tells that of a search again."""
    sandbox = box(600.0, latency=(1.0, 1.0))
    failing_state = failing()
    async with client_of(sandbox) as client:
        await client.me()
        search, content_id = kind == "idea_search", sandbox.content_ids[0]
        launching: asyncio.Task[Job[Any]] = asyncio.create_task(
            client.content_ideas.search(sandbox.workspace_id, "tents")
            if search
            else client.contents.generate(content_id)
        )
        while not posts(sandbox):  # noqa: ASYNC110  the client sends it
            await asyncio.sleep(0.1)
        failing_state.fails = ("update",)
        job = await launching
        await asyncio.sleep(15.0)
        failing_state.fails = ()
        await asyncio.sleep(15.0)
        (entry,) = (await open_entries(sandbox)).values()
        assert (entry.status, entry.job_id) == ("running", job.id)
        await job
    assert [entry.status for entry in (await open_entries(sandbox)).values()] == ["review"] * (not search)


async def test_a_job_is_written_down_while_its_client_is_closed() -> None:
    """A client that is closed between the answer and the journal leaves the job to the next one."""
    sandbox = box(600.0)
    failing_state = failing()
    async with client_of(sandbox) as client:
        await client.me()
        failing_state.slow = 1.0
        launching = asyncio.create_task(client.content_ideas.search(sandbox.workspace_id, "tents"))
        while not posts(sandbox):  # noqa: ASYNC110  the client sends it
            await asyncio.sleep(0.1)
    with pytest.raises(cmsapi.LaunchUnknownError):
        await launching
    async with client_of(sandbox) as client:
        resumed = await client.jobs.resume()
        assert [job.kind for job in resumed.jobs] == ["idea_search"]
        assert resumed.unknown == ()


async def test_doubt_that_cannot_be_written_down_is_told() -> None:
    """When neither the launch nor the state can tell, the error says that it may be paid for, and it stays open."""
    sandbox = box(30.0, rules=[Fault(match="POST */analyze", drop=True)])
    failing_state = failing()
    async with client_of(sandbox, launch=LaunchPolicy(settle=5.0)) as client:
        await client.me()
        launching = asyncio.create_task(client.prompts.analyze(sandbox.prompt_ids[0]))
        await asyncio.sleep(3.0)
        failing_state.fails = WRITES
        with pytest.raises(cmsapi.LaunchUnknownError) as caught:
            await launching
        evidence = caught.value.evidence
        assert evidence["open"] == STAYS_OPEN
        assert "usages do not tell which prompt_analysis" in evidence["found"]
        assert "no whole answer" in evidence["said"]
        failing_state.fails = ()
        await asyncio.sleep(30.0)
        (unknown,) = (await client.jobs.resume()).unknown
        assert unknown.target == sandbox.prompt_ids[0]
    assert await open_entries(sandbox) == {}


@pytest.mark.parametrize("sent_by", ["this client", "a dead process"])
@pytest.mark.parametrize("deadline", [None, 8.0])
async def test_a_doubt_of_which_no_caller_hears_stays_in_the_journal(sent_by: str, deadline: float | None) -> None:
    """A caller may leave, or its deadline be over, while the doubt is written down; the next one is told."""
    sandbox = box(30.0, rules=[Fault(match="POST */analyze", drop=True)])
    prompt_id, failing_state = sandbox.prompt_ids[0], failing()
    options: dict[str, Any] = {"launch": LaunchPolicy(settle=5.0), "timeouts": cmsapi.Timeouts(deadline=deadline)}
    async with client_of(sandbox, **options) as client:
        await client.me()
        if sent_by == "a dead process":
            entry = sent("prompt_analysis", prompt_id, sandbox)
            await leave(client, sandbox, f"prompt_analysis {prompt_id}", entry)
        launching = asyncio.create_task(client.prompts.analyze(prompt_id))
        await asyncio.sleep(3.0)
        failing_state.slow = 5.0
        while await open_entries(sandbox):  # noqa: ASYNC110  the client deletes it
            await asyncio.sleep(0.1)
        if deadline is None:
            launching.cancel()
        await asyncio.wait([launching])
        failing_state.slow = 0.0
        assert deadline is None or isinstance(launching.exception(), cmsapi.LaunchUnknownError | cmsapi.DeadlineError)
        await asyncio.sleep(10.0)
        with pytest.raises(cmsapi.LaunchUnknownError):
            await client.with_options(timeouts=cmsapi.Timeouts()).prompts.analyze(prompt_id)
        assert await open_entries(sandbox) == {}
    assert posts(sandbox) == (sent_by == "this client")


async def test_a_repeat_that_cannot_be_written_down_is_a_doubt() -> None:
    """The policy repeats a launch in doubt; when that cannot be written down, the error says what was sent before."""
    sandbox = box(30.0, rules=[Fault(match="POST */analyze", drop=True)])
    failing_state = failing()
    policy = LaunchPolicy(settle=5.0, on_unknown="repeat")
    async with client_of(sandbox, launch=policy) as client:
        await client.me()
        launching = asyncio.create_task(client.prompts.analyze(sandbox.prompt_ids[0]))
        await asyncio.sleep(3.0)
        failing_state.fails = ("update",)
        with pytest.raises(cmsapi.LaunchUnknownError) as caught:
            await launching
        failing_state.fails = ()
        assert caught.value.evidence["open"] == STAYS_OPEN
        assert caught.value.evidence["sent"] == 1
    assert [entry.status for entry in (await open_entries(sandbox)).values()] == ["sending"]


async def test_what_did_not_happen_is_told_although_it_cannot_be_deleted() -> None:
    """A launch that is found absent is told as such, whatever becomes of its entry."""
    sandbox = box(30.0, rules=[Fault(match="POST */analyze", drop=True)])
    failing_state = failing()
    await rely_on_books(sandbox)
    retry = cmsapi.RetryPolicy(max_attempts=1)
    async with client_of(sandbox, launch=LaunchPolicy(settle=5.0), retry=retry) as client:
        await client.me()
        launching = asyncio.create_task(client.keywords.analyze(sandbox.keyword_ids[0]))
        await asyncio.sleep(3.0)
        failing_state.fails = WRITES
        with pytest.raises(cmsapi.JobError, match="nothing was launched or charged"):
            await launching
        failing_state.fails = ()


@pytest.mark.parametrize("what", ["an end", "a refusal", "a release"])
async def test_a_write_that_fails_is_made_up_for(what: str) -> None:
    """What could not be written when the state failed blocks no launch once it works again."""
    rules = [Fault(match="POST */analyze", status=404)] if what == "a refusal" else []
    sandbox = box(30.0, rules=rules)
    failing_state, keyword_id = failing(), sandbox.keyword_ids[0]
    async with client_of(sandbox) as client, client_of(sandbox) as other:
        await client.me()
        if what == "a refusal":
            failing_state.fails = ("end",)
            with pytest.raises(cmsapi.NotFoundError):
                await client.keywords.analyze(keyword_id)
        else:
            job = await client.keywords.analyze(keyword_id)
            failing_state.fails = WRITES
            if what == "an end":
                await job
        await asyncio.sleep(12.0)
        failing_state.fails = ()
        for each in (other, client):
            async with asyncio.timeout(240):
                await (await each.keywords.analyze(keyword_id))
    assert len(sandbox.ledger.launches()) == 2
    assert await open_entries(sandbox) == {}


async def test_two_who_follow_one_launch_send_one() -> None:
    """When a launch that others wait for comes to nothing, one of those takes its place, and the rest join it."""
    failing()
    sandbox = box(60.0)

    @attrs.frozen
    class Cut:
        async def send(self, request: cmsapi.Request) -> cmsapi.Response:
            await asyncio.sleep(10.0)
            raise cmsapi.NotSentError("no connection")

    retry = cmsapi.RetryPolicy(max_attempts=1)
    async with client_of(sandbox, transport=Cut(), retry=retry) as cut, client_of(sandbox) as client:

        def run(client: cmsapi.Client) -> Any:
            async def search(item: str) -> Job[Any]:
                return await client.content_ideas.search(sandbox.workspace_id, item)

            return asyncio.create_task(_all(client.jobs.batch("ideas").map(search, ["tents"])))

        first = run(cut)
        await asyncio.sleep(5.0)
        runs = [run(client), run(client)]
        assert isinstance((await first)[0].error, cmsapi.NotSentError)
        outcomes = [outcome for run in runs for outcome in await run]
    assert all(outcome.error is None for outcome in outcomes)
    assert len(sandbox.ledger.launches()) == 1


async def test_a_batch_that_cannot_keep_an_outcome_says_so() -> None:
    """Each outcome is given, then the error is raised; the item is not called ended."""
    failing_state = failing()
    sandbox = box(30.0)
    joined, own = sandbox.keyword_ids[:2]
    outcomes = []
    async with client_of(sandbox) as client, client.jobs.batch("nightly") as batch:
        await client.keywords.analyze(joined)

        async def iterate() -> None:
            async for outcome in batch.map(client.keywords.analyze, [joined, own]):
                outcomes.append(outcome)  # noqa: PERF401 - the loop raises

        iterating = asyncio.create_task(iterate())
        await asyncio.sleep(20.0)
        failing_state.fails = ("note",)
        with pytest.raises(cmsapi.StateError, match="the disk is full"):
            await iterating
        assert [outcome.error for outcome in outcomes] == [None, None]
        assert batch.ended == (own,)


async def test_what_was_never_written_deletes_nothing() -> None:
    """A launch that could not be written down leaves alone what another client has written."""
    sandbox = box(60.0)
    failing_state, keyword_id = failing(), sandbox.keyword_ids[0]
    async with client_of(sandbox) as client, client_of(sandbox) as other:
        await other.keywords.analyze(keyword_id)
        # It is released after ten seconds, because no caller waits for it.
        await asyncio.sleep(15.0)
        failing_state.fails = ("begin", "end")
        with pytest.raises(cmsapi.StateError) as caught:
            await client.keywords.analyze(keyword_id)
        assert caught.value.__notes__ == ["This launch was not sent, and nothing was charged for it."]
        await asyncio.sleep(5.0)
        failing_state.fails = ()
        await asyncio.sleep(10.0)
        assert len(await open_entries(sandbox)) == 1
        await (await client.keywords.analyze(keyword_id))
    assert len(sandbox.ledger.launches()) == 1


async def test_an_end_of_long_ago_deletes_nothing() -> None:
    """An end that could not be written when it was seen is not taken for that of a later launch."""
    sandbox = box(30.0)
    failing_state, keyword_id = failing(), sandbox.keyword_ids[0]
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(keyword_id)
        failing_state.fails = ("end",)
        await job
        await asyncio.sleep(1.0)
        ((key, ended),) = (await open_entries(sandbox)).items()
        # Another process has taken over what this one could not write, and has launched anew.
        failing_state.fails = ()
        later = Lease(scope(sandbox), key)
        await failing_state.replace(later, attrs.evolve(ended, asked_at=ended.asked_at + 60.0))
        await asyncio.sleep(30.0)
        assert len(await open_entries(sandbox)) == 1


async def _all(outcomes: Any) -> list[cmsapi.Outcome[Any, Any]]:
    return [outcome async for outcome in outcomes]


class SpoiledState(FailingState):
    """A state that holds what no version has written."""

    async def claim(self, lease: Lease) -> Entry | None:
        """Fail as a state does that does not know its own rows."""
        raise ValueError("a word where a number belongs")


async def test_a_job_is_polled_although_the_journal_fails_in_an_unknown_way(caplog: pytest.LogCaptureFixture) -> None:
    """Whatever a state raises, a job that another client has launched is waited for, and the log says what happened."""
    sandbox = box(30.0)
    accounts_of_loop().states["memory:"] = SpoiledState()
    async with client_of(sandbox) as client:
        token = (await client.keywords.analyze(sandbox.keyword_ids[0])).token
    async with client_of(sandbox) as client:
        async with asyncio.timeout(100):
            await client.jobs.attach(token)
        assert "polling <Job" in caplog.text
        assert "a word where a number belongs" in caplog.text
