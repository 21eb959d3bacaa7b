"""Events, and the hooks that receive them.

A hook is a function that takes one event. It is called during the observed work, so it must return quickly. An
exception that it raises is logged and ignored, unless it is meant to end the program, such as `KeyboardInterrupt`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TypeAlias

from attrs import frozen

from cmsapi.observe.log import logger


@frozen
class Event:
    """Base class of the events."""

    level = logging.DEBUG

    def __str__(self) -> str:
        return type(self).__name__


@frozen
class RequestFinished(Event):
    """An attempt has ended, with or without an answer.

    Attributes:
        operation: Name of the operation in ``OPERATIONS``; None for `Client.request`.
        method: HTTP method.
        path: Path without the query.
        attempt: Number of the attempt, from 1.
        seconds: Seconds from the end of the wait for the limits to the end of the attempt.
        waited: Seconds for which the limits delayed the request beforehand.
        status: HTTP status; None without an answer.
        request_id: Identifier of the request, to quote to support; None if the service sent none.
        error: Name of the error's class if there was no answer.
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
    """A request will be repeated.

    Attributes:
        operation: Name of the operation in ``OPERATIONS``; None for `Client.request`.
        attempt: Number of the attempt that failed, from 1.
        seconds: Seconds until the next attempt.
        reason: How the attempt failed.
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
    """Requests are waiting for the hourly limit, or after a 429.

    Attributes:
        seconds: Seconds until the next request may be sent.
        reason: Why requests are waiting.
    """

    level = logging.WARNING

    seconds: float
    reason: str

    def __str__(self) -> str:
        return f"requests wait for {self.seconds:.0f} s: {self.reason}"


@frozen
class JobObserved(Event):
    """A poll has shown the phase of a job.

    Attributes:
        kind: Kind of the job.
        target: Identifier of the keyword, prompt or content that the job works on; for a search or document, its own.
        phase: ``running``, ``review``, ``succeeded``, ``failed`` or ``unclear``.
        age: Seconds since the job was launched, or since it was first watched.
        reason: Why the phase is ``unclear``.
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
    """Pass events to the log and to hooks."""

    def __init__(self, hooks: Sequence[Hook] = ()) -> None:
        self._hooks = tuple(hooks)

    def wants(self, kind: type[Event]) -> bool:
        """Return True if a hook or the log would receive events of a kind."""
        return bool(self._hooks) or logger.isEnabledFor(kind.level)

    def __call__(self, event: Event) -> None:
        """Pass on an event."""
        if logger.isEnabledFor(event.level):
            logger.log(event.level, "%s", event)
        for hook in self._hooks:
            try:
                hook(event)
            except Exception:
                logger.exception("a hook failed for %s", type(event).__name__)
