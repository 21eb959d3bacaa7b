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
from cmsapi.transport.message import Request, Response
from tests.support.audit_service import REMARKS, AuditService, listening
from tests.support.audits import WORD, AuditClient, AuditReport, known_audits
from tests.support.jobs import box
from tests.support.launches import open_entries
from tests.support.processes import Worker, ended


@pytest.fixture(autouse=True)
def known() -> Iterator[None]:
    """The package knows the kind."""
    with known_audits():
        yield


def client_of(service: AuditService, **options: Any) -> AuditClient:
    """Make a client of a service in the same process."""
    sandbox = service.sandbox
    return AuditClient(sandbox.api_key, base_url=sandbox.base_url, transport=service, **options)


@pytest.mark.looptime
async def test_a_job_of_it_ends_with_its_own_result() -> None:
    """It is launched once however often, is polled by its own identifier, and its result takes a further request."""
    service = AuditService(box())
    page_id = service.sandbox.page_ids[0]
    async with client_of(service) as client:
        job, same = await asyncio.gather(client.audits.launch(page_id), client.audits.launch(page_id))
        assert same is job
        assert (job.kind, job.kind.value, job.kind.known, job.id, job.target) == (WORD, WORD, False, "aud_1", "aud_1")
        report = await job
        assert isinstance(report, AuditReport)
        assert [remark.text for remark in report.remarks] == list(REMARKS)
        assert 20.0 <= job.status.elapsed <= 31.0
    assert len(service.audits) == 1


@pytest.mark.looptime
async def test_everything_takes_its_word() -> None:
    """It is watched, attached, planned, counted, fanned out and kept in batches by its word."""
    service = AuditService(box())
    page_ids = service.sandbox.page_ids[:3]
    async with client_of(service) as client:
        jobs: Any = client.jobs
        async with client.jobs.batch("audits") as batch:
            outcomes = [outcome async for outcome in batch.map(client.audits.launch, page_ids)]
        assert sorted(outcome.item for outcome in outcomes if outcome.error is None) == sorted(page_ids)
        assert isinstance(await jobs.watch("page_audit", "aud_2"), AuditReport)
        (finished, *_) = outcomes
        assert finished.job is not None
        assert await jobs.attach(finished.job.token) == finished.value
        assert jobs.statistics("page_audit").finished == 3
        plan = await jobs.plan("page_audit", 10)
        assert (plan.kind, plan.credits, plan.learned_from) == (WORD, 10, 3)
        assert plan.balance == service.sandbox.credits.analysis
        with pytest.raises(cmsapi.ArgumentError, match="'page_audit'"):
            jobs.watch("page_auditing", "aud_2")
    assert len(service.audits) == 3


@pytest.mark.looptime
async def test_a_failure_of_it_is_told() -> None:
    """A job that the service calls failed raises, and names the kind."""
    service = AuditService(box(), fails=True)
    async with client_of(service) as client:
        with pytest.raises(cmsapi.JobFailedError, match="page_audit of aud_1"):
            await (await client.audits.launch(service.sandbox.page_ids[0]))


@pytest.mark.looptime
async def test_a_running_job_of_it_is_resumed() -> None:
    """A client that is closed leaves it in the journal, and the next one gets its result."""
    service = AuditService(box())
    page_id = service.sandbox.page_ids[0]
    async with client_of(service) as client:
        await client.audits.launch(page_id)
    async with client_of(service) as client:
        (entry,) = await client.jobs.journal()
        assert (entry.kind, entry.target, entry.state) == (WORD, page_id, "running")
        (job,) = (await client.jobs.resume()).jobs
        assert (job.kind, job.target) == (WORD, "aud_1")
        assert isinstance(await job, AuditReport)
    assert len(service.audits) == 1
    assert await open_entries(service.sandbox) == {}


@pytest.mark.looptime
@pytest.mark.parametrize("how", ["resume", "launch"])
async def test_a_launch_of_it_whose_answer_is_lost_is_adopted(how: str) -> None:
    """The client is closed before the answer comes; the next one finds the job by the kind's own evidence."""
    service = AuditService(box())
    service.answering.clear()
    page_id = service.sandbox.page_ids[0]
    async with client_of(service) as client:
        launching = asyncio.create_task(client.audits.launch(page_id))
        await service.launched.wait()
    with pytest.raises(cmsapi.LaunchUnknownError, match=r"client\.audits\.current"):
        await launching
    async with client_of(service) as client:
        (entry,) = await client.jobs.journal()
        assert (entry.kind, entry.state, entry.token) == (WORD, "sending", None)
        job = (await client.jobs.resume()).jobs[0] if how == "resume" else await client.audits.launch(page_id)
        assert (job.kind, job.id) == (WORD, "aud_1")
        assert isinstance(await job, AuditReport)
    assert len(service.audits) == 1


@pytest.mark.looptime
async def test_a_launch_of_it_that_did_not_happen_is_sent_again() -> None:
    """Where the evidence proves that there was none, it is repeated, and paid once."""
    failed: list[Request] = []

    class Broken(AuditService):
        async def send(self, request: Request) -> Response:
            if request.method == "POST" and not failed:
                failed.append(request)
                raise ConnectionResetError
            return await super().send(request)

    service = Broken(box())
    async with client_of(service) as client:
        assert isinstance(await (await client.audits.launch(service.sandbox.page_ids[0])), AuditReport)
    assert len(failed) == len(service.audits) == 1


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
    service = AuditService(box(), seconds=1.0)
    if when == "while its answer is lost":
        service.answering.clear()
    async with listening(service) as base_url:
        where = (f"sqlite:///{tmp_path / 'state.db'}", base_url, service.sandbox.api_key, service.sandbox.page_ids[0])
        killed = await started("launch", *where)
        try:
            await asyncio.wait_for(service.launched.wait(), 20)
            if service.answering.is_set():
                assert await killed.said() == "aud_1"
        finally:
            await ended(killed.process)
        service.answering.set()
        second = await started("resume", *where)
        try:
            assert await second.said() == {"kind": "page_audit", "id": "aud_1", "remarks": list(REMARKS)}
            assert await second.said() == "end"
        finally:
            await ended(second.process)
    assert list(service.audits) == ["aud_1"]
