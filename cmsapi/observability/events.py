"""Events of calls, as frozen data, and the hooks that receive them.

No event holds a key, a body or a query. Paths are templates, except those that a program gives to `client.request`. An
event is made only if the client has hooks or if the log takes its level.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import ClassVar, TypeAlias

import attrs


@attrs.frozen
class Event:
    """Report something to the hooks of a client; each kind of event is a class of its own."""

    #: The name for filters and dashboards; it does not change.
    name: ClassVar[str]
    #: Level of its line in the log.
    level: ClassVar[int] = logging.INFO


@attrs.frozen(kw_only=True)
class CallStarted(Event):
    """Report the start of a call: one request with its waits and retries.

    All events of a call, up to its `CallFinished`, come in one task.

    Args:
        operation: Name in the operations table.
        method: HTTP method.
        path: Path template.
        base_url: Address of the service.
        headers: Headers that the program adds to the request; secrets are masked.
    """

    name: ClassVar[str] = "cmsapi.call.started"
    level: ClassVar[int] = logging.DEBUG
    operation: str
    method: str
    path: str
    base_url: str
    headers: Mapping[str, str]


@attrs.frozen(kw_only=True)
class RequestStarted(Event):
    """Report that an attempt has its permit and is being sent.

    Args:
        operation: Name in the operations table.
        attempt: Number of the attempt, from 1.
        waited: Seconds spent waiting for the permit.
    """

    name: ClassVar[str] = "cmsapi.request.started"
    level: ClassVar[int] = logging.DEBUG
    operation: str
    attempt: int
    waited: float


@attrs.frozen(kw_only=True)
class RequestFinished(Event):
    """Report the end of an attempt.

    Args:
        method: HTTP method.
        path: Path template.
        status: HTTP status, or None without an answer.
        error: Name of the error, if there was no answer.
        duration: Seconds from the permit to the complete answer.
        attempt: Number of the attempt, from 1.
        request_id: What the service calls the request in its own log, or None when it does not tell.
        operation: Name in the operations table.
        waited: Seconds spent waiting for the permit.
        remaining: Requests that the hour still allows, or None without a limit.
    """

    name: ClassVar[str] = "cmsapi.request.finished"
    method: str
    path: str
    status: int | None
    error: str | None
    duration: float
    attempt: int
    request_id: str | None = None
    operation: str
    waited: float
    remaining: int | None = None


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
    level: ClassVar[int] = logging.DEBUG
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
        window: What is used up: `"second"`, `"hour"`, or `"pause"` while the service asks for a pause.
        reason: Why the call waits, in words.
    """

    name: ClassVar[str] = "cmsapi.quota.wait"
    level: ClassVar[int] = logging.WARNING
    operation: str
    expected: float
    window: str
    reason: str


@attrs.frozen(kw_only=True)
class RateLimitPaused(Event):
    """Report that the service refused a request with 429, and that all calls pause.

    In the log it is a warning if the pause is longer than five seconds.

    Args:
        operation: Name of the refused operation.
        seconds: Length of the pause.
    """

    name: ClassVar[str] = "cmsapi.rate_limit.paused"
    operation: str
    seconds: float


#: Receives events on the event loop. A hook must return quickly and must not block.
Hook: TypeAlias = Callable[[Event], None]
