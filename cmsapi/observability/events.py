"""Events of a client, as frozen data, and the hooks that receive them.

No event holds a key, a body or a query. Paths are templates, except those that a program gives to `client.request`. A
client without hooks of its user does not make `CallStarted`, `RequestStarted`, `CallFinished`, `JobWatched` and
`JobReleased`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeAlias

import attrs


@attrs.frozen
class Event:
    """Report something to the hooks of a client; each kind of event is a class of its own."""

    #: The name for filters and dashboards; it does not change.
    name: ClassVar[str]


@attrs.frozen(kw_only=True)
class CallStarted(Event):
    """Report the start of a call: one request with its waits and retries.

    All events of a call, up to its `CallFinished`, come in one task.

    Args:
        operation: Name in the operations table.
        method: HTTP method.
        path: Path template.
        base_url: Address of the service.
    """

    name: ClassVar[str] = "cmsapi.call.started"
    operation: str
    method: str
    path: str
    base_url: str


@attrs.frozen(kw_only=True)
class RequestStarted(Event):
    """Report that an attempt has its permit and is being sent.

    Args:
        operation: Name in the operations table.
        attempt: Number of the attempt, from 1.
        waited: Seconds spent waiting for the permit.
    """

    name: ClassVar[str] = "cmsapi.request.started"
    operation: str
    attempt: int
    waited: float


@attrs.frozen(kw_only=True)
class RequestFinished(Event):
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
        request_id: What the service calls the request in its own log, or None when it does not tell.
    """

    name: ClassVar[str] = "cmsapi.request.finished"
    operation: str
    method: str
    path: str
    attempt: int
    status: int | None
    error: str | None
    waited: float
    duration: float
    remaining: int | None = None
    request_id: str | None = None


@attrs.frozen(kw_only=True)
class CallFinished(Event):
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

    name: ClassVar[str] = "cmsapi.call.finished"
    operation: str
    method: str
    path: str
    attempts: int
    status: int | None
    error: str | None
    duration: float


@attrs.frozen(kw_only=True)
class RetryScheduled(Event):
    """Report that a failed request will be retried.

    Args:
        operation: Name in the operations table.
        attempt: Number of the attempt that failed.
        delay: Seconds until the next attempt may start.
        reason: Why the attempt failed.
    """

    name: ClassVar[str] = "cmsapi.retry.scheduled"
    operation: str
    attempt: int
    delay: float
    reason: str


@attrs.frozen(kw_only=True)
class QuotaWait(Event):
    """Report, once per shortage, that calls wait for the request limit.

    Args:
        operation: Name of the operation whose call waits first.
        expected: Expected wait of this call in seconds.
    """

    name: ClassVar[str] = "cmsapi.quota.wait"
    operation: str
    expected: float


@attrs.frozen(kw_only=True)
class Throttled(Event):
    """Report that jobs of a kind are polled less often than the service advises: the hour has too few requests.

    Args:
        kind: Kind of job.
        jobs: Number of running jobs of this kind.
        interval: Seconds from a launch to its first poll, from now on.
    """

    name: ClassVar[str] = "cmsapi.jobs.throttled"
    kind: str
    jobs: int
    interval: float


@attrs.frozen(kw_only=True)
class RateLimitPaused(Event):
    """Report that the service refused a request with 429, and that all calls pause.

    Args:
        operation: Name of the refused operation.
        seconds: Length of the pause.
    """

    name: ClassVar[str] = "cmsapi.rate_limit.paused"
    operation: str
    seconds: float


@attrs.frozen(kw_only=True)
class JobWatched(Event):
    """Report that a job has its first waiter, and is polled from now on.

    The polls run in a copy of the waiter's context (`contextvars`), and so do hooks on this event: the polls see the
    variables that a hook sets.

    Args:
        kind: Kind of job.
        target: Identifier of the resource that the job works on.
        id: Identifier of the job.
        elapsed: Seconds since the launch, or since the client first knew of the job.
    """

    name: ClassVar[str] = "cmsapi.job.watched"
    kind: str
    target: str
    id: str
    elapsed: float


@attrs.frozen(kw_only=True)
class JobObserved(Event):
    """Report what a poll showed of a job.

    Args:
        kind: Kind of job.
        target: Identifier of the resource that the job works on.
        phase: Phase after the poll.
        state: The service's own word for it, or None.
        polls: Number of polls so far.
        error: Name of the error if the poll failed; a failed poll never fails the job.
    """

    name: ClassVar[str] = "cmsapi.job.observed"
    kind: str
    target: str
    phase: str
    state: str | None
    polls: int
    error: str | None = None


@attrs.frozen(kw_only=True)
class JobReleased(Event):
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

    name: ClassVar[str] = "cmsapi.job.released"
    kind: str
    target: str
    id: str
    phase: str
    finished: bool
    polls: int
    elapsed: float
    error: str | None


#: Receives events on the event loop. A hook must return quickly and must not block.
Hook: TypeAlias = Callable[[Event], None]
