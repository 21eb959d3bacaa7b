"""Metrics of OpenTelemetry."""

from __future__ import annotations

import asyncio
import json

import pytest

import cmsapi
from cmsapi.sandbox import Fault, Fixed, Limits, Sandbox
from tests.support.exported import Exported
from tests.support.resources import client_of

pytestmark = pytest.mark.looptime


async def test_requests_are_measured_one_by_one(otel: Exported) -> None:
    """The histogram counts each attempt, with its status."""
    box = Sandbox(faults=[Fault(status=503, times=1), Fault(drop=True, times=1)])
    async with client_of(box, hooks=[otel.hook]) as client:
        await client.me()
    points = otel.metrics()["http.client.request.duration"]
    assert sorted(
        (
            (point.attributes.get("http.response.status_code"), point.attributes.get("error.type"), point.count)
            for point in points
        ),
        key=lambda row: row[0] or 0,
    ) == [(None, "OutcomeUnknownError", 1), (200, None, 1), (503, "503", 1)]
    assert [point.value for point in otel.metrics()["cmsapi.retries"]] == [2]


async def test_remaining_requests_and_waiting_calls(otel: Exported) -> None:
    """The remaining requests of the hour, and the calls that wait for it."""
    box = Sandbox(limits=Limits(per_hour=10))
    async with client_of(box, hooks=[otel.hook], limits=cmsapi.RateLimits(per_hour=10)) as client:
        calls = [asyncio.create_task(client.me()) for _ in range(13)]
        await asyncio.sleep(60)
        metrics = otel.metrics()
        assert [point.value for point in metrics["cmsapi.rate_limit.remaining"]] == [0]
        assert [point.value for point in metrics["cmsapi.calls.waiting"]] == [3]
        await asyncio.gather(*calls)
        assert [point.value for point in otel.metrics()["cmsapi.calls.waiting"]] == [0]


async def test_watched_jobs_and_their_durations(otel: Exported) -> None:
    """The jobs with waiters, by kind, and the durations of finished jobs."""
    box = Sandbox(durations=Fixed(60))
    async with client_of(box, hooks=[otel.hook]) as client:
        jobs = [await client.keywords.analyze(each) for each in box.keyword_ids[:5]]
        waiting = asyncio.gather(*jobs)
        await asyncio.sleep(20)
        assert [point.value for point in otel.metrics()["cmsapi.jobs.watched"]] == [5]
        await waiting
    metrics = otel.metrics()
    assert [point.value for point in metrics["cmsapi.jobs.watched"]] == [0]
    (point,) = metrics["cmsapi.job.duration"]
    assert (point.count, dict(point.attributes)) == (
        5,
        {"cmsapi.job.kind": "keyword_analysis", "cmsapi.job.phase": "succeeded"},
    )
    assert point.min >= 60


async def test_nothing_private_is_exported(otel: Exported, caplog: pytest.LogCaptureFixture) -> None:
    """No key, article, title, query or instructions are in a span, a metric or a log."""
    caplog.set_level("DEBUG", "cmsapi")
    private = ("PRIVATE-html", "PRIVATE-title", "PRIVATE-wish", "PRIVATE-query", "PRIVATE-review")
    box = Sandbox(faults=[Fault(status=500, times=2), Fault(drop=True, times=1)])
    async with client_of(box, hooks=[otel.hook]) as client:
        await client.me()
        await client.contents.create(box.workspace_id, title="PRIVATE-title", html="<p>PRIVATE-html</p>")
        settings = cmsapi.GenerationSettings(custom_instructions="PRIVATE-wish")
        review = await (await client.contents.generate(box.content_ids[0], settings))
        await review.confirm()
        async for _ in client.credit_usages.list("analysis", q="PRIVATE-query"):
            break
        with pytest.raises(cmsapi.APIError):
            await client.request("POST", "/v1/nothing", json={"PRIVATE-review": 1})
    exported = "".join(span.to_json() for span in otel.spans) + json.dumps(str(otel.metrics())) + caplog.text
    exported += "".join(str(vars(record)) for record in caplog.records)
    assert len(otel.spans) > 5
    assert [word for word in (*private, box.api_key) if word in exported] == []
