"""SQLite dialect of the SQL store, for processes on one machine."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cmsapi.state.sql import Dialect
from cmsapi.state.store import PATIENCE


def sqlite(path: str, clock: Callable[[], float] = time.time) -> Dialect:
    """Return the dialect for the file at ``path``. If the file is missing, connecting creates it with mode 0600."""

    def connect() -> sqlite3.Connection:
        Path(path).touch(0o600)  # opens no existing file: closing one would release the locks of other connections
        connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.Error as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:  # if busy, another process is switching the mode
                connection.close()
                raise
        return connection

    def begin(connection: Any, lock: str) -> None:
        connection.execute("BEGIN IMMEDIATE")

    return Dialect(str(Path(path)), connect, begin, lambda connection: clock(), "?", (sqlite3.Error, OSError))
