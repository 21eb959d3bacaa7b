"""Events as frozen data, and the one-method protocol of those who want to hear of them.

No event holds a key, a body or a query; paths are templates.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

import attrs


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
    """

    operation: str
    method: str
    path: str
    attempt: int
    status: int | None
    error: str | None
    waited: float
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


Event: TypeAlias = RequestFinished | RetryScheduled | QuotaWait | RateLimitPaused | Throttled | JobObserved


class Hook(Protocol):
    """Hear of events, on the event loop: be quick and do not block."""

    def __call__(self, event: Event, /) -> None:
        """Take note of an event."""
        ...
