"""OpenTelemetry spans, on the sandbox in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode, Tracer

from cmsapi import APIError, Client, JobFailedError
from cmsapi.observe.telemetry import TelemetryHook
from cmsapi.sandbox import Fault, Sandbox

pytestmark = pytest.mark.looptime

SECOND = 10**9  # nanoseconds


class Recorder:
    """A tracer, and the spans that it has ended."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer: Tracer = provider.get_tracer("test")

    def client(self, sandbox: Sandbox, **settings: Any) -> Client:
        """Return a client whose events are recorded."""
        hook = TelemetryHook(self.tracer, base_url="https://api.example.com:8443")
        settings = {"base_url": sandbox.base_url, "transport": sandbox.transport, "hooks": [hook], **settings}
        return Client(sandbox.api_key, **settings)

    def spans(self, name: str = "") -> list[ReadableSpan]:
        """Return the ended spans whose names begin with a text."""
        return [span for span in self._exporter.get_finished_spans() if span.name.startswith(name)]


@pytest.fixture
def recorder() -> Recorder:
    """Return a tracer that keeps its spans."""
    return Recorder()


def attributes(span: ReadableSpan) -> Mapping[str, Any]:
    """Return the attributes of a span."""
    return span.attributes or {}


async def test_each_attempt_is_a_span_of_its_caller(sandbox: Sandbox, recorder: Recorder) -> None:
    """A refused attempt and its repeat lie under the caller's span, which has an event for the retry."""
    sandbox.faults.rules.append(Fault(match="get_keyword", status=503, times=1, slow=2))
    async with recorder.client(sandbox) as client:
        with recorder.tracer.start_as_current_span("mine"):
            await client.keywords.get(sandbox.keyword_ids[0])
    first, second = recorder.spans("GET /v1/keywords/{keywordId}")
    (mine,) = recorder.spans("mine")
    assert first.kind is SpanKind.CLIENT
    assert [span.parent.span_id for span in (first, second) if span.parent] == [mine.context.span_id] * 2
    assert (first.status.status_code, second.status.status_code) == (StatusCode.ERROR, StatusCode.UNSET)
    assert (first.end_time or 0) - (first.start_time or 0) == 2 * SECOND
    expected = {"http.request.method": "GET", "server.address": "api.example.com", "server.port": 8443}
    assert attributes(first).items() >= {**expected, "http.response.status_code": 503, "error.type": "503"}.items()
    assert attributes(second).items() >= {**expected, "http.request.resend_count": 1}.items()
    assert [event.name for event in mine.events] == ["retry"]


async def test_a_job_is_a_span_as_long_as_it_took(sandbox: Sandbox, recorder: Recorder) -> None:
    """It is as long as the job, has no parent, and shows a failure as an error."""
    good, bad = sandbox.keyword_ids[:2]
    sandbox.set_outcome(good, "success", duration=60)
    sandbox.set_outcome(bad, "failed", duration=60)
    async with recorder.client(sandbox) as client:
        with recorder.tracer.start_as_current_span("mine"):
            jobs = [await client.keywords.analyze(each) for each in (good, bad)]
            await jobs[0]
            with pytest.raises(JobFailedError):
                await jobs[1]
    found = {attributes(span)["cmsapi.job.target"]: span for span in recorder.spans("analysis")}
    assert {name: span.status.status_code for name, span in found.items()} == {
        good: StatusCode.UNSET,
        bad: StatusCode.ERROR,
    }
    for span in found.values():
        assert span.parent is None
        assert 60 <= ((span.end_time or 0) - (span.start_time or 0)) / SECOND < 75


async def test_polls_do_not_lie_under_a_span_that_has_ended(sandbox: Sandbox, recorder: Recorder) -> None:
    """The poller outlives the call that began it; later polls are not part of that call's trace."""
    async with recorder.client(sandbox) as client:
        with recorder.tracer.start_as_current_span("mine"):
            job = await client.keywords.analyze(sandbox.keyword_ids[0])
            waiting = asyncio.create_task(job.wait())
            await asyncio.sleep(1)
        await waiting
    polls = recorder.spans("GET /v1/keywords/{keywordId}")
    assert polls
    assert all(span.parent is None for span in polls)


async def test_nothing_private_is_recorded(sandbox: Sandbox, recorder: Recorder) -> None:
    """Names, attributes and events contain neither key, texts, queries nor identifiers from addresses."""
    async with recorder.client(sandbox) as client:
        await client.contents.create(sandbox.workspace_id, "a title", html="<p>a text</p>")
        await client.request("GET", "/v1/credit-usages", params={"type": "analysis", "q": "a query"})
        with pytest.raises(APIError):
            await client.keywords.get("kwd_unknown")
    everything = " ".join(span.to_json() for span in recorder.spans())
    for private in (sandbox.api_key, "a title", "a text", "a query", sandbox.workspace_id, "kwd_unknown"):
        assert private not in everything
    assert [span.name for span in recorder.spans("GET")] == ["GET", "GET /v1/keywords/{keywordId}"]
