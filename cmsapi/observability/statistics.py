"""Count what a client has done."""

from __future__ import annotations

from typing import Any

import attrs

from cmsapi.api.wire.drift import Deviation
from cmsapi.display import markup


@attrs.frozen(kw_only=True)
class Statistics:
    """Show what a client has done since it was made.

    Args:
        requests: Attempts, polls included.
        answered: Attempts that got an answer of any status.
        retries: Attempts that were retries.
        rate_limited: Answers with status 429.
        polls: Polls of jobs.
        poll_failures: Failed polls.
        drift: Differences between answers and the specification.
    """

    requests: int
    answered: int
    retries: int
    rate_limited: int
    polls: int
    poll_failures: int
    drift: tuple[Deviation, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as values of JSON."""
        return attrs.asdict(self)

    def _repr_html_(self) -> str:
        counts = attrs.asdict(self, recurse=False)
        del counts["drift"]
        drift = markup.listing("drift", self.drift) if self.drift else ""
        return markup.facts("Statistics", counts.items()) + drift


@attrs.define
class Counters:
    """Hold the counts of a client so far, as `Statistics` shows them."""

    requests: int = 0
    answered: int = 0
    retries: int = 0
    rate_limited: int = 0
    polls: int = 0
    poll_failures: int = 0

    def snapshot(self, drift: tuple[Deviation, ...]) -> Statistics:
        """Return the current counts."""
        return Statistics(**attrs.asdict(self), drift=drift)
