"""The fan-outs of the service, in a file that its processes share: what to do, how far it is, which process runs it."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

_SCHEMA = """
CREATE TABLE IF NOT EXISTS fan_outs (
    name TEXT PRIMARY KEY,
    items TEXT NOT NULL,
    callback TEXT,
    asked_at REAL NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting',
    progress TEXT NOT NULL DEFAULT '{}',
    delivered INTEGER NOT NULL DEFAULT 0,
    worker TEXT,
    seen_at REAL NOT NULL DEFAULT 0
)"""
# A process that has written nothing for so many seconds has ended, and another one takes over.
LEASE = 10.0
_CLAIM = """
UPDATE fan_outs SET worker = ?, seen_at = ? WHERE name = (
    SELECT name FROM fan_outs
    WHERE (state != 'finished' OR (callback IS NOT NULL AND NOT delivered)) AND (worker IS NULL OR seen_at < ?)
    ORDER BY asked_at LIMIT 1
) RETURNING *"""


class Table:
    """Read and write the fan-outs.

    Args:
        path: The file, on a disk of this host. Processes on many hosts need a table in a server instead.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = path

    async def create(self) -> None:
        """Make the table if it is not there."""
        await self._run("PRAGMA journal_mode = WAL")
        await self._run(_SCHEMA)

    async def add(self, name: str, items: list[dict[str, Any]], callback: str | None) -> bool:
        """Write a new fan-out, and tell whether there was none of this name."""
        values = (name, json.dumps(items), callback, time.time())
        statement = "INSERT OR IGNORE INTO fan_outs (name, items, callback, asked_at) VALUES (?, ?, ?, ?) RETURNING *"
        return bool(await self._run(statement, *values))

    async def reopen(self, name: str) -> None:
        """Have a finished fan-out run again."""
        await self._run(
            "UPDATE fan_outs SET state = 'waiting', delivered = 0, worker = NULL, asked_at = ?"
            " WHERE name = ? AND state = 'finished'",
            time.time(),
            name,
        )

    async def get(self, name: str) -> dict[str, Any] | None:
        """Return a fan-out, or None when there is none."""
        return next(iter(await self._run("SELECT * FROM fan_outs WHERE name = ?", name)), None)

    async def newest(self, count: int = 50) -> list[dict[str, Any]]:
        """Return the newest fan-outs, the newest first."""
        return await self._run("SELECT * FROM fan_outs ORDER BY asked_at DESC LIMIT ?", count)

    async def claim(self, worker: str) -> dict[str, Any] | None:
        """Return a fan-out that no living process runs, and have this one run it."""
        now = time.time()
        rows = await self._run(
            _CLAIM,
            worker,
            now,
            now - LEASE,
        )
        return next(iter(rows), None)

    async def save(self, name: str, worker: str, **values: Any) -> bool:
        """Write how far a fan-out is, which shows that its process lives; tell whether it is still this one's."""
        columns = "".join(f", {column} = ?" for column in values)
        return bool(
            await self._run(
                f"UPDATE fan_outs SET seen_at = ?{columns} WHERE name = ? AND worker = ? RETURNING *",  # noqa: S608  names of columns
                time.time(),
                *(value if isinstance(value, str | int) else json.dumps(value) for value in values.values()),
                name,
                worker,
            )
        )

    async def release(self, worker: str) -> None:
        """Let other processes take over at once."""
        await self._run("UPDATE fan_outs SET worker = NULL WHERE worker = ?", worker)

    async def _run(self, statement: str, *values: Any) -> list[dict[str, Any]]:
        return await asyncio.to_thread(self._execute, statement, values)

    def _execute(self, statement: str, values: tuple[Any, ...]) -> list[dict[str, Any]]:
        with closing(sqlite3.connect(self._path, timeout=5.0, isolation_level=None)) as database:
            database.row_factory = sqlite3.Row
            rows = [dict(row) for row in database.execute(statement, values)]
        for row in rows:
            row |= {column: json.loads(row[column]) for column in ("items", "progress") if column in row}
        return rows
