"""Spoil the limits in a shared state behind its back: in a file, on a server, and a file out of reach for a while."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import redis.asyncio as redis


def _put(field: str, value: Any) -> Callable[[str], str]:
    def spoil(text: str) -> str:
        digest, _, document = text.partition(" ")
        try:
            return f"{digest} {json.dumps({**json.loads(document), field: value})}"
        except (ValueError, TypeError):
            # It is spoilt already.
            return text

    return spoil


#: What may become of the document that an account's limits are kept in.
DOCUMENTS: Mapping[str, Callable[[str], str]] = {
    "the document is no JSON": lambda text: "gone",
    "the document is of another shape": lambda text: "[]",
    "the document is cut off": lambda text: text[:-9],
    "the digest is gone": lambda text: text.partition(" ")[2],
    "processes is {}": _put("processes", {}),
    "time is 1e17": _put("time", 1e17),
    "a field is added": _put("pace", 1),
}

#: What may become of the row in a file.
ROWS: Mapping[str, Callable[[str], str] | str] = {
    "the row is gone": "DELETE FROM limits",
    "the document is bytes": "UPDATE limits SET document = x'00ff'",
    **DOCUMENTS,
}


def spoil_file(path: Path, how: str) -> None:
    """Do to a file what an entry of `ROWS` says."""
    spoil = ROWS[how]
    with sqlite3.connect(path) as db:
        if isinstance(spoil, str):
            db.execute(spoil)
        else:
            for account, document in db.execute("SELECT account, document FROM limits").fetchall():
                spoilt = spoil(document) if isinstance(document, str) else document
                db.execute("UPDATE limits SET document = ? WHERE account = ?", (spoilt, account))
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


Spoiling = Callable[[Any, str], Awaitable[object]]

#: The loss of all that a server holds, what is known of jobs with it.
FLUSHED = "everything is flushed"


def _rewritten(spoil: Callable[[str], str]) -> Spoiling:
    async def rewrite(client: Any, key: str) -> None:
        for account, text in (await client.hgetall(key)).items():
            await client.hset(key, account, spoil(text))

    return rewrite


async def _each(client: Any, key: str, change: Callable[..., Awaitable[object]], *values: bytes) -> None:
    for account in await client.hkeys(key):
        await change(key, account, *values)


#: What may become of the key on a server: each is told the client and the key.
KEYS: Mapping[str, Spoiling] = {
    "the key is evicted": lambda client, key: client.delete(key),
    FLUSHED: lambda client, key: client.flushall(),
    "the key is of another type": lambda client, key: client.set(key, "noon"),
    "the document is gone": lambda client, key: _each(client, key, client.hdel),
    "the document is bytes": lambda client, key: _each(client, key, client.hset, b"\x00\xff"),
    **{how: _rewritten(spoil) for how, spoil in DOCUMENTS.items()},
}


async def spoil_server(url: str, how: str) -> int:
    """Do to the limits of every account on a server what an entry of `KEYS` says, and return how many there are."""
    client = redis.Redis.from_url(url, decode_responses=True, encoding_errors="replace")
    try:
        names = [name async for name in client.scan_iter("*:limits")]
        for name in names:
            # A key that is gone or spoilt already may be of a type that does not take it.
            with suppress(redis.ResponseError):
                await KEYS[how](client, name)
    finally:
        await client.aclose()
    return len(names)
