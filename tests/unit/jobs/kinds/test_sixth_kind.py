"""A kind of job that one file adds: launched, polled, planned, killed and recovered like any other."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cmsapi
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.sandbox import Fault, Sandbox
from tests.support.audit_sandbox import REMARKS, AuditSandbox
from tests.support.audits import WORD, AuditClient, AuditReport, known_audits
from tests.support.jobs import client_of
from tests.support.launches import open_entries
from tests.support.processes import Worker, ended


@pytest.fixture(autouse=True)
def known() -> Iterator[None]:
    """The package knows the kind."""
    with known_audits():
        yield


def lost(seconds: float) -> Fault:
    """Let a launch take effect at once, and its answer come late."""
    return Fault(match="POST */audit", slow=seconds)


def audit_client(sandbox: AuditSandbox, **options: Any) -> AuditClient:
    """Make a client of a sandbox in the same process."""
    return AuditClient(sandbox.api_key, base_url=sandbox.base_url, transport=sandbox.transport, **options)


def paid(sandbox: AuditSandbox) -> int:
    """Count the credits that audits have cost."""
    return Sandbox().credits.analysis - sandbox.credits.analysis


@pytest.mark.looptime
async def test_a_job_of_it_ends_with_its_own_result() -> None:
    """It is launched once however often, is polled by its own identifier, and its result takes a further request."""
    sandbox = AuditSandbox()
    page_id = sandbox.page_ids[0]
    async with audit_client(sandbox) as client:
        job, same = await asyncio.gather(client.audits.launch(page_id), client.audits.launch(page_id))
        assert same is job
        assert (job.kind, job.kind.value, job.kind.known) == (WORD, "page_audit", False)
        assert [job.id] == [job.target] == sandbox.audits
        report = await job
        assert isinstance(report, AuditReport)
        assert {remark.text for remark in report.remarks} == set(REMARKS)
        assert 20.0 <= job.status.elapsed <= 31.0
    assert paid(sandbox) == 1


@pytest.mark.looptime
async def test_everything_takes_its_word() -> None:
    """It is watched, attached, planned, counted, fanned out and kept in batches by its word."""
    sandbox = AuditSandbox()
    page_ids = sandbox.page_ids[:3]
    async with audit_client(sandbox) as client:
        jobs: Any = client.jobs
        async with client.jobs.batch("audits") as batch:
            outcomes = [outcome async for outcome in batch.map(client.audits.launch, page_ids)]
        assert sorted(outcome.item for outcome in outcomes if outcome.error is None) == sorted(page_ids)
        assert jobs.statistics.by_kind["page_audit"].finished == 3
        plan = await jobs.plan("page_audit", 10)
        assert (plan.kind, plan.credits, plan.learned_from) == (WORD, 10, 3)
        assert plan.balance == sandbox.credits.analysis
        assert isinstance(await jobs.watch("page_audit", sandbox.audits[1]), AuditReport)
        (finished, *_) = outcomes
        assert finished.job is not None
        assert await jobs.attach(finished.job.token) == finished.value
        with pytest.raises(cmsapi.ArgumentError, match="'page_audit'"):
            jobs.watch("page_auditing", sandbox.audits[1])
    assert paid(sandbox) == len(sandbox.audits) == 3


@pytest.mark.looptime
async def test_its_lists_poll_many_jobs_at_once() -> None:
    """Once a list has shown where its jobs stand, one request polls all of them, apart from those of other kinds."""
    sandbox = AuditSandbox(durations=200.0)
    async with audit_client(sandbox) as client:
        async for _ in client.keywords.list(sandbox.page_ids[0]):
            pass
        analyses = [await client.keywords.analyze(id_) for id_ in sandbox.keyword_ids[:3]]
        audits = [await client.audits.launch(page_id) for page_id in sandbox.page_ids[:5]]
        assert [audit.id async for audit in client.audits.list(sandbox.workspace_id)] == sandbox.audits[::-1]
        await asyncio.gather(client.jobs.gather(*audits), client.jobs.gather(*analyses))
    assert sandbox.ledger.count(operation="list_audits") > 10
    assert sandbox.ledger.count(operation="get_audit") < 20
    assert paid(sandbox) == 8


@pytest.mark.looptime
async def test_a_failure_of_it_is_told() -> None:
    """A job that the service calls failed raises, and names the kind."""
    sandbox = AuditSandbox(failures={"page_audit": 1.0})
    async with audit_client(sandbox) as client:
        with pytest.raises(cmsapi.JobFailedError, match="page_audit of aud_"):
            await (await client.audits.launch(sandbox.page_ids[0]))


@pytest.mark.looptime
async def test_a_running_job_of_it_is_resumed() -> None:
    """A client that is closed leaves it in the journal, and the next one gets its result."""
    sandbox = AuditSandbox()
    page_id = sandbox.page_ids[0]
    async with audit_client(sandbox) as client:
        await client.audits.launch(page_id)
    async with audit_client(sandbox) as client:
        (entry,) = await client.jobs.journal()
        assert (entry.kind, entry.target, entry.state) == (WORD, page_id, "running")
        (job,) = (await client.jobs.resume()).jobs
        assert (job.kind, [job.target]) == (WORD, sandbox.audits)
        assert isinstance(await job, AuditReport)
    assert paid(sandbox) == 1
    assert await open_entries(sandbox) == {}


@pytest.mark.looptime
@pytest.mark.parametrize("how", ["resume", "launch"])
async def test_a_launch_of_it_whose_answer_is_lost_is_adopted(how: str) -> None:
    """The client is closed before the answer comes; the next one finds the job by the kind's own evidence."""
    sandbox = AuditSandbox(faults=lost(3600.0))
    page_id = sandbox.page_ids[0]
    async with audit_client(sandbox) as client:
        launching = asyncio.create_task(client.audits.launch(page_id))
        await asyncio.sleep(5.0)
    with pytest.raises(cmsapi.LaunchUnknownError, match=r"client\.audits\.current"):
        await launching
    async with audit_client(sandbox) as client:
        (entry,) = await client.jobs.journal()
        assert (entry.kind, entry.state, entry.token) == (WORD, "sending", None)
        job = (await client.jobs.resume()).jobs[0] if how == "resume" else await client.audits.launch(page_id)
        assert (job.kind, [job.id]) == (WORD, sandbox.audits)
        assert isinstance(await job, AuditReport)
    assert paid(sandbox) == 1


@pytest.mark.looptime
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_launch_of_it_is_found_out_about(when: Any) -> None:
    """It is sent again only where the evidence proves that there was none, and paid once either way."""
    sandbox = AuditSandbox(faults=Fault(match="POST */audit", drop=True, when=when))
    async with audit_client(sandbox) as client:
        assert isinstance(await (await client.audits.launch(sandbox.page_ids[0])), AuditReport)
    assert paid(sandbox) == len(sandbox.audits) == 1


@pytest.mark.looptime
async def test_another_version_does_not_know_it() -> None:
    """Without the kind its launches stay in the journal, and other kinds work."""
    sandbox = AuditSandbox()
    async with audit_client(sandbox) as client:
        await client.audits.launch(sandbox.page_ids[0])
    del KINDS[WORD]
    async with client_of(sandbox) as older:
        assert await older.jobs.journal() == []
        assert (await older.jobs.resume()).jobs == ()
        await (await older.keywords.analyze(sandbox.keyword_ids[0]))
    assert len(await open_entries(sandbox)) == 1


async def started(*what: str) -> Worker:
    """Start the program, and wait until it is ready."""
    program = (sys.executable, "-m", "tests.support.audit_program", *what)
    worker = Worker(await asyncio.create_subprocess_exec(*program, stdin=PIPE, stdout=PIPE))
    assert await worker.said() == "ready"
    return worker


@pytest.mark.slow
@pytest.mark.parametrize("when", ["while it runs", "while its answer is lost"])
async def test_a_killed_process_loses_and_pays_nothing(when: str, tmp_path: Path) -> None:
    """After `kill -9` a second process recovers the job and gets its result; the service has seen one launch."""
    unheard = when == "while its answer is lost"
    # The audit ends after the late answer, so that nothing of that is left at the end.
    async with AuditSandbox(durations=2.5, faults=lost(2.0) if unheard else None) as sandbox:
        where = (f"sqlite:///{tmp_path / 'state.db'}", sandbox.base_url, sandbox.api_key, sandbox.page_ids[0])
        killed = await started("launch", *where)
        try:
            async with asyncio.timeout(20):
                while not sandbox.audits:  # noqa: ASYNC110 - a sandbox has no event for it
                    await asyncio.sleep(0.01)
            if not unheard:
                assert await killed.said() == sandbox.audits[0]
        finally:
            await ended(killed.process)
        second = await started("resume", *where)
        try:
            said = await second.said()
            assert (said["kind"], [said["id"]], set(said["remarks"])) == (WORD, sandbox.audits, set(REMARKS))
            assert await second.said() == "end"
        finally:
            await ended(second.process)
    assert paid(sandbox) == 1
