"""Every wait for a job ends: what polls show for ever ends the job with an error, and the token stays valid."""

from __future__ import annotations

import asyncio
import logging
import re
from functools import partial
from pathlib import Path

import attrs
import pytest

import cmsapi
from cmsapi.config import PollPolicy
from cmsapi.message import Request, Response
from cmsapi.observability.job_events import UnlistedState
from cmsapi.sandbox import Fault
from tests.support.jobs import box, client_of, polls

pytestmark = pytest.mark.looptime

HOUR = 3600.0


@attrs.define
class Refusing:
    """Answer some reads of a sandbox with a status for as long as it is told."""

    sandbox: cmsapi.sandbox.Sandbox
    part: str
    status: int
    on: bool = True

    async def send(self, request: Request) -> Response:
        """Carry one request, or refuse it."""
        if self.on and request.method == "GET" and self.part in request.url:
            await asyncio.sleep(0.01)
            return Response(self.status, {}, b"")
        return await self.sandbox.transport.send(request)


@attrs.define
class Unreachable:
    """Carry what launches to a sandbox, and refuse its reads with what a transport without a network says."""

    sandbox: cmsapi.sandbox.Sandbox

    async def send(self, request: Request) -> Response:
        """Carry one request, or refuse it."""
        if request.method == "GET" and "/v1/keywords/" in request.url:
            raise cmsapi.NotSentError("No connection. Check the network.")
        return await self.sandbox.transport.send(request)


@pytest.mark.parametrize("status", [301, 304, 400, 402, 405, 409, 418, 422, 451])
async def test_refused_polls_end_a_job(status: int) -> None:
    """Polls that the service refuses for a minute end the job; the error has the last answer, and the token works."""
    sandbox = box(30.0)
    refusing = Refusing(sandbox, "/v1/keywords/", status)
    async with client_of(sandbox, transport=refusing) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        with pytest.raises(cmsapi.UnknownJobStateError, match=str(status)) as caught:
            await job
        assert isinstance(caught.value.__cause__, cmsapi.APIError)
        assert caught.value.__cause__.status == status
        assert 60 <= job.status.elapsed <= 90
        assert job.status.polls <= 10
        refusing.on = False
        assert caught.value.token is not None
        assert (await client.jobs.attach(caught.value.token)).analysis_status == "success"


@pytest.mark.parametrize("status", [500, 501, 503])
async def test_an_outage_ends_a_job_after_its_time(status: int) -> None:
    """A service that fails for as long as `outage_timeout` ends the jobs that are polled, with few polls."""
    sandbox = box(30.0)
    refusing = Refusing(sandbox, "/v1/keywords/", status)
    async with client_of(sandbox, transport=refusing) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        with pytest.raises(cmsapi.UnknownJobStateError, match="keep failing"):
            await job
        assert HOUR <= job.status.elapsed <= HOUR + 150
        assert job.status.polls < 50
        soon = await client.with_options(polling=PollPolicy(outage_timeout=120)).keywords.analyze(
            sandbox.keyword_ids[1]
        )
        with pytest.raises(cmsapi.UnknownJobStateError, match="keep failing"):
            await soon
        assert 120 <= soon.status.elapsed <= 250


async def test_an_error_inside_an_error_ends_its_sentence_once() -> None:
    """What polls fail with ends with a full stop, and the sentence around it adds none."""
    sandbox = box(30.0)
    unreachable = Unreachable(sandbox)
    async with client_of(sandbox, transport=unreachable, polling=PollPolicy(outage_timeout=120)) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        with pytest.raises(
            cmsapi.UnknownJobStateError, match=r"Check the network\. Check it in the application"
        ) as caught:
            await job
    assert ".." not in str(caught.value)


@pytest.mark.parametrize(("status", "longest"), [(404, 150), (409, 150), (500, HOUR + 200)])
async def test_a_result_that_is_refused_ends_its_job(status: int, longest: float) -> None:
    """Ideas that can never be read behind a finished search end it; reading them later works with the token."""
    sandbox = box(20.0)
    refusing = Refusing(sandbox, "/content-ideas", status)
    async with client_of(sandbox, transport=refusing) as client:
        job = await client.content_ideas.search(sandbox.workspace_id, "tents")
        with pytest.raises(cmsapi.UnknownJobStateError) as caught:
            await job
        assert job.status.elapsed <= 30 + longest
        refusing.on = False
        assert caught.value.token is not None
        assert len(await client.jobs.attach(caught.value.token)) > 0


async def test_an_unlisted_word_is_reported_at_once_and_ends_a_job_in_minutes() -> None:
    """A word that is not listed is an event and in `why_next` at the first poll, and an error after ten minutes."""
    sandbox = box(30.0)
    keyword_ids = sandbox.keyword_ids[:5]
    heard: list[object] = []
    async with client_of(sandbox, hooks=[heard.append]) as client:
        jobs = [await client.keywords.analyze(keyword_id) for keyword_id in keyword_ids]
        for keyword_id in keyword_ids:
            sandbox.set_status_word(keyword_id, "harvesting")
        waiting = [asyncio.create_task(job.wait()) for job in jobs]
        await asyncio.sleep(20)
        words = [(event.kind, event.state, event.ends_in) for event in heard if isinstance(event, UnlistedState)]
        assert words == [("keyword_analysis", "harvesting", 600.0)]
        assert "'harvesting'" in jobs[0].status.why_next
        ends = await asyncio.gather(*waiting, return_exceptions=True)
        assert {type(end) for end in ends} == {cmsapi.UnknownJobStateError}
        assert all("words" in str(end) for end in ends)
        assert all(600 <= job.status.elapsed <= 640 for job in jobs)
    assert len(polls(sandbox, "keyword_analysis")) < 5 * 70


@pytest.mark.parametrize("end", ["vanished", "undecided"])
async def test_a_rerun_of_a_batch_looks_again(tmp_path: Path, end: str) -> None:
    """An end that the service has not reported itself is not for good: the next run reads the job again, for free."""
    sandbox = box(30.0)
    state = f"sqlite:///{tmp_path / 'state.db'}"
    refusing = Refusing(sandbox, "/v1/content-idea-searches/", 404 if end == "vanished" else 402)
    found = []
    for run in range(3):
        refusing.on = run == 0
        async with client_of(sandbox, transport=refusing, state=state) as client, client.jobs.batch("nightly") as batch:
            search = partial(client.content_ideas.search, sandbox.workspace_id)
            found += [outcome.ok async for outcome in batch.map(search, ["tents"])]
            assert batch.failed == (("tents",) if run == 0 else ())
    assert found == [False, True, True]
    assert len([entry for entry in sandbox.ledger if entry.operation == "start_content_idea_search"]) == 1


async def test_an_outage_is_told_within_a_minute_and_once(caplog: pytest.LogCaptureFixture) -> None:
    """One line for all jobs, not one for each; the next outage is told again."""
    sandbox = box(600.0)
    async with client_of(sandbox) as client:
        jobs = [await client.keywords.analyze(each) for each in sandbox.keyword_ids]
        waiting = asyncio.create_task(client.jobs.gather(*jobs))
        for _ in range(2):
            await asyncio.sleep(60)
            sandbox.add_fault(Fault(match="GET *", status=503, times=None))
            with caplog.at_level(logging.WARNING, "cmsapi"):
                await asyncio.sleep(90)
                (told,) = [each.getMessage() for each in caplog.records]
                assert re.match(r"no poll has succeeded for \d\d s, and the polls of 20 jobs go on: 503 ", told)
                await asyncio.sleep(60)
                assert len(caplog.records) == 1
            caplog.clear()
            sandbox.clear_faults()
        assert len(await waiting) == 20
