"""The precision of the clock of the event loops, and the words for a wait.

Before Python 3.13 the clock of Windows ticks 64 times a second and stands still in between, so that events up to a tick
apart seem to be at one moment. The clocks of the other systems are exact enough not to matter.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

# Shorter than any round trip.
_EXACT = 0.001


def clock_tick() -> float:
    """Return for how many seconds the clock stands still; 0 for an exact one."""
    tick = time.get_clock_info("monotonic").resolution
    return tick if tick > _EXACT else 0.0


def until(seconds: float) -> str:
    """Describe how long a wait is, and when it ends on the clock of this machine."""
    ends = datetime.now(UTC) + timedelta(seconds=seconds)
    return f"{seconds:,.0f} s, until {ends:%Y-%m-%d %H:%M:%S} UTC"
