"""Run fan-outs in the background of a web service, also after a restart and when one of its processes dies.

The table has what is asked for, and the results. Each fan-out is a batch of cmsapi, whose state tells any process how
far it is and whether a process works on it, and has every launch: two processes that run one pay for nothing twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import sqlite3
import time
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

from analyses import ended
from answers import RefusedError
from callbacks import Callbacks

import cmsapi

SCHEMA = """PRAGMA journal_mode = WAL;
CREATE TABLE IF NOT EXISTS fan_outs (name TEXT PRIMARY KEY, ids TEXT, callback TEXT, asked_at REAL, state TEXT);
CREATE TABLE IF NOT EXISTS results (name TEXT, id TEXT, item TEXT, PRIMARY KEY (name, id));"""
FIND = "SELECT * FROM fan_outs WHERE name = ?"
OPEN = "UPDATE fan_outs SET state = 'running' WHERE name = ? AND ids = ? RETURNING name"


class FanOuts:
    """Start, run and show fan-outs of analyses; all processes share the client's state and the file of the table."""

    def __init__(self, client: cmsapi.Client, table: str, callbacks: Callbacks) -> None:
        self._client, self._table, self._callbacks = client, table, callbacks
        self._mine = set[str]()
        #: To be set when the process is asked to stop: then streams end, for which servers would wait.
        self.stopping = asyncio.Event()

    async def start(self, name: str, keyword_ids: list[str], callback: str | None = None) -> None:
        """Have a fan-out run; the same one again goes on where it has stopped, and other keywords are refused."""
        self._callbacks.check(callback)
        ids = json.dumps(list(dict.fromkeys(keyword_ids)))
        await self._sql("INSERT OR IGNORE INTO fan_outs VALUES (?, ?, ?, ?, '')", name, ids, callback, time.time())
        if not await self._sql(OPEN, name, ids):
            raise RefusedError(409, f"There is a fan-out named {name!r} with other keywords; use another name.")

    async def show(self, name: str) -> dict[str, Any]:
        """Return how far a fan-out is, with its items. Nothing is sent for it."""
        if not (found := await self._sql(FIND, name)):
            raise RefusedError(404, f"There is no fan-out named {name!r}.")
        items = {each: {"id": each, "label": each, "state": "waiting"} for each in json.loads(found[0]["ids"])}
        for launch in await self._client.jobs.journal():
            if launch.batch == name and launch.item is not None:
                items[launch.item]["state"] = "running"
        for row in await self._sql("SELECT * FROM results WHERE name = ?", name):
            items[row["id"]] = json.loads(row["item"])
        return {**await self._summary(found[0]), "items": [*items.values()]}

    async def newest(self) -> list[dict[str, Any]]:
        """Return how far the newest fan-outs are."""
        rows = await self._sql("SELECT * FROM fan_outs ORDER BY asked_at DESC LIMIT 50")
        return [await self._summary(row) for row in rows]

    async def taken(self) -> set[str]:
        """Return the keywords of all fan-outs, but for those that were not analysed in the end."""
        wanted = {each for row in await self._sql("SELECT ids FROM fan_outs") for each in json.loads(row["ids"])}
        return wanted - {row["id"] for row in await self._sql("SELECT id FROM results WHERE item LIKE '%\"error\"%'")}

    async def follow(self, name: str) -> AsyncIterator[dict[str, Any]]:
        """Give how far a fan-out is, now and whenever that changes, until its end, at any process."""
        shown: dict[str, Any] = {}
        while not self.stopping.is_set() and shown.get("state") != "finished":
            if (now := await self._summary((await self._sql(FIND, name))[0])) != shown:
                yield (shown := now)
            await asyncio.sleep(0.5)

    async def run(self) -> None:
        """Run open fan-outs until this is cancelled; then others may go on with them, and launched jobs continue."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                for row in await self._sql("SELECT * FROM fan_outs WHERE state = 'running'"):
                    if row["name"] not in self._mine and not (await self._summary(row))["active"]:
                        self._mine.add(row["name"])
                        tasks.create_task(self._run_one(row["name"], json.loads(row["ids"]), row["callback"]))
                await asyncio.sleep(0.5)

    async def _run_one(self, name: str, ids: list[str], callback: str | None) -> None:
        """Run a fan-out to its end; after an error a process goes on with it."""
        there = "SELECT id FROM results WHERE name = ? AND item LIKE '%\"result\"%'"
        try:
            # Results that are in the table need not be read again.
            done = {row["id"] for row in await self._sql(there, name)}
            missing = [each for each in ids if each not in done]
            async with self._client.jobs.batch(name) as batch:
                async for outcome in batch.map(
                    self._client.keywords.analyze, missing, on_done=partial(self._callbacks.tell, callback)
                ):
                    item = json.dumps(ended(outcome))
                    await self._sql("INSERT OR REPLACE INTO results VALUES (?, ?, ?)", name, outcome.item, item)
            await self._sql("UPDATE fan_outs SET state = 'finished' WHERE name = ?", name)
        except Exception:
            logging.getLogger(__name__).exception("The fan-out %s stopped; a process goes on with it", name)
        finally:
            self._mine.discard(name)

    async def _summary(self, row: sqlite3.Row) -> dict[str, Any]:
        batch = await self._client.jobs.batch(row["name"]).refresh()
        told = {"progress": {**batch.progress.to_dict(), "time_left": batch.progress.time_left}, "active": batch.active}
        return {"name": row["name"], "state": row["state"], "asked_at": row["asked_at"], **told}

    async def _sql(self, statement: str, *values: Any) -> list[Any]:
        def run() -> list[Any]:
            with contextlib.closing(sqlite3.connect(self._table, timeout=5.0, isolation_level=None)) as database:
                database.executescript(SCHEMA)
                database.row_factory = sqlite3.Row
                return database.execute(statement, values).fetchall()

        return await asyncio.to_thread(run)
