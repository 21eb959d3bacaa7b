"""Time the operations next to the least that the same store can do: a PING, a bare transaction.

The rounds of all operations are interleaved, so that a busy moment of the machine spoils a round of each. The first
thing timed is timed again as the last (A/A): by so much may two equal things differ in this run.
"""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
import statistics
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import redis.asyncio as redis

from cmsapi.ratelimit.shared_log import AccountLimits, Take
from cmsapi.state.entry import Entry, Lease
from cmsapi.state.postgres import PostgresState
from cmsapi.state.redis import RedisState
from cmsapi.state.sqlite import SqliteState
from cmsapi.state.store import State
from tests.support.taking import taken

Operation = Callable[[], Awaitable[object]]

ROUNDS = 30
CALLS = 20
_ENTRY = Entry(kind="keyword_analysis", target="kw_1", asked_at=1.0)
_HOUR_OF = 1000


def operations(state: State) -> dict[str, Operation]:
    """Name what a launch and a request do with a state."""
    numbers = itertools.count(1)
    # Nothing is refused: each take settles one request and takes the next.
    unlimited = AccountLimits(per_second=None, per_hour=None)
    limited = AccountLimits(per_second=20, per_hour=_HOUR_OF)
    held: list[Lease] = []

    async def settle() -> object:
        return await taken(state, "unlimited", unlimited, Take(process="a", landed=(0.0,), answered=True, want=1))

    async def refused() -> object:
        return await taken(state, "limited", limited, Take(process="a", open=20, want=1))

    async def begin() -> object:
        held.append(Lease("scope", f"key {next(numbers)}"))
        return await state.begin(held[-1], _ENTRY)

    async def keep() -> None:
        await state.keep(held[-1])

    async def update() -> None:
        await state.update(held[-1], _ENTRY)

    async def end() -> None:
        await state.end(held.pop())

    async def heartbeat() -> object:
        return await state.heartbeat("scope")

    return {
        "take: settle one request, get a permit": settle,
        "take of a full hour that gives nothing": refused,
        "begin (intent)": begin,
        "keep (before the POST)": keep,
        "update (bind)": update,
        "end": end,
        "heartbeat": heartbeat,
    }


async def timed(named: dict[str, Operation]) -> dict[str, float]:
    """Return the median microseconds of each operation."""
    seconds: dict[str, list[float]] = {name: [] for name in named}
    for _ in range(ROUNDS):
        for name, operation in named.items():
            begun = time.perf_counter()
            for _ in range(CALLS):
                await operation()
            seconds[name].append(time.perf_counter() - begun)
    return {name: statistics.median(each) / CALLS * 1e6 for name, each in seconds.items()}


async def on_redis(url: str) -> dict[str, float]:
    """Time everything on a server, next to a PING by the same client."""
    state, client = RedisState(url), redis.Redis.from_url(url)

    async def ping() -> object:
        return await client.ping()

    try:
        await full_hour(state)
        return await timed({"PING": ping, **operations(state), "PING, again (A/A)": ping})
    finally:
        await state.aclose()
        await client.aclose()


async def on_postgres(url: str) -> dict[str, float]:
    """Time everything on a server, next to a transaction of psycopg that replaces one row."""
    state = PostgresState(url)
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as db:
        await db.execute("CREATE TABLE one (name text PRIMARY KEY, value text)")
        put = "INSERT INTO one VALUES ('one', %s) ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value"

        async def transact() -> None:
            await db.execute(put, (_ENTRY.to_text(),))

        try:
            await full_hour(state)
            return await timed(
                {"bare transaction": transact, **operations(state), "bare transaction, again (A/A)": transact}
            )
        finally:
            await state.aclose()


async def on_sqlite(directory: Path) -> dict[str, float]:
    """Time everything on a file, next to transactions that replace one row of it, on a thread like ours.

    Flushing takes ten times as long while a file grows as when it is written over, so that all must write to one.
    """
    state = SqliteState(directory / "state.db")
    thread = ThreadPoolExecutor(1)
    loop = asyncio.get_running_loop()

    def opened() -> sqlite3.Connection:
        db = sqlite3.connect(state.path, isolation_level=None)
        db.execute("CREATE TABLE rows (name TEXT PRIMARY KEY, value TEXT)")
        return db

    def bare(synchronous: str) -> Operation:
        def transact() -> None:
            db.execute(f"PRAGMA synchronous = {synchronous}")
            db.execute("BEGIN IMMEDIATE")
            db.execute("INSERT OR REPLACE INTO rows VALUES ('one', ?)", (_ENTRY.to_text(),))
            db.execute("COMMIT")

        async def operation() -> None:
            await loop.run_in_executor(thread, transact)

        return operation

    await full_hour(state)
    db = await loop.run_in_executor(thread, opened)
    normal, full = bare("NORMAL"), bare("FULL")
    bare_ones = {"bare transaction": normal, "bare transaction, flushed": full}
    again = {f"{name}, again (A/A)": operation for name, operation in bare_ones.items()}
    try:
        return await timed({**bare_ones, **operations(state), **again})
    finally:
        await state.aclose()
        await loop.run_in_executor(thread, db.close)
        thread.shutdown()


async def full_hour(state: State) -> None:
    """Fill the hour of the account whose takes give nothing."""
    limited = AccountLimits(per_second=20, per_hour=_HOUR_OF)
    landed = tuple(float(number) for number in range(_HOUR_OF))
    await taken(state, "limited", limited, Take(process="b", landed=landed, answered=True))
