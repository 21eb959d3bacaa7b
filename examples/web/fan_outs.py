"""Run fan-outs in the background of a web service, also after a restart and when one of its processes dies.

Each fan-out is a batch of cmsapi, whose name stays the same. The state of cmsapi has every launch of it. So a process
that goes on launches only what is missing, and even two processes that run one fan-out pay for nothing twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import socket
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any, Self

from callbacks import Callbacks
from table import Table

import cmsapi

logger = logging.getLogger(__name__)


class RefusedError(Exception):
    """Refuse to start a fan-out.

    Args:
        status: The status of HTTP that says so.
        reason: What is wrong.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(status, reason)
        self.status = status
        self.reason = reason


class FanOuts:
    """Start, run and show fan-outs of analyses.

    Args:
        client: The client; its state is shared by all processes.
        table: The fan-outs of all processes.
        callbacks: Tells other programs about the ends.
    """

    def __init__(self, client: cmsapi.Client, table: Table, callbacks: Callbacks) -> None:
        self._client = client
        self._table = table
        self._callbacks = callbacks
        #: To be set when the process is asked to stop: then streams end, for which servers would wait.
        self.stopping = asyncio.Event()
        # An operator finds the process by it; its end makes it another one after a restart.
        self._worker = f"{socket.gethostname()} {os.getpid()} {uuid.uuid4().hex[:8]}"

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Self]:
        """Run open fan-outs meanwhile; at the end others may go on with them at once, and launched jobs continue."""
        await self._table.create()
        task = asyncio.create_task(self._run_all())
        try:
            yield self
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await self._table.release(self._worker)

    async def start(self, name: str, keyword_ids: list[str], callback: str | None = None) -> bool:
        """Have a fan-out run, and tell whether it is new; the same one again goes on where it has stopped.

        Raises:
            RefusedError: The name has other keywords already, or the callback is not allowed.
        """
        if callback is not None and (reason := self._callbacks.refuses(callback)) is not None:
            raise RefusedError(422, reason)
        wanted = list(dict.fromkeys(keyword_ids))
        items = [{"id": keyword_id, "label": keyword_id, "state": "waiting"} for keyword_id in wanted]
        if await self._table.add(name, items, callback):
            return True
        known = await self._table.get(name)
        if known is not None and [item["id"] for item in known["items"]] != wanted:
            raise RefusedError(409, f"There is a fan-out named {name!r} with other keywords; use another name.")
        if known is not None and any("result" not in item for item in known["items"]):
            await self._table.reopen(name)
        return False

    async def show(self, name: str) -> dict[str, Any] | None:
        """Return how far a fan-out is, with its items; None when there is none. Nothing is sent for it."""
        row = await self._table.get(name)
        return None if row is None else {**summary(row), "items": row["items"]}

    async def newest(self) -> list[dict[str, Any]]:
        """Return how far the newest fan-outs are."""
        return [summary(row) for row in await self._table.newest()]

    async def taken(self) -> set[str]:
        """Return the keywords of the newest fan-outs, but for those that were not analysed in the end."""
        rows = await self._table.newest()
        return {item["id"] for row in rows for item in row["items"] if item["state"] != "failed"}

    async def follow(self, name: str) -> AsyncIterator[dict[str, Any]]:
        """Give how far a fan-out is, now and whenever that changes, until its end, at any process."""
        shown = None
        while not self.stopping.is_set() and (row := await self._table.get(name)) is not None:
            if summary(row) != shown:
                shown = summary(row)
                yield shown
            if row["state"] == "finished":
                return
            await asyncio.sleep(0.5)

    # In the background

    async def _run_all(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            while True:
                try:
                    row = await self._table.claim(self._worker)
                except Exception:
                    logger.exception("The table of fan-outs cannot be read")
                    row = None
                if row is not None:
                    tasks.create_task(self._run_one(row))
                await asyncio.sleep(0.5)

    async def _run_one(self, row: dict[str, Any]) -> None:
        """Run a fan-out and deliver its callback. After an error it is claimed again, once the lease has expired."""
        name = row["name"]
        try:
            if row["state"] != "finished":
                await self._launch(name, row["items"])
            if row["callback"] is not None:
                await self._call_back(row)
        except Exception:
            logger.exception("The fan-out %s stopped; it goes on in some seconds", name)

    async def _launch(self, name: str, rows: list[dict[str, Any]]) -> None:
        items = {row["id"]: row for row in rows}
        # Earlier results are in the table, so that they need not be read again.
        missing = [keyword_id for keyword_id, item in items.items() if "result" not in item]
        earlier = len(items) - len(missing)
        for keyword_id in missing:
            items[keyword_id] = {"id": keyword_id, "label": items[keyword_id]["label"], "state": "waiting"}
        async with self._client.jobs.batch(name) as batch, asyncio.TaskGroup() as tasks:
            outcomes = batch.map(self._client.keywords.analyze, missing)

            async def save(state: str) -> None:
                for row in outcomes.rows(len(items)):
                    if items[row.item]["state"] not in ("finished", "failed"):
                        items[row.item] |= {"label": row.label, "state": row.state, "seconds": row.elapsed}
                progress = shown(outcomes.progress, earlier)
                items_now = [*items.values()]
                if not await self._table.save(name, self._worker, state=state, progress=progress, items=items_now):
                    raise RuntimeError("another process has taken over")

            over = asyncio.Event()
            saving = tasks.create_task(repeat(over, save, "running"))
            async for outcome in outcomes:
                items[outcome.item] |= ended(outcome)
            over.set()
            # One that is under way must not be written after the last one.
            await saving
            await save("finished")

    async def _call_back(self, row: dict[str, Any]) -> None:
        name, asked_at = row["name"], row["asked_at"]
        message_id = f"msg_{hashlib.blake2b(f'{name} {asked_at}'.encode(), digest_size=12).hexdigest()}"
        message = {
            "type": "fan_out.finished",
            "timestamp": datetime.now(UTC).isoformat(),
            "data": await self.show(name),
        }

        async def alive() -> None:
            await self._table.save(name, self._worker)

        over = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(repeat(over, alive))
            delivered = await self._callbacks.deliver(row["callback"], message_id, message)
            over.set()
        if not delivered:
            logger.error("The callback of %s is given up", name)
        await self._table.save(name, self._worker, delivered=1)


async def repeat(over: asyncio.Event, call: Any, *arguments: Any) -> None:
    """Call a coroutine function every second, until an event is set."""
    while not over.is_set():
        await call(*arguments)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(over.wait(), 1.0)


def shown(progress: cmsapi.Progress, earlier: int) -> dict[str, Any]:
    """Write the progress of this run for a page, with the results of earlier runs."""
    told = progress.to_dict()
    for count in ("finished", "earlier", "total"):
        told[count] = (told[count] or 0) + earlier
    return {**told, "time_left": progress.time_left}


def ended(outcome: cmsapi.Outcome[str, cmsapi.Keyword]) -> dict[str, Any]:
    """Write how an item ended, for a page."""
    if outcome.error is not None:
        reason = str(outcome.error).partition("\n")[0]
        return {"state": "failed", "error": f"{type(outcome.error).__name__}: {reason}"}
    keyword = outcome.result()
    return {"state": "finished", "label": keyword.keyword, "result": cmsapi.to_dict(keyword)}


def summary(row: dict[str, Any]) -> dict[str, Any]:
    """Return how far a fan-out is, without its items."""
    return {name: row[name] for name in ("name", "state", "asked_at", "progress")}
