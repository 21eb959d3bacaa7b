"""Measure all contestants in this process, in turn: `python -m benchmarks.overhead.worker URL ROUNDS WHICH ORJSON`."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import sys
import time
from typing import Any

_CALLS = 200
_TOGETHER = 100
_CALLS_EACH = 4


async def _sequential(call: object) -> int:
    for _ in range(_CALLS):
        await call()  # type: ignore[operator]  # any contestant's call
    return _CALLS


async def _concurrent(call: object) -> int:
    async def one() -> None:
        for _ in range(_CALLS_EACH):
            await call()  # type: ignore[operator]  # any contestant's call

    await asyncio.gather(*(one() for _ in range(_TOGETHER)))
    return _TOGETHER * _CALLS_EACH


CALLS = {"sequential": _CALLS, "concurrent": _TOGETHER * _CALLS_EACH}
WAYS = {"sequential": _sequential, "concurrent": _concurrent}


async def measure(url: str, rounds: int, which: str) -> dict[str, Any]:
    """Return the seconds of CPU per call of all rounds, by way and contestant.

    Args:
        url: The server.
        rounds: How often each is measured.
        which: `all` contestants, `ours` and the bare transport, or our `layers`.
    """
    from benchmarks.overhead.contestants import BARE, CONTESTANTS, MISSING, OURS
    from benchmarks.overhead.layers import LAYERS

    chosen = LAYERS if which == "layers" else CONTESTANTS
    if which == "ours":
        chosen = {name: CONTESTANTS[name] for name in (BARE, OURS)}
    costs: dict[str, dict[str, list[float]]] = {way: {name: [] for name in chosen} for way in WAYS}
    async with contextlib.AsyncExitStack() as stack:
        calls = {name: await stack.enter_async_context(opened(url)) for name, opened in chosen.items()}
        for number in range(-1, rounds):
            for way, go in WAYS.items():
                for name, call in calls.items():
                    # Some keep a connection for a few seconds only, which the others take.
                    await asyncio.gather(*(call() for _ in range(_TOGETHER)))
                    gc.collect()
                    began = time.process_time()
                    made = await go(call)
                    # The first round warms everything up.
                    if number >= 0:
                        costs[way][name].append((time.process_time() - began) / made)
    return {"costs": costs, "missing": MISSING}


if __name__ == "__main__":
    _, where, how_often, chosen_ones, with_orjson = sys.argv
    if with_orjson == "without":
        sys.modules["orjson"] = None  # type: ignore[assignment]  # what makes an import fail
    print(json.dumps(asyncio.run(measure(where, int(how_often), chosen_ones))))
