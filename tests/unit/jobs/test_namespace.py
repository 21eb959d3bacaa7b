"""``client.jobs``: tokens, plans, and launches that the state knows."""

from __future__ import annotations

import asyncio
import hashlib
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from cmsapi import Client
from cmsapi.errors import ArgumentError, LaunchUnknownError
from cmsapi.jobs.kinds import JobKind
from cmsapi.jobs.token import Token
from cmsapi.sandbox import Fault, Sandbox
from cmsapi.state.store import Row, SharedStore, open_store
from tests.unit.jobs.test_batch import QUICK, program

virtual = pytest.mark.looptime


async def token_of(client: Client, sandbox: Sandbox) -> str:
    """Launch an analysis, and return its token."""
    return (await client.keywords.analyze(sandbox.keyword_ids[0])).token


async def die_while_sending(client: Client, directory: Path, keyword: str, seconds: float = 0.2) -> None:
    """Leave what a process leaves that dies while it sends a launch."""
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
    """A plan names credits, requests and, once an end was seen, seconds."""
    sandbox.credits = {"analysis": 7}
    plan = await client.jobs.plan("analysis", 5)
    assert (plan.jobs, plan.credits, plan.credits_left, plan.seconds) == (5, 5, 7, None)
    assert plan.requests >= 10
    await client.jobs.run(client.keywords.analyze(sandbox.keyword_ids[0]))
    seconds = (await client.jobs.plan("analysis", 5)).seconds
    assert seconds


@virtual
async def test_a_token_serves_a_client_that_knows_nothing(client: Client, sandbox: Sandbox) -> None:
    """A client without a common state waits for the job of a token, and launches nothing."""
    token = await token_of(client, sandbox)
    options: Any = {"base_url": "http://127.0.0.1:9", "transport": sandbox.transport, "state": "memory:"}
    async with Client(sandbox.api_key, headers={"x-program": "2"}, **options) as other:
        job = other.jobs.attach(token, "analysis")
        assert (await job).id == sandbox.keyword_ids[0]
    assert len(sandbox.ledger.launches) == 1


@virtual
@pytest.mark.parametrize("token", ["", "abc", "kwd_1", "W10", "é", "W1" * 99_999])
async def test_what_is_no_token_is_refused(client: Client, sandbox: Sandbox, token: str) -> None:
    """Text that is no token, or the token of another kind, is refused."""
    with pytest.raises(ArgumentError, match="token"):
        client.jobs.attach(token)
    with pytest.raises(ArgumentError, match="token"):
        await client.jobs.status(token)
    with pytest.raises(ArgumentError, match="analysis"):
        client.jobs.attach(await token_of(client, sandbox), "generation")


@virtual
async def test_status_follows_the_job(client: Client, sandbox: Sandbox) -> None:
    """However often it is asked for, a status is polled at intervals while the job runs, and not after its end."""
    token = await token_of(client, sandbox)
    for _ in range(10):
        assert await client.jobs.status(token) == "running"
    await asyncio.sleep(600)
    for _ in range(10):
        assert await client.jobs.status(token) == "succeeded"
    assert sandbox.ledger.count("get_keyword") == 2


@virtual
async def test_unknown_launches_are_listed(client: Client, sandbox: Sandbox) -> None:
    """`unknown` names launches whose answers were lost."""
    keyword = sandbox.keyword_ids[0]
    sandbox.faults.rules.append(Fault(match="analyze_keyword", drop="before"))
    with pytest.raises(LaunchUnknownError):
        await client.keywords.analyze(keyword)
    (unknown,) = await client.jobs.unknown()
    assert (unknown.target, unknown.attempts) == (keyword, 1)


@virtual
async def test_forget_keeps_what_is_young_or_runs(client: Client, sandbox: Sandbox) -> None:
    """`forget` deletes ended launches of batches by their age, and no job that runs."""
    await client.jobs.batch("old").map(client.keywords.analyze, sandbox.keyword_ids[:2])
    await asyncio.sleep(10_000)
    await client.jobs.batch("new").map(client.keywords.analyze, sandbox.keyword_ids[2:4])
    running = await client.keywords.analyze(sandbox.keyword_ids[4])
    assert await client.jobs.forget(older_than=timedelta(seconds=5_000)) == 2
    assert [status.name for status in await client.jobs.batches()] == ["new"]
    assert [job.id for job in await client.jobs.resume()] == [running.id]


def test_resume_finds_jobs_of_a_program_that_ended(tmp_path: Path) -> None:
    """Jobs that no program waits for are resumed by the next one, once."""
    sandbox = Sandbox(**QUICK)

    async def launch(client: Client) -> str:
        await client.keywords.analyze(sandbox.keyword_ids[1])
        return await token_of(client, sandbox)

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
    """What the service shows of it is adopted; else it is unknown, and neither is launched again by itself."""
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
