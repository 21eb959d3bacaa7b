"""OpenTelemetry spans and metrics of what a client does (extra `otel`).

The hook makes one span per call, with its retries and waits as events of the span, and one span per job, with its polls
as child spans. The start of a span is a time of the machine's clock, its length an interval of the event loop's clock.
No span or metric holds a key, a query or a body, because events hold none. Only spans of jobs hold identifiers.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any
from urllib.parse import urlsplit

import attrs

from cmsapi._version import __version__
from cmsapi.extras import needs
from cmsapi.observability.events import (
    CallFinished,
    CallStarted,
    Event,
    QuotaWait,
    RateLimitPaused,
    RequestFinished,
    RequestStarted,
    RetryScheduled,
)
from cmsapi.observability.job_events import JobObserved, JobReleased, JobWatched

with needs("otel"):
    from opentelemetry import context, metrics, trace

# The semantic conventions advise these for `http.client.request.duration`.
_REQUEST_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
_JOB_BUCKETS = (5, 10, 20, 30, 60, 90, 120, 180, 300, 600, 1200, 3600)

_Attributes = dict[str, str | int | float | bool]


@attrs.define
class _OpenSpan:
    """Hold an open span with the attributes of its metrics, and its start in nanoseconds and on the event loop."""

    span: trace.Span
    labels: _Attributes
    at: int
    loop_time: float
    #: Restores the previous current span.
    token: Any = None
    #: Whether the call waits for the request limit or for its next attempt.
    waiting: bool = True

    def after(self, seconds: float) -> int:
        return self.at + int(seconds * 1e9)

    def add(self, event: Event, attributes: _Attributes) -> None:
        now = self.after(asyncio.get_running_loop().time() - self.loop_time)
        self.span.add_event(event.name, attributes, now)


class OpenTelemetry:
    """Make spans and metrics of events; a hook for `Client(hooks=[OpenTelemetry()])`. Several clients may share it.

    Args:
        tracer_provider: Receives the spans; the default is the global provider.
        meter_provider: Receives the metrics; the default is the global provider.
    """

    def __init__(
        self,
        *,
        tracer_provider: trace.TracerProvider | None = None,
        meter_provider: metrics.MeterProvider | None = None,
    ) -> None:
        self._tracer = trace.get_tracer("cmsapi", __version__, tracer_provider)
        meter = metrics.get_meter("cmsapi", __version__, meter_provider)
        self._duration = meter.create_histogram(
            "http.client.request.duration",
            "s",
            "Time from the permit of a request to its complete answer.",
            explicit_bucket_boundaries_advisory=_REQUEST_BUCKETS,
        )
        self._remaining = meter.create_gauge(
            "cmsapi.rate_limit.remaining", "{request}", "Requests that the hour allowed after the last answer."
        )
        self._waiting = meter.create_up_down_counter(
            "cmsapi.calls.waiting", "{call}", "Calls that wait for the request limit or for their next attempt."
        )
        self._retries = meter.create_counter("cmsapi.retries", "{request}", "Scheduled retries.")
        self._jobs_watched = meter.create_up_down_counter("cmsapi.jobs.watched", "{job}", "Jobs with waiters.")
        self._job_duration = meter.create_histogram(
            "cmsapi.job.duration",
            "s",
            "Time from a launch to the poll that showed the end of the job.",
            explicit_bucket_boundaries_advisory=_JOB_BUCKETS,
        )
        # A task makes one call at a time.
        self._calls: dict[asyncio.Task[Any] | None, _OpenSpan] = {}
        self._jobs: dict[tuple[str, str], _OpenSpan] = {}

    def __call__(self, event: Event, /) -> None:
        """Record an event."""
        match event:
            case CallStarted():
                self._begin_call(event)
            case JobWatched():
                self._begin_job(event)
            case JobObserved() | JobReleased():
                self._on_job(event)
            case _ if (call := self._calls.get(asyncio.current_task())) is not None:
                self._on_call(event, call)

    def _begin_call(self, event: CallStarted) -> None:
        url = urlsplit(event.base_url)
        port = url.port or (443 if url.scheme == "https" else 80)
        server: _Attributes = {"server.address": url.hostname or "", "server.port": port}
        attributes: _Attributes = {"http.request.method": event.method, **server, "cmsapi.operation": event.operation}
        # Paths of `client.request` are not templates: they would give each resource its own span name.
        name = event.method if event.operation == "request" else f"{event.method} {event.path}"
        call = self._open(name, trace.SpanKind.CLIENT, attributes, server)
        call.token = context.attach(trace.set_span_in_context(call.span))
        self._calls[asyncio.current_task()] = call
        self._waiting.add(1, server)

    def _on_call(self, event: Event, call: _OpenSpan) -> None:
        match event:
            case RequestStarted():
                self._wait(call, False)
            case RequestFinished():
                self._measure(event, call.labels)
            case RetryScheduled():
                self._wait(call, True)
                self._retries.add(1, {**call.labels, "cmsapi.operation": event.operation})
                retry: _Attributes = {"cmsapi.retry.delay": event.delay, "cmsapi.retry.reason": event.reason}
                call.add(event, {"http.request.resend_count": event.attempt, **retry})
            case QuotaWait():
                call.add(event, {"cmsapi.wait.expected": event.expected, "cmsapi.wait.window": event.window})
            case RateLimitPaused():
                call.add(event, {"cmsapi.pause.duration": event.seconds})
            case CallFinished():
                self._end_call(event, call)

    def _measure(self, event: RequestFinished, server: _Attributes) -> None:
        labels = {**server, "http.request.method": event.method}
        failure = event.error
        if event.status is not None:
            labels["http.response.status_code"] = event.status
            failure = str(event.status) if event.status >= 400 else failure
        if failure is not None:
            labels["error.type"] = failure
        self._duration.record(event.duration, labels)
        if event.remaining is not None:
            self._remaining.set(event.remaining, server)

    def _end_call(self, event: CallFinished, call: _OpenSpan) -> None:
        del self._calls[asyncio.current_task()]
        self._wait(call, False)
        if event.status is not None:
            call.span.set_attribute("http.response.status_code", event.status)
        if event.attempts > 1:
            call.span.set_attribute("http.request.resend_count", event.attempts - 1)
        if event.error is not None:
            _fail(call.span, event.error)
        context.detach(call.token)
        call.span.end(call.after(event.duration))

    def _wait(self, call: _OpenSpan, waiting: bool) -> None:
        if waiting is not call.waiting:
            call.waiting = waiting
            self._waiting.add(1 if waiting else -1, call.labels)

    def _begin_job(self, event: JobWatched) -> None:
        kind: _Attributes = {"cmsapi.job.kind": event.kind}
        attributes: _Attributes = {**kind, "cmsapi.job.id": event.id, "cmsapi.job.target": event.target}
        job = self._open(f"job {event.kind}", trace.SpanKind.INTERNAL, attributes, kind, ago=event.elapsed)
        # The hook runs in the job's own context, so only its polls see the attached span.
        context.attach(trace.set_span_in_context(job.span))
        if (previous := self._jobs.pop((event.kind, event.target), None)) is not None:
            self._end_job(previous, previous.after(0))
        self._jobs[event.kind, event.target] = job
        self._jobs_watched.add(1, kind)

    def _on_job(self, event: JobObserved | JobReleased) -> None:
        job = self._jobs.get((event.kind, event.target))
        if job is None:
            return
        seen: _Attributes = {"cmsapi.job.phase": event.phase, "cmsapi.job.polls": event.polls}
        if isinstance(event, JobObserved):
            if event.state is not None:
                seen["cmsapi.job.state"] = event.state
            if event.error is not None:
                seen["error.type"] = event.error
            job.add(event, seen)
            return
        del self._jobs[event.kind, event.target]
        job.span.set_attributes({**seen, "cmsapi.job.finished": event.finished})
        if event.error is not None:
            _fail(job.span, event.error)
        if event.finished:
            self._job_duration.record(event.elapsed, {**job.labels, "cmsapi.job.phase": event.phase})
        self._end_job(job, job.after(event.elapsed))

    def _end_job(self, job: _OpenSpan, at: int) -> None:
        self._jobs_watched.add(-1, job.labels)
        job.span.end(at)

    def _open(
        self, name: str, kind: trace.SpanKind, attributes: _Attributes, labels: _Attributes, *, ago: float = 0.0
    ) -> _OpenSpan:
        at = time.time_ns() - int(ago * 1e9)
        span = self._tracer.start_span(name, kind=kind, attributes=attributes, start_time=at)
        return _OpenSpan(span, labels, at, asyncio.get_running_loop().time() - ago)


def _fail(span: trace.Span, error: str) -> None:
    span.set_attribute("error.type", error)
    span.set_status(trace.StatusCode.ERROR, error)
