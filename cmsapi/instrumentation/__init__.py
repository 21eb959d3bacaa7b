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
    "log_event",
]

logger: logging.Logger = logging.getLogger("cmsapi")


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


def log_event(event: Event) -> None:
    """Log an event; a hook for `Client(hooks=[log_event])`.

    Waits for quota and pauses are warnings, retries are information, everything else is for debugging.
    """
    level = {QuotaWait: logging.WARNING, RateLimitPaused: logging.WARNING, RetryScheduled: logging.INFO}
    logger.log(level.get(type(event), logging.DEBUG), "%s", event)
