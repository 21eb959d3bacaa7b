"""Hold many callers and many waiting jobs for long, and look what is left of them: memory, tasks, sockets, permits."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs

import cmsapi
from cmsapi import errors

# The in-flight cap and the service's second are over by then.
_REST = 5.0
# The time begins when this part of the jobs is waited for: while others end, some are about to be launched again.
_LAUNCHED = 0.95
# Memory is judged after this part of the time: caches are full then, and every job has been polled.
_WARM = 1 / 3


@attrs.frozen(kw_only=True)
class Burden:
    """Say how much is held for how long.

    Args:
        callers: Calls that are made again and again, at the same time.
        jobs: Jobs that are waited for at the same time; one that ends is launched again.
        lasts: Seconds, from the moment when all of the jobs were launched.
        pause: Seconds between two calls of one caller, on average.
        patience: Seconds before a launch that failed is tried again.
        samples: How often memory is measured.
        seed: Seed of the service and of the callers.
    """

    callers: int
    jobs: int
    lasts: float
    pause: float
    patience: float
    samples: int = 48
    seed: int = 0


@attrs.define
class Soaked:
    """Say how it went.

    Args:
        burden: What was held.
        ends: How calls and waits ended.
        fewest: Jobs that were waited for at the least.
        memory: Seconds since all jobs were launched, and resident bytes.
        leaked: What was left in the end.
    """

    burden: Burden
    ends: Counter[str] = attrs.field(factory=Counter)
    fewest: int = 0
    memory: list[tuple[float, int]] = attrs.field(factory=list)
    leaked: dict[str, int] = attrs.field(factory=dict)

    @property
    def slope(self) -> float:
        """Bytes that memory grows by in a second, by least squares over what comes after warming up."""
        points = [(at, size) for at, size in self.memory if at >= self.burden.lasts * _WARM]
        return statistics.linear_regression(*zip(*points, strict=True)).slope


async def soak(
    client: cmsapi.Client,
    beside: cmsapi.Client,
    calls: Sequence[Callable[[], Any]],
    targets: Sequence[str],
    burden: Burden,
    *,
    sampled: Callable[[], None] = lambda: None,
) -> Soaked:
    """Hold a burden with a client that is not used for anything else, and close it.

    Args:
        client: The client.
        beside: Another one of the same key, which shows what the first has left of their limits.
        calls: What callers do, by chance.
        targets: Keywords to analyse, one for each job.
        burden: How much, and for how long.
        sampled: Called whenever memory is measured, before that.
    """
    loop, soaked, waiting = asyncio.get_running_loop(), Soaked(burden), set[str]()
    tasks, sockets, launched = len(asyncio.all_tasks()), open_sockets(), asyncio.Event()

    async def call(rng: random.Random) -> None:
        while True:
            await asyncio.sleep(rng.uniform(0.0, 2 * burden.pause))
            soaked.ends[await _end(rng.choice(calls))] += 1

    async def follow(target: str) -> None:
        while True:
            job: cmsapi.Job[Any] | None = None
            try:
                job = await client.keywords.analyze(target)
                waiting.add(target)
                if len(waiting) >= _LAUNCHED * burden.jobs:
                    launched.set()
                await job
                soaked.ends["job: result"] += 1
            except errors.CMSError as error:
                soaked.ends[f"job: {type(error).__name__}"] += 1
                await asyncio.sleep(burden.patience)
            waiting.discard(target)

    async with client:
        held = [loop.create_task(call(random.Random(burden.seed + number))) for number in range(burden.callers)]
        held += [loop.create_task(follow(target)) for target in targets[: burden.jobs]]
        await launched.wait()
        began, soaked.fewest = loop.time(), len(waiting)
        while (gone := loop.time() - began) <= burden.lasts:
            sampled()
            gc.collect()
            soaked.memory.append((gone, resident()))
            soaked.fewest = min(soaked.fewest, len(waiting))
            await asyncio.sleep(burden.lasts / burden.samples)
        for each in held:
            each.cancel()
        await asyncio.wait(held)
        failed = [each for each in held if not each.cancelled()]
        await asyncio.sleep(_REST)
    # Polls that had begun when they were still wanted wait for their turn until the client is closed.
    await asyncio.sleep(0.1)
    async with beside:
        limit = beside.rate_limit
    soaked.leaked = {
        "callers that ended otherwise": len(failed),
        "permits": limit.in_flight,
        "waiters of the limiter": limit.queued,
        "tasks": len(asyncio.all_tasks()) - tasks,
        "sockets": open_sockets() - sockets,
    }
    return soaked


async def _end(ask: Callable[[], Any]) -> str:
    try:
        await ask()
    except errors.CMSError as error:
        return type(error).__name__
    return "result"


def resident() -> int:
    """Return the bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def open_sockets() -> int:
    """Count the sockets that this process has open."""
    found = 0
    for each in Path("/proc/self/fd").iterdir():
        try:
            found += str(each.readlink()).startswith("socket:")
        except OSError:  # the one that lists the directory
            continue
    return found
