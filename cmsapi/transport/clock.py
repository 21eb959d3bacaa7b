"""The service's clock, learned from its answers.

Comparisons with the service's timestamps ("was this analysed after we asked?") must not use the clock of this machine,
which may be wrong by hours. `Date` is cut to a second and takes its time to arrive, and not every machine of a service
has the same time. So the clock is an interval.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime

from cmsapi.transport.protocol import read_date

# Further off than cutting, travelling and several machines explain: the service's clock was set.
STEP = 5.0
_CUT = 1.0


class ServerClock:
    """Learn the service's time."""

    __slots__ = ("_high", "_low", "_seen")

    def __init__(self) -> None:
        # By how much it is ahead of the loop's, at least and at most. Answers of machines that contradict each other
        # turn the two round: then the first is of the fastest clock and the second of the slowest.
        self._low: float | None = None
        self._high = 0.0
        self._seen: str | None = None

    def learn(self, headers: Mapping[str, str], sent_at: float) -> None:
        """Take the `Date` of an answer that has just arrived, to a request that left at a loop time."""
        said = headers.get("date")
        # Most answers repeat a second, and the first of each second is the exact one.
        if said == self._seen:
            return
        self._seen = said
        if (seconds := read_date(headers)) is None:
            return
        low, high = seconds - asyncio.get_running_loop().time(), seconds + _CUT - sent_at
        if self._low is None or high < self._low - STEP or low > self._high + STEP:
            self._low, self._high = low, high
        else:
            self._low, self._high = max(self._low, low), min(self._high, high)

    def at(self, loop_time: float) -> datetime | None:
        """Return the earliest time that the service may have had at a moment of the loop; None before it is known."""
        if self._low is None:
            return None
        contradict = self._low > self._high + _CUT
        return datetime.fromtimestamp((self._high - _CUT if contradict else self._low) + loop_time, UTC)

    def latest_at(self, loop_time: float) -> datetime | None:
        """Return the latest time that the service may have had at a moment of the loop; None before it is known."""
        if self._low is None:
            return None
        contradict = self._low > self._high + _CUT
        return datetime.fromtimestamp((self._low + _CUT if contradict else self._high) + loop_time, UTC)
