"""The service's clock, as far as its answers tell it.

Comparisons with the service's timestamps ("was this analysed after we asked?") must not use the clock of this machine,
which may be wrong by hours. `Date` is exact to a second, and so is this.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime

from cmsapi.transport.protocol import read_date

# Further back than cutting and travelling explain: the service's clock was set back.
STEP = 5.0


class ServerClock:
    """Learn and tell the service's time."""

    __slots__ = ("_offset", "_seen")

    def __init__(self) -> None:
        self._offset: float | None = None
        self._seen: str | None = None

    def learn(self, headers: Mapping[str, str]) -> None:
        """Take the `Date` of an answer that has just arrived."""
        said = headers.get("date")
        # Most answers repeat a second, and the first of each second is the exact one.
        if said == self._seen:
            return
        self._seen = said
        if (seconds := read_date(headers)) is None:
            return
        offset = seconds - asyncio.get_running_loop().time()
        # Each `Date` was cut to a second and has travelled, so each offset is at most too small: the largest is best.
        if self._offset is None or offset > self._offset or offset < self._offset - STEP:
            self._offset = offset

    def at(self, loop_time: float) -> datetime | None:
        """Return the service's time at a moment of the loop, or None before it is known."""
        return None if self._offset is None else datetime.fromtimestamp(self._offset + loop_time, UTC)
