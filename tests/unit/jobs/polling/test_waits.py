"""The table of waits in the documentation is what happens: each row is played, with the time that it states."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

import attrs
import pytest

import cmsapi
from cmsapi.jobs import Job
from cmsapi.message import Request, Response
from cmsapi.sandbox import Behaviour, Fault, Limits, Sandbox
from tests.support.jobs import box, client_of
from tests.support.pages import ROOT

pytestmark = pytest.mark.looptime

UNITS = {"second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86_400.0}
#: How much later than its time a wait may end: polls are seconds apart, and minutes in an outage.
SLACK, OUTAGE_SLACK = 45.0, 200.0


def rows() -> dict[str, str]:
    """Return how long each wait of the table is, by what is waited for."""
    text = (ROOT / "docs/reference/waits.md").read_text()
    table = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {cells[0]: cells[1] for cells in table[1:]}


def seconds(row: str) -> list[float]:
    """Return the times that a row states, in seconds."""
    found = re.findall(r"(\d+|an?)\b(?: (second|minute|hour|day))?", rows()[row])
    units = [unit for _, unit in found if unit]
    return [(1.0 if number in ("a", "an") else float(number)) * UNITS[unit or units[0]] for number, unit in found]


@attrs.define
class Answering:
    """Answer requests to some paths of a sandbox in a way of its own, for as long as it is told."""

    sandbox: Sandbox
    part: str
    answer: Callable[[Response], Response | Awaitable[Response]]
    method: str = "GET"
    on: bool = True

    async def send(self, request: Request) -> Response:
        """Carry one request."""
        response = await self.sandbox.transport.send(request)
        if not self.on or request.method != self.method or self.part not in request.url:
            return response
        answer = self.answer(response)
        return answer if isinstance(answer, Response) else await answer


def refused(status: int, **headers: str) -> Callable[[Response], Response]:
    """Answer with a status and no body."""
    return lambda _: Response(status, headers, b"")


def showing(**fields: Any) -> Callable[[Response], Response]:
    """Answer with other fields of the document."""
    return lambda response: attrs.evolve(response, body=json.dumps({**json.loads(response.body), **fields}).encode())


async def ends_within(job: Job[Any], low: float, error: type[Exception] | None, slack: float = SLACK) -> None:
    """Wait for a job, and check how and when it ends."""
    end = (await asyncio.gather(job.wait(), return_exceptions=True))[0]
    assert type(end) is error if error is not None else not isinstance(end, Exception)
    assert low <= job.status.elapsed <= low + slack
    assert job.token


async def analysis_with(answer: Callable[[Response], Response], row: str, error: type[Exception], **more: Any) -> None:
    """Analyse a keyword whose polls are answered so, and check its end."""
    sandbox = box(30.0)
    async with client_of(sandbox, transport=Answering(sandbox, "/v1/keywords/", answer)) as client:
        await ends_within(await client.keywords.analyze(sandbox.keyword_ids[0]), seconds(row)[0], error, **more)


async def search_with(answer: Callable[[Response], Response], row: str, error: type[Exception] | None) -> None:
    """Search ideas whose list is answered so, and check the end."""
    sandbox = box(20.0)
    async with client_of(sandbox, transport=Answering(sandbox, "/content-ideas", answer)) as client:
        job = await client.content_ideas.search(sandbox.workspace_id, "tents")
        await ends_within(job, 20.0 + seconds(row)[0], error)
        assert error is not None or not job.result().complete


async def job_without_end(row: str) -> None:
    """A job that never ends."""
    sandbox = box(1e7)
    async with client_of(sandbox, polling=cmsapi.PollPolicy(max_interval=30)) as client:
        job = client.jobs.watch("keyword_analysis", sandbox.keyword_ids[0])
        sandbox.set_status_word(sandbox.keyword_ids[0], "pending")
        with pytest.raises(cmsapi.JobWaitTimeoutError):
            await job
        assert seconds(row)[0] <= job.status.elapsed <= seconds(row)[0] + SLACK


async def one_waiter(row: str) -> None:
    """A waiter with less patience."""
    sandbox = box(1e4)
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        await asyncio.sleep(100)
        with pytest.raises(cmsapi.JobWaitTimeoutError):
            await job.wait(timeout=50)
        assert 150 <= job.status.elapsed <= 151


async def item_of_a_fan_out(row: str) -> None:
    """An item with a time of its own."""
    sandbox = box(1e4)
    async with client_of(sandbox) as client:
        (outcome,) = [
            each async for each in client.jobs.map(client.keywords.analyze, sandbox.keyword_ids[:1], timeout=99)
        ]
        assert isinstance(outcome.error, cmsapi.JobWaitTimeoutError)
        assert outcome.error.token is not None


async def unlisted_word(row: str) -> None:
    """A word that no kind lists."""
    await analysis_with(showing(analysisStatus="harvesting"), row, cmsapi.UnknownJobStateError)


async def earlier_run(row: str) -> None:
    """The success of years ago."""
    old = showing(analysisStatus="success", lastAnalyzedAt="2020-01-01T00:00:00Z")
    await analysis_with(old, row, cmsapi.UnknownJobStateError)


async def earlier_time(row: str) -> None:
    """A failure that leaves the time of the analysis before."""
    sandbox = box(30.0)
    sandbox.set_outcome(sandbox.analyzed_keyword_ids[0], "failed")
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.analyzed_keyword_ids[0])
        await ends_within(job, 30 + seconds(row)[0], cmsapi.JobFailedError)


async def other_generation(row: str) -> None:
    """Another generation, after this one was seen and before."""
    for seen, patience in zip((True, False), seconds(row), strict=True):
        sandbox = box(60.0)
        other = Answering(sandbox, "/generation", showing(id="gen_other", status="queued"), on=False)
        async with client_of(sandbox, transport=other) as client:
            job = await client.contents.generate(sandbox.content_ids[0])
            if seen:
                await job.refresh()
            other.on = True
            await ends_within(job, patience, cmsapi.JobSupersededError)


async def unknown_job(row: str) -> None:
    """A job that is gone, or was never there."""
    for seen, patience in zip((True, False), seconds(row), strict=True):
        sandbox = box(60.0)
        gone = Answering(sandbox, "/v1/keywords/", refused(410), on=False)
        async with client_of(sandbox, transport=gone) as client:
            job = await client.keywords.analyze(sandbox.keyword_ids[0])
            if seen:
                await job.refresh()
            gone.on = True
            await ends_within(job, patience, cmsapi.JobVanishedError)


async def refused_polls(row: str) -> None:
    """A refusal that the specification does not list."""
    await analysis_with(refused(418), row, cmsapi.UnknownJobStateError)


async def unreadable_polls(row: str) -> None:
    """A page in place of the document."""
    page = Response(200, {"content-type": "application/json"}, b"<html>")
    await analysis_with(lambda _: page, row, cmsapi.UnknownJobStateError, slack=OUTAGE_SLACK)


async def outage(row: str) -> None:
    """A service that fails."""
    await analysis_with(refused(503), row, cmsapi.UnknownJobStateError, slack=OUTAGE_SLACK)


async def refused_result(row: str) -> None:
    """Ideas that are refused."""
    await search_with(refused(409), row, cmsapi.UnknownJobStateError)


async def short_result(row: str) -> None:
    """A list that stays empty."""
    await search_with(showing(data=[], pagination=None), row, None)


async def refused_key(row: str) -> None:
    """A key that is refused while a job runs."""
    sandbox = box(30.0)
    refusing = Answering(sandbox, "/v1/keywords/", refused(401))
    async with client_of(sandbox, transport=refusing) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        with pytest.raises(cmsapi.UnauthorizedError):
            await job
        refusing.on = False
        assert (await job).analysis_status == "success"


async def slow_hook(row: str) -> None:
    """A hook that takes longer than its waiter waits."""
    sandbox = box(30.0)

    async def decide(review: object) -> str:
        await asyncio.sleep(1000)
        return "cancel"

    async with client_of(sandbox) as client:
        job = await client.contents.generate(sandbox.content_ids[0], on_review=decide)  # type: ignore[arg-type]
        with pytest.raises(cmsapi.JobWaitTimeoutError):
            await job.wait(timeout=100)
        assert (await job).decision == "cancel"


async def hook_that_waits_for_itself(row: str) -> None:
    """A hook that awaits its own job."""
    sandbox = box(30.0)

    async def decide(review: object) -> Any:
        return await job

    async with client_of(sandbox) as client:
        job = await client.contents.generate(sandbox.content_ids[0], on_review=decide)
        with pytest.raises(cmsapi.JobError, match="waits for its own job"):
            await job


async def failing_decision(row: str) -> None:
    """A service that never takes the decision."""
    sandbox = box(30.0)
    failing = Answering(sandbox, "/confirm", refused(503), method="POST")
    async with client_of(sandbox) as client:
        await (await client.contents.generate(sandbox.content_ids[0]))
        sandbox.add_fault(Fault(match="POST *confirm", status=503, times=None))
        review = await client.contents.review(sandbox.content_ids[0])
        with pytest.raises(cmsapi.ServerError) as caught:
            await review.confirm()
        assert caught.value.attempts == 5
        assert failing.on


async def silence(response: Response) -> Response:
    """Answer after days."""
    await asyncio.sleep(1e6)
    return response


async def silent_attempt(row: str) -> None:
    """A service that does not answer."""
    sandbox = box(30.0)
    silent = Answering(sandbox, "/v1/me", silence)
    once = cmsapi.RetryPolicy(max_attempts=1)
    began = asyncio.get_running_loop().time()
    async with client_of(sandbox, transport=silent, retry=once) as client:
        with pytest.raises(cmsapi.OutcomeUnknownError):
            await client.me()
    assert asyncio.get_running_loop().time() - began == pytest.approx(seconds(row)[0], abs=1)


async def failing_call(row: str) -> None:
    """A read that always fails."""
    sandbox = box(30.0, rules=[Fault(match="GET /v1/me", status=500, times=None)])
    async with client_of(sandbox) as client:
        with pytest.raises(cmsapi.InternalServerError) as caught:
            await client.me()
        assert caught.value.attempts == 5
    async with client_of(sandbox, transport=Answering(sandbox, "/v1/me", silence)) as client:
        with pytest.raises(cmsapi.DeadlineError):
            await client.with_options(timeouts=cmsapi.Timeouts(deadline=45)).me()


async def long_retry_after(row: str) -> None:
    """A service that asks to come back after the hour."""
    sandbox = box(30.0)
    later = Answering(sandbox, "/v1/me", refused(429, **{"retry-after": str(int(seconds(row)[-1]) + 10)}))
    async with client_of(sandbox, transport=later) as client:
        with pytest.raises(cmsapi.RateLimitedError) as caught:
            await client.me()
        assert caught.value.attempts == 1
        assert caught.value.retry_after == seconds(row)[-1] + 10


async def used_up_hour(row: str) -> None:
    """A limit that is used up, with and without patience."""
    sandbox = box(30.0, limits=Limits(per_hour=2))
    async with client_of(sandbox, limits=cmsapi.RateLimits(per_hour=2, reserve=0)) as client:
        await client.me()
        await client.me()
        with pytest.raises(cmsapi.RateLimitWaitError):
            await client.with_options(limits=cmsapi.RateLimits(per_hour=2, reserve=0, max_wait=5)).me()
        await client.me()
        assert 3600 <= asyncio.get_running_loop().time() <= 3700


async def endless_list(row: str) -> None:
    """A list that promises more for ever."""
    sandbox = box(30.0, behaviour=Behaviour(endless_lists=frozenset({"list_content_ideas"}), total="absent"))
    async with client_of(sandbox) as client:
        search = await (await client.content_ideas.search(sandbox.workspace_id, "tents"))
        with pytest.raises(cmsapi.DecodeError, match="10000 items"):
            async for _ in client.content_ideas.list(search.search.id, limit=100):
                pass


async def endless_ideas(row: str) -> None:
    """Ideas that go on after the announced number."""
    sandbox = box(30.0, behaviour=Behaviour(endless_lists=frozenset({"list_content_ideas"})))
    async with client_of(sandbox) as client:
        ideas = await (await client.content_ideas.search(sandbox.workspace_id, "tents"))
        assert ideas.complete
        assert len([entry for entry in sandbox.ledger if entry.operation == "list_content_ideas"]) == 1


async def lost_launch(row: str) -> None:
    """A launch whose answer never comes."""
    lost = Fault(match="POST *content-idea-searches", drop=True, when="after")
    sandbox = box(30.0, rules=[lost])
    async with client_of(sandbox) as client:
        with pytest.raises(cmsapi.LaunchUnknownError):
            await client.content_ideas.search(sandbox.workspace_id, "tents")
        assert seconds(row)[0] <= asyncio.get_running_loop().time() <= seconds(row)[0] + SLACK


async def fan_out_left_early(row: str) -> None:
    """A fan-out that is left while its launches have no answer."""
    sandbox = box(30.0)
    loop = asyncio.get_running_loop()
    async with client_of(sandbox, transport=Answering(sandbox, "/analyze", silence, method="POST")) as client:
        async with client.jobs.map(client.keywords.analyze, sandbox.keyword_ids[:2]) as outcomes:
            waiting = asyncio.create_task(anext(outcomes))
            await asyncio.sleep(1)
            waiting.cancel()
            began = loop.time()
        assert loop.time() - began == pytest.approx(seconds(row)[0], abs=0.5)
    assert len(sandbox.ledger.launches()) == 2


#: The rows that transports of tests cannot play are tested where the connections are.
ELSEWHERE = {"a connection"}
PLAYED: dict[str, Callable[[str], Awaitable[None]]] = {
    "a job: `await job`, `wait()`, `review()`": job_without_end,
    "a job, one waiter": one_waiter,
    "`run`, `gather`, `as_completed`, an item of `map`": item_of_a_fan_out,
    "the end of `async with` of a fan-out or batch that is left early": fan_out_left_early,
    "a word that is not listed, or none": unlisted_word,
    "the end of an earlier run instead of this one": earlier_run,
    "an end with a time from before the launch": earlier_time,
    "another generation in the place of this one": other_generation,
    "a job that the service does not know (404, 410)": unknown_job,
    "a job whose polls are refused otherwise": refused_polls,
    "a job whose polls cannot be read": unreadable_polls,
    "a service that fails, or is out of reach": outage,
    "a result that is refused behind a finished job": refused_result,
    "a result with fewer items than announced": short_result,
    "a job whose polls are refused because of the key": refused_key,
    "a decision of `on_review`": slow_hook,
    "`on_review` that waits for its own job": hook_that_waits_for_itself,
    "`confirm()` or `cancel()` that fails": failing_decision,
    "one attempt of a request": silent_attempt,
    "a call with its attempts": failing_call,
    "`Retry-After` of an answer": long_retry_after,
    "the request limit": used_up_hour,
    "a list": endless_list,
    "the ideas of a search": endless_ideas,
    "a launch whose answer is lost": lost_launch,
}


def test_each_row_is_played() -> None:
    """The table has no row without a test, and no test plays a row that is gone."""
    assert {*PLAYED, *ELSEWHERE} == set(rows())


@pytest.mark.parametrize("row", PLAYED)
async def test_a_wait_ends_as_its_row_says(row: str) -> None:
    """What is waited for ends as, and when, the table says."""
    await PLAYED[row](row)
