"""Jobs that are awaited, on the sandbox in virtual time."""

from __future__ import annotations

import asyncio

import pytest

import cmsapi
from cmsapi import Client, ContentIdeas, Keyword
from cmsapi.errors import (
    ArgumentError,
    ClientClosedError,
    JobDetachedError,
    JobFailedError,
    JobWaitTimeoutError,
    ServiceUnavailableError,
    UnauthorizedError,
    UnclearJobError,
)
from cmsapi.jobs.job import Job
from cmsapi.sandbox import Fault, Fixed, Sandbox
from tests.support.box import client_of, now
from tests.support.spec import spec

pytestmark = pytest.mark.looptime


@pytest.fixture
def sandbox() -> Sandbox:
    """Return a service whose jobs have known durations."""
    return Sandbox(durations={"analysis": Fixed(42), "search": Fixed(70)}, clock_skew=-4000)


async def analyze(client: Client, sandbox: Sandbox, number: int = 0) -> Job[Keyword]:
    """Launch an analysis and watch it."""
    keyword = sandbox.keyword_ids[number]
    await client.request("POST", f"/v1/keywords/{keyword}/analyze")
    return client.jobs.watch("analysis", keyword)


def polls(sandbox: Sandbox) -> int:
    """Return the number of requests for keywords."""
    return sum(request.operation == "get_keyword" for request in sandbox.ledger.requests)


@spec("8.5")
async def test_an_analysis_is_polled_at_the_advised_intervals(client: Client, sandbox: Sandbox) -> None:
    """An awaited analysis returns its keyword within ten seconds of its end, polled every 5 to 10 seconds."""
    keyword = await (await analyze(client, sandbox))
    assert keyword.analysis_status == "success"
    assert 42 <= now() <= 52
    assert 42 / 10 <= polls(sandbox) <= 52 / 5


async def test_a_search_returns_its_ideas(client: Client, sandbox: Sandbox) -> None:
    """An awaited search reads its ideas and says whether they are as many as announced."""
    path = f"/v1/workspaces/{sandbox.workspace_id}/content-idea-searches"
    started = (await client.request("POST", path, json={"keyword": "tea"})).json()
    ideas = await client.jobs.watch("search", started["id"])
    assert isinstance(ideas, ContentIdeas)
    assert ideas.complete
    assert len(ideas) == ideas.search.nb_content_ideas


async def test_all_who_wait_share_one_stream_of_polls(client: Client, sandbox: Sandbox) -> None:
    """A hundred waits, half of them through separate watches, cost as many polls as one, and all get the result."""
    job = await analyze(client, sandbox)
    waits = [each.wait() for _ in range(50) for each in (job, client.jobs.watch("analysis", job.target))]
    assert {keyword.id for keyword in await asyncio.gather(*waits)} == {job.target}
    assert polls(sandbox) <= 10


async def test_cancelling_one_wait_affects_no_other(client: Client, sandbox: Sandbox) -> None:
    """Cancelling a wait ends only that wait."""
    job = await analyze(client, sandbox)
    doomed, other = asyncio.create_task(job.wait()), asyncio.create_task(job.wait())
    await asyncio.sleep(12)
    doomed.cancel()
    assert (await other).analysis_status == "success"
    assert doomed.cancelled()


async def test_without_waiters_nothing_is_polled(client: Client, sandbox: Sandbox) -> None:
    """A job that nothing waits for costs no request, even after a wait that ended early."""
    job = await analyze(client, sandbox)
    await asyncio.sleep(100)
    assert polls(sandbox) == 0
    other = await analyze(client, sandbox, 1)
    with pytest.raises(JobWaitTimeoutError):
        await other.wait(timeout=12)
    before = polls(sandbox)
    await asyncio.sleep(100)
    assert polls(sandbox) == before
    assert (await job).id == job.target


async def test_a_wait_that_is_over_says_that_the_job_goes_on(client: Client, sandbox: Sandbox) -> None:
    """`wait` ends in time, and waiting again returns the result."""
    job = await analyze(client, sandbox)
    with pytest.raises(TimeoutError):
        await job.wait(timeout=20)
    assert now() == pytest.approx(20)
    assert (await job).analysis_status == "success"


async def test_a_failure_is_raised_to_each_who_waits(client: Client, sandbox: Sandbox) -> None:
    """A failed job raises `JobFailedError`, immediately if it is awaited again."""
    job = await analyze(client, sandbox)
    sandbox.set_outcome(job.target, "failed")
    results = await asyncio.gather(job.wait(), job.wait(), return_exceptions=True)
    assert [type(result) for result in results] == [JobFailedError, JobFailedError]
    with pytest.raises(JobFailedError):
        job.result()


async def test_polls_that_fail_say_nothing_of_the_job(client: Client, sandbox: Sandbox) -> None:
    """An outage of two minutes delays the result and costs few requests."""
    job = await analyze(client, sandbox)
    sandbox.faults.rules.append(Fault(match="get_keyword", status=503, since=0, until=120))
    keyword = await job
    assert keyword.analysis_status == "success"
    assert now() < 120 + 61
    assert polls(sandbox) <= 12


async def test_polls_that_fail_together_pause_once(client: Client, sandbox: Sandbox) -> None:
    """Twenty polls that fail in one short outage do not double the pause twenty times."""
    jobs = [await analyze(client, sandbox, number) for number in range(20)]
    sandbox.faults.rules.append(Fault(match="get_keyword", status=503, since=0, until=12))
    await asyncio.gather(*jobs)
    assert now() < 42 + 20


@pytest.mark.parametrize("number", [1, 20])
async def test_an_outage_ends_all_waits_after_its_time(sandbox: Sandbox, number: int) -> None:
    """After `PollPolicy.outage_timeout` the last error is raised, for whatever number of jobs."""
    async with client_of(sandbox, polling=cmsapi.PollPolicy(outage_timeout=300)) as client:
        jobs = [await analyze(client, sandbox, each) for each in range(number)]
        sandbox.faults.rules.append(Fault(match="get_keyword", status=503))
        errors = await asyncio.gather(*jobs, return_exceptions=True)
        assert {type(error) for error in errors} == {ServiceUnavailableError}
    assert 300 <= now() <= 400


async def test_a_refused_key_ends_the_wait_at_once(client: Client, sandbox: Sandbox) -> None:
    """A 401 concerns the key and not the job, and waiting does not help."""
    job = await analyze(client, sandbox)
    sandbox.faults.rules.append(Fault(match="get_keyword", status=401))
    with pytest.raises(UnauthorizedError):
        await job
    assert now() <= 11


@pytest.mark.parametrize("shown", ["hatched", "404"])
async def test_what_cannot_be_understood_ends_the_wait_with_the_reason(
    client: Client, sandbox: Sandbox, shown: str
) -> None:
    """An unlisted word or a 404 that lasts two minutes ends the wait and is named."""
    job = await analyze(client, sandbox)
    if shown == "404":
        sandbox.faults.rules.append(Fault(match="get_keyword", status=404))
    else:
        sandbox.set_outcome(job.target, shown)
    with pytest.raises(UnclearJobError) as unclear:
        await job
    assert shown in unclear.value.reason
    assert 120 <= now() <= 200


async def test_events_survive_a_cancelled_anext(client: Client, sandbox: Sandbox) -> None:
    """A stream that is read with a time limit, as for pings to a browser, ends with the job and loses no event."""
    job = await analyze(client, sandbox)
    phases, pings = [], 0
    stream = job.events()
    while True:
        try:
            phases.append((await asyncio.wait_for(anext(stream), 3)).phase)
        except TimeoutError:
            pings += 1
        except StopAsyncIteration:
            break
    assert phases[-1] == "succeeded"
    assert set(phases[:-1]) == {"running"}
    assert pings > 5


async def test_two_readers_of_one_stream_of_events_both_end(client: Client, sandbox: Sandbox) -> None:
    """Each event reaches one of them, and the end both."""
    stream = (await analyze(client, sandbox)).events()

    async def read() -> list[str]:
        return [event.phase async for event in stream]

    first, second = await asyncio.gather(read(), read())
    assert (first + second).count("succeeded") == 1


async def test_refresh_polls_once(client: Client, sandbox: Sandbox) -> None:
    """`refresh` costs one request and says how the job stands."""
    job = await analyze(client, sandbox)
    assert await job.refresh() == "running"
    await asyncio.sleep(43)
    assert await job.refresh() == "succeeded"
    assert polls(sandbox) == 2
    assert job.result().id == job.target


async def test_a_detached_job_goes_on(client: Client, sandbox: Sandbox) -> None:
    """`detach` ends the waits in this program; the job can be watched again."""
    job = await analyze(client, sandbox)
    waiting = asyncio.create_task(job.wait())
    await asyncio.sleep(1)
    job.detach()
    with pytest.raises(JobDetachedError):
        await waiting
    assert (await client.jobs.watch("analysis", job.target)).id == job.target


async def test_after_an_outage_a_404_does_not_stop_the_polls_of_others(client: Client, sandbox: Sandbox) -> None:
    """Whatever the single poll after a failure finds, all other jobs continue to be polled."""
    gone, *jobs = [await analyze(client, sandbox, number) for number in range(3)]
    sandbox.faults.rules += [
        Fault(match="get_keyword", status=503, times=1),
        Fault(match="get_keyword", status=404, times=2),
    ]
    doomed = asyncio.create_task(gone.wait())
    for job in jobs:
        assert (await job).analysis_status == "success"
    assert now() < 200
    doomed.cancel()


async def test_refresh_raises_what_it_meets(client: Client, sandbox: Sandbox) -> None:
    """An explicit poll does not hide that it failed."""
    job = await analyze(client, sandbox)
    sandbox.faults.rules.append(Fault(match="get_keyword", status=401))
    with pytest.raises(UnauthorizedError):
        await job.refresh()


async def test_what_is_meant_to_end_a_program_reaches_who_waits() -> None:
    """An exception such as that of ``pytest.fail``, raised by a transport, is raised by the wait."""

    class Failing:
        async def send(self, request: cmsapi.Request) -> cmsapi.Response:
            pytest.fail("from the transport")

        async def aclose(self) -> None:
            pass

    async with Client("sk_x", base_url="http://localhost:9", transport=Failing()) as failing:
        with pytest.raises(pytest.fail.Exception):
            await failing.jobs.watch("analysis", "kwd_1").wait(timeout=100)


async def test_a_closed_client_ends_its_waits(client: Client, sandbox: Sandbox) -> None:
    """Closing is no outage: the wait ends at the next poll."""
    job = await analyze(client, sandbox)
    waiting = asyncio.create_task(job.wait())
    await asyncio.sleep(1)
    await client.aclose()
    with pytest.raises(ClientClosedError):
        await waiting
    assert now() <= 12


async def test_a_job_that_never_ends_is_waited_for_until_its_time(sandbox: Sandbox) -> None:
    """`PollPolicy.job_timeout` ends a wait in time, whatever polls show."""
    sandbox = Sandbox(durations={"analysis": Fixed(10**6)})
    async with client_of(sandbox, polling=cmsapi.PollPolicy(job_timeout=300)) as client:
        job = await analyze(client, sandbox)
        with pytest.raises(JobWaitTimeoutError):
            await job
    assert now() == pytest.approx(300, abs=1)


@pytest.mark.parametrize(("kind", "id_"), [("analyse", "kwd_1"), ("analysis", ""), ("analysis", "..")])
async def test_what_cannot_be_watched_is_refused(client: Client, kind: str, id_: str) -> None:
    """A mistyped kind or identifier is refused before anything is sent."""
    with pytest.raises(ArgumentError):
        client.jobs.watch(kind, id_)
