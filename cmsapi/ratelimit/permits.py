"""One token, which stands for one request, and what the answer to a request says of the limits."""

from __future__ import annotations

from typing import Literal, TypeAlias

import attrs

Stage: TypeAlias = Literal["taken", "departed", "answered", "lost", "unsent"]
# The stages of a token that has not ended.
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


class Token:
    """Stand for one request: blank until `Windows.take` fills it in, and then ended once.

    How it ends is `answered`, `lost` or `unsent`. Ending it again changes nothing.
    """

    __slots__ = ("left", "settled", "stage", "taken_at")

    stage: Stage
    taken_at: float
    # How many own requests had settled, and how many of them had left the hour, when it was taken.
    settled: int
    left: int

    def departing(self) -> None:
        """Note that the request's bytes may leave from now on."""
        if self.stage == "taken":
            self.stage = "departed"
