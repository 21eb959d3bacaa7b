"""Waiting for a job: patience, events, listeners, leaving, and polls without waiters."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from itertools import count, pairwise
from pathlib import Path
from typing import Any, Final

import pytest

import cmsapi
from cmsapi.config import PollPolicy
from cmsapi.jobs import Finished, JobEvent, Observed, PollFailed
from cmsapi.message import Request, Response
from cmsapi.sandbox import Fault, Fixed, Sandbox
from tests.support.jobs import Spoiling, box, changed, client_of, polls, unreadable

pytestmark = pytest.mark.looptime

KIND: Final = "keyword_analysis"


async def test_patience_ends_and_the_job_goes_on() -> None:
    """`wait(timeout=)` raises for this waiter only; another one gets the result."""
    sandbox = box(60.0)
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        patient = asyncio.create_task(job.wait())
        loop = asyncio.get_running_loop()
        began = loop.time()
        with pytest.raises(cmsapi.JobWaitTimeoutError, match="within 12 s") as caught:
            await job.wait(timeout=12)
        assert loop.time() - began == pytest.approx(12)
        assert isinstance(caught.value, TimeoutError)
        assert caught.value.token == job.token
        assert not job.done()
        assert (await patient).analysis_status == "success"
        assert await job.wait(timeout=0.001) is await job


async def test_a_timeout_of_the_caller_is_not_the_jobs() -> None:
    """An enclosing timeout stays a plain `TimeoutError` and stops the polls."""
    sandbox = box(60.0)
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        with pytest.raises(TimeoutError) as caught:
            async with asyncio.timeout(20):
                await job
        assert not isinstance(caught.value, cmsapi.CMSError)
        # A poll that is on its way arrives.
        await asyncio.sleep(1)
        seen = len(sandbox.ledger)
        await asyncio.sleep(100)
        assert len(sandbox.ledger) == seen


@pytest.mark.parametrize("first", ["end", "patience"])
async def test_what_happens_in_the_moment_of_the_timeout(first: str) -> None:
    """When the end of the wait and the end of patience meet in one turn of the loop, the earlier one counts."""
    sandbox = box(60.0)
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        loop = asyncio.get_running_loop()
        if first == "end":
            loop.call_later(3, job.detach)
            expected: type[Exception] = cmsapi.JobDetachedError
        else:
            loop.call_soon(loop.call_later, 3, job.detach)
            expected = cmsapi.JobWaitTimeoutError
        with pytest.raises(expected):
            await job.wait(timeout=3)
        assert (await job).analysis_status == "success"


async def test_a_job_without_waiters_is_not_polled() -> None:
    """A launched job without waiters costs no request; the next waiter is served at once."""
    sandbox = box(60.0)
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        seen = len(sandbox.ledger)
        await asyncio.sleep(1000)
        assert len(sandbox.ledger) == seen
        assert job.status.next_poll_at is None
        assert job.status.why_next == "it has no waiters"
        loop = asyncio.get_running_loop()
        began = loop.time()
        await job
        assert loop.time() == began
        assert len(polls(sandbox, KIND)) == 1


async def test_cancelling_one_awaiter_leaves_the_others() -> None:
    """A cancelled awaiter takes neither the stream nor the other awaiters with it; the last one stops the polls."""
    sandbox = box(60.0)
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        first, second = (asyncio.create_task(job.wait()) for _ in range(2))
        await asyncio.sleep(12)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert job.status.next_poll_at is not None
        await second
        other = await client.keywords.analyze(sandbox.keyword_ids[1])
        only = asyncio.create_task(other.wait())
        await asyncio.sleep(12)
        only.cancel()
        await asyncio.gather(only, return_exceptions=True)
        seen = len(sandbox.ledger)
        await asyncio.sleep(100)
        assert len(sandbox.ledger) == seen
        assert (await other).analysis_status == "success"


async def test_an_awaiter_cancelled_during_a_poll_leaves_it_whole() -> None:
    """A poll that is under way when its only awaiter is cancelled is finished and counted."""
    sandbox = box(60.0, latency=(10.0, 10.0))
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        waiter = asyncio.create_task(job.wait())
        # The first poll leaves 5 to 10 seconds after the answer to the launch, and takes 20.
        await asyncio.sleep(12)
        waiter.cancel()
        await asyncio.sleep(30)
        assert job.status.polls == 1
        assert (await job).analysis_status == "success"


async def test_an_end_between_launch_and_first_await_is_not_lost() -> None:
    """A job that ended before it had a waiter gives its result at the first poll."""
    sandbox = box(1000.0)
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        sandbox.finish(sandbox.keyword_ids[0])
        assert (await job).analysis_status == "success"
        assert len(polls(sandbox, KIND)) == 1


@pytest.mark.parametrize("turns", range(12))
async def test_a_job_awaited_right_after_another_is_polled(turns: int) -> None:
    """However few turns of the loop lie between the end of one job and the wait for the next, it is polled."""
    sandbox = box(20.0)
    async with client_of(sandbox) as client:
        first = await client.keywords.analyze(sandbox.keyword_ids[0])
        second = await client.keywords.analyze(sandbox.keyword_ids[1])
        await first
        for _ in range(turns):
            await asyncio.sleep(0)
        await second.wait(timeout=60)


async def test_refresh_polls_now() -> None:
    """`refresh` costs one request, shows the status, and several at once share one poll."""
    sandbox = box(60.0)
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        status = await job.refresh()
        assert (status.state, status.phase, status.polls) == ("queued", "running", 1)
        assert status.observed_at == datetime(2026, 1, 1, tzinfo=UTC)
        await asyncio.sleep(30)
        statuses = await asyncio.gather(*[job.refresh() for _ in range(5)])
        assert {status.state for status in statuses} == {"pending"}
        assert len(polls(sandbox, KIND)) == 2
        sandbox.finish(sandbox.keyword_ids[0])
        assert (await job.refresh()).phase == "succeeded"
        assert (await job.refresh()).polls == 3
        assert len(polls(sandbox, KIND)) == 3


async def test_a_failed_refresh_raises_and_says_nothing_about_the_job() -> None:
    """Each of several refreshers gets the error of the poll they share, after its repeats; the job goes on."""
    sandbox = box(60.0, rules=[Fault(match="GET /v1/keywords/*", status=503, times=5)])
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        errors = await asyncio.gather(*[job.refresh() for _ in range(2)], return_exceptions=True)
        assert all(isinstance(error, cmsapi.ServiceUnavailableError) for error in errors)
        assert errors[0] is not errors[1]
        assert len(polls(sandbox, KIND)) == 5
        assert (job.done(), job.status.phase) == (False, "running")
        await job


async def test_a_cancelled_refresh_leaves_its_poll_to_the_others() -> None:
    """Of several that share a poll, the one that began it may be cancelled, and the others get its status."""
    sandbox = box(60.0, latency=(1.0, 1.0))
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        first, second = [asyncio.create_task(job.refresh()) for _ in range(2)]
        await asyncio.sleep(0.5)
        first.cancel()
        assert (await second).polls == 1
        assert first.cancelled()
        assert len(polls(sandbox, KIND)) == 1


async def test_a_refresh_moves_the_next_poll() -> None:
    """After a refresh the next poll comes 5 to 10 seconds later, not when it would have come."""
    sandbox = box(100.0)
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        waiter = asyncio.create_task(job.wait())
        await asyncio.sleep(4.9)
        await job.refresh()
        await waiter
    first, second = polls(sandbox, KIND)[:2]
    assert first.at == pytest.approx(4.9)
    assert 5.0 <= second.at - first.at <= 10.001


async def test_events_follow_a_job_to_its_end() -> None:
    """`events()` keeps the job polled, tells changes, and ends with `Finished`."""
    sandbox = box(60.0)
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        events = [event async for event in job.events()]
        states = [event.status.state for event in events if isinstance(event, Observed) and event.changed]
        assert states in (["queued", "pending", "success"], ["pending", "success"])
        assert isinstance(events[-1], Finished)
        assert (events[-1].error, events[-1].status.phase) == (None, "succeeded")
        assert len(events) == job.status.polls + 1
        again = [event async for event in job.events()]
        assert [type(event) for event in again] == [Finished]


async def test_leaving_events_stops_the_polls() -> None:
    """A follower that leaves the events of a job no longer keeps it polled."""
    sandbox = box(60.0)
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        async for event in job.events():
            assert isinstance(event, Observed)
            break
        await asyncio.sleep(0)
        seen = len(sandbox.ledger)
        await asyncio.sleep(100)
        assert len(sandbox.ledger) == seen


async def test_listeners_hear_what_they_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    """`on` keeps the job polled, calls by class of event, and outlives a listener that fails."""
    sandbox = box(60.0)
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        heard: list[JobEvent] = []

        def fail(_: Observed) -> None:
            raise RuntimeError("a listener of the user's")

        job.on(Observed, fail)
        job.on(Finished, heard.append)
        await asyncio.sleep(100)
        assert [type(event) for event in heard] == [Finished]
        assert "A hook failed on Observed" in caplog.text
        late: list[Finished] = []
        job.on(Finished, late.append)
        job.on(Observed, fail)
        assert len(late) == 1

        def fail_late(_: Finished) -> None:
            raise RuntimeError("too late")

        caplog.clear()
        job.on(Finished, fail_late)
        assert "A hook failed on Finished" in caplog.text


async def test_a_coroutine_function_is_no_listener(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """`on` refuses what it could only call and never await."""
    job = client.jobs.watch(KIND, sandbox.keyword_ids[0])

    async def listen(_: Finished) -> None:
        """Never run."""

    with pytest.raises(cmsapi.ArgumentError, match="events"):
        job.on(Finished, listen)
    assert len(sandbox.ledger) == 0


async def test_detach_wakes_all_and_ends_the_polls() -> None:
    """`detach` ends waiters and events, stops the polls, and leaves the job to be waited for again."""
    sandbox = box(60.0)
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])

        async def follow() -> None:
            async for _ in job.events():
                pass

        heard: list[JobEvent] = []
        job.on(Observed, heard.append)
        tasks = [asyncio.create_task(job.wait()), asyncio.create_task(job.wait()), asyncio.create_task(follow())]
        await asyncio.sleep(12)
        count = len(heard)
        job.detach()
        errors = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(error, cmsapi.JobDetachedError) for error in errors)
        assert len({id(error) for error in errors}) == 3
        assert isinstance(errors[0], cmsapi.JobDetachedError)
        assert errors[0].token == job.token
        seen = len(sandbox.ledger)
        await asyncio.sleep(100)
        assert (len(sandbox.ledger), len(heard)) == (seen, count)
        assert (await job).analysis_status == "success"
        job.detach()
        assert job.done()


async def test_failures_while_looking_never_fail_the_job() -> None:
    """429, 5xx, a dead connection and short 404s come as `PollFailed`; the job succeeds all the same."""
    rules = [
        Fault(match="GET /v1/keywords/*", status=429, retry_after=7),
        *[Fault(match="GET /v1/keywords/*", status=status) for status in (500, 502, 503, 404, 404)],
        Fault(match="GET /v1/keywords/*", drop=True, times=2),
    ]
    sandbox = box(30.0, rules=rules)
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        events = [event async for event in job.events()]
        failures = [type(event.error).__name__ for event in events if isinstance(event, PollFailed)]
        assert failures == [
            "RateLimitedError",
            "InternalServerError",
            "BadGatewayError",
            "ServiceUnavailableError",
            "NotFoundError",
            "NotFoundError",
            "OutcomeUnknownError",
            "OutcomeUnknownError",
        ]
        assert (await job).analysis_status == "success"
        assert client.statistics.poll_failures == 8
    times = [entry.at for entry in polls(sandbox, KIND)]
    assert all(later - earlier >= 5.0 for earlier, later in pairwise(times))


async def test_a_broken_body_never_fails_the_job() -> None:
    """An answer that is no JSON is a failed poll, and the next one counts."""
    sandbox = box(30.0)
    spoiling = Spoiling(sandbox, unreadable("GET", sandbox.keyword_ids[0], times=3))
    async with client_of(sandbox, transport=spoiling) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        events = [event async for event in job.events()]
        failures = [event.error for event in events if isinstance(event, PollFailed)]
        assert [type(error) for error in failures] == [cmsapi.DecodeError] * 3
        assert job.status.phase == "succeeded"


@pytest.mark.parametrize("refusal", ["revoked", "forbidden"])
async def test_a_refused_key_ends_the_waiters_and_not_the_job(refusal: str) -> None:
    """401 and 403 reach who waits, and the polls stop; once the key works, waiting works."""
    rules = [Fault(match="GET /v1/keywords/*", status=403)] if refusal == "forbidden" else []
    sandbox = box(60.0, rules=rules)
    expected = cmsapi.ForbiddenError if rules else cmsapi.UnauthorizedError
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        if not rules:
            sandbox.revoke(sandbox.api_key)
        errors = await asyncio.gather(job.wait(), job.wait(), return_exceptions=True)
        assert [type(error) for error in errors] == [expected, expected]
        assert errors[0] is not errors[1]
        assert [job.token in note for error in errors for note in getattr(error, "__notes__", ())] == [True, True]
        assert not job.done()
        seen = len(sandbox.ledger)
        await asyncio.sleep(100)
        assert len(sandbox.ledger) == seen
        sandbox.restore(sandbox.api_key)
        assert (await job).analysis_status == "success"


class OddError(Exception):
    """Refuse to be copied, as exceptions of transports may."""

    def __init__(self, code: int, *, reason: str) -> None:
        super().__init__(f"{code} {reason}")


@pytest.mark.parametrize("error", [OddError(7, reason="odd"), KeyError("odd")])
async def test_a_transport_that_breaks_its_promise_does_not_hang_waiters(
    caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    """An error that is none of the SDK's reaches who waits and the log; the job goes on."""
    broken = [True]

    def spoil(request: cmsapi.Request, response: cmsapi.Response) -> cmsapi.Response:
        if request.method == "GET" and broken[0]:
            raise error
        return response

    sandbox = box(60.0)
    async with client_of(sandbox, transport=Spoiling(sandbox, spoil)) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        with pytest.raises(type(error)):
            await job
        assert "went wrong" in caplog.text
        broken[0] = False
        assert (await job).analysis_status == "success"


@pytest.mark.parametrize("kind", ["keyword_analysis", "idea_search"])
async def test_a_transport_that_cancels_itself_does_not_end_the_polls(kind: str) -> None:
    """A cancellation that comes out of a transport counts as a failed poll, and the next poll comes as usual."""
    left = [0]
    sandbox = box(8.0)

    def spoil(request: cmsapi.Request, response: cmsapi.Response) -> cmsapi.Response:
        if left[0]:
            left[0] -= 1
            raise asyncio.CancelledError
        return response

    async with client_of(sandbox, transport=Spoiling(sandbox, spoil)) as client:
        job: cmsapi.Job[Any] = (
            await client.keywords.analyze(sandbox.keyword_ids[0])
            if kind == "keyword_analysis"
            else await client.content_ideas.search(sandbox.workspace_id, "tents")
        )
        failures: list[PollFailed] = []
        job.on(PollFailed, failures.append)
        left[0] = 2
        await job.wait(timeout=120.0)
    assert [type(failure.error) for failure in failures] == [cmsapi.OutcomeUnknownError] * 2


@pytest.mark.parametrize("begun", [True, False])
async def test_a_poll_that_other_code_cancels_is_followed_by_the_next(begun: bool) -> None:
    """A program that cancels all tasks but the waiter, also before a poll has begun, does not end the polls."""
    sandbox = box(30.0, latency=(0.3, 0.3))
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        waiter = asyncio.create_task(job.wait())
        await asyncio.sleep(7)
        asking = asyncio.create_task(job.refresh())
        # Its first step makes the task of the poll, which begins one turn later.
        await asyncio.sleep(0.1 if begun else 0)
        for task in asyncio.all_tasks() - {waiter, asyncio.current_task()}:
            task.cancel()
        async with asyncio.timeout(60):
            assert (await waiter).analysis_status == "success"
        assert asking.cancelled()


@pytest.mark.parametrize("begun", [True, False])
async def test_a_cancelled_follower_of_another_client_goes_on(begun: bool) -> None:
    """The same holds where another client polls the job, and this one follows the journal."""
    sandbox = box(30.0)
    async with client_of(sandbox) as client, client_of(sandbox) as follower:
        polled, followed = [await each.keywords.analyze(sandbox.keyword_ids[0]) for each in (client, follower)]
        waiters = [asyncio.create_task(polled.wait())]
        await asyncio.sleep(7)
        waiters.append(asyncio.create_task(followed.wait()))
        await asyncio.sleep(3 if begun else 0)
        for task in asyncio.all_tasks() - {*waiters, asyncio.current_task()}:
            task.cancel()
        async with asyncio.timeout(60):
            await asyncio.gather(*waiters)
    assert len(sandbox.ledger.launches()) == 1


async def test_a_refresh_whose_transport_cancels_itself_raises_an_error() -> None:
    """Who refreshes a job was not cancelled, and is told that the poll has failed."""
    sandbox = box(60.0)

    def spoil(request: cmsapi.Request, response: cmsapi.Response) -> cmsapi.Response:
        if request.url.endswith(sandbox.keyword_ids[0]):
            raise asyncio.CancelledError
        return response

    async with client_of(sandbox, transport=Spoiling(sandbox, spoil)) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        with pytest.raises(cmsapi.OutcomeUnknownError):
            await job.refresh()
        assert not job.done()


async def test_connections_that_were_closed_end_the_waiters() -> None:
    """When the connections given to the client are closed, who waits is told, and nothing is polled any more."""
    broken = [True]
    sandbox = box(60.0)

    def spoil(request: cmsapi.Request, response: cmsapi.Response) -> cmsapi.Response:
        if request.method == "GET" and broken[0]:
            raise cmsapi.ClientClosedError("The session given to the client is closed.")
        return response

    async with client_of(sandbox, transport=Spoiling(sandbox, spoil)) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        async with asyncio.timeout(60):
            with pytest.raises(cmsapi.ClientClosedError, match="session"):
                await job
        assert not job.done()
        assert job.status.next_poll_at is None
        broken[0] = False
        assert (await job).analysis_status == "success"


@pytest.mark.parametrize("status", [400, 404, 422])
async def test_ideas_that_are_never_readable_end_in_doubt(status: int) -> None:
    """A search whose ideas the service refuses for longer than the limit of doubt ends, and shows its own state."""
    sandbox = box(10.0, rules=[Fault(match="GET *content-ideas", status=status, times=None)])
    async with client_of(sandbox, polling=PollPolicy(give_up_after=600.0)) as client:
        job = await client.content_ideas.search(sandbox.workspace_id, "tents")
        with pytest.raises(cmsapi.JobWaitTimeoutError):
            await job.wait(timeout=300)
        assert job.status.state == "success"
        assert not job.done()
        async with asyncio.timeout(400):
            with pytest.raises(cmsapi.UnknownJobStateError, match="keep failing") as caught:
                await job
    assert isinstance(caught.value.__cause__, cmsapi.APIError)
    assert caught.value.__cause__.status == status


@pytest.mark.parametrize(
    ("event", "call", "parameter"), [("finished", print, "event"), (None, print, "event"), (Finished, "print", "call")]
)
async def test_a_listener_is_checked_when_it_is_given(
    client: cmsapi.Client, sandbox: Sandbox, event: Any, call: Any, parameter: str
) -> None:
    """A wrong class of events and what cannot be called are refused at once, not when something happens."""
    with pytest.raises(cmsapi.ArgumentError) as caught:
        client.jobs.watch("keyword_analysis", sandbox.keyword_ids[0]).on(event, call)
    assert caught.value.parameter == parameter
    assert len(sandbox.ledger) == 0


async def test_ideas_without_end_do_not_use_up_the_hour() -> None:
    """A list of ideas that never ends is read until as many are there as the search has announced."""
    sandbox = box(10.0)
    endless = {"pagination": {"total": 1, "page": 1, "limit": 100, "hasMore": True}}
    number = count()

    def spoil(request: Request, response: Response) -> Response:
        return changed("/content-ideas", **endless, data=[{"id": f"idea_{next(number)}"}])(request, response)

    async with client_of(sandbox, transport=Spoiling(sandbox, spoil)) as client:
        ideas = await (await client.content_ideas.search(sandbox.workspace_id, "tents"))
        assert len(ideas) == ideas.search.nb_content_ideas
    assert len([entry for entry in sandbox.ledger if entry.operation == "list_content_ideas"]) == len(ideas)


async def test_a_body_that_stays_broken_ends_in_doubt_and_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """Answers that can never be read end the job after ten minutes, with one warning on the way."""
    sandbox = box(30.0)
    spoiling = Spoiling(sandbox, unreadable("GET", sandbox.keyword_ids[0], times=10_000))
    async with client_of(sandbox, transport=spoiling) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        async with asyncio.timeout(750):
            with pytest.raises(cmsapi.UnknownJobStateError, match="keep failing") as caught:
                await job
        assert isinstance(caught.value.__cause__, cmsapi.DecodeError)
        assert job.status.elapsed >= 600
    assert [record.levelname for record in caplog.records if "polls of" in record.message] == ["WARNING"]


async def test_an_outage_of_hours_ends_no_job_where_that_is_set() -> None:
    """Failures that may pass are survived for as long as the policy says."""
    outage = Fault(match="GET /v1/keywords/*", status=503, times=200)
    sandbox = box(30.0, rules=[outage])
    async with client_of(sandbox, polling=PollPolicy(outage_timeout=86_400)) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        assert (await job).analysis_status == "success"
        assert job.status.elapsed > 4 * 3600


async def test_launching_needs_an_open_client(sandbox: Sandbox) -> None:
    """Everything about a job of a closed client says that the client is closed, and sends nothing."""
    client = client_of(sandbox)
    job = await client.keywords.analyze(sandbox.keyword_ids[0])
    await client.aclose()
    seen = len(sandbox.ledger)
    with pytest.raises(cmsapi.ClientClosedError):
        await job
    with pytest.raises(cmsapi.ClientClosedError):
        await job.refresh()
    with pytest.raises(cmsapi.ClientClosedError):
        async for _ in job.events():
            pass
    with pytest.raises(cmsapi.ClientClosedError):
        job.on(Finished, print)
    with pytest.raises(cmsapi.ClientClosedError):
        await client.keywords.analyze(sandbox.keyword_ids[1])
    with pytest.raises(cmsapi.ClientClosedError):
        client.jobs.watch(KIND, sandbox.keyword_ids[0])
    await asyncio.sleep(100)
    assert len(sandbox.ledger) == seen


async def test_a_slip_is_answered_with_the_way_on(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """Who forgets the second `await` is told of it, and who waits on a closed client gets the token."""
    job = await client.keywords.analyze(sandbox.keyword_ids[0])
    with pytest.raises(AttributeError, match=r"a Job has no 'keyword'; .* await job"):
        job.keyword  # type: ignore[attr-defined]  # noqa: B018  the slip
    await client.aclose()
    with pytest.raises(cmsapi.ClientClosedError) as caught:
        await job
    assert job.token in caught.value.__notes__[0]


@pytest.mark.looptime(False)
async def test_events_go_on_after_a_failure_to_open_the_journal(tmp_path: Path) -> None:
    """Where a client cannot find out whose journal it is, events try again; a waiter gets the error."""
    sandbox = Sandbox(durations=Fixed(0.2), faults=Fault(match="GET /v1/me", status=503, times=1, between=(0.2, 60.0)))
    fast = PollPolicy(min_interval=0.1, max_interval=0.2)
    async with client_of(sandbox) as client:
        token = (await client.keywords.analyze(sandbox.keyword_ids[0])).token
        await asyncio.sleep(0.3)
    state = f"sqlite:///{tmp_path / 'state.db'}"
    retry = cmsapi.RetryPolicy(max_attempts=1)
    async with client_of(sandbox, state=state, polling=fast, retry=retry) as client:
        job = client.jobs.attach(token)
        waiter = asyncio.create_task(job.wait())
        async with asyncio.timeout(10.0):
            events = [type(event) async for event in job.events()]
        assert events[-1] is Finished
        with pytest.raises(cmsapi.ServiceUnavailableError):
            await waiter


async def test_a_launch_whose_transport_cancels_itself_is_paid_once() -> None:
    """The one who launches was not cancelled: what became of the launch is found out, and it is not repeated."""
    left = [1]
    sandbox = box(8.0)

    def spoil(request: cmsapi.Request, response: cmsapi.Response) -> cmsapi.Response:
        if request.method == "POST" and left[0]:
            left[0] -= 1
            raise asyncio.CancelledError
        return response

    async with client_of(sandbox, transport=Spoiling(sandbox, spoil)) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        assert (await job).analysis_status == "success"
    assert len(sandbox.ledger.launches()) == 1
