"""OpenTelemetry spans: ``Client(hooks=[TelemetryHook()])``. Needs ``pip install 'cmsapi[otel]'``.

========================================  ===========================================================================
What happens                              What is recorded
========================================  ===========================================================================
an attempt ends                           a client span, such as ``POST /v1/keywords/{keywordId}/analyze``
a job succeeds, fails or awaits review    a span, such as ``analysis``, with the job's ``age`` as its duration
a retry is scheduled                      an event ``retry`` on the current span
requests are paused                       an event ``rate limit`` on the current span
========================================  ===========================================================================

A span is created only when the work has ended, so no span is left open. The parent of a request's span is the
caller's current span, unless the caller's span has ended. A job's span has no parent, because several callers may
wait for the same job.

Attribute names follow OpenTelemetry's stable conventions or begin with ``cmsapi.``. Attributes contain identifiers,
such as the identifier of a keyword, but no API keys, full URLs or content.
"""

from __future__ import annotations

import time
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from opentelemetry.context import Context
from opentelemetry.trace import SpanKind, Status, StatusCode, Tracer, get_current_span, get_tracer

from cmsapi._version import __version__
from cmsapi.observe.events import Event, JobObserved, RateLimitPaused, RequestFinished, RetryScheduled
from cmsapi.wire.operations import OPERATIONS

Attributes: TypeAlias = dict[str, Any]


class TelemetryHook:
    """Hook that records events as OpenTelemetry spans and span events.

    Args:
        tracer: Tracer that creates the spans; None for the tracer of the global provider.
        base_url: Address of the service, for the attributes ``server.address`` and ``server.port``; None to omit them.
    """

    def __init__(self, tracer: Tracer | None = None, *, base_url: str | None = None) -> None:
        self._tracer = tracer or get_tracer("cmsapi", __version__)
        parts = urlsplit(base_url or "")
        self._server: Attributes = {"server.address": parts.hostname} if parts.hostname else {}
        if parts.port:
            self._server["server.port"] = parts.port

    def __call__(self, event: Event) -> None:
        """Record an event as a span, or add it to the current span. Polls of jobs still in progress are ignored."""
        if isinstance(event, RequestFinished):
            self._request(event)
        elif isinstance(event, JobObserved) and event.phase in ("succeeded", "failed", "review"):
            self._job(event)
        elif isinstance(event, RetryScheduled):
            retry: Attributes = {"cmsapi.operation": event.operation or "", "cmsapi.attempt": event.attempt}
            get_current_span().add_event("retry", {**retry, **_wait(event)})
        elif isinstance(event, RateLimitPaused):
            get_current_span().add_event("rate limit", _wait(event))

    def _request(self, event: RequestFinished) -> None:
        known = OPERATIONS.get(event.operation or "")
        failure = event.error if event.status is None else str(event.status) if event.status >= 400 else None
        attributes = {
            "http.request.method": event.method,
            "http.response.status_code": event.status,
            "error.type": failure,
            "http.request.resend_count": event.attempt - 1,
            "cmsapi.operation": event.operation,
            "cmsapi.waited": event.waited,
            "cmsapi.request_id": event.request_id,
        }
        there: Attributes = {name: value for name, value in attributes.items() if value}
        name = f"{event.method} {known.path}" if known else event.method
        self._record(name, SpanKind.CLIENT, event.seconds, {**self._server, **there}, failure, _parent())

    def _job(self, event: JobObserved) -> None:
        kind, failure = str(event.kind), "failed" if event.phase == "failed" else None
        attributes: Attributes = {"cmsapi.job.kind": kind, "cmsapi.job.target": event.target}
        attributes["cmsapi.job.phase"] = str(event.phase)
        self._record(kind, SpanKind.INTERNAL, event.age, attributes, failure, Context())

    def _record(
        self, name: str, kind: SpanKind, seconds: float, attributes: Attributes, failure: str | None, parent: Any
    ) -> None:
        now = time.time_ns()
        span = self._tracer.start_span(name, parent, kind, attributes, start_time=now - round(seconds * 1e9))
        if failure is not None:
            span.set_status(Status(StatusCode.ERROR, failure))
        span.end(now)


def _wait(event: RetryScheduled | RateLimitPaused) -> Attributes:
    return {"cmsapi.seconds": event.seconds, "cmsapi.reason": event.reason}


def _parent() -> Context | None:
    """Return an empty context if the current span has ended, because an ended span must not be a parent; else None."""
    span = get_current_span()
    known = span.get_span_context()
    ended = not span.is_recording() and known.is_valid and known.trace_flags.sampled and not known.is_remote
    return Context() if ended else None
