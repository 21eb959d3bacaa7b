"""Work on a Postgres server: one transaction after the other on a connection, which is opened anew when it fails."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeAlias, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict

from cmsapi.errors import ConfigError, StateError
from cmsapi.state.redaction import redact_url

T = TypeVar("T")
Connection: TypeAlias = psycopg.AsyncConnection[tuple[Any, ...]]

# Seconds for one transaction and its repeat, and for one after the server was waited for in vain; and for a server to
# stop what was cancelled.
TIMEOUT = 5.0
SHORT_TIMEOUT = 1.0
STOPPING = 0.5
OLDEST = 13
VERSION = "1"
_LAYOUT = """
DO $$ BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('cmsapi', 0));
    IF to_regclass('cmsapi.documents') IS NULL THEN
        IF to_regnamespace('cmsapi') IS NULL THEN
            CREATE SCHEMA cmsapi;
        END IF;
        CREATE TABLE cmsapi.journal (id text PRIMARY KEY, scope text NOT NULL, key text NOT NULL, lease text,
            owner text, entry text NOT NULL);
        CREATE TABLE cmsapi.owners (scope text, id text, owner text NOT NULL, until timestamptz NOT NULL,
            PRIMARY KEY (scope, id));
        CREATE TABLE cmsapi.outcomes (id text PRIMARY KEY, scope text NOT NULL, batch text NOT NULL,
            entry text NOT NULL);
        CREATE INDEX ON cmsapi.outcomes (scope, batch);
        CREATE TABLE cmsapi.documents (scope text, name text, text text NOT NULL, PRIMARY KEY (scope, name));
        CREATE TABLE cmsapi.limits (account text PRIMARY KEY, document text NOT NULL, writer text NOT NULL);
    END IF;
END $$
"""
# Settings of one transaction, because a pool before the server gives each to another session. The server ends that of
# a process which is frozen in it, so that others wait for less than their own time. Where nothing decides about money,
# the server need not wait for its disk.
_SETTINGS = """
SELECT set_config('lock_timeout', '4s', true), set_config('idle_in_transaction_session_timeout', '2s', true),
    set_config('synchronous_commit', CASE WHEN NOT %s THEN 'off' WHEN current_setting('synchronous_commit') = 'off'
        THEN 'on' ELSE current_setting('synchronous_commit') END, true)
"""
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
_WRITE_VERSION = "INSERT INTO cmsapi.documents VALUES ('', 'version', %s) ON CONFLICT DO NOTHING"
_FIND_VERSION = "SELECT text FROM cmsapi.documents WHERE scope = '' AND name = 'version'"

_SILENCE = (psycopg.OperationalError, psycopg.InterfaceError, OSError, TimeoutError)


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
                url, autocommit=True, prepare_threshold=None, client_encoding="utf8", application_name="cmsapi"
            )

        # A function, so that what is shown of this object does not have the password of the URL.
        self._connect = connect
        self._connection: Connection | None = None
        self._turn = asyncio.Lock()
        # Transactions that the server has not answered, and whether the last one was such.
        self._unanswered = 0
        self._silent = False
        self._closed = False

    async def transact(
        self, names: Sequence[str], work: Callable[[Connection], Awaitable[T]], *, flushed: bool = False
    ) -> T:
        """Do all of some work or nothing, while no other process works under one of its names.

        Args:
            names: What the work is about, always in the same order; none to read.
            work: What to do. It is repeated where the connection was lost, and finds what it has done.
            flushed: Whether it is on the server's disk before this returns.

        Raises:
            StateError: The server does not answer, refuses, or holds another version's state.
        """
        unanswered = self._unanswered
        async with self._turn:
            if self._closed:
                raise StateError(f"The state {self._shown_url} is closed; nothing was written.")
            used = self._connection is not None
            try:
                if self._unanswered != unanswered:
                    raise TimeoutError("it did not answer another operation meanwhile")  # noqa: TRY301
                attempts = self._attempts(names, work, flushed)
                result = await _in_time(attempts, SHORT_TIMEOUT if self._silent else TIMEOUT)
            except (psycopg.Error, OSError, TimeoutError) as error:
                self._silent = isinstance(error, _SILENCE)
                self._unanswered += self._silent
                sent = used or self._connection is not None
                await self._disconnect()
                raise self._unusable(error, sent and self._silent) from error
            except BaseException:
                # The connection is in the middle of a transaction.
                await self._disconnect()
                raise
            self._silent = False
            return result

    async def aclose(self) -> None:
        """Close the connection."""
        async with self._turn:
            self._closed = True
            await self._disconnect()

    async def _attempts(self, names: Sequence[str], work: Callable[[Connection], Awaitable[T]], flushed: bool) -> T:
        if self._connection is not None:
            try:
                return await self._transact(self._connection, names, work, flushed)
            except _SILENCE:
                # The server may have been started anew since the connection was used last.
                await self._disconnect()
        self._connection = await self._connect()
        if (version := self._connection.info.server_version // 10_000) < OLDEST:
            raise StateError(f"{self._shown_url} is PostgreSQL {version}; the shared state needs {OLDEST} or later.")
        await self._connection.execute(_LAYOUT)
        await self._connection.execute(_WRITE_VERSION, (VERSION,))
        return await self._transact(self._connection, names, work, flushed)

    async def _transact(
        self, db: Connection, names: Sequence[str], work: Callable[[Connection], Awaitable[T]], flushed: bool
    ) -> T:
        # Statements are sent together until an answer is waited for.
        async with db.pipeline():
            await db.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
            await db.execute(_SETTINGS, (flushed,))
            for name in names:
                await db.execute(_LOCK, (name,))
            found = await (await db.execute(_FIND_VERSION)).fetchone()
            # The rows may be lost and the tables not: that is an empty state.
            if found is not None and found != (VERSION,):
                raise StateError(
                    f"The state {self._shown_url} was made by another version of this SDK (its layout is {found[0]}, "
                    f"this one's is {VERSION}); it was left as it is. Let all processes that share it use one "
                    "version, or use another database. Jobs that are open in it are only known there."
                )
            result = await work(db)
            await db.execute("COMMIT")
        return result

    async def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    def _unusable(self, error: Exception, sent: bool) -> StateError:
        said = " ".join(str(error).split()).rstrip(".") or "no answer"
        return StateError(
            f"The state {self._shown_url} cannot be used ({type(error).__name__}: {said}). "
            f"{'What was to be written may have been written' if sent else 'Nothing was written'}. "
            "See that the server runs, can be reached, takes writes, and lets this user have the schema cmsapi."
        )


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
        while not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=STOPPING)
