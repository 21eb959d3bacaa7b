"""What the SDK tells about itself while it works."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from cmsapi.instrumentation.events import (
    Event,
    Hook,
    JobObserved,
    QuotaWait,
    RateLimitPaused,
    RequestFinished,
    RetryScheduled,
    Throttled,
)

__all__ = [
    "Event",
    "Hook",
    "Hooks",
    "JobObserved",
    "QuotaWait",
    "RateLimitPaused",
    "RequestFinished",
    "RetryScheduled",
    "Throttled",
    "log_event",
    "warn_of_waits",
]

logger: logging.Logger = logging.getLogger("cmsapi")

# A pause longer than this, in seconds, is worth a warning.
LONG_PAUSE = 5.0


class Hooks:
    """Call hooks in order. A hook that raises is logged and forgotten: telling must not break doing.

    Args:
        hooks: The hooks of one client.
    """

    __slots__ = ("_hooks",)

    def __init__(self, hooks: Sequence[Hook] = ()) -> None:
        self._hooks = tuple(hooks)

    def __call__(self, event: Event) -> None:
        for hook in self._hooks:
            try:
                hook(event)
            except Exception:
                logger.exception("hook failed on %s", type(event).__name__)


def warn_of_waits(event: Event) -> None:
    """Warn of what makes a program stand still; a hook that every client has."""
    match event:
        case QuotaWait():
            logger.warning("calls wait for the request limit, the first of them about %.0f s", event.expected)
        case RateLimitPaused() if event.seconds > LONG_PAUSE:
            logger.warning("the service asked for a pause: all calls rest for %.0f s", event.seconds)


def log_event(event: Event) -> None:
    """Log an event; a hook for `Client(hooks=[log_event])`.

    Waits, pauses and retries are information, everything else is for debugging. Long waits are warned of anyway.
    """
    telling = isinstance(event, QuotaWait | RateLimitPaused | RetryScheduled | Throttled)
    logger.log(logging.INFO if telling else logging.DEBUG, "%s", event)
