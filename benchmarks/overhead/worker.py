"""Call as one contestant, whenever told to: `python -m benchmarks.overhead.worker URL NAME with|without` (orjson).

Each line that comes in names a way to call; each line that goes out says how many seconds of CPU a call took.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import Awaitable, Callable

_CALLS = 200
_TOGETHER = 100
_CALLS_EACH = 4


async def _sequential(call: Callable[[], Awaitable[object]]) -> None:
    for _ in range(_CALLS):
        await call()


async def _concurrent(call: Callable[[], Awaitable[object]]) -> None:
    async def one() -> None:
        for _ in range(_CALLS_EACH):
            await call()

    await asyncio.gather(*(one() for _ in range(_TOGETHER)))


WAYS = {"sequential": _sequential, "concurrent": _concurrent}
CALLS = {"sequential": _CALLS, "concurrent": _TOGETHER * _CALLS_EACH}


async def work(url: str, name: str) -> None:
    """Carry out each command until standard input ends."""
    from benchmarks.overhead.contestants import CONTESTANTS
    from benchmarks.overhead.layers import LAYERS

    async with {**LAYERS, **CONTESTANTS}[name](url) as call:
        print("ready", flush=True)
        # The loop stands still until it is this process's turn: nothing else is to be measured.
        for line in sys.stdin:
            way = line.strip()
            # First for nothing: connections are made, and the interpreter learns. Never more of them than this way
            # needs, because some go through all they have at each call.
            await WAYS[way](call)
            gc.collect()
            began = time.process_time()
            await WAYS[way](call)
            print((time.process_time() - began) / CALLS[way], flush=True)


if __name__ == "__main__":
    _, where, which, orjson = sys.argv
    if orjson == "without":
        sys.modules["orjson"] = None  # type: ignore[assignment]  # what makes an import fail
    asyncio.run(work(where, which))
