"""Spans of OpenTelemetry: one per call, one per job."""

from __future__ import annotations

import asyncio

import pytest
from opentelemetry import trace

import cmsapi
from cmsapi.sandbox import Fault, Fixed, Sandbox
from tests.support.exported import Exported
from tests.support.resources import client_of

pytestmark = pytest.mark.looptime


def seconds(span: trace.Span) -> float:
    """Return the length of a span."""
    return (span.end_time - span.start_time) / 1e9  # type: ignore[attr-defined, no-any-return]


async def test_a_call_is_a_client_span(otel: Exported) -> None:
    """The span has the method and the path template for a name, and attributes with stable names."""
    box = Sandbox()
    async with client_of(box, hooks=[otel.hook]) as client:
        await client.keywords.get(box.keyword_ids[0])
    (span,) = otel.spans
    assert (span.name, span.kind) == ("GET /v1/keywords/{keywordId}", trace.SpanKind.CLIENT)
    assert {
        "http.request.method": "GET",
        "http.response.status_code": 200,
        "server.address": box.base_url.removeprefix("https://"),
        "server.port": 443,
        "cmsapi.operation": "get_keyword",
    } == dict(span.attributes or {})
    assert span.status.status_code is trace.StatusCode.UNSET


async def test_retries_are_events_of_the_span(otel: Exported) -> None:
    """A call of three requests is one span, with two events that have the time and the reason."""
    box = Sandbox(faults=[Fault(status=503, times=2)])
    async with client_of(box, hooks=[otel.hook]) as client:
        await client.me()
    (span,) = otel.spans
    assert (span.attributes or {})["http.request.resend_count"] == 2
    retries = [event for event in span.events if event.name == "cmsapi.retry.scheduled"]
    assert [(event.attributes or {})["http.request.resend_count"] for event in retries] == [1, 2]
    assert (retries[0].attributes or {})["cmsapi.retry.reason"] == "503 service_unavailable"
    assert span.start_time is not None
    assert span.start_time <= retries[0].timestamp < retries[1].timestamp < span.end_time  # type: ignore[operator]


async def test_an_error_is_the_status_of_its_span(otel: Exported) -> None:
    """A refused call sets status and error."""
    box = Sandbox()
    async with client_of(box, hooks=[otel.hook]) as client:
        with pytest.raises(cmsapi.NotFoundError):
            await client.keywords.get("kw_none")
    (span,) = otel.spans
    assert span.status.status_code is trace.StatusCode.ERROR
    assert ((span.attributes or {})["http.response.status_code"], (span.attributes or {})["error.type"]) == (
        404,
        "NotFoundError",
    )


async def test_a_free_request_is_named_by_its_method(otel: Exported) -> None:
    """A path without a template is not in the span's name, so names stay few."""
    box = Sandbox()
    async with client_of(box, hooks=[otel.hook]) as client:
        await client.request("GET", f"/v1/keywords/{box.keyword_ids[0]}")
    (span,) = otel.spans
    assert (span.name, (span.attributes or {})["cmsapi.operation"]) == ("GET", "request")


async def test_spans_have_parents(otel: Exported) -> None:
    """Calls and jobs are children of the current span, polls are children of their job."""
    box = Sandbox(durations=Fixed(30))
    tracer = otel.tracers.get_tracer("program")
    async with client_of(box, hooks=[otel.hook]) as client:
        with tracer.start_as_current_span("night") as night:
            job = await client.keywords.analyze(box.keyword_ids[0])
            await job
        assert trace.get_current_span() is trace.INVALID_SPAN
    outer = night.get_span_context().span_id
    (launch,), (span,) = otel.named("POST /v1/keywords/{keywordId}/analyze"), otel.named("job keyword_analysis")
    polls = otel.named("GET /v1/keywords/{keywordId}")
    assert launch.parent is not None
    assert span.parent is not None
    assert {launch.parent.span_id, span.parent.span_id} == {outer}
    assert {span.context.span_id} == {poll.parent.span_id for poll in polls if poll.parent}
    assert len(polls) == job.status.polls == (span.attributes or {})["cmsapi.job.polls"]
    assert len([event for event in span.events if event.name == "cmsapi.job.observed"]) == len(polls)
    assert (span.attributes or {})["cmsapi.job.phase"] == "succeeded"


async def test_a_span_lasts_as_long_as_its_job(otel: Exported) -> None:
    """The length is an interval of the loop's clock, from the launch to the poll that showed the end."""
    box = Sandbox(durations=Fixed(300))
    async with client_of(box, hooks=[otel.hook]) as client:
        job = await client.keywords.analyze(box.keyword_ids[0])
        await asyncio.sleep(100)
        await job
    (span,) = otel.named("job keyword_analysis")
    assert seconds(span) == pytest.approx(job.status.elapsed, abs=0.01)  # type: ignore[arg-type]
    assert job.status.elapsed >= 300


async def test_a_failed_job_is_a_failed_span(otel: Exported) -> None:
    """The span has the error that waiters get."""
    box = Sandbox()
    box.set_outcome(box.keyword_ids[0], "failed")
    async with client_of(box, hooks=[otel.hook]) as client:
        with pytest.raises(cmsapi.JobFailedError):
            await (await client.keywords.analyze(box.keyword_ids[0]))
    (span,) = otel.named("job keyword_analysis")
    assert span.status.status_code is trace.StatusCode.ERROR
    assert (span.attributes or {})["error.type"] == "JobFailedError"


async def test_no_span_is_left_open(otel: Exported) -> None:
    """Spans end with the last waiter of a job, with the client, and with the task of a call."""
    box = Sandbox(durations=Fixed(10_000), faults=[Fault(match="GET /v1/me", slow=1000.0)])
    async with client_of(box, hooks=[otel.hook]) as client:
        job = await client.prompts.analyze(box.prompt_ids[0])
        with pytest.raises(cmsapi.JobWaitTimeoutError):
            await job.wait(timeout=60)
        (first,) = otel.named("job prompt_analysis")
        assert (first.attributes or {})["cmsapi.job.finished"] is False
        waiting = asyncio.create_task(job.wait())
        call = asyncio.create_task(client.me())
        await asyncio.sleep(1)
        call.cancel()
        await asyncio.wait([call])
        assert (otel.named("GET /v1/me")[0].attributes or {})["error.type"] == "CancelledError"
    with pytest.raises(cmsapi.ClientClosedError):
        await waiting
    assert len(otel.named("job prompt_analysis")) == 2
    assert {point.value for point in otel.metrics()["cmsapi.jobs.watched"]} == {0}


async def test_concurrent_calls_have_separate_spans(otel: Exported) -> None:
    """Each of many simultaneous calls has its own span with its own events."""
    box = Sandbox(faults=[Fault(match="GET /v1/keywords/*", status=500, times=1)])
    async with client_of(box, hooks=[otel.hook]) as client:
        await asyncio.gather(*(client.keywords.get(each) for each in box.keyword_ids))
    assert len(otel.spans) == len(box.keyword_ids)
    assert sum(len(span.events) for span in otel.spans) == 1
