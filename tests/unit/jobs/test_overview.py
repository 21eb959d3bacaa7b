"""What all processes of a state do is read from the state, without a request."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from contextlib import aclosing, closing
from pathlib import Path
from typing import Any, Literal

import pytest

import cmsapi
from cmsapi.sandbox import Fault, Sandbox
from cmsapi.state.opening import open_state
from tests.support.jobs import box, client_of

pytestmark = pytest.mark.looptime

BEGAN = time.time()


def on_virtual_time(sandbox: Sandbox, **options: Any) -> cmsapi.Client:
    """Make a client whose entries in the state are dated by the loop's time."""
    client = client_of(sandbox, **options)
    client._runtime.wall = lambda: BEGAN + asyncio.get_running_loop().time()
    return client


async def run(client: cmsapi.Client, items: Any, name: str = "nightly") -> None:
    """Run a batch to its end."""
    async with client.jobs.batch(name) as batch:
        async for _ in batch.map(client.keywords.analyze, items):
            pass


async def test_a_client_that_runs_nothing_sees_what_others_do() -> None:
    """Batches, running jobs and articles in review are those of all processes; nothing is sent for them."""
    sandbox = box(60.0)
    async with on_virtual_time(sandbox) as client, on_virtual_time(sandbox) as other:
        review = await (await client.contents.generate(sandbox.content_ids[0]))
        first = await client.keywords.analyze(sandbox.keyword_ids[9])
        await asyncio.sleep(20)
        running = asyncio.create_task(run(client, sandbox.keyword_ids[:3]))
        await asyncio.sleep(20)
        before = len(sandbox.ledger)
        seen = await other.jobs.overview()
        assert len(sandbox.ledger) == before
        assert [job.launch.target for job in seen.running] == [first.target, *sandbox.keyword_ids[:3]]
        assert [round(job.seconds, -1) for job in seen.running] == [40, 20, 20, 20]
        assert {job.launch.batch for job in seen.running} == {None, "nightly"}
        assert not any(job.stuck for job in seen.running)
        assert [launch.target for launch in seen.reviews] == [review.content_id]
        assert [(batch.name, batch.active, batch.progress.running) for batch in seen.batches] == [("nightly", True, 3)]
        assert seen.use.per_hour == 1000
        assert seen.use.hour == len(sandbox.ledger)
        assert (seen.unknown, seen.launching, seen.warnings) == ((), (), ())
        await running


@pytest.mark.parametrize("killed", [False, True], ids=["while it decides", "after it was killed"])
async def test_an_article_that_on_review_decides_on_waits_for_a_decision(tmp_path: Path, killed: bool) -> None:
    """While an editor takes minutes, its generation is no running job, also when the program ended in between."""
    sandbox, asked, edited = box(60.0), asyncio.Event(), asyncio.Event()
    state = f"sqlite:///{tmp_path / 'jobs.db'}"

    async def ask(_: cmsapi.GenerationReview) -> Literal["confirm"]:
        asked.set()
        await edited.wait()
        return "confirm"

    async with on_virtual_time(sandbox, state=state) as other:
        async with on_virtual_time(sandbox, state=state) as client:
            job = await client.contents.generate(sandbox.content_ids[0], on_review=ask)
            waiting = asyncio.create_task(job.wait())
            await asyncio.wait_for(asked.wait(), 600)
            await asyncio.sleep(600)
            if killed:
                await client.aclose()
            seen = await other.jobs.overview()
            assert [launch.target for launch in seen.reviews] == [sandbox.content_ids[0]]
            assert [launch.state for launch in seen.reviews] == ["review"]
            assert seen.running == ()
            edited.set()
            await asyncio.gather(waiting, return_exceptions=True)
        seen = await other.jobs.overview()
        assert len(seen.reviews) == killed
        assert seen.running == ()


async def test_a_job_that_runs_far_longer_than_others_may_be_stuck() -> None:
    """It is marked once enough ends of its kind were seen."""
    sandbox = box(20.0, keywords=40)
    async with on_virtual_time(sandbox) as client, on_virtual_time(sandbox) as other:
        await run(client, sandbox.keyword_ids[:35])
        await client.keywords.analyze(sandbox.keyword_ids[35])
        (job,) = (await other.jobs.overview()).running
        assert not job.stuck
        await asyncio.sleep(301)
        (job,) = (await other.jobs.overview()).running
        assert job.stuck


async def test_unknown_launches_and_stopped_batches_are_shown() -> None:
    """What may have been paid for is listed for a day, and a batch on which no process works is a warning."""
    sandbox = box(30.0, rules=[Fault(match="POST *searches", drop=True, when="after")])
    async with on_virtual_time(sandbox) as client, on_virtual_time(sandbox) as other:
        with pytest.raises(cmsapi.LaunchUnknownError):
            await client.content_ideas.search(sandbox.workspace_id, "tents")
        async with client.jobs.batch("left") as batch:
            async for _ in batch.map(client.keywords.analyze, sandbox.keyword_ids[:6], in_flight=2):
                break
        seen = await other.jobs.overview()
        assert [(launch.kind, launch.batch) for launch in seen.unknown] == [("idea_search", None)]
        assert seen.warnings == ("no process works on the batch left, which is not done: run it again",)
        async with client.jobs.batch("also left") as batch:
            async for _ in batch.map(client.keywords.analyze, sandbox.keyword_ids[6:12], in_flight=2):
                break
        (warning,) = (await other.jobs.overview()).warnings
        assert warning == "no process works on the batch also left and 1 more, which are not done: run them again"


async def test_a_batch_whose_jobs_were_resumed_is_to_be_run_again(tmp_path: Path) -> None:
    """`jobs.resume` ends the jobs of a killed run, whose program has not had the results: the advice stays the same."""
    sandbox, state = box(30.0), f"sqlite:///{tmp_path}/state.db"
    advice = ("no process works on the batch left, which is not done: run it again",)
    async with client_of(sandbox, state=state) as client:
        async with client.jobs.batch("left") as batch:
            outcomes = batch.map(client.keywords.analyze, sandbox.keyword_ids[:3])
            launching = asyncio.ensure_future(anext(outcomes))
            await asyncio.sleep(10)
            launching.cancel()
        assert (await client.jobs.overview()).warnings == advice
    async with client_of(sandbox, state=state) as client:
        assert len(await client.jobs.gather(*(await client.jobs.resume()).jobs)) == 3
        seen = await client.jobs.overview()
        assert (seen.batches[0].progress.finished, seen.batches[0].done, seen.warnings) == (3, False, advice)
        await run(client, sandbox.keyword_ids[:3], "left")
        seen = await client.jobs.overview()
        assert (seen.batches[0].done, seen.warnings) == (True, ())
    assert len(sandbox.ledger.launches()) == 3


async def test_an_hour_that_is_nearly_used_up_is_a_warning() -> None:
    """The requests that are left are told."""
    sandbox = box(30.0)
    async with on_virtual_time(sandbox, limits=cmsapi.RateLimits(per_hour=10)) as client:
        for _ in range(9):
            await client.me()
        assert (await client.jobs.overview()).warnings == ("the hour is nearly used up: 1 of 10 requests are left",)


async def test_a_shared_state_is_read_without_asking_whose_it_is(tmp_path: Path) -> None:
    """A state of which no process with the key has found out whose it is says so; later all is known from it."""
    sandbox = box(30.0)
    state = f"sqlite:///{tmp_path}/state.db"
    async with client_of(sandbox, state=state) as client:
        seen = await client.jobs.overview()
        assert seen.warnings == ("no process has worked with this key on this state yet",)
        assert not sandbox.ledger
        await run(client, sandbox.keyword_ids[:3])
        sent = len(sandbox.ledger)
    async with client_of(sandbox, state=state) as client:
        seen = await client.jobs.overview()
        assert [batch.name for batch in seen.batches] == ["nightly"]
        assert seen.use.hour == sent == len(sandbox.ledger)
        assert seen.warnings == ()


async def test_who_only_looks_does_not_count_as_a_process_at_work(tmp_path: Path) -> None:
    """Another process sees none that works where one has only looked, and a looker sees the one that works."""
    sandbox, url = box(600.0), f"sqlite:///{tmp_path}/state.db"
    async with client_of(sandbox, state=url) as client:
        await client.keywords.analyze(sandbox.keyword_ids[0])
    with closing(sqlite3.connect(tmp_path / "state.db")) as database:
        ((scope,),) = database.execute("SELECT scope FROM journal").fetchall()
    async with client_of(sandbox, state=url) as client, aclosing(open_state(url)) as other:
        seen = await client.jobs.overview()
        assert await other.others(scope) == []
        assert seen.processes == ()
        assert seen.warnings == ("no process is alive to follow 1 open launches: cmsapi jobs resume",)
        assert [name.partition("-")[0] for name in seen.use.processes] == [f"{os.getpid()}"]
        await other.heartbeat(scope)
        seen = await client.jobs.overview()
        assert (seen.processes, seen.warnings) == ((os.getpid(),), ())
