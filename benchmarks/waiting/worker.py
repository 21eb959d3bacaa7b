"""Measure one way in this process: `python -m benchmarks.waiting.worker NAME JOBS SECONDS`, or with 0 s its memory."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
import tracemalloc

from benchmarks.waiting.contestants import CONTESTANTS

_PROBE = 0.01


async def _memory(name: str, jobs: int) -> dict[str, float]:
    """Return the bytes that a waiting job takes."""
    warm = CONTESTANTS[name]()
    await warm.begin(10)
    await warm.end()
    contestant = CONTESTANTS[name]()
    gc.collect()
    tracemalloc.start()
    await contestant.begin(jobs)
    gc.collect()
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    await contestant.end()
    return {"bytes": taken / jobs}


async def _lateness(seconds: float) -> list[float]:
    """Return how late a timer was that rang a hundred times a second."""
    loop, late = asyncio.get_running_loop(), []
    until = loop.time() + seconds
    while (now := loop.time()) < until:
        await asyncio.sleep(_PROBE)
        late.append(loop.time() - now - _PROBE)
    return late


async def _cpu(name: str, jobs: int, seconds: float) -> dict[str, float]:
    """Return the seconds of CPU of begin, end and each poll, and how late other timers are meanwhile."""
    contestant = CONTESTANTS[name]()
    gc.collect()
    began = time.process_time()
    await contestant.begin(jobs)
    created = time.process_time() - began
    # Who begins to poll only after a while polls all of them by then.
    await asyncio.sleep(seconds / 2)
    polls, began = contestant.polls, time.process_time()
    late = sorted(await _lateness(seconds))
    polling, polls = time.process_time() - began, contestant.polls - polls
    # A full collection is due at some time or other, and is not the last one's fault.
    gc.collect()
    began = time.process_time()
    await contestant.end()
    ended = time.process_time() - began
    return {
        "creation": created / jobs,
        "poll": polling / polls if polls else 0.0,
        "polls": polls / seconds,
        "busy": polling / seconds,
        "lag": late[int(len(late) * 0.99)],
        "cancellation": ended / jobs,
    }


if __name__ == "__main__":
    _, which, how_many, how_long = sys.argv
    main = _cpu(which, int(how_many), float(how_long)) if float(how_long) else _memory(which, int(how_many))
    print(json.dumps(asyncio.run(main)))
