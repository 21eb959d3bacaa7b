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
from typing import Any, TypeVar

from cmsapi.errors import StateError
from cmsapi.state.journal import Entry, Lease, document_of, document_text, taken_over
from cmsapi.state.process import Owner
from cmsapi.state.sqlitefile import PATIENCE, Patience, ReplacedError, SqliteFile
from cmsapi.state.store import LEASE_TTL, Change

logger: logging.Logger = logging.getLogger("cmsapi")

T = TypeVar("T")


class SqliteState:
    """Share a state among the processes of one host, in a file.

    When the file is removed or replaced while it is used, other processes no longer see what is written. The limits are
    then shared in the file that is there; the journal refuses everything from then on, because a launch that only this
    process knows may be paid for again by another one.

    Args:
        path: The file; it is made with mode 0600 when it is first used.
        lease_ttl: Seconds after which leases of an owner that was not heard of may be taken over.
        clock: Tells the time in seconds, the same for all processes. It is read when an operation is asked for; for
            the limits inside the transaction, on another thread.
    """

    def __init__(self, path: Path, *, lease_ttl: float = LEASE_TTL, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self._lease_ttl = lease_ttl
        self._clock = clock
        self._thread: ThreadPoolExecutor | None = None
        self._file: SqliteFile | None = None
        self._patience = Patience()
        # Whether the file with the journal is no longer the one that other processes see.
        self._replaced = False
        self._closed = False

    async def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await self._journaled(lambda file: work(file.db))

    async def _write(self, work: Callable[[sqlite3.Connection], T], *, flushed: bool = False) -> T:
        return await self._journaled(lambda file: file.transact(work, flushed=flushed))

    async def _journaled(self, work: Callable[[SqliteFile], T]) -> T:
        """Work on the file that the journal of this process is in, and on no other."""

        def run(asked_at: float) -> T:
            if not self._replaced:
                with contextlib.suppress(ReplacedError):
                    return self._guarded(work, asked_at)
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

    def _guarded(self, work: Callable[[SqliteFile], T], asked_at: float) -> T:
        """Work on the file that is there.

        Raises:
            ReplacedError: It is no longer the one that was opened; the next call opens the one that is there then.
            StateError: It cannot be used.
        """
        until = self._patience.until(asked_at)
        try:
            if self._file is None:
                self._file = SqliteFile(self.path, until)
            result = self._file.use(work, until)
            if self._file.wrote:
                self._patience.wrote()
        except ReplacedError:
            self._replaced = True
            self._let_go()
            raise
        except (sqlite3.Error, OSError) as error:
            self._patience.gave_up()
            raise StateError(
                f"The state {self.path} cannot be used ({error}). What was to be written was not. "
                "See that the file and its directory can be written to, that the disk is local and not full, and "
                f"that no other program holds the file for more than {PATIENCE:g} s."
            ) from error
        return result

    def _let_go(self) -> None:
        if self._file is not None:
            self._file.db.close()
            self._file = None

    async def _own(self, scope: str, work: Callable[[sqlite3.Connection, str], T], *, flushed: bool = False) -> T:
        """Work on a scope and say that this process lives, in one transaction."""
        until = self._clock() + self._lease_ttl

        def both(file: SqliteFile) -> T:
            def transaction(db: sqlite3.Connection) -> T:
                owner = file.owner
                db.execute("INSERT OR REPLACE INTO owners VALUES (?, ?, ?, ?)", (scope, owner.id, owner.spell(), until))
                return work(db, owner.id)

            return file.transact(transaction, flushed=flushed)

        return await self._journaled(both)

    async def begin(self, lease: Lease, entry: Entry) -> Entry | None:
        """Write an entry and hold it, or return what stands in the way."""
        text = entry.spell()

        def work(db: sqlite3.Connection, owner: str) -> str | None:
            row = _row_of(db, lease)
            if row is not None:
                return None if row[0] == lease.id else row[1]
            if entry.batch is not None:
                found = "SELECT entry FROM outcomes WHERE scope = ? AND batch = ? AND item = ?"
                outcome = db.execute(found, (lease.scope, entry.batch, entry.item)).fetchone()
                if outcome is not None:
                    return str(outcome[0])
            values = (lease.scope, lease.key, lease.id, owner, text)
            db.execute("INSERT INTO journal VALUES (?, ?, ?, ?, ?)", values)
            return None

        stands = await self._own(lease.scope, work, flushed=True)
        return None if stands is None else Entry.read(stands)

    async def keep(self, lease: Lease) -> None:
        """Make sure that the entry is still held under this lease."""

        def work(db: sqlite3.Connection, owner: str) -> None:
            if not _holds(db, lease):
                raise taken_over(lease)

        await self._own(lease.scope, work)

    async def update(self, lease: Lease, entry: Entry) -> None:
        """Write the entry anew."""
        text = entry.spell()

        def work(db: sqlite3.Connection, owner: str) -> None:
            if not _holds(db, lease):
                raise taken_over(lease)
            db.execute("UPDATE journal SET entry = ? WHERE scope = ? AND key = ?", (text, lease.scope, lease.key))

        await self._own(lease.scope, work, flushed=True)

    async def end(self, lease: Lease, outcome: Entry | None = None) -> None:
        """Delete the entry, and keep the outcome of its item if it has one."""
        text = outcome.spell() if outcome is not None else ""

        def work(db: sqlite3.Connection, owner: str) -> None:
            if not _holds(db, lease):
                if _row_of(db, lease) is not None:
                    raise taken_over(lease)
                return
            db.execute("DELETE FROM journal WHERE scope = ? AND key = ?", (lease.scope, lease.key))
            if outcome is not None and outcome.batch is not None:
                values = (lease.scope, outcome.batch, outcome.item, text)
                db.execute("INSERT OR REPLACE INTO outcomes VALUES (?, ?, ?, ?)", values)

        await self._own(lease.scope, work, flushed=True)

    async def release(self, lease: Lease) -> None:
        """Let others claim the entry."""

        def work(db: sqlite3.Connection) -> None:
            given_up = "UPDATE journal SET lease = NULL, owner = NULL WHERE scope = ? AND key = ? AND lease = ?"
            db.execute(given_up, (lease.scope, lease.key, lease.id))

        await self._write(work)

    async def claim(self, lease: Lease) -> Entry | None:
        """Hold an open entry under this lease, unless a live process holds it."""
        now = self._clock()

        def work(db: sqlite3.Connection, owner: str) -> str | None:
            row = _row_of(db, lease)
            if row is None:
                return None
            if row[0] != lease.id:
                alive = "SELECT 1 FROM owners WHERE scope = ? AND id = ? AND until > ?"
                if db.execute(alive, (lease.scope, row[2], now)).fetchone() is not None:
                    return None
                taken = "UPDATE journal SET lease = ?, owner = ? WHERE scope = ? AND key = ?"
                db.execute(taken, (lease.id, owner, lease.scope, lease.key))
            return row[1]

        text = await self._own(lease.scope, work)
        return None if text is None else Entry.read(text)

    async def entries(self, scope: str) -> dict[str, Entry]:
        """Return all open entries by key."""
        found = "SELECT key, entry FROM journal WHERE scope = ?"
        return _entries(await self._read(lambda db: db.execute(found, (scope,)).fetchall()))

    async def heartbeat(self, scope: str) -> Sequence[Owner]:
        """Say that this process lives, and return the others that are alive."""
        now = self._clock()

        def work(db: sqlite3.Connection, owner: str) -> list[tuple[str]]:
            db.execute("DELETE FROM owners WHERE scope = ? AND until <= ?", (scope, now))
            return db.execute("SELECT owner FROM owners WHERE scope = ? AND id <> ?", (scope, owner)).fetchall()

        return [Owner.read(text) for (text,) in await self._own(scope, work)]

    async def evict(self, scope: str, owner: Owner) -> None:
        """Let others claim what an owner holds."""

        def work(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM owners WHERE scope = ? AND id = ?", (scope, owner.id))

        await self._write(work)

    async def outcomes(self, scope: str, batch: str) -> dict[str, Entry]:
        """Return how the items of a batch ended, by item."""
        found = "SELECT item, entry FROM outcomes WHERE scope = ? AND batch = ?"
        return _entries(await self._read(lambda db: db.execute(found, (scope, batch)).fetchall()))

    async def recent_outcomes(self, scope: str, since: float) -> list[Entry]:
        """Return how the items of all batches ended that were asked for after a time."""
        found = "SELECT entry FROM outcomes WHERE scope = ? AND json_extract(entry, '$.asked_at') >= ?"
        return [
            Entry.read(text) for (text,) in await self._read(lambda db: db.execute(found, (scope, since)).fetchall())
        ]

    async def forget(self, scope: str, batch: str, items: Collection[str]) -> None:
        """Forget how some items ended."""

        def work(db: sqlite3.Connection) -> None:
            gone = "DELETE FROM outcomes WHERE scope = ? AND batch = ? AND item = ?"
            db.executemany(gone, [(scope, batch, item) for item in items])

        await self._write(work, flushed=True)

    async def get_document(self, scope: str, name: str) -> Any:
        """Return a document, or None when there is none."""
        return document_of(await self._read(lambda db: _document(db, scope, name)))

    async def compare_and_set(self, scope: str, name: str, old: Any, new: Any) -> Any:
        """Put a document in the place of another one, unless another process was faster."""
        expected, text = document_text(old), document_text(new)

        def work(db: sqlite3.Connection) -> str | None:
            stands = _document(db, scope, name)
            if stands != expected:
                return stands
            if text is None:
                db.execute("DELETE FROM documents WHERE scope = ? AND name = ?", (scope, name))
            else:
                db.execute("INSERT OR REPLACE INTO documents VALUES (?, ?, ?)", (scope, name, text))
            return text

        return document_of(await self._write(work, flushed=True))

    async def update_limits(self, account: str, change: Change[T]) -> T:
        """Put a new document in the place of an account's old one, in one transaction."""

        def transaction(db: sqlite3.Connection) -> T:
            row = db.execute("SELECT document FROM limits WHERE account = ?", (account,)).fetchone()
            # An update that waited for another process begins now: a rest that it asks for is not over before.
            document, result = change(None if row is None else str(row[0]), self._clock())
            db.execute("INSERT OR REPLACE INTO limits VALUES (?, ?)", (account, document))
            return result

        def work(file: SqliteFile) -> T:
            return file.transact(transaction, flushed=False)

        def run(asked_at: float) -> T:
            try:
                return self._guarded(work, asked_at)
            except ReplacedError as error:
                logger.warning("%s The limits are shared in the one that is there now, the journal is not.", error)
                return self._guarded(work, asked_at)

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
        def evict(file: SqliteFile) -> None:
            owned = "DELETE FROM owners WHERE id = ?"
            file.transact(lambda db: db.execute(owned, (file.owner.id,)), flushed=False)

        if self._file is None:
            return
        try:
            self._file.use(evict, self._patience.until(asked_at))
        except (sqlite3.Error, StateError) as error:
            # The leases run out by themselves.
            logger.warning("leases were not given back: %s", error)
        finally:
            self._let_go()


def _row_of(db: sqlite3.Connection, lease: Lease) -> tuple[str | None, str, str | None] | None:
    """Return the lease, the entry and the owner of what is open."""
    found = "SELECT lease, entry, owner FROM journal WHERE scope = ? AND key = ?"
    row: tuple[str | None, str, str | None] | None = db.execute(found, (lease.scope, lease.key)).fetchone()
    return row


def _holds(db: sqlite3.Connection, lease: Lease) -> bool:
    row = _row_of(db, lease)
    return row is not None and row[0] == lease.id


def _document(db: sqlite3.Connection, scope: str, name: str) -> str | None:
    row = db.execute("SELECT text FROM documents WHERE scope = ? AND name = ?", (scope, name)).fetchone()
    return None if row is None else str(row[0])


def _entries(rows: Sequence[tuple[str, str]]) -> dict[str, Entry]:
    return {name: Entry.read(text) for name, text in rows}
