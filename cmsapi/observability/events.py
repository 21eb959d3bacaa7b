"""Events of a client, as frozen data, and the protocol of hooks that receive them.

No event holds a key, a body or a query. Paths are templates, except those that a program gives to `client.request`. A
client without hooks of its user does not make `CallStarted`, `RequestStarted`, `CallFinished`, `JobWatched` and
`JobReleased`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeAlias

import attrs


@attrs.frozen(kw_only=True)
class CallStarted:
    """Report the start of a call: one request with its waits and retries.

    All events of a call, up to its `CallFinished`, come in one task.

    Args:
        operation: Name in the operations table.
        method: HTTP method.
        path: Path template.
        base_url: Address of the service.
    """

    operation: str
    method: str
    path: str
    base_url: str


@attrs.frozen(kw_only=True)
class RequestStarted:
    """Report that an attempt has its permit and is being sent.

    Args:
        operation: Name in the operations table.
        attempt: Number of the attempt, from 1.
        waited: Seconds spent waiting for the permit.
    """

    operation: str
    attempt: int
    waited: float


@attrs.frozen(kw_only=True)
class RequestFinished:
    """Report the end of an attempt.

    Args:
        operation: Name in the operations table.
        method: HTTP method.
        path: Path template.
        attempt: Number of the attempt, from 1.
        status: HTTP status, or None without an answer.
        error: Name of the error, if there was no answer.
        waited: Seconds spent waiting for the permit.
        duration: Seconds from the permit to the complete answer.
        remaining: Requests that the hour still allows, or None without a limit.
    """

    operation: str
    method: str
    path: str
    attempt: int
    status: int | None
    error: str | None
    waited: float
    duration: float
    remaining: int | None = None


@attrs.frozen(kw_only=True)
class CallFinished:
    """Report the end of a call, with or without an error.

    Args:
        operation: Name in the operations table.
        method: HTTP method.
        path: Path template.
        attempts: Number of requests.
        status: HTTP status of the last attempt, or None without an answer.
        error: Name of the error that the call raised, or None.
        duration: Seconds since the start of the call, waits included.
    """

    operation: str
    method: str
    path: str
    attempts: int
    status: int | None
    error: str | None
    duration: float


@attrs.frozen(kw_only=True)
class RetryScheduled:
    """Report that a failed request will be retried.

    Args:
        operation: Name in the operations table.
        attempt: Number of the attempt that failed.
        delay: Seconds until the next attempt may start.
        reason: Why the attempt failed.
    """

    operation: str
    attempt: int
    delay: float
    reason: str


@attrs.frozen(kw_only=True)
class QuotaWait:
    """Report, once per shortage, that calls wait for the request limit.

    Args:
        operation: Name of the operation whose call waits first.
        expected: Expected wait of this call in seconds.
    """

    operation: str
    expected: float


@attrs.frozen(kw_only=True)
class Throttled:
    """Report that jobs of a kind are polled less often than the service advises: the hour has too few requests.

    Args:
        kind: Kind of job.
        jobs: Number of running jobs of this kind.
        interval: Seconds from a launch to its first poll, from now on.
    """

    kind: str
    jobs: int
    interval: float


@attrs.frozen(kw_only=True)
class RateLimitPaused:
    """Report that the service refused a request with 429, and that all calls pause.

    Args:
        operation: Name of the refused operation.
        seconds: Length of the pause.
    """

    operation: str
    seconds: float


@attrs.frozen(kw_only=True)
class JobWatched:
    """Report that a job has its first waiter, and is polled from now on.

    The polls run in a copy of the waiter's context (`contextvars`), and so do hooks on this event: the polls see the
    variables that a hook sets.

    Args:
        kind: Kind of job.
        target: Identifier of the resource that the job works on.
        id: Identifier of the job.
        elapsed: Seconds since the launch, or since the client first knew of the job.
    """

    kind: str
    target: str
    id: str
    elapsed: float


@attrs.frozen(kw_only=True)
class JobObserved:
    """Report what a poll showed of a job.

    Args:
        kind: Kind of job.
        target: Identifier of the resource that the job works on.
        phase: Phase after the poll.
        state: The service's own word for it, or None.
        polls: Number of polls so far.
        error: Name of the error if the poll failed; a failed poll never fails the job.
    """

    kind: str
    target: str
    phase: str
    state: str | None
    polls: int
    error: str | None = None


@attrs.frozen(kw_only=True)
class JobReleased:
    """Report that a job has finished, or has lost its last waiter.

    Args:
        kind: Kind of job.
        target: Identifier of the resource that the job works on.
        id: Identifier of the job.
        phase: Phase of the job.
        finished: Whether the job has finished.
        polls: Number of polls so far.
        elapsed: Seconds since the launch, or since the client first knew of the job.
        error: Name of the error that the job ended with, or None.
    """

    kind: str
    target: str
    id: str
    phase: str
    finished: bool
    polls: int
    elapsed: float
    error: str | None


Event: TypeAlias = (
    CallStarted
    | RequestStarted
    | RequestFinished
    | RetryScheduled
    | CallFinished
    | QuotaWait
    | RateLimitPaused
    | Throttled
    | JobWatched
    | JobObserved
    | JobReleased
)


#: The names of events for filters and dashboards; they do not change.
EVENT_NAMES: Mapping[type, str] = {
    CallStarted: "cmsapi.call.started",
    RequestStarted: "cmsapi.request.started",
    RequestFinished: "cmsapi.request.finished",
    RetryScheduled: "cmsapi.retry.scheduled",
    CallFinished: "cmsapi.call.finished",
    QuotaWait: "cmsapi.quota.wait",
    RateLimitPaused: "cmsapi.rate_limit.paused",
    Throttled: "cmsapi.jobs.throttled",
    JobWatched: "cmsapi.job.watched",
    JobObserved: "cmsapi.job.observed",
    JobReleased: "cmsapi.job.released",
}


class Hook(Protocol):
    """Receive events on the event loop. A hook must return quickly and must not block."""

    def __call__(self, event: Event, /) -> None:
        """Receive an event."""
        ...
