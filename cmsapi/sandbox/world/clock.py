"""The clock of the sandbox: a counter of seconds, and the moments that its readings mean.

Limits, jobs and the ledger compare seconds of the counter. Under virtual time these are exactly the numbers that a
client on the same loop sees; adding an epoch would round them. Timestamps are moments (epoch seconds).
"""

from __future__ import annotations

import asyncio
import functools
import time
from datetime import UTC, datetime
from email.utils import formatdate

FIRST_MOMENT = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
_REAL_TIME_SLACK = 1.0


class Clock:
    """Follow the running event loop, virtual or real.

    The first reading means 2026-01-01T00:00:00Z. Without a running loop the clock stands still; on another loop it
    continues from its last reading.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._shift = 0.0
        self._last = 0.0
        self._epoch = FIRST_MOMENT

    def seconds(self) -> float:
        """Return the loop's time, in seconds."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return self._last
        if loop is not self._loop:
            self._follow(loop)
        self._last = loop.time() + self._shift
        return self._last

    def moment(self, seconds: float) -> float:
        """Return the epoch seconds that a reading means."""
        return self._epoch + seconds

    def step(self, seconds: float) -> None:
        """Step forward, or back by negative seconds: each reading means another moment from now on."""
        self._epoch += seconds

    def follow_wall_clock(self) -> None:
        """Let the present reading mean the present moment, unless the loop's time is virtual."""
        seconds = self.seconds()
        if abs(asyncio.get_running_loop().time() - time.monotonic()) < _REAL_TIME_SLACK:
            self._epoch = max(self._epoch, time.time() - seconds)

    def _follow(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._loop is None:
            self._epoch -= loop.time()
        else:
            self._shift = self._last - loop.time()
        self._loop = loop


def timestamp(moment: float) -> str:
    """Write epoch seconds as ISO 8601 in UTC with milliseconds, ending in Z."""
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def optional_timestamp(moment: float | None) -> str | None:
    """Write epoch seconds as `timestamp` does; None stays None."""
    return None if moment is None else timestamp(moment)


def date_header(moment: float) -> str:
    """Write epoch seconds as the `Date` header (RFC 7231, 7.1.1.1)."""
    return _date_header(int(moment))


@functools.lru_cache(maxsize=4)  # many answers leave within one second
def _date_header(second: int) -> str:
    return formatdate(second, usegmt=True)
