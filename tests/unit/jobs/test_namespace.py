"""``client.jobs``: plans, states of jobs, and launches in the state."""

from __future__ import annotations

import asyncio
import hashlib
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from cmsapi import Client
from cmsapi.errors import ArgumentError, LaunchUnknownError, RateLimitWaitError
from cmsapi.jobs.kinds import JobKind
from cmsapi.jobs.token import Token
from cmsapi.sandbox import Fixed, Limits, Sandbox
from cmsapi.state.store import Row, SharedStore, open_store
from tests.unit.jobs.test_batch import QUICK, program

virtual = pytest.mark.looptime


async def die_while_sending(client: Client, directory: Path, keyword: str, seconds: float = 0.2) -> None:
    """Leave the traces of a process that dies while it sends a launch."""
    me = await client.me()
    assert me.organization is not None
    store = open_store(f"sqlite:///{directory}/state.db", "")
    assert isinstance(store, SharedStore)
    store.scope = hashlib.sha256(f"http://127.0.0.1:9 {me.organization.id}".encode()).hexdigest()[:32]
    token = Token(JobKind.ANALYSIS, keyword, keyword)
    assert await store.insert(Row("analysis", keyword, keyword, token=str(token)), seconds) is None
    await store.aclose()


@virtual
async def test_a_plan_costs_one_request(client: Client, sandbox: Sandbox) -> None:
    """A plan names credits, requests and, once a job's end was seen, seconds."""
    sandbox.credits = {"analysis": 7}
    plan = await client.jobs.plan("analysis", 5)
    assert (plan.jobs, plan.credits, plan.credits_left, plan.seconds) == (5, 5, 7, None)
    assert plan.requests >= 10
    await client.jobs.run(client.keywords.analyze(sandbox.keyword_ids[0]))
    assert (await client.jobs.plan("analysis", 5)).seconds


@virtual
async def test_a_plan_beside_the_use_of_others_waits_for_the_next_hour() -> None:
    """What others have used returns within an hour, although nothing shows when."""
    box = Sandbox(durations=Fixed(5), limits=Limits(used=900))
    async with Client(box.api_key, base_url=box.base_url, transport=box.transport) as client:
        await client.jobs.run(client.keywords.analyze(box.keyword_ids[0]))
        seconds = (await client.jobs.plan("analysis", 200)).seconds
        assert seconds is not None
        assert 3600 <= seconds < 7200


@virtual
async def test_a_plan_that_cannot_be_made_is_refused(client: Client) -> None:
    """A plan for no jobs is refused by parameter name, and one whose request would wait says for how long."""
    with pytest.raises(ArgumentError):
        await client.jobs.plan("analysis", 0)
    while client.rate_limit.free or not client.rate_limit.used:
        await client.me()
    with pytest.raises(RateLimitWaitError) as refused:
        await client.with_options(max_wait=2).jobs.plan("analysis", 5)
    assert refused.value.retry_after > 2


@virtual
async def test_status_follows_the_job(client: Client, sandbox: Sandbox) -> None:
    """However often a status is read, the job is polled at intervals while it runs, and not after its end."""
    token = (await client.keywords.analyze(sandbox.keyword_ids[0])).token
    for _ in range(10):
        assert await client.jobs.status(token) == "running"
    await asyncio.sleep(600)
    for _ in range(10):
        assert await client.jobs.status(token) == "succeeded"
    assert sandbox.ledger.count("get_keyword") == 2


@virtual
async def test_forget_keeps_what_is_young_or_runs(client: Client, sandbox: Sandbox) -> None:
    """`forget` deletes batches' ended launches by age, and no running job."""
    await client.jobs.batch("old").map(client.keywords.analyze, sandbox.keyword_ids[:2])
    await asyncio.sleep(10_000)
    await client.jobs.batch("new").map(client.keywords.analyze, sandbox.keyword_ids[2:4])
    running = await client.keywords.analyze(sandbox.keyword_ids[4])
    assert await client.jobs.forget(older_than=timedelta(seconds=5_000)) == 2
    assert [status.name for status in await client.jobs.batches()] == ["new"]
    assert [job.id for job in await client.jobs.resume()] == [running.id]


def test_resume_finds_jobs_of_a_program_that_ended(tmp_path: Path) -> None:
    """The next program resumes jobs that no program waits for, once."""
    sandbox = Sandbox(**QUICK)

    async def launch(client: Client) -> str:
        await client.keywords.analyze(sandbox.keyword_ids[1])
        return (await client.keywords.analyze(sandbox.keyword_ids[0])).token

    async def resume(client: Client) -> list[str]:
        jobs = await client.jobs.resume()
        return [outcome.result().id for outcome in await client.jobs.as_completed(jobs)]

    token = program(tmp_path, sandbox, launch)
    assert sorted(program(tmp_path, sandbox, resume)) == sorted(sandbox.keyword_ids[:2])
    assert program(tmp_path, sandbox, resume) == []
    assert program(tmp_path, sandbox, lambda client: client.jobs.status(token)) == "succeeded"
    assert len(sandbox.ledger.launches) == 2


@pytest.mark.parametrize("arrived", [True, False])
@pytest.mark.parametrize("by", ["resume", "analyze"])
def test_a_launch_of_a_dead_program_is_settled(tmp_path: Path, by: str, arrived: bool) -> None:
    """If the service shows it, it is adopted, else it is unknown; neither is launched again automatically."""
    sandbox = Sandbox(**QUICK | {"durations": 1.0})
    keyword = sandbox.keyword_ids[0]

    async def settle(client: Client) -> Any:
        if arrived:
            await client.request("POST", f"/v1/keywords/{keyword}/analyze")
        await die_while_sending(client, tmp_path, keyword)
        try:
            jobs = await client.jobs.resume() if by == "resume" else [await client.keywords.analyze(keyword)]
        except LaunchUnknownError:
            jobs = []
        return [(await job).id for job in jobs], [error.target for error in await client.jobs.unknown()]

    assert program(tmp_path, sandbox, settle) == (([keyword], []) if arrived else ([], [keyword]))
    assert len(sandbox.ledger.launches) == arrived
