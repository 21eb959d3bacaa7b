"""Call the hooks of a client with its events, and write events to the log `cmsapi`."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import attrs

from cmsapi.observability.events import (
    Event,
    Hook,
    QuotaWait,
    RateLimitPaused,
    RetryScheduled,
    Throttled,
)

logger: logging.Logger = logging.getLogger("cmsapi")

# Shorter pauses, in seconds, are not worth a warning.
_LONG_PAUSE = 5.0
_INFO_EVENTS = (QuotaWait, RateLimitPaused, RetryScheduled, Throttled)


class Hooks:
    """Call the hooks of a client in order. An error of a hook is logged, and does not reach the client's work."""

    __slots__ = ("_hooks", "listening")

    def __init__(self, hooks: Sequence[Hook] = ()) -> None:
        self._hooks = (_warn_of_waits, *hooks)
        #: Whether a user gave hooks: without them some events are not made.
        self.listening: bool = bool(hooks)

    def __call__(self, event: Event) -> None:
        """Call each hook with an event."""
        for hook in self._hooks:
            try:
                hook(event)
            except Exception:
                logger.exception("A hook failed on %s.", type(event).__name__)


def _warn_of_waits(event: Event) -> None:
    """Log a warning when calls have to wait for long; a hook that every client has."""
    match event:
        case QuotaWait():
            logger.warning(
                "Calls wait for the request limit, the first one about %.0f s.", event.expected, extra=_extra(event)
            )
        case RateLimitPaused() if event.seconds > _LONG_PAUSE:
            logger.warning(
                "The service asked for a pause: all calls wait for %.0f s.", event.seconds, extra=_extra(event)
            )


def log_event(event: Event) -> None:
    """Log an event to the logger `cmsapi`; a hook for `Client(hooks=[log_event])`.

    Waits, pauses and retries have the level INFO, all other events DEBUG. Every client warns of long waits, even
    without this hook. The message is the event's stable name with its fields; the record also has them as `event` and
    `fields`.
    """
    level = logging.INFO if isinstance(event, _INFO_EVENTS) else logging.DEBUG
    if not logger.isEnabledFor(level):
        return
    extra = _extra(event)
    fields = " ".join(f"{name}={value!r}" for name, value in extra["fields"].items())
    logger.log(level, "%s %s", extra["event"], fields, extra=extra)


def _extra(event: Event) -> dict[str, Any]:
    return {"event": event.name, "fields": attrs.asdict(event)}
