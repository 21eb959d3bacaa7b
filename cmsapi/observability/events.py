"""Events as frozen data, and the one-method protocol of those who want to hear of them.

No event holds a key, a body or a query; paths are templates, but for those given to `client.request`. `CallStarted`,
`RequestStarted`, `CallFinished`, `JobWatched` and `JobReleased` are told only where a user gave a client hooks.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

import attrs


@attrs.frozen(kw_only=True)
class CallStarted:
    """Tell that a call begins: a request with its waits and repeats.

    All events of a call come in one task, up to its `CallFinished`.

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
    """Tell that an attempt has its quota and leaves.

    Args:
        operation: Name in the operations table.
        attempt: Number of the attempt, from 1.
        waited: Seconds spent waiting for quota.
    """

    operation: str
    attempt: int
    waited: float


@attrs.frozen(kw_only=True)
class RequestFinished:
    """Tell that one attempt is over.

    Args:
        operation: Name in the operations table.
        method: HTTP method.
        path: Path template.
        attempt: Number of the attempt, from 1.
        status: HTTP status, or None when there was no answer.
        error: Name of the error when there was no answer.
        waited: Seconds spent waiting for quota.
        duration: Seconds from then to the whole answer.
        remaining: Requests that the hour still admits, or None where there is no limit.
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
    """Tell that a call is over, however it ended.

    Args:
        operation: Name in the operations table.
        method: HTTP method.
        path: Path template.
        attempts: Requests spent.
        status: HTTP status of the last attempt, or None when it got no answer.
        error: Name of what was raised, or None.
        duration: Seconds from its start, waits included.
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
    """Tell that a request will be repeated.

    Args:
        operation: Name in the operations table.
        attempt: Number of the attempt that failed.
        delay: Seconds until the next one may start.
        reason: What happened.
    """

    operation: str
    attempt: int
    delay: float
    reason: str


@attrs.frozen(kw_only=True)
class QuotaWait:
    """Tell, once per shortage, that calls wait for the request limit.

    Args:
        operation: Name of the operation that met the shortage first.
        expected: Seconds it is expected to wait.
    """

    operation: str
    expected: float


@attrs.frozen(kw_only=True)
class Throttled:
    """Tell that jobs of a kind are looked at less often than the service advises: the hour has too few requests.

    Args:
        kind: Kind of job.
        jobs: How many of them run.
        interval: Seconds from a launch to the first look now.
    """

    kind: str
    jobs: int
    interval: float


@attrs.frozen(kw_only=True)
class RateLimitPaused:
    """Tell that the service refused a request for its rate (429) and that everybody rests.

    Args:
        operation: Name of the operation that was refused.
        seconds: How long.
    """

    operation: str
    seconds: float


@attrs.frozen(kw_only=True)
class JobWatched:
    """Tell that somebody waits for a job, and that it is looked at from now on.

    The looks run in a copy of the waiter's context (`contextvars`), and hooks on this event run in it, too: what they
    set there shows in the looks.

    Args:
        kind: Kind of job.
        target: Identifier of what it works on.
        id: Identifier of the job.
        elapsed: Seconds since its launch, or since it was first known.
    """

    kind: str
    target: str
    id: str
    elapsed: float


@attrs.frozen(kw_only=True)
class JobObserved:
    """Tell what a look at a job showed.

    Args:
        kind: Kind of job.
        target: Identifier of what it works on.
        phase: Phase after the look.
        state: The service's own word, or None.
        polls: Looks so far.
        error: Name of the error when the look failed; that never fails the job.
    """

    kind: str
    target: str
    phase: str
    state: str | None
    polls: int
    error: str | None = None


@attrs.frozen(kw_only=True)
class JobReleased:
    """Tell that a job is over, or that nobody waits for it any more.

    Args:
        kind: Kind of job.
        target: Identifier of what it works on.
        id: Identifier of the job.
        phase: Where it stands.
        over: Whether it is over.
        polls: Looks so far.
        elapsed: Seconds since its launch, or since it was first known.
        error: Name of the error that it ended with, or None.
    """

    kind: str
    target: str
    id: str
    phase: str
    over: bool
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


class Hook(Protocol):
    """Hear of events, on the event loop: be quick and do not block."""

    def __call__(self, event: Event, /) -> None:
        """Take note of an event."""
        ...
