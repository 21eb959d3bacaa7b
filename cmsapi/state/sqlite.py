"""Share a state among the processes of one host, in a file.

All of it happens on one thread of its own, because a transaction may wait for the disk or for another process. The file
is in WAL mode. What decides about money is flushed to the disk before the caller goes on, the rest when the system gets
to it: the death of a process loses nothing, the death of the machine at most what was not flushed.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import attrs

from cmsapi.errors import StateError
from cmsapi.state.book import NEVER, Ask, Book, Grant, Holder, Terms
from cmsapi.state.journal import Entry, Lease, document_of, document_text, taken_over
from cmsapi.state.owners import Owner
from cmsapi.state.store import LIFE
from cmsapi.wire.jsontext import dumps, loads

T = TypeVar("T")

# Seconds to wait for other processes before giving up.
PATIENCE = 5.0
VERSION = 1
# Says whose file it is; "cmsA" in ASCII.
APPLICATION = 0x636D7341
_TABLES = """
CREATE TABLE journal (scope TEXT, key TEXT, lease TEXT, owner TEXT, entry TEXT NOT NULL, PRIMARY KEY (scope, key))
    WITHOUT ROWID;
CREATE TABLE owners (scope TEXT, id TEXT, owner TEXT NOT NULL, until REAL NOT NULL, PRIMARY KEY (scope, id))
    WITHOUT ROWID;
CREATE TABLE outcomes (scope TEXT, batch TEXT, item TEXT, entry TEXT NOT NULL, PRIMARY KEY (scope, batch, item))
    WITHOUT ROWID;
CREATE TABLE documents (scope TEXT, name TEXT, text TEXT NOT NULL, PRIMARY KEY (scope, name)) WITHOUT ROWID;
CREATE TABLE books (account TEXT PRIMARY KEY, book TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE settled (account TEXT, number INTEGER, at REAL NOT NULL, PRIMARY KEY (account, number)) WITHOUT ROWID;
"""


class SqliteState:
    """Share a state among the processes of one host, in a file.

    Args:
        path: The file; it is made with mode 0600 when it is first used.
        life: Seconds after which leases of an owner that was not heard of may be taken over.
        clock: Tells the time in seconds, the same for all processes. It is read on the loop, when an operation is
            asked for: who then waits for its turn sees an older time, which only makes tokens come back later.
    """

    def __init__(self, path: Path, *, life: float = LIFE, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self._life = life
        self._clock = clock
        self._thread: ThreadPoolExecutor | None = None
        self._file: _File | None = None
        self._closed = False

    async def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await self._on_thread(lambda file: work(file.db))

    async def _write(self, work: Callable[[sqlite3.Connection], T], *, flushed: bool = False) -> T:
        return await self._on_thread(lambda file: file.transact(work, flushed=flushed))

    async def _on_thread(self, work: Callable[[_File], T]) -> T:
        if self._closed:
            raise StateError(f"The state {self.path} is closed; nothing was written.")
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="cmsapi-state")
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._guarded, work)

    def _guarded(self, work: Callable[[_File], T]) -> T:
        try:
            if self._file is None:
                self._file = _File(self.path)
            return work(self._file)
        except (sqlite3.Error, OSError) as error:
            raise StateError(
                f"The state {self.path} cannot be used ({error}). What was to be written was not. "
                "See that the file and its directory can be written to, that the disk is local and not full, and "
                f"that no other program holds the file for more than {PATIENCE:g} s."
            ) from error

    async def _own(self, scope: str, work: Callable[[sqlite3.Connection, str], T], *, flushed: bool = False) -> T:
        """Work on a scope and say that this process lives, in one transaction."""
        until = self._clock() + self._life

        def both(file: _File) -> T:
            def transaction(db: sqlite3.Connection) -> T:
                owner = file.owner
                db.execute("INSERT OR REPLACE INTO owners VALUES (?, ?, ?, ?)", (scope, owner.id, owner.spell(), until))
                return work(db, owner.id)

            return file.transact(transaction, flushed=flushed)

        return await self._on_thread(both)

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
        """Strike the entry out, and keep the outcome of its item if it has one."""
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
        """Hold an open entry under this lease, if nobody alive holds it."""
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
        """Return the open entries by key, whoever holds them."""
        found = "SELECT key, entry FROM journal WHERE scope = ?"
        return _entries(await self._read(lambda db: db.execute(found, (scope,)).fetchall()))

    async def beat(self, scope: str) -> Sequence[Owner]:
        """Say that this process lives, and return the others that are alive."""
        now = self._clock()

        def work(db: sqlite3.Connection, owner: str) -> list[tuple[str]]:
            db.execute("DELETE FROM owners WHERE scope = ? AND until <= ?", (scope, now))
            return db.execute("SELECT owner FROM owners WHERE scope = ? AND id <> ?", (scope, owner)).fetchall()

        return [Owner.read(text) for (text,) in await self._own(scope, work)]

    async def bury(self, scope: str, owner: Owner) -> None:
        """Let others claim what an owner holds."""

        def work(db: sqlite3.Connection) -> None:
            db.execute("DELETE FROM owners WHERE scope = ? AND id = ?", (scope, owner.id))

        await self._write(work)

    async def outcomes(self, scope: str, batch: str) -> dict[str, Entry]:
        """Return how the items of a batch ended, by item."""
        found = "SELECT item, entry FROM outcomes WHERE scope = ? AND batch = ?"
        return _entries(await self._read(lambda db: db.execute(found, (scope, batch)).fetchall()))

    async def forget(self, scope: str, batch: str, items: Collection[str]) -> None:
        """Forget how some items ended."""

        def work(db: sqlite3.Connection) -> None:
            gone = "DELETE FROM outcomes WHERE scope = ? AND batch = ? AND item = ?"
            db.executemany(gone, [(scope, batch, item) for item in items])

        await self._write(work, flushed=True)

    async def recall(self, scope: str, name: str) -> Any:
        """Return a document, or None when there is none."""
        return document_of(await self._read(lambda db: _document(db, scope, name)))

    async def swap(self, scope: str, name: str, old: Any, new: Any) -> Any:
        """Put a document in the place of another one, unless somebody else was faster."""
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

    async def turn(self, account: str, terms: Terms, ask: Ask) -> Grant:
        """Write down what a holder of request tokens did, and give it what is its turn."""
        now = self._clock()

        def work(db: sqlite3.Connection) -> Grant:
            row = db.execute("SELECT book FROM books WHERE account = ?", (account,)).fetchone()
            book = Book() if row is None else _book_of(row[0])
            grant = book.turn(_Ring(db, account, book), terms, ask, now)
            text = dumps(attrs.asdict(book)).decode()
            db.execute("INSERT OR REPLACE INTO books VALUES (?, ?)", (account, text))
            return grant

        return await self._write(work)

    async def aclose(self) -> None:
        """Let others claim what this process holds, and close the file."""
        thread = self._thread
        if thread is None or self._closed:
            self._closed = True
            return

        def close(file: _File) -> None:
            with file.db:
                file.db.execute("DELETE FROM owners WHERE id = ?", (file.owner.id,))

        try:
            await self._on_thread(close)
        finally:
            self._closed = True
            await asyncio.get_running_loop().run_in_executor(thread, self._close)
            thread.shutdown(wait=False)

    def _close(self) -> None:
        if self._file is not None:
            self._file.db.close()


class _File:
    """Hold the open file; used on the state's thread only."""

    def __init__(self, path: Path) -> None:
        self.owner = Owner.here()
        # The mode is that of the file made here; one that exists keeps its own. What SQLite puts beside it follows it.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        _check(path)
        self.db = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
        try:
            _switch_to_wal(self.db, path)
            self._flushed = True
            self.db.execute("PRAGMA synchronous = FULL")
            self.transact(lambda db: _lay_out(db, path), flushed=True)
        except BaseException:
            self.db.close()
            raise

    def transact(self, work: Callable[[sqlite3.Connection], T], *, flushed: bool) -> T:
        db = self.db
        if flushed is not self._flushed:
            db.execute("PRAGMA synchronous = FULL" if flushed else "PRAGMA synchronous = NORMAL")
            self._flushed = flushed
        db.execute("BEGIN IMMEDIATE")
        try:
            result = work(db)
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
        return result


def _check(path: Path) -> None:
    """Look at a file without changing it."""
    db = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", timeout=PATIENCE, isolation_level=None, uri=True)
    try:
        # All that is read must be of one moment: another process may be laying the file out.
        db.execute("BEGIN")
        _refuse_others(db, path)
    finally:
        db.close()


def _refuse_others(db: sqlite3.Connection, path: Path) -> bool:
    """Raise when a file is not for us; tell whether it is laid out."""
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if not application and not version and not tables:
        return False
    if application != APPLICATION:
        raise StateError(f"{path} is a database of another program; it was left as it is. Name another file.")
    if version != VERSION:
        raise StateError(
            f"{path} was made by another version of this SDK (its schema is {version}, this one's is {VERSION}); it "
            "was left as it is. Let all processes that share it use one version, or name another file. Jobs that "
            "are open in it are only known there."
        )
    return True


def _switch_to_wal(db: sqlite3.Connection, path: Path) -> None:
    # The switch needs the file alone, and does not wait for it.
    give_up = time.monotonic() + PATIENCE
    mode = ""
    while not mode:
        try:
            (mode,) = db.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError:
            if time.monotonic() > give_up:
                raise
            time.sleep(0.01)
    if mode != "wal":
        raise StateError(f"{path} cannot be shared: its file system does not let SQLite use WAL. Name a local file.")


def _lay_out(db: sqlite3.Connection, path: Path) -> None:
    if _refuse_others(db, path):
        return
    for statement in _TABLES.split(";"):
        db.execute(statement)
    db.execute(f"PRAGMA application_id = {APPLICATION}")
    db.execute(f"PRAGMA user_version = {VERSION}")


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


def _book_of(text: str) -> Book:
    said = loads(text.encode())
    holders = {name: Holder(**holder) for name, holder in said.pop("holders").items()}
    return Book(**said, holders=holders)


class _Ring:
    """Keep the times at which requests settled as rows, numbered like the book counts them."""

    def __init__(self, db: sqlite3.Connection, account: str, book: Book) -> None:
        self._db = db
        self._account = account
        self._first, self._next = book.left, book.settled

    def _at(self, number: int) -> float:
        found = "SELECT at FROM settled WHERE account = ? AND number = ?"
        (at,) = self._db.execute(found, (self._account, number)).fetchone()
        return float(at)

    def newest(self, back: int) -> float:
        number = self._next - 1 - back
        return self._at(number) if number >= self._first else -NEVER

    def oldest(self, index: int) -> float:
        number = self._first + index
        return self._at(number) if number < self._next else NEVER

    def append(self, at: float) -> None:
        self._db.execute("INSERT INTO settled VALUES (?, ?, ?)", (self._account, self._next, at))
        self._next += 1

    def drop(self, until: float) -> int:
        had = self._first
        if self.oldest(0) <= until:
            stays = "SELECT number FROM settled WHERE account = ? AND at > ? ORDER BY number LIMIT 1"
            row = self._db.execute(stays, (self._account, until)).fetchone()
            self._first = self._next if row is None else row[0]
            gone = "DELETE FROM settled WHERE account = ? AND number < ?"
            self._db.execute(gone, (self._account, self._first))
        return self._first - had
