"""What a client has done so far, in numbers."""

from __future__ import annotations

import attrs

from cmsapi.api.wire.drift import Deviation
from cmsapi.display import markup
from cmsapi.observability.events import Event, JobObserved, RateLimitPaused, RetryScheduled


@attrs.frozen(kw_only=True)
class Statistics:
    """Show what a client has done since it was made.

    Args:
        requests: Attempts that were made, polls included.
        answered: Those that got an answer of any status.
        retries: Repeats among them.
        rate_limited: 429 answers.
        polls: Looks at jobs.
        poll_failures: Looks that failed.
        drift: Where answers differed from what the specification shows.
    """

    requests: int
    answered: int
    retries: int
    rate_limited: int
    polls: int
    poll_failures: int
    drift: tuple[Deviation, ...]

    def _repr_html_(self) -> str:
        counts = [(name, getattr(self, name)) for name in _COUNTS]
        return markup.facts("Statistics", counts) + (markup.listing("drift", self.drift) if self.drift else "")


_COUNTS = ("requests", "answered", "retries", "rate_limited", "polls", "poll_failures")


class Tally:
    """Count events, as the first hook of every client; attempts apart, for which nobody else may want an event."""

    def __init__(self) -> None:
        self._requests = self._answered = self._retries = self._rate_limited = self._polls = self._poll_failures = 0

    def __call__(self, event: Event) -> None:
        """Count an event."""
        match event:
            case RetryScheduled():
                self._retries += 1
            case RateLimitPaused():
                self._rate_limited += 1
            case JobObserved():
                self._polls += 1
                self._poll_failures += event.error is not None

    def count_request(self, *, answered: bool) -> None:
        """Count an attempt."""
        self._requests += 1
        self._answered += answered

    def snapshot(self, drift: tuple[Deviation, ...]) -> Statistics:
        """Show the counts as they stand."""
        return Statistics(
            requests=self._requests,
            answered=self._answered,
            retries=self._retries,
            rate_limited=self._rate_limited,
            polls=self._polls,
            poll_failures=self._poll_failures,
            drift=drift,
        )
