"""Open a SQLite file that processes share, or refuse it without changing a byte of it."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from cmsapi.errors import StateError
from cmsapi.state.owners import Owner

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


class SqliteFile:
    """Hold an open file, on one thread.

    Args:
        path: The file; one that does not exist is made with mode 0600.

    Raises:
        StateError: The file is another program's or another version's, or cannot be shared.
    """

    def __init__(self, path: Path) -> None:
        self.owner: Owner = Owner.here()
        # The mode is that of the file made here; one that exists keeps its own. What SQLite puts beside it follows it.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        _check(path)
        self.db: sqlite3.Connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
        try:
            _switch_to_wal(self.db, path)
            self._flushed = True
            self.db.execute("PRAGMA synchronous = FULL")
            self.transact(lambda db: _lay_out(db, path), flushed=True)
        except BaseException:
            self.db.close()
            raise

    def transact(self, work: Callable[[sqlite3.Connection], T], *, flushed: bool) -> T:
        """Do all of it or nothing, alone; when it must be `flushed`, it is on the disk before this returns."""
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
