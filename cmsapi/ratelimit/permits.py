"""The permit for one request, and what the answer to a request says of the limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

import attrs

Stage: TypeAlias = Literal["taken", "departed", "answered", "lost", "unsent"]
# The stages of a permit that has not ended.
OUT = ("taken", "departed")


@attrs.frozen
class Quota:
    """Hold what the three headers of an answer say (specification 8, rule 2).

    Args:
        limit: Requests an hour.
        remaining: Requests left in the rolling window when this one had been counted.
        reset: Seconds until the oldest request leaves the window; neither an epoch nor the time until all are back.
    """

    limit: int
    remaining: int
    reset: float


class Permit:
    """Allow one request. Its holder ends it once: `answered`, `lost` or `unsent`. Ending it again changes nothing.

    Args:
        ended: Called when it ends, with what the answer says of the limits. None for a request that no window counts
            (specification 8, rule 3).
    """

    __slots__ = ("_ended", "left", "settled", "stage", "taken_at")

    taken_at: float
    #: How many own requests had settled, and how many of them had left the hour, when it was taken.
    settled: int
    left: int

    def __init__(self, ended: Callable[[Permit, Quota | None], None] | None = None) -> None:
        self._ended = ended
        self.stage: Stage = "taken"

    def departing(self) -> None:
        """Note that the request's bytes may leave from now on."""
        if self.stage == "taken":
            self.stage = "departed"

    def answered(self, quota: Quota | None = None) -> None:
        """Settle: the service has seen the request.

        Args:
            quota: What the answer says of the limits.
        """
        if self.stage in OUT:
            self.stage = "answered"
            if self._ended is not None:
                self._ended(self, quota)

    def lost(self) -> None:
        """Note that there will be no answer, although the request may still arrive."""
        if self.stage in OUT:
            self.stage = "lost"
            if self._ended is not None:
                self._ended(self, None)

    def unsent(self) -> None:
        """Give the permit back: nothing has left this machine."""
        if self.stage in OUT:
            self.stage = "unsent"
            if self._ended is not None:
                self._ended(self, None)
