"""A job as a future, and the questions about it that wait for nothing: `done`, `result`, `exception`, `jobs.status`."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import attrs
import pytest
from hypothesis import given, strategies as st

import cmsapi
from cmsapi.sandbox import Behaviour, Fixed, Limits, Sandbox
from tests.support.jobs import Spoiling, box, changed, client_of, polls
from tests.support.tokens import sealed

pytestmark = pytest.mark.looptime

BOX = Sandbox()


async def test_a_finished_job_gives_its_result_without_await() -> None:
    """As on a future of asyncio: `done`, `result` and `exception` are plain methods, and send nothing."""
    sandbox = box(30.0)
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        keyword = await job
        seen = len(sandbox.ledger)
        assert job.done()
        assert job.result() is keyword
        assert job.exception() is None
        assert len(sandbox.ledger) == seen


async def test_a_failed_job_raises_its_error_or_returns_it() -> None:
    """`result` raises what `await` raises, and `exception` returns it."""
    sandbox = Sandbox(failures=1.0, behaviour=Behaviour(failed_analysis_timestamp="new"))
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        with pytest.raises(cmsapi.JobFailedError):
            await job
        with pytest.raises(cmsapi.JobFailedError):
            job.result()
        assert isinstance(job.exception(), cmsapi.JobFailedError)


async def test_a_running_job_has_neither_result_nor_exception() -> None:
    """Both refuse, and the error says that the job runs and carries it."""
    sandbox = box(30.0)
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        for ask in (job.result, job.exception):
            with pytest.raises(cmsapi.JobError, match="not finished") as caught:
                ask()
            assert caught.value.job is job


async def test_run_launches_and_waits() -> None:
    """`jobs.run` gives the result of a launch in one line, and its time limit ends the wait but not the job."""
    sandbox = box(30.0)
    async with client_of(sandbox) as client:
        keyword = await client.jobs.run(client.keywords.analyze(sandbox.keyword_ids[0]))
        assert keyword.analysis_status == "success"
        with pytest.raises(cmsapi.JobWaitTimeoutError) as caught:
            await client.jobs.run(client.keywords.analyze(sandbox.keyword_ids[1]), timeout=5)
        assert (await client.jobs.attach(str(caught.value.token))).analysis_status == "success"


@pytest.mark.parametrize("launch", [None, "kw_1", 3])
async def test_run_refuses_what_is_no_launch(launch: Any) -> None:
    """What cannot be awaited is named, and nothing is sent."""
    sandbox = box()
    async with client_of(sandbox) as client:
        with pytest.raises(cmsapi.ArgumentError, match="`launch` must be a launch"):
            await client.jobs.run(launch)
        with pytest.raises(cmsapi.ArgumentError, match="must give a job"):
            await client.jobs.run(asyncio.sleep(0))  # type: ignore[arg-type]
    assert not sandbox.ledger


async def test_run_refuses_a_bad_time_limit_before_it_launches() -> None:
    """A launch that is refused for its time limit costs nothing."""
    sandbox = box()
    async with client_of(sandbox) as client:
        with pytest.raises(cmsapi.ArgumentError, match="timeout"):
            await client.jobs.run(client.keywords.analyze(sandbox.keyword_ids[0]), timeout=float("nan"))
    assert not sandbox.ledger


@pytest.mark.parametrize("kind", ["keyword_analysis", "idea_search"])
async def test_the_status_of_a_token_takes_one_request_at_most(kind: str) -> None:
    """Another process learns from one request whether a job runs, and at its end that its result is there."""
    sandbox = box(30.0)
    async with client_of(sandbox) as client:
        job: Any = await (
            client.keywords.analyze(sandbox.keyword_ids[0])
            if kind == "keyword_analysis"
            else client.content_ideas.search(sandbox.workspace_id, "tents")
        )
        token = job.token
    async with client_of(sandbox) as web:
        before = len(sandbox.ledger)
        status = await web.jobs.status(token)
        assert (status.done, status.phase) == (False, "running")
        assert len(sandbox.ledger) == before + 1
        await asyncio.sleep(60)
        assert (await web.jobs.status(token)).done
        assert len(sandbox.ledger) == before + 2
        assert await web.jobs.attach(token) is not None


async def test_the_status_of_a_failed_search_says_that_it_is_done() -> None:
    """A search that failed has no result to read, so that a page does not show it as running for ever."""
    sandbox = Sandbox(durations=Fixed(30.0), failures=1.0)
    async with client_of(sandbox) as client, client_of(sandbox) as web:
        token = (await client.content_ideas.search(sandbox.workspace_id, "tents")).token
        await asyncio.sleep(60)
        for _ in range(2):
            status = await web.jobs.status(token)
            assert (status.done, status.phase) == (True, "failed")
        with pytest.raises(cmsapi.JobFailedError):
            await web.jobs.attach(token)


@pytest.mark.parametrize("kind", ["keyword_analysis", "idea_search"])
async def test_many_who_ask_for_a_status_share_one_poll(kind: str) -> None:
    """A page that is reloaded ten times a second costs one request in five seconds."""
    sandbox = box(3600.0, latency=(0.05, 0.05))
    async with client_of(sandbox) as client:
        job: Any = await (
            client.keywords.analyze(sandbox.keyword_ids[0])
            if kind == "keyword_analysis"
            else client.content_ideas.search(sandbox.workspace_id, "tents")
        )
        token = job.token
        before = len(polls(sandbox, kind))
        for _ in range(600):
            await asyncio.gather(*(client.jobs.status(token) for _ in range(3)))
            await asyncio.sleep(0.1)
        assert len(polls(sandbox, kind)) - before <= 13


@pytest.mark.parametrize("how", ["refresh", "wait"])
async def test_a_poll_that_joins_a_status_reads_the_result(how: str) -> None:
    """While a status is read, which leaves the result of a search alone, others ask for that result and get it."""
    sandbox = box(30.0, latency=(0.5, 0.5))
    async with client_of(sandbox) as client:
        job = await client.content_ideas.search(sandbox.workspace_id, "tents")
        await asyncio.sleep(60)
        asking = asyncio.create_task(client.jobs.status(job.token))
        await asyncio.sleep(0.2)
        await (job.refresh() if how == "refresh" else job.wait(timeout=5))
        assert (await asking).done
        assert job.result().ideas
        assert len(polls(sandbox, "idea_search")) <= 2


async def test_a_status_leaves_the_polls_to_the_waiters() -> None:
    """While a job is awaited, a question about it sends nothing, because the next poll is planned."""
    sandbox = box(60.0)
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        waiter = asyncio.create_task(job.wait())
        await asyncio.sleep(12)
        before = len(sandbox.ledger)
        status = await client.jobs.status(job.token)
        assert (status.phase, status.done) == ("running", False)
        assert len(sandbox.ledger) == before
        await waiter
        assert (await client.jobs.status(job.token)).done


async def test_a_status_has_a_form_for_json() -> None:
    """A web service answers with it."""
    sandbox = box(30.0)
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        await job
        document = json.loads(json.dumps(job.status.to_dict()))
        assert document["phase"] == "succeeded"
        assert datetime.fromisoformat(document["observed_at"]) == job.status.observed_at
        assert set(document) == {field.name for field in attrs.fields(cmsapi.JobStatus)}


@pytest.mark.parametrize("outcome", ["success", "failed"])
async def test_a_token_of_a_finished_job_sends_nothing_more(outcome: Literal["success", "failed"]) -> None:
    """A page of a finished job that is reloaded all day costs no more than the poll that saw its end."""
    sandbox = Sandbox(durations=Fixed(30.0), behaviour=Behaviour(failed_analysis_timestamp="new"))
    sandbox.set_outcome(sandbox.keyword_ids[0], outcome)
    async with client_of(sandbox) as client, client_of(sandbox) as web:
        token = (await client.keywords.analyze(sandbox.keyword_ids[0])).token
        await asyncio.sleep(60)
        before = len(sandbox.ledger)
        for _ in range(3):
            assert (await web.jobs.status(token)).done
            assert web.jobs.attach(token).done()
            await asyncio.sleep(60)
        assert (web.jobs.attach(token).exception() is None) == (outcome == "success")
        assert len(sandbox.ledger) == before + 1


async def test_a_token_of_an_earlier_launch_gives_its_own_result() -> None:
    """A new launch of the same work is another job, which the old token neither shows nor joins."""
    sandbox = box(30.0)
    async with client_of(sandbox) as client:
        first = await client.keywords.analyze(sandbox.keyword_ids[0])
        keyword = await first
        second = await client.keywords.analyze(sandbox.keyword_ids[0])
        assert second is not first
        assert client.jobs.attach(first.token).result() is keyword
        assert not (await client.jobs.status(second.token)).done


async def test_only_so_many_finished_jobs_are_kept() -> None:
    """The results of a long run do not fill the memory; an old token is read again."""
    sandbox = Sandbox(durations=Fixed(30.0), keywords=120, limits=Limits.unlimited())
    async with client_of(sandbox, limits=cmsapi.RateLimits.unlimited()) as client:
        jobs = [await client.keywords.analyze(keyword_id) for keyword_id in sandbox.keyword_ids]
        await client.jobs.gather(*jobs)
        assert sum(client.jobs.attach(job.token).done() for job in jobs) == 100


async def test_a_status_leaves_the_polls_to_another_process(tmp_path: Path) -> None:
    """While a process waits for a job, others that share the state tell its status from the journal."""
    sandbox, state = box(60.0), f"sqlite:///{tmp_path}/state.db"
    async with client_of(sandbox, state=state) as client, client_of(sandbox, state=state) as web:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        waiter = asyncio.create_task(job.wait())
        await asyncio.sleep(12)
        for _ in range(6):
            assert not (await web.jobs.status(job.token)).done
            await asyncio.sleep(6)
        assert web.statistics.polls == 0
        await waiter
        await asyncio.sleep(5)
        assert (await web.jobs.status(job.token)).done
        assert web.statistics.polls == 1


async def test_a_status_does_not_keep_a_job_from_others(tmp_path: Path) -> None:
    """A process that was only asked does not poll, so that another one that begins to wait polls in time."""
    sandbox, state = box(20.0), f"sqlite:///{tmp_path}/state.db"
    async with client_of(sandbox, state=state) as client, client_of(sandbox, state=state) as web:
        token = (await client.keywords.analyze(sandbox.keyword_ids[0])).token
        await asyncio.sleep(15)
        assert not (await web.jobs.status(token)).done
        await client.jobs.attach(token).wait(timeout=12)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda it: st.lists(it) | st.dictionaries(st.text(), it),
)


@given(
    st.one_of(
        st.text(), st.binary().map(sealed), JSON.map(lambda it: sealed(json.dumps(it).encode())), JSON, st.binary()
    )
)
def test_no_text_of_a_stranger_is_more_than_a_bad_argument(token: Any) -> None:
    """Whatever a browser sends in place of a token gives an `ArgumentError`, which a service can answer with 400."""

    async def ask() -> None:
        async with client_of(BOX) as client:
            with pytest.raises(cmsapi.ArgumentError):
                client.jobs.attach(token)
            with pytest.raises(cmsapi.ArgumentError):
                await client.jobs.status(token)

    asyncio.run(ask())


def test_a_finished_job_has_a_status_without_a_loop() -> None:
    """What is known of a job can still be read after the loop, as in the next cell of IPython in a terminal."""

    async def ended() -> cmsapi.Job[cmsapi.Keyword]:
        async with client_of(BOX) as client:
            job = client.jobs.watch("keyword_analysis", BOX.analyzed_keyword_ids[0])
            await job
            return job

    job = asyncio.run(ended())
    assert job.done()
    assert job.status.phase is cmsapi.Phase.SUCCEEDED


@pytest.mark.parametrize("body", [b"[" * 90_000, b'{"kind":' * 10_000, b"9" * 90_000])
async def test_a_deep_or_huge_token_is_refused(body: bytes) -> None:
    """JSON that is nested too deeply, or a number of many digits, is no token either."""
    async with client_of(box()) as client:
        with pytest.raises(cmsapi.ArgumentError):
            client.jobs.attach(sealed(body))


async def test_a_created_knowledge_document_is_a_job() -> None:
    """The creation returns the job of the processing; a service that is done at once leaves nothing to poll."""
    sandbox = box(30.0)
    async with client_of(sandbox) as client:
        job = await client.knowledge_documents.create(sandbox.workspace_id, "Tone", text="Plain and warm.")
        assert (job.kind, job.done(), job.status.state) == ("knowledge_document", False, "pending")
        assert client.jobs.attach(job.token) is job
        assert (await job).status == "success"


async def test_a_document_that_is_processed_at_once_leaves_nothing_to_poll() -> None:
    """The answer to the creation shows the end already."""
    sandbox = box()
    transport = Spoiling(sandbox, changed("/knowledge-documents", status="success"))
    async with client_of(sandbox, transport=transport) as client:
        job = await client.knowledge_documents.create(sandbox.workspace_id, "Tone", text="Plain and warm.")
        assert job.done()
        assert job.result().name == "Tone"
        assert await job is job.result()
    assert len(sandbox.ledger) == 1
