"""Work on a Postgres server, one transaction after the other on one connection, which is opened anew when it fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeAlias, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict

from cmsapi.errors import ConfigError, StateError
from cmsapi.state.redaction import redact_url

logger: logging.Logger = logging.getLogger("cmsapi")

T = TypeVar("T")
Connection: TypeAlias = psycopg.AsyncConnection[tuple[Any, ...]]

# Seconds for one transaction with its repeat; once the server was waited for in vain, until it answers again; and for
# a server to answer that it stops what was cancelled.
TIMEOUT = 5.0
SHORT_TIMEOUT = 1.0
STOPPING = 0.5
# Milliseconds for which the server waits for what another process has locked, and after which it ends the transaction
# of a process that was frozen in it.
_LOCK_TIMEOUT = 4000
_IDLE_TIMEOUT = 2000
# PostgreSQL 13.
OLDEST = 13_00_00
VERSION = "1"
_SCHEMA = "CREATE SCHEMA cmsapi"
_TABLES = """
CREATE TABLE cmsapi.journal (scope text, key text, lease text, owner text, entry text NOT NULL,
    PRIMARY KEY (scope, key));
CREATE TABLE cmsapi.owners (scope text, id text, owner text NOT NULL, until timestamptz NOT NULL,
    PRIMARY KEY (scope, id));
CREATE TABLE cmsapi.outcomes (scope text, batch text, item text, entry text NOT NULL,
    PRIMARY KEY (scope, batch, item));
CREATE TABLE cmsapi.documents (scope text, name text, text text NOT NULL, PRIMARY KEY (scope, name));
CREATE TABLE cmsapi.limits (account text PRIMARY KEY, document text NOT NULL, writer text NOT NULL)
"""
# What holds for a transaction alone, because a pool between this process and the server gives each to another session.
_BEGIN = f"""
SELECT set_config('lock_timeout', '{_LOCK_TIMEOUT}', true),
    set_config('idle_in_transaction_session_timeout', '{_IDLE_TIMEOUT}', true),
    set_config('synchronous_commit', CASE WHEN NOT %s THEN 'off' WHEN current_setting('synchronous_commit') = 'off'
        THEN 'on' ELSE current_setting('synchronous_commit') END, true)
"""
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"
_FIND_VERSION = "SELECT text FROM cmsapi.documents WHERE scope = '' AND name = 'version'"
_WRITE_VERSION = "INSERT INTO cmsapi.documents VALUES ('', 'version', %s) ON CONFLICT DO NOTHING"

_NO_ANSWER = (psycopg.OperationalError, psycopg.InterfaceError, OSError, TimeoutError)
_warned: set[str] = set()


class Session:
    """Hold a connection to a server, on which one transaction follows the other.

    Args:
        url: `postgresql://[user[:password]@]host[:port]/database`, and what libpq takes as a query.

    Raises:
        ConfigError: The URL cannot be read.
    """

    def __init__(self, url: str) -> None:
        self.shown_url: str = redact_url(url)
        try:
            conninfo_to_dict(url)
        except psycopg.Error as error:
            raise ConfigError(
                f"state: {self.shown_url} is not the URL of a Postgres server ({type(error).__name__})."
            ) from None

        def connect() -> Awaitable[Connection]:
            return psycopg.AsyncConnection.connect(
                url, autocommit=True, prepare_threshold=None, client_encoding="utf8", application_name="cmsapi"
            )

        # The URL, with the password in it, is not among what is shown of this object.
        self._connect = connect
        self._turn = asyncio.Lock()
        self._connection: Connection | None = None
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
            work: What to do. It is repeated when the connection turns out to be lost, and finds what it did before.
            flushed: Whether it is on the server's disk before this returns.

        Raises:
            StateError: The server does not answer, refuses, or holds another version's state.
        """
        unanswered, sent = self._unanswered, False

        async def once() -> T:
            nonlocal sent
            connection = self._connection
            if connection is None:
                connection = self._connection = await self._open()
            sent = True
            # Statements are sent together until an answer is needed.
            async with connection.pipeline():
                await connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
                await connection.execute(_BEGIN, (flushed,))
                for name in names:
                    await connection.execute(_LOCK, (name,))
                await self._check_version(connection)
                result = await work(connection)
                await connection.execute("COMMIT")
            return result

        async def attempt() -> T:
            used = self._connection is not None
            try:
                return await once()
            except _NO_ANSWER:
                await self._disconnect()
                if not used:
                    raise
            # The server was started anew since the connection was used last.
            return await once()

        async with self._turn:
            if self._closed:
                raise StateError(f"The state {self.shown_url} is closed; nothing was written.")
            try:
                if self._unanswered != unanswered:
                    raise TimeoutError("it did not answer another operation meanwhile")  # noqa: TRY301
                result = await _in_time(attempt(), SHORT_TIMEOUT if self._silent else TIMEOUT)
            except (psycopg.Error, OSError, TimeoutError) as error:
                self._silent = isinstance(error, _NO_ANSWER)
                self._unanswered += self._silent
                await self._disconnect()
                raise self._unusable(error, sent and self._silent) from error
            except BaseException:
                await self._disconnect()
                raise
            self._silent = False
            return result

    async def aclose(self) -> None:
        """Close the connection."""
        async with self._turn:
            self._closed = True
            await self._disconnect()

    async def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def _open(self) -> Connection:
        connection = await self._connect()
        try:
            if connection.info.server_version < OLDEST:
                version = connection.info.parameter_status("server_version")
                raise StateError(
                    f"The server at {self.shown_url} is PostgreSQL {version}; the shared state needs "
                    f"{OLDEST // 10_000} or later."
                )
            await self._lay_out(connection)
            await self._warn_of_loss(connection)
        except BaseException:
            await connection.close()
            raise
        return connection

    async def _lay_out(self, connection: Connection) -> None:
        """Make the tables if there are none."""
        async with connection.transaction():
            await connection.execute(_LOCK, ("cmsapi",))
            found = await connection.execute("SELECT to_regnamespace('cmsapi'), to_regclass('cmsapi.documents')")
            (schema, table) = await found.fetchone() or (None, None)
            if schema is None:
                await connection.execute(_SCHEMA)
            if table is None:
                for statement in _TABLES.split(";"):
                    await connection.execute(statement)
                await connection.execute(_WRITE_VERSION, (VERSION,))

    async def _check_version(self, connection: Connection) -> None:
        row = await (await connection.execute(_FIND_VERSION)).fetchone()
        if row is None:
            # The rows were lost, and the tables were not.
            await connection.execute(_WRITE_VERSION, (VERSION,))
        elif row[0] != VERSION:
            raise StateError(
                f"The state {self.shown_url} was made by another version of this SDK (its layout is {row[0]}, this "
                f"one's is {VERSION}); it was left as it is. Let all processes that share it use one version, "
                "or use another database. Jobs that are open in it are only known there."
            )

    async def _warn_of_loss(self, connection: Connection) -> None:
        if self.shown_url in _warned:
            return
        _warned.add(self.shown_url)
        found = await connection.execute("SELECT current_setting('fsync'), current_setting('full_page_writes')")
        if await found.fetchone() != ("on", "on"):
            logger.warning(
                "the server at %s does not make sure that what it writes is on its disk (fsync or full_page_writes is "
                "off): when its machine dies, open jobs may be forgotten, and launches may be paid twice",
                self.shown_url,
            )

    def _unusable(self, error: Exception, sent: bool) -> StateError:
        said = " ".join(str(error).split()).rstrip(".") or "no answer"
        return StateError(
            f"The state {self.shown_url} cannot be used ({type(error).__name__}: {said}). "
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
