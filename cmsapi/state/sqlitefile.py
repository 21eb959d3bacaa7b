"""Open a SQLite file that processes share, or refuse it without changing a byte of it."""

from __future__ import annotations

import math
import os
import secrets
import sqlite3
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from cmsapi.errors import StateError
from cmsapi.state.process import Owner

T = TypeVar("T")

# Seconds to wait for other processes before giving up; and once that was in vain, until something was written again.
PATIENCE = 5.0
SHORT_PATIENCE = 0.25
VERSION = 2
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
CREATE TABLE limits (account TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;
"""
# Version 1 had a row for each request of the hour. Only their number is taken over.
_FROM_VERSION_1 = """
CREATE TABLE limits (account TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO limits SELECT account, json_object('format', 1, 'used',
    (SELECT count(*) FROM settled WHERE settled.account = books.account)) FROM books;
DROP TABLE books;
DROP TABLE settled;
"""


class Patience:
    """Say how long operations wait for other processes that hold the file, so that they do not wait one after another.

    What was asked for before the last one gave up does not wait any more.
    """

    def __init__(self) -> None:
        self._gave_up_at: float | None = None

    def until(self, asked_at: float) -> float:
        """Return the time of the process until which an operation waits.

        Args:
            asked_at: Time of the process at which it was asked for.
        """
        now = time.monotonic()
        if self._gave_up_at is None:
            return now + PATIENCE
        return now + SHORT_PATIENCE if asked_at > self._gave_up_at else now

    def wrote(self) -> None:
        """Note that something was written."""
        self._gave_up_at = None

    def gave_up(self) -> None:
        """Note that an operation has failed."""
        self._gave_up_at = time.monotonic()


class SqliteFile:
    """Hold an open file, on one thread.

    Args:
        path: The file; one that does not exist is made with mode 0600.
        until: Time of the process until which opening waits for others.

    Raises:
        StateError: The file is another program's or another version's, or cannot be shared.
    """

    def __init__(self, path: Path, until: float = math.inf) -> None:
        self.owner: Owner = Owner.here()
        #: Whether the last use has written something.
        self.wrote: bool = False
        self._path = path
        self._paths = [Path(f"{path}{suffix}") for suffix in ("", "-wal", "-shm")]
        self._waits = -1
        _make(path)
        _check(path, until)
        self.db: sqlite3.Connection = sqlite3.connect(path, timeout=_left(until), isolation_level=None)
        try:
            _switch_to_wal(self.db, path, until)
            self._flushed = True
            self.db.execute("PRAGMA synchronous = FULL")
            self._epoch: str | None = None
            self._wait_until(until)
            self._epoch = self.transact(lambda db: _lay_out(db, path), flushed=True)
            self._opened = self._identities()
        except BaseException:
            self.db.close()
            raise

    def use(self, work: Callable[[SqliteFile], T], until: float) -> T:
        """Do something with the file, and make sure that other processes see it.

        Args:
            work: What to do.
            until: Time of the process until which to wait for others.

        Raises:
            ReplacedError: Another file is in the place of this one, or none.
        """
        self.wrote = False
        self._wait_until(until)
        try:
            return work(self)
        finally:
            # Also when it failed: that may be why.
            if self._identities() != self._opened:
                raise _replaced(self._path)

    def _check_epoch(self) -> None:
        # A file may also be overwritten where it is.
        if self._epoch is not None and _epoch(self.db) != self._epoch:
            raise _replaced(self._path)

    def _wait_until(self, until: float) -> None:
        milliseconds = math.ceil(_left(until) * 1000)
        if milliseconds != self._waits:
            self.db.execute(f"PRAGMA busy_timeout = {milliseconds}")
            self._waits = milliseconds

    def _identities(self) -> list[tuple[int, int] | None]:
        return [_identity(path) for path in self._paths]

    def transact(self, work: Callable[[sqlite3.Connection], T], *, flushed: bool) -> T:
        """Do all of it or nothing, alone; when it must be `flushed`, it is on the disk before this returns."""
        db = self.db
        if flushed is not self._flushed:
            db.execute("PRAGMA synchronous = FULL" if flushed else "PRAGMA synchronous = NORMAL")
            self._flushed = flushed
        db.execute("BEGIN IMMEDIATE")
        try:
            self._check_epoch()
            result = work(db)
            db.execute("COMMIT")
            self.wrote = True
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
        return result


class ReplacedError(StateError):
    """The file that was opened is no longer the one that other processes see."""


def _replaced(path: Path) -> ReplacedError:
    return ReplacedError(f"The file of the state {path} was removed or replaced while it was used.")


def _left(until: float) -> float:
    """Return the seconds until a time of the process, at most those of the whole patience."""
    return min(max(0.0, until - time.monotonic()), PATIENCE)


def _make(path: Path) -> None:
    """Make a file if there is none; refuse what is no file, because opening a pipe waits for its other end."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        # The mode is that of the file made here; one that exists keeps its own. What SQLite puts beside it follows it.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        return
    if not stat.S_ISREG(mode):
        raise StateError(
            f"The state {path} is not a file but a {_kind(mode)}; it was left as it is, and nothing was sent or "
            "charged. Name a file, or a path where there is none yet."
        )


def _kind(mode: int) -> str:
    kinds = ((stat.S_ISDIR, "directory"), (stat.S_ISFIFO, "pipe"), (stat.S_ISSOCK, "socket"))
    return next((name for is_kind, name in kinds if is_kind(mode)), "device")


def _identity(path: Path) -> tuple[int, int] | None:
    """Return device and number of a file, None where there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _check(path: Path, until: float) -> None:
    """Look at a file without changing it."""
    db = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", timeout=_left(until), isolation_level=None, uri=True)
    try:
        # All that is read must be of one moment: another process may be laying the file out.
        db.execute("BEGIN")
        _refuse_others(db, path)
    finally:
        db.close()


def _refuse_others(db: sqlite3.Connection, path: Path) -> int:
    """Raise when a file is not for us; return the version of its tables, 0 when there are none yet."""
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if not application and not version and not tables:
        return 0
    if application != APPLICATION:
        raise StateError(f"{path} is a database of another program; it was left as it is. Name another file.")
    if version not in (1, VERSION):
        raise StateError(
            f"{path} was made by another version of this SDK (its schema is {version}, this one's is {VERSION}); it "
            "was left as it is. Let all processes that share it use one version, or name another file. Jobs that "
            "are open in it are only known there."
        )
    return int(version)


def _switch_to_wal(db: sqlite3.Connection, path: Path, until: float) -> None:
    # The switch needs the file alone, and does not wait for it.
    give_up = time.monotonic() + _left(until)
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


def _lay_out(db: sqlite3.Connection, path: Path) -> str | None:
    """Make the tables if there are none or old ones, and return the epoch of the file."""
    version = _refuse_others(db, path)
    if version != VERSION:
        for statement in (_FROM_VERSION_1 if version else _TABLES).split(";"):
            db.execute(statement)
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        db.execute(f"PRAGMA user_version = {VERSION}")
    db.execute("INSERT OR IGNORE INTO documents VALUES ('', 'epoch', ?)", (secrets.token_hex(16),))
    return _epoch(db)


def _epoch(db: sqlite3.Connection) -> str | None:
    """Return the random word that the file was given when it was made."""
    row = db.execute("SELECT text FROM documents WHERE scope = '' AND name = 'epoch'").fetchone()
    return None if row is None else str(row[0])
