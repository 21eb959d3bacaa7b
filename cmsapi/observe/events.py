"""Events, and the hooks that receive them.

A hook is a function that takes one event. The client waits for the hook, so the hook must return quickly. If a hook
raises an `Exception`, the client logs and ignores it. Other exceptions, such as `KeyboardInterrupt`, are passed on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TypeAlias

from attrs import frozen

from cmsapi.observe.log import logger


@frozen
class Event:
    """Base class of all events."""

    level = logging.DEBUG

    def __str__(self) -> str:
        return type(self).__name__


@frozen
class RequestFinished(Event):
    """Event: an attempt to send a request has ended, with or without a response.

    Attributes:
        operation: Name of the operation in ``OPERATIONS``; None for `Client.request`.
        method: HTTP method.
        path: Path without the query.
        attempt: Number of the attempt, from 1.
        seconds: Duration of the attempt in seconds, without the wait for the rate limits.
        waited: Seconds for which the rate limits delayed the attempt.
        status: HTTP status; None if there was no response.
        request_id: Identifier of the request, to quote to support; None if the service sent none.
        error: Class name of the exception if there was no response; else None.
    """

    operation: str | None
    method: str
    path: str
    attempt: int
    seconds: float
    waited: float
    status: int | None = None
    request_id: str | None = None
    error: str | None = None

    def __str__(self) -> str:
        outcome = self.error if self.status is None else str(self.status)
        waited = f", waited {self.waited:.1f} s" if self.waited else ""
        return f"{self.method} {self.path}: {outcome} in {self.seconds:.3f} s (attempt {self.attempt}{waited})"


@frozen
class RetryScheduled(Event):
    """Event: an attempt to send a request has failed, and the request will be repeated.

    Attributes:
        operation: Name of the operation in ``OPERATIONS``; None for `Client.request`.
        attempt: Number of the attempt that failed, from 1.
        seconds: Seconds until the next attempt, without a wait for the rate limits.
        reason: Status and code of the response, or class name of the error.
    """

    level = logging.INFO

    operation: str | None
    attempt: int
    seconds: float
    reason: str

    def __str__(self) -> str:
        name = self.operation or "request"
        return f"{name}: attempt {self.attempt} failed ({self.reason}), next in {self.seconds:.1f} s"


@frozen
class RateLimitPaused(Event):
    """Event: no request is sent for a while, because the hourly limit is used up or the service answered 429.

    Attributes:
        seconds: Expected seconds until the next request is sent.
        reason: Why requests are paused, as text.
    """

    level = logging.WARNING

    seconds: float
    reason: str

    def __str__(self) -> str:
        return f"requests wait for {self.seconds:.0f} s: {self.reason}"


@frozen
class JobObserved(Event):
    """Event: a poll has shown the phase of a job.

    Attributes:
        kind: Kind of the job.
        target: Identifier of the job's keyword, prompt, content, search or knowledge document.
        phase: ``running``, ``review``, ``succeeded``, ``failed`` or ``unclear``.
        age: Seconds since the launch. If the launch time is not known, seconds since the job was first watched.
        reason: Why the phase is ``unclear``; None for any other phase.
    """

    kind: str
    target: str
    phase: str
    age: float
    reason: str | None = None

    def __str__(self) -> str:
        return f"{self.kind} of {self.target}: {self.phase} after {self.age:.0f} s" + (
            f" ({self.reason})" if self.reason else ""
        )


Hook: TypeAlias = Callable[[Event], None]


class Emitter:
    """Callable that passes events to the log and to hooks."""

    def __init__(self, hooks: Sequence[Hook] = ()) -> None:
        self._hooks = tuple(hooks)

    def wants(self, kind: type[Event]) -> bool:
        """Return True if the log or a hook would receive an event of class ``kind``."""
        return bool(self._hooks) or logger.isEnabledFor(kind.level)

    def __call__(self, event: Event) -> None:
        """Log the event if its level is enabled, and call every hook with it."""
        if logger.isEnabledFor(event.level):
            logger.log(event.level, "%s", event)
        for hook in self._hooks:
            try:
                hook(event)
            except Exception:
                logger.exception("a hook failed for %s", type(event).__name__)
