"""Keep something for each event loop of the process; loops come and go in any thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def of_loop(kept: dict[asyncio.AbstractEventLoop, T], make: Callable[[], T]) -> T:
    """Return what is kept for the running loop, and forget what was kept for closed ones.

    Only single operations of the dictionary are used, because each of them is atomic: several threads may call this at
    once, each with a loop of its own.

    Args:
        kept: What is kept, by loop.
        make: Makes it for a loop that has none.
    """
    loop = asyncio.get_running_loop()
    found = kept.get(loop)
    if found is None:
        for other in list(kept):
            if other.is_closed():
                kept.pop(other, None)
        found = kept[loop] = make()
    return found
