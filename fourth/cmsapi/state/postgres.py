"""PostgreSQL: a database that the processes of several machines share (extra ``postgres``)."""

from __future__ import annotations

import re
from typing import Any

from cmsapi.errors import ConfigError
from cmsapi.state.sql import Dialect

_PATIENCE = 30
"""Seconds that a connection or a statement may take."""


def postgres(url: str) -> Dialect:
    """Return how a database is used.

    Raises:
        ConfigError: psycopg is not installed.
    """
    try:
        import psycopg
    except ImportError:
        raise ConfigError("state=postgresql:// needs psycopg: pip install 'cmsapi[postgres]'") from None

    def connect() -> Any:
        options = f"-c statement_timeout={_PATIENCE}s -c lock_timeout={_PATIENCE}s"
        return psycopg.connect(url, autocommit=True, connect_timeout=_PATIENCE, options=options)

    def begin(connection: Any, lock: str) -> None:
        connection.execute("BEGIN")
        connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"cmsapi {lock}",))

    def now(connection: Any) -> float:
        return float(connection.execute("SELECT extract(epoch FROM clock_timestamp())").fetchone()[0])

    shown = re.sub(r"//[^/@]*@", "//", url.split("?")[0])
    return Dialect(shown, connect, begin, now, "%s", (psycopg.Error, OSError))
