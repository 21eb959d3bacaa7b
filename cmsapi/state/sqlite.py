"""Share a state among the processes of one host, in a file.

All of it happens on one thread of its own, because a transaction may wait for the disk or for another process. The file
is in WAL mode. What decides about money is flushed to the disk before the caller goes on, the rest when the system gets
to it: the death of a process loses nothing, the death of the machine at most what was not flushed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cmsapi.errors import StateError
from cmsapi.state.entry import Entry, Lease
from cmsapi.state.process import Owner
from cmsapi.state.sqlitefile import ReplacedError, SqliteFile
from cmsapi.state.store import LEASE_TTL, Action, Change, Standing, State, T
from cmsapi.state.text import read_row

logger: logging.Logger = logging.getLogger("cmsapi")

# How an open entry stands to a lease, and its text.
_ENTRY = """
SELECT CASE WHEN lease = ? THEN 'mine' WHEN EXISTS (
    SELECT 1 FROM owners WHERE scope = journal.scope AND id = journal.owner AND until > ?
) THEN 'held' ELSE 'free' END, entry, lease, owner FROM journal WHERE scope = ? AND key = ?
"""
_OUTCOME = "SELECT 'ended', entry, NULL, NULL FROM outcomes WHERE scope = ? AND batch = ? AND item = ?"


class SqliteState(State):
    """Share a state among the processes of one host, in a file.

    When the file is removed or replaced while it is used, other processes no longer see what is written. The limits are
    then shared in the file that is there; the journal refuses everything from then on, because a launch that only this
    process knows may be paid for again by another one.

    Args:
        path: The file; it is made with mode 0600 when it is first used.
        lease_ttl: Seconds after which leases of an owner without a heartbeat may be taken over.
        clock: Tells the time in seconds, the same for all processes. It is read when an operation is asked for; for
            the limits inside the transaction, on another thread.
    """

    def __init__(self, path: Path, *, lease_ttl: float = LEASE_TTL, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self._lease_ttl = lease_ttl
        self._clock = clock
        self._thread: ThreadPoolExecutor | None = None
        self._file = SqliteFile(path)
        # The leases under which this process holds entries; used on the thread.
        self._leases: set[str] = set()
        self._closed = False

    async def _journaled(self, work: Callable[[sqlite3.Connection], T], *, flushed: bool | None = None) -> T:
        """Work on the file that the journal of this process is in, and on no other; without `flushed` only read it."""

        def run(asked_at: float) -> T:
            if not self._file.replaced:
                with contextlib.suppress(ReplacedError):
                    return self._file.use(work, asked_at, flushed)
            raise StateError(
                f"The file of the state {self.path} was removed or replaced while this process used it, so that other "
                "processes do not see what this one writes. What was to be written was not, and this process launches "
                "no more paid work with this state. The jobs that it has launched go on, and it still polls them; "
                "another process may launch the same work again and pay for it. Wait for these jobs, close all clients "
                "of this process that use the state, and make new ones."
            )

        return await self._on_thread(run)

    async def _on_thread(self, run: Callable[[float], T]) -> T:
        if self._closed:
            raise StateError(f"The state {self.path} is closed; nothing was written.")
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="cmsapi-state")
        # The thread waits for other processes in real time, also where the loop's time is virtual.
        return await asyncio.get_running_loop().run_in_executor(self._thread, run, time.monotonic())

    def _beat(self, db: sqlite3.Connection, scope: str, now: float) -> Owner:
        """Send a heartbeat in a transaction."""
        owner = self._file.owner
        values = (scope, owner.id, owner.spell(), now + self._lease_ttl)
        db.execute("INSERT OR REPLACE INTO owners VALUES (?, ?, ?, ?)", values)
        return owner

    async def change(
        self, lease: Lease, expected: Standing, action: Action, entry: Entry | None = None
    ) -> tuple[Standing, Entry | None]:
        """Change an entry if it stands as it must, and send a heartbeat."""
        now, key, text = self._clock(), (lease.scope, lease.key), entry.spell() if entry is not None else None
        item = (lease.scope, entry.batch, entry.item) if entry is not None and entry.batch is not None else None

        def work(db: sqlite3.Connection) -> tuple[Standing, str | None]:
            owner = self._beat(db, lease.scope, now)
            row = db.execute(_ENTRY, (lease.id, now, *key)).fetchone()
            if row is None and item is not None:
                row = db.execute(_OUTCOME, item).fetchone()
            stood, found = (Standing.ABSENT, None) if row is None else (Standing(row[0]), row[1])
            if row is not None and stood is Standing.HELD and row[3] == owner.id and row[2] not in self._leases:
                # Something else has written that: this process would wait for itself.
                stood = Standing.FREE
            if stood is not expected:
                return stood, found
            if action is not Action.HOLD:
                self._leases.discard(lease.id)
            if action is Action.HOLD:
                self._leases.add(lease.id)
                db.execute(
                    "INSERT OR REPLACE INTO journal VALUES (?, ?, ?, ?, ?)", (*key, lease.id, owner.id, text or found)
                )
            elif action is Action.RELEASE:
                db.execute("UPDATE journal SET lease = NULL, owner = NULL WHERE scope = ? AND key = ?", key)
            else:
                db.execute("DELETE FROM journal WHERE scope = ? AND key = ?", key)
                if item is not None:
                    db.execute("INSERT OR REPLACE INTO outcomes VALUES (?, ?, ?, ?)", (*item, text))
            return stood, found

        stood, found = await self._journaled(work, flushed=entry is not None or action is Action.END)
        return stood, None if found is None or expected is Standing.MINE else read_row(Entry, found)

    async def entries(self, scope: str) -> dict[str, Entry]:
        """Return all open entries by key."""
        found = "SELECT key, entry FROM journal WHERE scope = ?"
        rows = await self._journaled(lambda db: db.execute(found, (scope,)).fetchall())
        return {key: read_row(Entry, text) for key, text in rows}

    async def heartbeat(self, scope: str) -> Sequence[Owner]:
        """Send a heartbeat, and return the others that are alive."""
        now = self._clock()

        def work(db: sqlite3.Connection) -> list[tuple[str]]:
            owner = self._beat(db, scope, now)
            db.execute("DELETE FROM owners WHERE scope = ? AND until <= ?", (scope, now))
            return db.execute("SELECT owner FROM owners WHERE scope = ? AND id <> ?", (scope, owner.id)).fetchall()

        return [read_row(Owner, text) for (text,) in await self._journaled(work, flushed=False)]

    async def evict(self, scope: str, owner: Owner) -> None:
        """Let others claim what an owner holds."""
        gone = "DELETE FROM owners WHERE scope = ? AND id = ?"
        await self._journaled(lambda db: db.execute(gone, (scope, owner.id)).rowcount, flushed=False)

    async def outcomes(self, scope: str, *, batch: str | None = None, since: float = 0.0) -> list[Entry]:
        """Return how the items of a batch, or of all batches, ended."""
        found, values = "SELECT entry FROM outcomes WHERE scope = ?", [scope]
        if batch is not None:
            found, values = f"{found} AND batch = ?", [scope, batch]
        found = f"{found} AND json_extract(entry, '$.asked_at') >= ?"
        rows = await self._journaled(lambda db: db.execute(found, (*values, since)).fetchall())
        return [read_row(Entry, text) for (text,) in rows]

    async def forget(self, scope: str, batch: str, items: Collection[str]) -> None:
        """Forget how some items ended."""
        gone = "DELETE FROM outcomes WHERE scope = ? AND batch = ? AND item = ?"
        rows = [(scope, batch, item) for item in items]
        await self._journaled(lambda db: db.executemany(gone, rows).rowcount, flushed=True)

    async def get_text(self, scope: str, name: str) -> str | None:
        """Return the text of a document."""
        return await self._journaled(lambda db: _document(db, scope, name))

    async def replace_text(self, scope: str, name: str, old: str | None, new: str | None) -> str | None:
        """Put a text in the place of the old one if that stands."""

        def work(db: sqlite3.Connection) -> str | None:
            stands = _document(db, scope, name)
            if stands != old:
                return stands
            if new is None:
                db.execute("DELETE FROM documents WHERE scope = ? AND name = ?", (scope, name))
            else:
                db.execute("INSERT OR REPLACE INTO documents VALUES (?, ?, ?)", (scope, name, new))
            return new

        return await self._journaled(work, flushed=True)

    async def update_limits(self, account: str, change: Change[T]) -> T:
        """Put a new document in the place of an account's old one, in one transaction."""

        def work(db: sqlite3.Connection) -> T:
            row = db.execute("SELECT document FROM limits WHERE account = ?", (account,)).fetchone()
            # An update that waited for another process begins now: a rest that it asks for is not over before.
            document, result = change(None if row is None else str(row[0]), self._clock())
            db.execute("INSERT OR REPLACE INTO limits VALUES (?, ?)", (account, document))
            return result

        def run(asked_at: float) -> T:
            try:
                return self._file.use(work, asked_at, flushed=False)
            except ReplacedError as error:
                logger.warning("%s The limits are shared in the one that is there now, the journal is not.", error)
                return self._file.use(work, asked_at, flushed=False)

        return await self._on_thread(run)

    async def aclose(self) -> None:
        """Let others claim what this process holds, and close the file."""
        thread, self._thread, self._closed = self._thread, None, True
        if thread is not None:
            try:
                await asyncio.get_running_loop().run_in_executor(thread, self._close, time.monotonic())
            finally:
                thread.shutdown(wait=False)

    def _close(self, asked_at: float) -> None:
        if not self._file.is_open:
            return
        owned = "DELETE FROM owners WHERE id = ?"
        try:
            self._file.use(lambda db: db.execute(owned, (self._file.owner.id,)).rowcount, asked_at, flushed=False)
        except StateError as error:
            # The leases run out by themselves.
            logger.warning("leases were not given back: %s", error)
        finally:
            self._file.close()


def _document(db: sqlite3.Connection, scope: str, name: str) -> str | None:
    row = db.execute("SELECT text FROM documents WHERE scope = ? AND name = ?", (scope, name)).fetchone()
    return None if row is None else str(row[0])
