"""A process that shares a state with others: `python -m tests.state.worker WHAT URL …`, for the tests and benchmarks."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any, cast

import cmsapi
from cmsapi.config import Account
from cmsapi.state.opening import open_state
from cmsapi.state.sharing import SharedWindows
from cmsapi.state.windows import Windows
from cmsapi.transport.clock import ServerClock
from cmsapi.transport.http import AiohttpTransport
from cmsapi.transport.message import Request
from cmsapi.transport.pipeline import Demand, Pipeline
from cmsapi.transport.ratelimit import RateLimiter


async def saturate(url: str, base_url: str, key: str, seconds: float, callers: int, per_hour: int) -> None:
    """Call the service without a pause from so many callers, and say what came of it."""
    loop = asyncio.get_running_loop()
    state = open_state(url)
    account = Account(key, base_url)
    windows = SharedWindows(state, account.digest, 20, per_hour)
    limiter = RateLimiter(cast("Windows", windows))
    windows.connect(lambda: (limiter.snapshot().queued, 0), limiter.serve)
    transport = AiohttpTransport(cmsapi.Timeouts())
    pipeline = Pipeline(
        transport=transport,
        find_limiter=lambda: limiter,
        clock=ServerClock(),
        retry=cmsapi.RetryPolicy(max_attempts=1),
        timeouts=cmsapi.Timeouts(),
    )
    operation = cmsapi.OPERATIONS["get_me"]
    request = Request("GET", f"{base_url}/v1/me", {"authorization": f"Bearer {key}"}, None)
    done = {"answered": 0, "failed": 0}
    until = loop.time() + seconds

    async def call() -> None:
        while loop.time() < until:
            try:
                await pipeline.send(operation, request, Demand())
                done["answered"] += 1
            except cmsapi.CMSError as error:
                done["failed"] += 1
                print(error, file=sys.stderr)

    say("ready")
    try:
        async with asyncio.timeout(seconds):
            await asyncio.gather(*(call() for _ in range(callers)))
    except TimeoutError:
        pass
    await windows.aclose()
    await state.aclose()
    await transport.aclose()
    say({**done, "turns": windows.turns})


def say(what: Any) -> None:
    """Tell the parent process."""
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["saturate", url, base_url, key, seconds, callers, per_hour]:
            asyncio.run(saturate(url, base_url, key, float(seconds), int(callers), int(per_hour)))
        case _:
            sys.exit("what?")
