"""Which runs are made: `CHAOS_SEED` moves all of them."""

from __future__ import annotations

import os

FIRST = int(os.environ.get("CHAOS_SEED", "0"))


def seeds(count: int) -> range:
    """Return so many seeds."""
    return range(FIRST, FIRST + count)
