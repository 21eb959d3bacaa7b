"""PostgreSQL dialect of the SQL store, for processes on several machines (extra ``postgres``)."""

from __future__ import annotations

from typing import Any

from cmsapi.errors import ConfigError
from cmsapi.state.sql import Dialect
from cmsapi.state.store import PATIENCE, host_of


def postgres(url: str) -> Dialect:
    """Return the dialect for the PostgreSQL database at ``url``, without connecting to it.

    Raises:
        ConfigError: ``url`` is invalid, or psycopg is not installed.
    """
    try:
        import psycopg
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        raise ConfigError("state=postgresql:// needs psycopg: pip install 'cmsapi[postgres]'") from None
    try:
        host = conninfo_to_dict(url).get("host", "")
    except psycopg.Error:
        host = "@"
    if "@" in str(host):  # from a password that is not percent-encoded; the driver would show it
        raise ConfigError("state is not a PostgreSQL address: expected postgresql://user:password@host:port/database")

    def connect() -> Any:
        options = f"-c statement_timeout={PATIENCE}s -c lock_timeout={PATIENCE}s"
        tcp: Any = {"tcp_user_timeout": 1000 * PATIENCE, "keepalives_idle": PATIENCE, "keepalives_interval": PATIENCE}
        return psycopg.connect(url, autocommit=True, connect_timeout=PATIENCE, options=options, **tcp)

    def begin(connection: Any, lock: str) -> None:
        connection.execute("BEGIN")
        connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"cmsapi {lock}",))

    def now(connection: Any) -> float:
        return float(connection.execute("SELECT extract(epoch FROM clock_timestamp())").fetchone()[0])

    return Dialect(host_of(url), connect, begin, now, "%s", (psycopg.Error, OSError))
