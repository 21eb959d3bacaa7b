"""Waiting for tasks that belong to the client and not to those who wait."""

from __future__ import annotations

import asyncio
from typing import TypeVar

T = TypeVar("T")


async def outcome_of(task: asyncio.Task[T]) -> T:
    """Wait for a task that goes on when the one who waits is cancelled, and return its result or raise its error.

    `asyncio.shield` does the same, but since Python 3.14 it reports an error to the loop when no caller waits any more.
    """
    await asyncio.wait([task])
    return task.result()
