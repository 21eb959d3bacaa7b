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
from cmsapi.state.ownership import check_owner, warn_if_writable

T = TypeVar("T")

# Seconds to wait for other processes; and once that was in vain, until something was written again.
TIMEOUT = 5.0
SHORT_TIMEOUT = 0.25
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
CREATE TABLE limits (account TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;
"""


class SqliteFile:
    """Keep a file open, on one thread, and make sure that other processes see what is written to it.

    Args:
        path: The file. It is opened with its first use; one that does not exist is made with mode 0600.
    """

    def __init__(self, path: Path) -> None:
        self.path: Path = path
        #: Whether the file that was opened first is no longer the one that other processes see.
        self.replaced: bool = False
        self._paths = [Path(f"{path}{suffix}") for suffix in ("", "-wal", "-shm")]
        self._db: sqlite3.Connection | None = None
        # Time of the process at which the last use failed; None since something was written.
        self._gave_up_at: float | None = None

    @property
    def is_open(self) -> bool:
        """Whether the file is open."""
        return self._db is not None

    def use(self, work: Callable[[sqlite3.Connection], T], asked_at: float, flushed: bool | None = None) -> T:
        """Read, or do all of a change or nothing.

        What other processes hold is waited for, but not by one use after the other: what was asked for before the last
        use gave up does not wait any more.

        Args:
            work: What to do.
            asked_at: Time of the process at which it was asked for.
            flushed: Whether a change is on the disk before this returns; None to read.

        Raises:
            ReplacedError: Another file is in the place of this one, or none; the next use opens the one that is there.
            StateError: The file is another program's or another version's, or cannot be used.
        """
        now = time.monotonic()
        if self._gave_up_at is None:
            until = now + TIMEOUT
        else:
            until = now + SHORT_TIMEOUT if asked_at > self._gave_up_at else now
        try:
            db = self._db if self._db is not None else self._open(until)
            _wait_until(db, until)
            try:
                return work(db) if flushed is None else self._transact(db, work, flushed)
            finally:
                # Also when it failed: that may be why.
                if self._identities() != self._opened:
                    raise self._replaced()
        except ReplacedError:
            self.replaced = True
            self.close()
            raise
        except (sqlite3.Error, OSError) as error:
            self._gave_up_at = time.monotonic()
            raise StateError(
                f"The state {self.path} cannot be used ({error}). What was to be written was not. "
                "See that the file and its directory can be written to, that the disk is local and not full, and "
                f"that no other program holds the file for more than {TIMEOUT:g} s."
            ) from error

    def close(self) -> None:
        """Close the file."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def _open(self, until: float) -> sqlite3.Connection:
        path = self.path
        check_owner(path)
        _make(path)
        # Another user may have been faster.
        check_owner(path)
        _check(path, until)
        db = sqlite3.connect(path, timeout=_left(until), isolation_level=None)
        try:
            _flush_through(db)
            _switch_to_wal(db, path, until)
            _wait_until(db, until)
            self._stamp: str | None = None
            self._stamp = self._transact(db, lambda db: _lay_out(db, path), flushed=True)
            self._opened = self._identities()
            warn_if_writable(path)
        except BaseException:
            db.close()
            raise
        self._db = db
        return db

    def _transact(self, db: sqlite3.Connection, work: Callable[[sqlite3.Connection], T], flushed: bool) -> T:
        db.execute("PRAGMA synchronous = FULL" if flushed else "PRAGMA synchronous = NORMAL")
        db.execute("BEGIN IMMEDIATE")
        try:
            self._check_stamp(db)
            result = work(db)
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
        self._gave_up_at = None
        return result

    def _check_stamp(self, db: sqlite3.Connection) -> None:
        if self._stamp is None or (found := _stamp(db)) == self._stamp:
            return
        # A file may also be overwritten where it is. One that only lost its rows is still that of this process.
        if found is not None:
            raise self._replaced()
        db.execute("INSERT INTO documents VALUES ('', 'epoch', ?)", (self._stamp,))

    def _replaced(self) -> ReplacedError:
        return ReplacedError(f"The file of the state {self.path} was removed or replaced while it was used.")

    def _identities(self) -> list[tuple[int, int] | None]:
        return [_identity(path) for path in self._paths]


class ReplacedError(StateError):
    """The file that was opened is no longer the one that other processes see."""


def _wait_until(db: sqlite3.Connection, until: float) -> None:
    db.execute(f"PRAGMA busy_timeout = {math.ceil(_left(until) * 1000)}")


def _left(until: float) -> float:
    """Return the seconds until a time of the process, at most those of the whole wait."""
    return min(max(0.0, until - time.monotonic()), TIMEOUT)


def _make(path: Path) -> None:
    """Make a file if there is none; refuse what is no file, because opening a pipe waits for its other end."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        # The mode is that of the file made here; one that exists keeps its own. What SQLite puts beside it follows it.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        return
    if not stat.S_ISREG(mode):
        kind = {"d": "directory", "p": "pipe", "s": "socket"}.get(stat.filemode(mode)[0], "device")
        raise StateError(
            f"The state {path} is not a file but a {kind}; it was left as it is, and nothing was sent or "
            "charged. Name a file, or a path where there is none yet."
        )


def _identity(path: Path) -> tuple[int, int] | None:
    """Return device and number of a file, None where there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _check(path: Path, until: float) -> None:
    """Refuse a file that is not for us, without changing it."""
    # No slash may stay: two at the beginning would make the next part a host.
    name = quote(str(path), safe="")
    db = sqlite3.connect(f"file:{name}?mode=ro", timeout=_left(until), isolation_level=None, uri=True)
    try:
        # All that is read must be of one moment: another process may be laying the file out.
        db.execute("BEGIN")
        _refuse_others(db, path)
    finally:
        db.close()


def _refuse_others(db: sqlite3.Connection, path: Path) -> bool:
    """Raise when a file is not for us; return whether it is still empty."""
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if not application and not version and not tables:
        return True
    if application != APPLICATION:
        raise StateError(f"{path} is a database of another program; it was left as it is. Name another file.")
    if version != VERSION:
        raise StateError(
            f"{path} was made by another version of this SDK (its schema is {version}, this one's is {VERSION}); it "
            "was left as it is. Let all processes that share it use one version, or name another file. Jobs that "
            "are open in it are only known there."
        )
    return False


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


def _flush_through(db: sqlite3.Connection) -> None:
    """Have macOS flush to the disk and not to its memory only; other systems do so anyway."""
    db.execute("PRAGMA fullfsync = ON")
    db.execute("PRAGMA checkpoint_fullfsync = ON")


def _lay_out(db: sqlite3.Connection, path: Path) -> str | None:
    """Make the tables if there are none, and return the stamp of the file."""
    if _refuse_others(db, path):
        for statement in _TABLES.split(";"):
            db.execute(statement)
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        db.execute(f"PRAGMA user_version = {VERSION}")
    db.execute("INSERT OR IGNORE INTO documents VALUES ('', 'epoch', ?)", (secrets.token_hex(16),))
    return _stamp(db)


def _stamp(db: sqlite3.Connection) -> str | None:
    """Return the random word that the file was given when it was made."""
    row = db.execute("SELECT text FROM documents WHERE scope = '' AND name = 'epoch'").fetchone()
    return None if row is None else str(row[0])
