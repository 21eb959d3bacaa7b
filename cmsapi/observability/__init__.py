"""What the SDK tells about itself while it works."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from cmsapi.observability.events import (
    CallFinished,
    CallStarted,
    Event,
    Hook,
    JobObserved,
    JobReleased,
    JobWatched,
    QuotaWait,
    RateLimitPaused,
    RequestFinished,
    RequestStarted,
    RetryScheduled,
    Throttled,
)

__all__ = [
    "EVENT_NAMES",
    "CallFinished",
    "CallStarted",
    "Event",
    "Hook",
    "Hooks",
    "JobObserved",
    "JobReleased",
    "JobWatched",
    "QuotaWait",
    "RateLimitPaused",
    "RequestFinished",
    "RequestStarted",
    "RetryScheduled",
    "Throttled",
    "log_event",
    "warn_of_waits",
]

logger: logging.Logger = logging.getLogger("cmsapi")

# A pause longer than this, in seconds, is worth a warning.
LONG_PAUSE = 5.0

# What filters and dashboards know the events by: these names do not change.
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
_TELLING = (QuotaWait, RateLimitPaused, RetryScheduled, Throttled)


class Hooks:
    """Call hooks in order. A hook that raises is logged and forgotten: telling must not break doing.

    Args:
        hooks: The hooks that a user gave to a client.
        own: Those that every client has; they are called first.
    """

    __slots__ = ("_hooks", "listening")

    def __init__(self, hooks: Sequence[Hook] = (), own: Sequence[Hook] = ()) -> None:
        self._hooks = (*own, *hooks)
        #: Whether a user listens: some events are for nobody else.
        self.listening: bool = bool(hooks)

    def __call__(self, event: Event) -> None:
        """Call each hook with an event; what a hook raises is logged."""
        for hook in self._hooks:
            try:
                hook(event)
            except Exception:
                logger.exception("hook failed on %s", type(event).__name__)


def warn_of_waits(event: Event) -> None:
    """Warn of what makes a program stand still; a hook that every client has."""
    match event:
        case QuotaWait():
            logger.warning(
                "calls wait for the request limit, the first of them about %.0f s", event.expected, extra=_extra(event)
            )
        case RateLimitPaused() if event.seconds > LONG_PAUSE:
            logger.warning(
                "the service asked for a pause: all calls rest for %.0f s", event.seconds, extra=_extra(event)
            )


def log_event(event: Event) -> None:
    """Log an event to the logger `cmsapi`; a hook for `Client(hooks=[log_event])`.

    Waits, pauses and retries are information, everything else is for debugging. Long waits are warned of anyway. The
    message is the event's stable name and its fields; the record has them as `event` and `fields`, too.
    """
    level = logging.INFO if isinstance(event, _TELLING) else logging.DEBUG
    if not logger.isEnabledFor(level):
        return
    extra = _extra(event)
    told = " ".join(f"{name}={value!r}" for name, value in extra["fields"].items())
    logger.log(level, "%s %s", extra["event"], told, extra=extra)


def _extra(event: Event) -> dict[str, Any]:
    return {"event": EVENT_NAMES[type(event)], "fields": attrs.asdict(event)}
