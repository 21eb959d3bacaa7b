"""The permit for one request, and what the answer to a request says of the limits."""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

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


class PermitOwner(Protocol):
    """Give permits, and learn how each of them ends."""

    def answered(self, permit: Permit, quota: Quota | None) -> None:
        """Settle a permit: the service has seen its request."""
        ...

    def lost(self, permit: Permit) -> None:
        """Give a request up that may still arrive."""
        ...

    def unsent(self, permit: Permit) -> None:
        """Take a permit back: nothing was sent."""
        ...

    def pause(self, seconds: float) -> None:
        """Let all calls rest."""
        ...


class Unlimited:
    """Own the permits of requests that no window counts (specification 8, rule 3)."""

    def answered(self, permit: Permit, quota: Quota | None) -> None:
        """Settle a permit."""
        permit.stage = "answered"

    def lost(self, permit: Permit) -> None:
        """Give a request up."""
        permit.stage = "lost"

    def unsent(self, permit: Permit) -> None:
        """Take a permit back."""
        permit.stage = "unsent"

    def pause(self, seconds: float) -> None:
        """Hold no call back: such an answer does not mean the limits of the key."""


UNLIMITED = Unlimited()


class Permit:
    """Allow one request. Its holder ends it once: `answered`, `lost` or `unsent`. Ending it again changes nothing.

    Args:
        owner: Gave it.
    """

    __slots__ = ("_owner", "left", "settled", "stage", "taken_at")

    taken_at: float
    #: How many own requests had settled, and how many of them had left the hour, when it was taken.
    settled: int
    left: int

    def __init__(self, owner: PermitOwner = UNLIMITED) -> None:
        self._owner = owner
        self.stage: Stage = "taken"

    def departing(self) -> None:
        """Note that the request's bytes may leave from now on."""
        if self.stage == "taken":
            self.stage = "departed"

    def refused(self, seconds: float) -> None:
        """Let all calls rest, because the service has answered 429."""
        self._owner.pause(seconds)

    def answered(self, quota: Quota | None = None) -> None:
        """Settle: the service has seen the request.

        Args:
            quota: What the answer says of the limits.
        """
        self._owner.answered(self, quota)

    def lost(self) -> None:
        """Note that there will be no answer, although the request may still arrive."""
        self._owner.lost(self)

    def unsent(self) -> None:
        """Give the permit back: nothing has left this machine."""
        self._owner.unsent(self)
