"""Work on a Postgres server: one transaction after the other on a connection, which is opened anew when it fails."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from itertools import chain
from typing import Any, TypeAlias, TypeVar

import anyio
import psycopg
from psycopg.conninfo import conninfo_to_dict

from cmsapi.errors import ConfigError, StateError
from cmsapi.state.redaction import redact_url
from cmsapi.state.rows import Rows, Transaction
from cmsapi.state.sql import Statement, changes, selection

T = TypeVar("T")
Connection: TypeAlias = psycopg.AsyncConnection[tuple[Any, ...]]

# Seconds for one transaction and its repeat, and for one after the server was waited for in vain, which includes a new
# connection to a server that is far away; and for a server to stop what was cancelled.
TIMEOUT = 5.0
SHORT_TIMEOUT = 2.0
STOPPING = 0.5
OLDEST = 13
VERSION = "1"
# There is no unique index, because a name may be longer than an index takes: each is locked before it is written.
_LAYOUT = """
BEGIN ISOLATION LEVEL READ COMMITTED;
DO $$ BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('cmsapi', 0));
    IF to_regclass('cmsapi.documents') IS NULL THEN
        IF to_regnamespace('cmsapi') IS NULL THEN
            CREATE SCHEMA cmsapi;
        END IF;
        CREATE TABLE cmsapi.journal (scope text, key text, lease text, owner text, entry text NOT NULL);
        CREATE TABLE cmsapi.owners (scope text, id text, owner text NOT NULL, until double precision NOT NULL);
        CREATE TABLE cmsapi.outcomes (scope text, batch text, item text, entry text NOT NULL);
        CREATE TABLE cmsapi.documents (scope text, name text, text text NOT NULL);
        CREATE TABLE cmsapi.limits (account text, document text NOT NULL, writer text NOT NULL);
        CREATE INDEX ON cmsapi.journal USING hash (key);
        CREATE INDEX ON cmsapi.outcomes USING hash (batch);
        CREATE INDEX ON cmsapi.outcomes USING hash (item);
    END IF;
    IF NOT EXISTS (SELECT FROM cmsapi.documents WHERE scope = '' AND name = 'version') THEN
        INSERT INTO cmsapi.documents VALUES ('', 'version', 'VERSION');
    END IF;
END $$;
COMMIT
""".replace("VERSION", VERSION)
# Settings of one transaction, because a pool before the server gives each to another session. The server ends that of
# a process which is frozen in it, so that others wait for less than their own time; and it waits for its disk.
_BEGIN = """
BEGIN ISOLATION LEVEL READ COMMITTED;
SELECT set_config('search_path', 'cmsapi', true), set_config('lock_timeout', '4s', true),
    set_config('idle_in_transaction_session_timeout', '2s', true),
    set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
        ELSE current_setting('synchronous_commit') END, true)
"""
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(?, 0))"
# The time is that after the locks are there.
_ABOUT = """
SELECT (SELECT text FROM documents WHERE scope = '' AND name = 'version'), extract(epoch FROM clock_timestamp())::float8
"""


class Session:
    """Hold a connection to a server, on which one transaction follows the other.

    Args:
        url: `postgresql://[user[:password]@]host[:port]/database`, and what libpq takes as a query.

    Raises:
        ConfigError: The URL cannot be read.
    """

    def __init__(self, url: str) -> None:
        self._shown_url = redact_url(url)
        try:
            conninfo_to_dict(url)
        except psycopg.Error as error:
            raise ConfigError(
                f"state: {self._shown_url} is not the URL of a Postgres server ({type(error).__name__})."
            ) from None

        def connect() -> Coroutine[Any, Any, Connection]:
            return psycopg.AsyncConnection.connect(
                url,
                autocommit=True,
                cursor_factory=psycopg.AsyncClientCursor,
                client_encoding="utf8",
                application_name="cmsapi",
            )

        # A function, so that what is shown of this object does not have the password of the URL.
        self._connect = connect
        self._connection: Connection | None = None
        self._turn = asyncio.Lock()
        # Transactions that the server has not answered, whether the last one was such, and the last cause that it or
        # the network named since it answered.
        self._unanswered = 0
        self._silent = False
        self._cause = ""
        #: Whether it was closed.
        self.closed: bool = False

    async def run(self, transaction: Transaction[T]) -> T:
        """Run a transaction, once more where the connection has turned out to be lost.

        Raises:
            StateError: The server does not answer, refuses, or holds another version's state.
        """
        unanswered = self._unanswered
        async with self._turn:
            if self.closed:
                raise StateError(f"The state {self._shown_url} is closed; nothing was written.")
            if self._unanswered != unanswered:
                # It did not answer another operation meanwhile, and is not waited for once more.
                self._unanswered += 1
                raise self._unusable(self._cause or "no answer", sent=False)
            sent = self._connection is not None
            try:
                result = await _in_time(self._attempts(transaction), SHORT_TIMEOUT if self._silent else TIMEOUT)
            except BaseException as error:
                sent = sent or self._connection is not None
                # It may be inside of a transaction.
                await self._disconnect()
                if not isinstance(error, psycopg.Error | OSError | TimeoutError):
                    raise
                self._silent = _is_lost(error)
                self._unanswered += self._silent
                raise self._unusable(self._why(error), sent=sent and self._silent) from error
            self._silent, self._cause = False, ""
            return result

    async def aclose(self) -> None:
        """Close the connection."""
        async with self._turn:
            self.closed = True
            await self._disconnect()

    async def _attempts(self, transaction: Transaction[T]) -> T:
        try:
            return await self._attempt(transaction)
        except psycopg.Error as error:
            if self._connection is None or not _is_lost(error):
                raise
            # The server was started anew since the connection was used last, or ended a transaction in which this
            # process was frozen.
            await self._disconnect()
        return await self._attempt(transaction)

    async def _attempt(self, transaction: Transaction[T]) -> T:
        """Run a transaction, in two exchanges with the server."""
        db, reads = await self._connected(), [(_ABOUT, ()), *map(selection, transaction.reads)]
        locks = [(_LOCK, (f"{read.table.title} {read.names}",)) for read in transaction.locked]
        rows = await _exchange(db, [(_BEGIN, ()), *locks, *reads])
        ((version, now),), *found = rows[-len(reads) :]
        # Without a version the rows were lost and the tables not: that is an empty state.
        if version not in (VERSION, None):
            raise StateError(
                f"The state {self._shown_url} was made by another version of this SDK (its layout is {version}, this "
                f"one's is {VERSION}); it was left as it is. Let all processes that share it use one version, or use "
                "another database. Jobs that are open in it are only known there."
            )
        writes, result = transaction.decide(now, *found)
        await _exchange(db, [*chain.from_iterable(map(changes, writes)), ("COMMIT", ())])
        return result

    async def _connected(self) -> Connection:
        if self._connection is None:
            self._connection = await self._connect()
            if (version := self._connection.info.server_version // 10_000) < OLDEST:
                raise StateError(
                    f"{self._shown_url} is PostgreSQL {version}; the shared state needs {OLDEST} or later."
                )
            await self._connection.execute(_LAYOUT)
        return self._connection

    async def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    def _why(self, error: Exception) -> str:
        """Explain why the server did not do something; one that says nothing by now may have refused before."""
        said = " ".join(str(error).split()).rstrip(".")
        if said:
            self._cause = f"{type(error).__name__}: {said}"
            return self._cause
        return f"no answer; before that {self._cause}" if self._cause else "no answer"

    def _unusable(self, why: str, *, sent: bool) -> StateError:
        return StateError(
            f"The state {self._shown_url} cannot be used ({why}). "
            f"{'What was to be written may have been written' if sent else 'Nothing was written'}. "
            "See that the server runs, can be reached, takes writes, and lets this user have the schema cmsapi."
        )


def _is_lost(error: Exception) -> bool:
    """Check whether an error says that the connection is gone, and not only that the server refuses something."""
    if isinstance(error, psycopg.Error) and error.diag.severity_nonlocalized is not None:
        return error.diag.severity_nonlocalized != "ERROR"
    return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError | OSError | TimeoutError)


async def _exchange(db: Connection, statements: Sequence[Statement]) -> list[Rows]:
    """Send statements together, and return the rows of each."""
    values = [_escaped(value) for _, values in statements for value in values]
    query = "; ".join(text for text, _ in statements).replace("?", "%s")
    cursor = await db.execute(query.encode(), values)
    rows = []
    while True:
        found = await cursor.fetchall() if cursor.description else []
        rows.append([tuple(_unescaped(value) for value in row) for row in found])
        if not cursor.nextset():
            return rows


def _escaped(value: Any) -> Any:
    """Write a text without the character zero, which Postgres does not take."""
    return value.replace("\1", "\1a").replace("\0", "\1b") if isinstance(value, str) else value


def _unescaped(value: Any) -> Any:
    return value.replace("\1b", "\0").replace("\1a", "\1") if isinstance(value, str) else value


async def _in_time(work: Coroutine[Any, Any, T], seconds: float) -> T:
    """Wait for work on a connection until a time is over.

    Raises:
        TimeoutError: It is over.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=seconds)
        if not task.done():
            raise TimeoutError
        return await task
    finally:
        # After the first cancellation the client waits for the server to stop; the next one ends that, too.
        with anyio.CancelScope(shield=True):
            while not task.done():
                task.cancel()
                await asyncio.wait({task}, timeout=STOPPING)
        if not task.cancelled():
            # Nothing else asks how it ended.
            task.exception()
