"""Spoil a shared state behind its back: rows of a file, keys of a server, and both out of reach for a while."""

from __future__ import annotations

import signal
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import redis.asyncio as redis

from tests.support.servers import Server

#: What may become of the rows of the book of the limits, each as a statement.
ROWS: Mapping[str, str] = {
    "every other time is gone": "DELETE FROM settled WHERE number % 2 = 0",
    "all times are gone": "DELETE FROM settled",
    "the oldest time is gone": "DELETE FROM settled WHERE number = (SELECT min(number) FROM settled)",
    "times are words": "UPDATE settled SET at = 'noon'",
    "times lie ahead": "UPDATE settled SET at = at + 1e6",
    "the book is gone": "DELETE FROM books",
    "the book is no JSON": "UPDATE books SET book = 'gone'",
    "the book is of another shape": "UPDATE books SET book = '[]'",
    "the book is bytes": "UPDATE books SET book = x'00ff'",
    **{
        f"{field} is {value}": f"UPDATE books SET book = json_set(book, '$.{field}', {value}) WHERE json_valid(book)"  # noqa: S608
        for field, value in (
            ("settled", "'many'"),
            ("settled", "7000000"),
            ("left", "null"),
            ("left", "-3"),
            ("time", "'noon'"),
            ("time", "1e17"),
            ("latest", "1e17"),
            ("foreign", "null"),
            ("foreign", "1e17"),
            ("rests_until", "1e17"),
            ("limit", "'few'"),
            ("ahead", "-1e6"),
            ("epoch", "'first'"),
            ("holders", "null"),
            ("holders", "7"),
            ("holders.x", "7"),
        )
    },
}


def spoil_file(path: Path, how: str) -> None:
    """Do to a file what an entry of `ROWS` says."""
    with sqlite3.connect(path) as db:
        db.execute(ROWS[how])
    db.close()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a file so that nothing else can write to it; leave it on the thread that entered."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        db.execute("ROLLBACK")
        db.close()


Spoiling = Callable[[Any, Callable[[str], str]], Awaitable[object]]

#: The loss of all that a server holds, what is known of jobs with it.
FLUSHED = "everything is flushed"

#: What may become of the keys of the book of the limits: each is told the client and how a key is spelt.
KEYS: Mapping[str, Spoiling] = {
    "the ring is evicted": lambda client, key: client.delete(key("ring")),
    "the book is evicted": lambda client, key: client.delete(key("book")),
    "the holders are evicted": lambda client, key: client.delete(key("holders")),
    "all of it is evicted": lambda client, key: client.delete(key("book"), key("ring"), key("holders")),
    FLUSHED: lambda client, key: client.flushall(),
    "a time is missing": lambda client, key: client.lpop(key("ring")),
    "a time is a word": lambda client, key: client.lset(key("ring"), -1, "noon"),
    "a time lies ahead": lambda client, key: client.lset(key("ring"), -1, "4e9"),
    "the ring is of another type": lambda client, key: client.set(key("ring"), "noon"),
    "the book is of another type": lambda client, key: client.set(key("book"), "noon"),
    "the holders are of another type": lambda client, key: client.set(key("holders"), "noon"),
    "a holder is a word": lambda client, key: client.hset(key("holders"), "x", "noon"),
    **{
        f"{field} is {value}": lambda client, key, field=field, value=value: client.hset(key("book"), field, value)  # type: ignore[misc]
        for field, value in (
            ("settled", "many"),
            ("settled", "7000000"),
            ("left", ""),
            ("time", "noon"),
            ("time", "1e17"),
            ("latest", "1e17"),
            ("foreign", "nan"),
            ("rests_until", "1e17"),
            ("limit", "few"),
            ("epoch", "first"),
        )
    },
}


async def spoil_server(url: str, how: str) -> int:
    """Do to every book on a server what an entry of `KEYS` says, and return how many there are."""
    client = redis.Redis.from_url(url, decode_responses=True)
    try:
        names = [name async for name in client.scan_iter("*:book")]
        for name in names:
            stem = name.removesuffix("book")
            # A key that is gone or spoilt already may be of a type that does not take it.
            with suppress(redis.ResponseError):
                await KEYS[how](client, lambda part, stem=stem: f"{stem}{part}")  # type: ignore[misc]
    finally:
        await client.aclose()
    return len(names)


@asynccontextmanager
async def stopped(server: Server) -> AsyncIterator[None]:
    """Let a server stand still: what is sent to it is taken and not answered."""
    server.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.process.send_signal(signal.SIGCONT)
