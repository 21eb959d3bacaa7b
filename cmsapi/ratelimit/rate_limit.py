"""Show how much of the limits is left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from cmsapi.display import markup


@attrs.frozen
class RateLimit:
    """Show how much of the limits is left, as this client knows it.

    Args:
        limit: Requests an hour in force, or None for no limit.
        remaining: Requests that the hour admits now, or None for no limit.
        reset_in: Seconds until the hour gives the next request back; 0 when that takes an answer first.
        reserve: Requests of the hour that polls leave to other calls.
        queued: Calls that wait for quota.
        waiting: The same by priority: `"interactive"`, `"launch"`, `"result"`, `"poll"`.
        in_flight: Requests that wait for their answer.
        foreign: Requests of this hour that others made with the same key, as far as the answers tell.
        paused_for: Seconds for which all calls pause because of a 429.
    """

    limit: int | None
    remaining: int | None
    reset_in: float
    reserve: int
    queued: int
    waiting: Mapping[str, int] = attrs.field(hash=False)
    in_flight: int
    foreign: int
    paused_for: float

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as values of JSON."""
        return attrs.asdict(self)

    def _repr_html_(self) -> str:
        return markup.record(self, title="Rate limit")
