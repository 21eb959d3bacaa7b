"""A process that shares a state with others: `python -m tests.support.worker WHAT URL …`."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import cmsapi
from cmsapi.config import Account
from cmsapi.message import Request
from cmsapi.ratelimit.limiter import RateLimiter
from cmsapi.ratelimit.shared_log import AccountLimits
from cmsapi.ratelimit.shared_windows import SharedWindows
from cmsapi.state.entry import Entry, Lease
from cmsapi.state.opening import open_state
from cmsapi.state.postgres import PostgresState
from cmsapi.state.redis import RedisState
from cmsapi.state.sqlite import SqliteState
from cmsapi.state.store import LEASE_TTL, State
from cmsapi.transport.answers import ServerClock
from cmsapi.transport.call import CallOptions
from cmsapi.transport.http import AiohttpTransport
from cmsapi.transport.pipeline import Pipeline

SCOPE = "https://api.example.com org_1"


async def saturate(url: str, base_url: str, key: str, seconds: float, callers: int, per_hour: int, life: float) -> None:
    """Call the service without a pause from so many callers, and say what came of it."""
    loop = asyncio.get_running_loop()
    state = open_state(url)
    account = Account(key, base_url)
    limits = AccountLimits(per_second=20, per_hour=per_hour, process_timeout=life)
    windows = SharedWindows(state, account.digest, limits, alone=5)
    limiter = RateLimiter(windows)
    windows.connect(limiter.waiting, limiter.serve)
    transport = AiohttpTransport(cmsapi.Timeouts())
    pipeline = Pipeline(
        transport=transport,
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
                await pipeline.send(operation, request, CallOptions(), limiter)
                done["answered"] += 1
            except cmsapi.CMSError as error:
                done["failed"] += 1
                sys.stderr.write(f"{error}\n")

    say("ready")
    try:
        async with asyncio.timeout(seconds):
            await asyncio.gather(*(call() for _ in range(callers)))
    except TimeoutError:
        pass
    await windows.aclose()
    await state.aclose()
    await transport.aclose()
    say({**done, "takes": windows.takes})


async def keep_a_journal(url: str, life: float) -> None:
    """Do in the journal what the lines on the standard input say, and answer each."""
    loop = asyncio.get_running_loop()
    state = open_state(url)
    if isinstance(state, SqliteState):
        state = SqliteState(state.path, lease_ttl=life)
    else:
        state = (RedisState if url.startswith("redis:") else PostgresState)(url, lease_ttl=life)
    held: list[Lease] = []
    say("ready")
    while words := (await loop.run_in_executor(None, sys.stdin.readline)).split():
        if words[0] == "begin":
            wanted = [Lease(SCOPE, f"key {number}") for number in range(int(words[1]))]
            entry = Entry(kind="keyword_analysis", target="kw_1", asked_at=1.0)
            won = [lease for lease in wanted if await state.begin(lease, entry) is None]
            held += won
            say([lease.key for lease in won])
        else:
            say({lease.key: await is_kept(state, lease) for lease in held})
    await state.aclose()


async def is_kept(state: State, lease: Lease) -> bool:
    """Tell whether a lease still holds."""
    try:
        await state.keep(lease)
    except cmsapi.LeaseLostError:
        return False
    return True


def say(what: Any) -> None:
    """Tell the parent process."""
    sys.stdout.write(f"{json.dumps(what)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["saturate", url, base_url, key, seconds, callers, per_hour, life]:
            asyncio.run(saturate(url, base_url, key, float(seconds), int(callers), int(per_hour), float(life)))
        case ["journal", url, *life]:
            asyncio.run(keep_a_journal(url, float(life[0]) if life else LEASE_TTL))
        case _:
            sys.exit("what?")
