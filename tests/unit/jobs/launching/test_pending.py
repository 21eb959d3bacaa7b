"""How a launch is sent: what is written down before each attempt, and what is told when its answer is lost."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

import attrs
import pytest

import cmsapi
from cmsapi.config import LaunchPolicy
from cmsapi.jobs import Job
from cmsapi.jobs.launching.reconcile import STAYS_OPEN
from cmsapi.sandbox import Behaviour, Fault, Sandbox
from cmsapi.state.entry import Entry
from tests.support.jobs import Spoiling, box, changed, client_of, polls
from tests.support.launches import NeverConnected, open_entries, posts, rely_on_books, spent

pytestmark = pytest.mark.looptime

CHECKED = cmsapi.GenerationSettings(fact_checking_enabled=True)
NOTHING_HAPPENED = "It was found out that nothing was launched or charged."


async def only_entry(sandbox: Sandbox) -> Entry:
    """Return what is open in the journal, which is one launch."""
    (entry,) = (await open_entries(sandbox)).values()
    return entry


@attrs.frozen
class Breaking:
    """Raise something that no transport should, instead of carrying a launch."""

    sandbox: Sandbox
    raised: Callable[[], Exception]

    async def send(self, request: cmsapi.Request) -> cmsapi.Response:
        """Carry one request."""
        if request.method == "POST":
            raise self.raised()
        return await self.sandbox.transport.send(request)


@attrs.frozen
class Silent:
    """Take requests and never answer."""

    asked: asyncio.Event

    async def send(self, request: cmsapi.Request) -> cmsapi.Response:
        """Carry one request."""
        self.asked.set()
        await asyncio.sleep(3600.0)
        raise AssertionError("no test waits for so long")


# What is written down


async def test_each_attempt_is_written_down_before_it_leaves() -> None:
    """When it left, for how long it may arrive, how often it left, and which balance was known before."""
    sandbox = box(60.0, latency=(1.0, 1.0), rules=[Fault(match="POST *analyze", drop=True)])
    await rely_on_books(sandbox)
    async with client_of(sandbox, launch=LaunchPolicy(settle=20.0)) as client:
        await client.me()
        launching = asyncio.create_task(client.keywords.analyze(sandbox.keyword_ids[0]))
        await asyncio.sleep(0.5)
        began, first = sandbox.now(), await only_entry(sandbox)
        while posts(sandbox) < 2:  # noqa: ASYNC110  the client sends it
            await asyncio.sleep(0.5)
        again = await only_entry(sandbox)
        await launching
    assert again.facts["repeated_at"] == pytest.approx(sandbox.now(), abs=5)
    for entry in (first, again):
        assert entry.status == "sending"
        assert entry.served_at == pytest.approx(began, abs=2.5)
        assert {name: type(fact) for name, fact in entry.facts.items() if name != "repeated_at"} == {
            "sent_at": float,
            "settle": float,
            "sent": int,
            "mark": str,
            "balance": int,
        }
        assert entry.facts["balance"] == sandbox.credits.analysis + 1
        assert entry.facts["settle"] == 20.0
        assert entry.facts["sent_at"] == pytest.approx(time.time(), abs=5)
    assert again.facts["sent_at"] > first.facts["sent_at"]  # type: ignore[operator]
    assert (first.facts["sent"], again.facts["sent"]) == (1, 2)
    # The balance was read once more to find out about the first attempt.
    assert first.facts["mark"] != again.facts["mark"]


async def test_an_attempt_that_was_not_executed_is_taken_back() -> None:
    """After a 429 the entry says again that nothing was sent; the time of the launch is that of the next attempt."""
    sandbox = box(60.0, rules=[Fault(match="POST *analyze", status=429, retry_after=600)])
    async with client_of(sandbox, retry=cmsapi.RetryPolicy(cap=600.0)) as client:
        await client.me()
        launching = asyncio.create_task(client.keywords.analyze(sandbox.keyword_ids[0]))
        await asyncio.sleep(300)
        waiting = await only_entry(sandbox)
        await launching
        launched = await only_entry(sandbox)
    assert (waiting.status, waiting.served_at) == ("intent", None)
    assert launched.served_at == pytest.approx(sandbox.now(), abs=3)


async def test_a_generation_is_written_down_with_the_one_before_it() -> None:
    """A launch at which the service failed is told from the generation that the content had, and is sent again."""
    sandbox = box(5.0)
    content_id = sandbox.content_ids[0]
    async with client_of(sandbox, launch=LaunchPolicy(settle=5.0)) as client:
        first = await client.contents.generate(content_id)
        await (await first).confirm()
        sandbox.add_fault(Fault(match="POST *atomic", status=503))
        second = await client.contents.generate(content_id)
        assert (await only_entry(sandbox)).facts["baseline"] == first.id
        assert second.id != first.id
        await second
    assert (posts(sandbox), spent(sandbox)) == (3, 2)


# When it is looked up


@pytest.mark.parametrize(("settle", "after"), [(None, 64.0), (8.0, 8.0)])
async def test_a_lost_launch_is_looked_up_once_it_can_no_longer_arrive(settle: float | None, after: float) -> None:
    """A minute after its attempt was over; what the policy says instead counts from its departure."""
    sandbox = box(60.0, rules=[Fault(match="POST *analyze", drop=True, when="after")], latency=(2.0, 2.0))
    timeouts, policy = cmsapi.Timeouts(request=12.0), LaunchPolicy(settle=settle)
    async with client_of(sandbox, timeouts=timeouts, launch=policy) as client:
        await client.me()
        began = asyncio.get_running_loop().time()
        await client.keywords.analyze(sandbox.keyword_ids[0])
        # It is on its way for two seconds.
        assert polls(sandbox, "keyword_analysis")[0].at - began == pytest.approx(after + 2.0, abs=0.5)


@pytest.mark.parametrize("kind", ["keyword_analysis", "prompt_analysis"])
async def test_an_analysis_that_was_accepted_needs_no_looking_up(kind: str) -> None:
    """A 2xx that cannot be read says enough where the job has no name of its own."""
    sandbox = box(60.0, rules=[Fault(match="POST *analyze", spoil="truncated")])
    async with client_of(sandbox) as client:
        await client.me()
        keyword = kind == "keyword_analysis"
        job = await (
            client.keywords.analyze(sandbox.keyword_ids[0])
            if keyword
            else client.prompts.analyze(sandbox.prompt_ids[0])
        )
        assert asyncio.get_running_loop().time() < 1
        assert [entry.method for entry in sandbox.ledger] == ["GET", "POST"]
        assert not job.done()


async def test_a_lost_launch_is_found_although_an_attempt_before_it_never_left() -> None:
    """As the first requests of a client, so that the service's time is known only afterwards."""
    sandbox = box(60.0, rules=[Fault(match="POST *analyze", drop=True, when="after")])
    async with client_of(sandbox, transport=NeverConnected(sandbox)) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        assert not job.adopted
    assert (posts(sandbox), spent(sandbox)) == (1, 1)


async def test_what_is_found_is_joined_with_its_settings() -> None:
    """After a lost answer the same launch returns the job, and one with other settings is refused."""
    sandbox = box(300.0, rules=[Fault(match="POST *atomic", drop=True, when="after")])
    content_id = sandbox.content_ids[0]
    async with client_of(sandbox) as client:
        job = await client.contents.generate(content_id, CHECKED)
        assert await client.contents.generate(content_id, CHECKED) is job
        with pytest.raises(cmsapi.JobError, match="already with other settings"):
            await client.contents.generate(content_id)
    assert posts(sandbox) == 1


@attrs.define
class SlowToStop:
    """Never answer a launch, and take a second to stop when its time is over."""

    sandbox: Sandbox

    async def send(self, request: cmsapi.Request) -> cmsapi.Response:
        """Carry one request."""
        if request.method == "POST":
            try:
                await asyncio.sleep(3600.0)
            finally:
                await asyncio.sleep(1.0)
        return await self.sandbox.transport.send(request)


async def test_a_launch_is_joined_while_the_time_of_its_request_ends() -> None:
    """A launch with other settings is refused also in that moment, because the first one goes on."""
    sandbox = box(300.0)
    content_id, timeouts = sandbox.content_ids[0], cmsapi.Timeouts(request=5.0)
    async with client_of(sandbox, transport=SlowToStop(sandbox), timeouts=timeouts) as client:
        first = asyncio.create_task(client.contents.generate(content_id, CHECKED))
        await asyncio.sleep(5.5)
        with pytest.raises(cmsapi.JobError, match="already with other settings"):
            await client.contents.generate(content_id)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)


# How often


async def test_a_launch_that_never_arrives_is_given_up() -> None:
    """After as many attempts as the policy allows the error says that nothing was charged, and why it was in doubt."""
    sandbox = box(60.0, rules=[Fault(match="POST *analyze", drop=True, times=3)])
    await rely_on_books(sandbox)
    first, second = sandbox.keyword_ids[:2]
    policy = LaunchPolicy(settle=5.0, max_credits=1)
    async with client_of(sandbox, retry=cmsapi.RetryPolicy(max_attempts=3), launch=policy) as client:
        with pytest.raises(cmsapi.JobError, match=NOTHING_HAPPENED) as caught:
            await client.keywords.analyze(first)
        assert not isinstance(caught.value, cmsapi.LaunchUnknownError)
        assert isinstance(caught.value.__cause__, cmsapi.OutcomeUnknownError)
        assert ".)." not in str(caught.value)
        assert (posts(sandbox), await open_entries(sandbox)) == (3, {})
        # It does not count as paid.
        await client.keywords.analyze(second)
    assert (posts(sandbox), spent(sandbox)) == (4, 1)


@pytest.mark.parametrize(
    ("status", "kind"), [(500, cmsapi.InternalServerError), (503, cmsapi.ServiceUnavailableError)], ids=str
)
async def test_the_failures_of_the_service_itself_are_repeated_with_backoff(status: int, kind: type) -> None:
    """They are no doubt: after the last attempt the error is that of the status, and nothing counts as paid."""
    sandbox = box(60.0, rules=[Fault(match="POST *analyze", status=status, times=3)])
    retry, policy = cmsapi.RetryPolicy(max_attempts=3, base=1.0, cap=4.0), LaunchPolicy(max_credits=1)
    async with client_of(sandbox, retry=retry, launch=policy) as client:
        began = asyncio.get_running_loop().time()
        with pytest.raises(kind) as caught:
            await client.keywords.analyze(sandbox.keyword_ids[0])
        assert asyncio.get_running_loop().time() - began < 5.0
        error = caught.value
        assert isinstance(error, cmsapi.ServerError)
        assert (error.in_doubt, error.attempts, error.request_id is None) == (False, 3, False)
        assert (posts(sandbox), await open_entries(sandbox)) == (3, {})
        await client.keywords.analyze(sandbox.keyword_ids[0])
    assert (posts(sandbox), spent(sandbox)) == (4, 1)


async def test_doubt_is_not_repeated_for_ever() -> None:
    """`on_unknown="repeat"` sends as often as the policy of repetitions says, and no more."""
    sandbox = box(60.0, rules=[Fault(match="POST *analyze", drop=True, times=None)])
    policy = LaunchPolicy(settle=5.0, on_unknown="repeat")
    async with client_of(sandbox, retry=cmsapi.RetryPolicy(max_attempts=3), launch=policy) as client:
        with pytest.raises(cmsapi.LaunchUnknownError) as caught:
            await client.prompts.analyze(sandbox.prompt_ids[0])
    assert isinstance(caught.value.__cause__, cmsapi.OutcomeUnknownError)
    assert posts(sandbox) == 3


async def test_a_conflict_ends_the_repetitions() -> None:
    """When an attempt is refused because an analysis runs, the doubt is told with the refusal, and nothing is sent."""
    lost, refused = Fault(match="POST *analyze", drop=True), Fault(match="POST *analyze", status=409)
    sandbox = box(60.0, rules=[lost, refused])
    async with client_of(sandbox, launch=LaunchPolicy(settle=5.0, on_unknown="repeat")) as client:
        with pytest.raises(cmsapi.LaunchUnknownError) as caught:
            await client.prompts.analyze(sandbox.prompt_ids[0])
    cause = caught.value.__cause__
    assert isinstance(cause, cmsapi.ConflictError)
    assert caught.value.evidence["said"] == str(cause)
    assert posts(sandbox) == 2


# What is told


async def test_doubt_that_cannot_be_looked_up_stays_open() -> None:
    """The error says what came instead of an answer, why that is all, and that the journal still has it."""
    rules = [Fault(match="POST *analyze", status=502, when="after"), Fault(match="GET *", status=503, times=None)]
    sandbox = box(60.0, rules=rules)
    keyword_id = sandbox.keyword_ids[0]
    async with client_of(sandbox, launch=LaunchPolicy(settle=5.0)) as client:
        with pytest.raises(cmsapi.LaunchUnknownError) as caught:
            await client.keywords.analyze(keyword_id)
        evidence = caught.value.evidence
        assert "502" in evidence["said"]
        assert evidence["found"].startswith("its reconciliation failed: ")
        assert "503" in evidence["found"]
        assert ": a fault of the sandbox. client.keywords.get shows" in str(caught.value)
        assert evidence["open"] == STAYS_OPEN
        assert (await only_entry(sandbox)).status == "sending"
        sandbox.clear_faults()
        await (await client.keywords.analyze(keyword_id))
    assert (posts(sandbox), spent(sandbox)) == (1, 1)


@pytest.mark.parametrize(("raised", "said"), [(RuntimeError, "RuntimeError"), (lambda: KeyError("odd"), "'odd'")])
async def test_a_failure_without_words_is_told_by_its_name(raised: Callable[[], Exception], said: str) -> None:
    """What a transport raises that no transport should is the evidence, by its words or its name."""
    sandbox = box(60.0)
    async with client_of(sandbox, transport=Breaking(sandbox, raised), launch=LaunchPolicy(settle=5.0)) as client:
        with pytest.raises(cmsapi.LaunchUnknownError) as caught:
            await client.prompts.analyze(sandbox.prompt_ids[0])
    assert caught.value.evidence["said"] == said


async def test_an_answer_without_an_identifier_names_the_operation() -> None:
    """When a generation cannot be looked up either, the evidence says which answer had no identifier."""
    sandbox = box(60.0, rules=[Fault(match="GET *", status=503, times=None)])
    nameless = changed("/atomic", id=None)
    policy = LaunchPolicy(settle=5.0, baseline="none")
    async with client_of(sandbox, transport=Spoiling(sandbox, nameless), launch=policy) as client:
        with pytest.raises(cmsapi.LaunchUnknownError) as caught:
            await client.contents.generate(sandbox.content_ids[0])
    assert "$.id" in caught.value.evidence["said"]
    assert "generate_content" in caught.value.evidence["said"]


async def test_doubt_without_a_waiter_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """When the caller has gone, the log has the whole error of a launch in doubt."""
    sandbox = box(60.0, rules=[Fault(match="POST *analyze", drop=True, when="before")], latency=(1.0, 1.0))
    prompt_id = sandbox.prompt_ids[0]
    async with client_of(sandbox, launch=LaunchPolicy(settle=5.0)) as client:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await client.prompts.analyze(prompt_id)
        await asyncio.sleep(60)
    (record,) = [record for record in caplog.records if record.levelno >= logging.ERROR]
    told = f"no caller waits for this launch any more: The prompt_analysis for {prompt_id} may have been launched"
    assert record.getMessage().startswith(told)


@pytest.mark.looptime(False)
def test_a_program_that_ends_says_which_launch_it_leaves(caplog: pytest.LogCaptureFixture) -> None:
    """The error that is logged when the loop ends names what may have been launched."""
    sandbox = box(60.0)
    prompt_id = sandbox.prompt_ids[0]

    async def main() -> None:
        transport = Silent(asyncio.Event())
        client = client_of(sandbox, transport=transport)
        launching = asyncio.create_task(client.prompts.analyze(prompt_id))
        await transport.asked.wait()
        launching.cancel()
        await asyncio.gather(launching, return_exceptions=True)

    asyncio.run(main())
    assert f"no caller waits for this launch any more: The prompt_analysis for {prompt_id}" in caplog.text


async def test_a_launch_that_its_client_leaves_is_told() -> None:
    """Sent when the client is closed, it may have happened: its caller hears so, and that the journal still has it."""
    sandbox = box(60.0, latency=(5.0, 5.0))
    async with client_of(sandbox) as client:
        await client.me()
        launching = asyncio.create_task(client.keywords.analyze(sandbox.keyword_ids[0]))
        await asyncio.sleep(7)
    with pytest.raises(cmsapi.LaunchUnknownError) as caught:
        await launching
    assert caught.value.target == sandbox.keyword_ids[0]
    assert caught.value.evidence["open"] == STAYS_OPEN
    assert "closed during analyze_keyword" in caught.value.evidence["said"]


# The job


async def test_launches_pass_polls() -> None:
    """A launch that waits for quota goes before polls, and after what a person waits for."""
    sandbox = box(60.0)
    async with client_of(sandbox, limits=cmsapi.RateLimits(per_second=1)) as client:
        await client.me()
        calls: list[Any] = [asyncio.create_task(client.keywords.analyze(sandbox.keyword_ids[0]))]
        await asyncio.sleep(0)
        calls += [asyncio.create_task(client.me()) for _ in range(3)]
        await asyncio.gather(*calls)
    assert [entry.operation for entry in sandbox.ledger] == ["get_me"] * 4 + ["analyze_keyword"]


@pytest.mark.parametrize("kind", ["keyword_analysis", "generation"])
async def test_a_job_that_was_launched_just_now_is_not_polled_at_once(kind: str) -> None:
    """Its first poll would be wasted; it comes when such a job may be over."""
    sandbox = box(60.0)
    async with client_of(sandbox) as client:
        analysis = kind == "keyword_analysis"
        launch: Any = client.keywords.analyze if analysis else client.contents.generate
        job = await launch((sandbox.keyword_ids if analysis else sandbox.content_ids)[0])
        seen = len(polls(sandbox, kind))
        waiting = asyncio.create_task(job.wait())
        await asyncio.sleep(2)
        assert len(polls(sandbox, kind)) == seen
        await waiting


async def test_a_launch_without_the_services_clock() -> None:
    """Where answers have no `Date`, launches go through, and the journal has no time of the service."""

    def dateless(request: cmsapi.Request, response: cmsapi.Response) -> cmsapi.Response:
        headers = {name: value for name, value in response.headers.items() if name != "date"}
        return cmsapi.Response(response.status, headers, response.body)

    sandbox = box(30.0)
    async with client_of(sandbox, transport=Spoiling(sandbox, dateless)) as client:
        job = await client.content_ideas.search(sandbox.workspace_id, "tents")
        entry = await only_entry(sandbox)
        assert (entry.status, entry.job_id, entry.served_at) == ("running", job.id, None)
        await job


async def test_a_caller_who_outlives_the_launch_is_told() -> None:
    """When all other tasks of the loop are cancelled, as at its end, who waits hears what may have happened."""
    sandbox = box(60.0, latency=(5.0, 5.0))

    async def end() -> None:
        await asyncio.sleep(7)
        for task in asyncio.all_tasks() - {caller, asyncio.current_task()}:
            task.cancel()

    caller = asyncio.current_task()
    async with client_of(sandbox) as client:
        ending = asyncio.create_task(end())
        with pytest.raises(cmsapi.LaunchUnknownError) as caught:
            await client.prompts.analyze(sandbox.prompt_ids[0])
        await ending
        assert isinstance(caught.value.__cause__, asyncio.CancelledError)
        assert (caught.value.evidence["said"], caught.value.evidence["open"]) == (
            "it was cancelled before its answer was read and written down",
            STAYS_OPEN,
        )
        assert (await only_entry(sandbox)).status == "sending"


async def test_a_launch_that_other_code_cancels_is_told_as_such() -> None:
    """A program that cancels all tasks but the caller before the launch is sent has not closed the client."""
    sandbox = box(60.0, rules=[Fault(match="POST *analyze", status=429, retry_after=50)])
    caller = asyncio.current_task()

    async def end() -> None:
        await asyncio.sleep(7)
        for task in asyncio.all_tasks() - {caller, asyncio.current_task()}:
            task.cancel()

    async with client_of(sandbox) as client:
        ending = asyncio.create_task(end())
        with pytest.raises(cmsapi.JobError, match="cancelled before it was sent; nothing was charged"):
            await client.keywords.analyze(sandbox.keyword_ids[0])
        await ending
        await (await client.keywords.analyze(sandbox.keyword_ids[0]))
    assert len(sandbox.ledger.launches()) == 1


async def test_the_answer_to_a_search_spares_its_first_poll() -> None:
    """Where reading ideas early is the poll, the search itself need not be read; other jobs have no ideas."""
    sandbox = Sandbox(durations=60.0, behaviour=Behaviour(ideas_before_success="conflict"))
    async with client_of(sandbox) as client:
        jobs: list[Job[Any]] = [await client.contents.generate(content_id) for content_id in sandbox.content_ids]
        jobs += [await client.content_ideas.search(sandbox.workspace_id, f"tents {number}") for number in range(200)]
        await client.jobs.gather(*jobs)
    assert sandbox.ledger.count(operation="get_content_idea_search") < 150
    assert sandbox.ledger.count(operation="list_content_ideas", status=409) > 5
    assert sandbox.ledger.count(operation="list_content_ideas", status=404) == 0


@attrs.define
class HardToReach:
    """Connect to a sandbox in vain a number of times, and lose the answer to the launch that gets through.

    Args:
        sandbox: The service.
        misses: How many launches wait for a connection until their time is over.
        tried: How many launches were tried.
    """

    sandbox: Sandbox
    misses: int
    tried: int = 0

    async def send(self, request: cmsapi.Request) -> cmsapi.Response:
        """Carry one request."""
        return await self.send_aware(request, lambda: None)

    async def send_aware(self, request: cmsapi.Request, departing: Callable[[], None]) -> cmsapi.Response:
        """Carry one request, and tell when its bytes leave."""
        if request.method == "POST":
            self.tried += 1
            if self.tried <= self.misses:
                await asyncio.sleep(3600.0)
        departing()
        answer = await self.sandbox.transport.send(request)
        if request.method == "POST" and self.tried == self.misses + 1:
            raise ConnectionResetError
        return answer


async def test_a_launch_that_gets_no_connection_in_time_was_not_sent() -> None:
    """After a request timeout before its bytes left, the journal says that nothing was sent."""
    sandbox = box(30.0)
    transport = HardToReach(sandbox, misses=10)
    timeouts, retry = cmsapi.Timeouts(request=5.0), cmsapi.RetryPolicy(max_attempts=10, base=600.0, cap=600.0)
    async with client_of(sandbox, transport=transport, timeouts=timeouts, retry=retry) as client:
        await client.me()
        launch = asyncio.create_task(client.keywords.analyze(sandbox.keyword_ids[0]))
        await asyncio.sleep(4.0)
        entry = await only_entry(sandbox)
        assert (entry.status, entry.facts["sent"]) == ("sending", 1)
        await asyncio.sleep(1.1)
        assert transport.tried == 1
        entry = await only_entry(sandbox)
        assert (entry.status, entry.facts["sent"]) == ("intent", 0)
        launch.cancel()
        await asyncio.gather(launch, return_exceptions=True)
        await asyncio.sleep(1.0)
        assert not await open_entries(sandbox)


async def test_only_attempts_that_left_are_counted_as_sent() -> None:
    """Two attempts without a connection and one whose answer is lost are one launch that may have been charged."""
    sandbox = box(30.0)
    transport = HardToReach(sandbox, misses=2)
    timeouts, retry = cmsapi.Timeouts(request=5.0), cmsapi.RetryPolicy(max_attempts=3)
    async with client_of(sandbox, transport=transport, timeouts=timeouts, retry=retry) as client:
        await client.me()
        with pytest.raises(cmsapi.LaunchUnknownError) as caught:
            await client.content_ideas.search(sandbox.workspace_id, "trail running")
        assert transport.tried == 3
        assert caught.value.evidence["sent"] == 1
        assert "It was sent" not in str(caught.value)
    assert spent(sandbox) == 1


async def test_a_deadline_before_the_bytes_leave_takes_the_attempt_back() -> None:
    """A launch whose deadline passes while it connects raises that nothing was executed, and leaves no entry."""
    sandbox = box(30.0)
    transport = HardToReach(sandbox, misses=1)
    async with client_of(sandbox, transport=transport, timeouts=cmsapi.Timeouts(deadline=5.0)) as client:
        await client.me()
        with pytest.raises(cmsapi.DeadlineError) as caught:
            await client.keywords.analyze(sandbox.keyword_ids[0])
        assert not caught.value.sent
        await asyncio.sleep(1.0)
        assert not await open_entries(sandbox)
    assert spent(sandbox) == 0


async def test_a_redirect_after_the_effect_is_no_refusal() -> None:
    """A launch that a proxy answers with a redirect is looked up: it may have reached the service before."""
    sandbox = box(30.0)

    class Redirecting:
        async def send(self, request: cmsapi.Request) -> cmsapi.Response:
            answer = await sandbox.transport.send(request)
            return cmsapi.Response(302, {"Location": "/login"}, b"") if request.method == "POST" else answer

    async with client_of(sandbox, transport=Redirecting()) as client:
        await client.me()
        keyword = await (await client.keywords.analyze(sandbox.keyword_ids[0]))
        assert keyword.id == sandbox.keyword_ids[0]
    assert (posts(sandbox), spent(sandbox)) == (1, 1)
