"""A result from before the launch: it does not count, and the client says so at once."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

import cmsapi
from cmsapi.testing import HandlerTransport, finished_keyword
from tests.support.jobs import box, client_of as sandbox_client

pytestmark = pytest.mark.looptime

ME = {"id": "usr_1", "organization": {"id": "org_1", "name": "Engines", "credits": {"analysis": 10}}}
OLD = {"id": "kwd_1", "keyword": "hats", "analysisStatus": "success", "lastAnalyzedAt": "2026-01-01T00:00:00Z"}


def client_of(document: dict[str, Any]) -> cmsapi.Client:
    """Make a client of a service that takes launches and has this keyword."""

    def answer(request: cmsapi.Request) -> Any:
        if request.method == "POST":
            return {"message": "Analysis started."}
        return ME if request.url.endswith("/me") else document

    return cmsapi.Client("sk_test", base_url="https://api.example.com", transport=HandlerTransport(answer))


async def test_a_result_older_than_the_launch_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """The first poll that shows one logs a warning, once; the reason for the next poll and the timeout say it, too."""
    async with client_of(OLD) as client:
        job = await client.keywords.analyze("kwd_1")
        with caplog.at_level(logging.WARNING, "cmsapi"), pytest.raises(cmsapi.JobWaitTimeoutError) as caught:
            await job.wait(timeout=60)
        (told,) = [each.getMessage() for each in caplog.records]
        assert "this result is older than the launch" in told
        assert "a newer one, as cmsapi.testing.finished_keyword makes for keywords" in told
        assert "the result that it shows is older than the launch" in job.status.why_next
        assert "At its last poll, the result that it shows is older than the launch." in str(caught.value)


async def test_a_finished_keyword_counts_for_a_mocked_launch(caplog: pytest.LogCaptureFixture) -> None:
    """The document that `finished_keyword` makes before the launch ends it at the first poll, without a warning."""
    async with client_of(finished_keyword("kwd_1", "hats", searchVolume=90)) as client:
        job = await client.keywords.analyze("kwd_1")
        assert (await job.wait(timeout=60)).search_volume == 90
        assert job.status.polls == 1
    assert not caplog.records


async def test_a_failure_without_a_time_ends_a_job_of_long_ago_at_its_first_poll(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Another process that is asked about the token says so at once, with the seconds since the launch."""
    sandbox = box(30.0)
    sandbox.set_outcome(sandbox.keyword_ids[0], "failed")
    async with sandbox_client(sandbox) as client:
        token = (await client.keywords.analyze(sandbox.keyword_ids[0])).token
        await asyncio.sleep(100)
    async with sandbox_client(sandbox) as other:
        status = await other.jobs.status(token)
        assert (status.phase, status.state) == (cmsapi.Phase.FAILED, "failed")
        assert 98 < status.elapsed < 102
    assert not caplog.records


async def test_the_seconds_of_a_job_count_from_its_launch_in_every_process() -> None:
    """A service that was restarted tells how long a job runs, not how long it has known the job itself."""
    sandbox = box(300.0)
    async with sandbox_client(sandbox) as client:
        token = (await client.keywords.analyze(sandbox.keyword_ids[0])).token
        await asyncio.sleep(100)
    async with sandbox_client(sandbox) as other:
        assert 98 < (await other.jobs.status(token)).elapsed < 102
        await asyncio.sleep(50)
        assert 148 < (await other.jobs.status(token)).elapsed < 152
