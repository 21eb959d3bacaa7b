"""Store in an SQL database, with the same statements for SQLite and PostgreSQL.

Each operation is one transaction, which runs in a worker thread on the store's own connection. From its beginning, a
transaction holds the lock of its scope or key, so that the rows it reads cannot change before it writes.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from attrs import define, frozen

from cmsapi.config import HOUR, SECOND
from cmsapi.errors import StateError
from cmsapi.state.store import ENDED, OPEN, SCHEMA, JobStatus, Row, Taken, check_schema

T = TypeVar("T")

_TABLES = (
    "CREATE TABLE IF NOT EXISTS cmsapi_meta (name TEXT PRIMARY KEY, value TEXT)",
    """CREATE TABLE IF NOT EXISTS cmsapi_launches (
        id TEXT PRIMARY KEY, scope TEXT NOT NULL, kind TEXT NOT NULL, target TEXT NOT NULL, name TEXT NOT NULL,
        status TEXT NOT NULL, attempt INTEGER NOT NULL, settings TEXT, token TEXT, result BYTEA, error TEXT,
        decision TEXT, created DOUBLE PRECISION NOT NULL, deadline DOUBLE PRECISION NOT NULL)""",
    """CREATE UNIQUE INDEX IF NOT EXISTS cmsapi_open ON cmsapi_launches (scope, kind, target)
        WHERE status IN ('sending', 'running', 'review')""",
    """CREATE TABLE IF NOT EXISTS cmsapi_items (
        scope TEXT NOT NULL, batch TEXT NOT NULL, item TEXT NOT NULL, launch TEXT NOT NULL,
        PRIMARY KEY (scope, batch, item))""",
    "CREATE INDEX IF NOT EXISTS cmsapi_items_launch ON cmsapi_items (launch)",
    """CREATE TABLE IF NOT EXISTS cmsapi_requests (
        key TEXT NOT NULL, id TEXT NOT NULL, back DOUBLE PRECISION NOT NULL, PRIMARY KEY (key, id))""",
    "CREATE INDEX IF NOT EXISTS cmsapi_requests_back ON cmsapi_requests (key, back)",
    """CREATE TABLE IF NOT EXISTS cmsapi_durations (
        scope TEXT NOT NULL, kind TEXT NOT NULL, learned TEXT NOT NULL, PRIMARY KEY (scope, kind))""",
)
_COLUMNS = "id, kind, target, name, status, attempt, settings, token, result, error, decision, created, deadline"
_PAUSE = "pause"


@frozen
class Dialect:
    """Operations and syntax that differ between SQL databases."""

    name: str  # address without a password, for errors
    connect: Callable[[], Any]  # returns an autocommit connection whose ``execute`` returns a cursor
    begin: Callable[[Any, str], None]  # begins a transaction that holds the lock of a name until it ends
    now: Callable[[Any], float]  # by the clock that all processes share
    marker: str  # placeholder for a value
    errors: tuple[type[Exception], ...]


@define
class _Transaction:
    connection: Any
    now: float
    marker: str

    def run(self, statement: str, *values: Any) -> list[Any]:
        cursor = self.connection.execute(statement.replace("?", self.marker), values)
        return list(cursor.fetchall()) if cursor.description else []

    def run_counted(self, statement: str, *values: Any) -> int:
        count: int = self.connection.execute(statement.replace("?", self.marker), values).rowcount
        return count


class SqlStore:
    """Shared store in an SQL database. The connection is opened on first use."""

    def __init__(self, dialect: Dialect, key: str) -> None:
        self.scope: str = ""
        self._dialect = dialect
        self._key = key
        self._connection: Any = None
        self._one_at_a_time: anyio.CapacityLimiter | None = None
        self._connected = threading.Lock()

    async def insert(self, row: Row, deadline: float, item: tuple[str, str] | None = None) -> Row | None:
        def work(transaction: _Transaction) -> Row | None:
            named = "id IN (SELECT launch FROM cmsapi_items WHERE scope = ? AND batch = ? AND item = ?)"
            rows = self._select(transaction, named, self.scope, *item) if item else []
            there = rows[0] if rows else self._find(transaction, row.kind, row.target)
            if there is None:
                values = [row.id, row.kind, row.target, row.name, row.status, row.attempt, row.settings, row.token]
                values += [row.result, row.error, row.decision, transaction.now, transaction.now + deadline]
                marks = ", ".join("?" * (len(values) + 1))
                statement = f"INSERT INTO cmsapi_launches ({_COLUMNS}, scope) VALUES ({marks})"  # noqa: S608  constants
                transaction.run(statement, *values, self.scope)
                if item is not None:
                    self._add_item(transaction, *item, row.id)
            return there

        return await self._transact(work)

    async def get(self, launch_id: str) -> Row | None:
        rows = await self._transact(lambda transaction: self._select(transaction, "id = ?", launch_id))
        return rows[0] if rows else None

    async def find(self, kind: str, target: str) -> Row | None:
        return await self._transact(lambda transaction: self._find(transaction, kind, target))

    async def rows(self, statuses: Iterable[JobStatus]) -> list[Row]:
        wanted = list(statuses)
        where = f"status IN ({', '.join('?' * len(wanted))}) ORDER BY created"
        return await self._transact(lambda transaction: self._select(transaction, where, *wanted))

    async def update(self, row: Row, deadline: float | None = None, **changes: Any) -> bool:
        return await self._transact(lambda transaction: self._update(transaction, row, deadline, changes))

    async def delete(self, *ids: str) -> None:
        def work(transaction: _Transaction) -> None:
            for each in ids:
                transaction.run("DELETE FROM cmsapi_items WHERE scope = ? AND launch = ?", self.scope, each)
                transaction.run("DELETE FROM cmsapi_launches WHERE scope = ? AND id = ?", self.scope, each)

        await self._transact(work)

    async def add_item(self, batch: str, item: str, launch_id: str) -> None:
        await self._transact(lambda transaction: self._add_item(transaction, batch, item, launch_id))

    async def items(self, batch: str) -> dict[str, Row]:
        def work(transaction: _Transaction) -> dict[str, Row]:
            named = transaction.run(
                "SELECT item, launch FROM cmsapi_items WHERE scope = ? AND batch = ?", self.scope, batch
            )
            where = "id IN (SELECT launch FROM cmsapi_items WHERE scope = ? AND batch = ?)"
            rows = {row.id: row for row in self._select(transaction, where, self.scope, batch)}
            return {item: rows[launch] for item, launch in named if launch in rows}

        return await self._transact(work)

    async def drop_items(self, batch: str, items: Iterable[str]) -> None:
        def work(transaction: _Transaction) -> None:
            of_batch = "scope = ? AND batch = ? AND item = ?"
            for item in items:
                place = (self.scope, batch, item)
                launches = transaction.run(f"SELECT launch FROM cmsapi_items WHERE {of_batch}", *place)  # noqa: S608  constants
                transaction.run(f"DELETE FROM cmsapi_items WHERE {of_batch}", *place)  # noqa: S608  constants
                for (launch_id,) in launches:
                    self._delete_unused(transaction, launch_id)

        await self._transact(work)

    async def batches(self) -> dict[str, dict[JobStatus, int]]:
        statement = """SELECT i.batch, l.status, COUNT(*) FROM cmsapi_items i JOIN cmsapi_launches l ON l.id = i.launch
            WHERE i.scope = ? GROUP BY i.batch, l.status"""
        counts: dict[str, dict[JobStatus, int]] = {}
        for batch, status, count in await self._transact(lambda transaction: transaction.run(statement, self.scope)):
            counts.setdefault(batch, {})[JobStatus(status)] = count
        return counts

    async def durations(self) -> dict[str, str]:
        statement = "SELECT kind, learned FROM cmsapi_durations WHERE scope = ?"
        rows = await self._transact(lambda transaction: transaction.run(statement, self.scope))
        return dict(rows)

    async def save_durations(self, kind: str, learned: str) -> None:
        statement = """INSERT INTO cmsapi_durations (scope, kind, learned) VALUES (?, ?, ?)
            ON CONFLICT (scope, kind) DO UPDATE SET learned = excluded.learned"""
        await self._transact(lambda transaction: transaction.run(statement, self.scope, kind, learned))

    async def take(self, request_id: str, per_second: int, per_hour: int, seconds: float) -> Taken:
        def work(transaction: _Transaction) -> Taken:
            now, key = transaction.now, self._key
            transaction.run("DELETE FROM cmsapi_requests WHERE key = ? AND back <= ?", key, now)
            # A request taken while the clock was ahead counts as taken now.
            latest = now + seconds + HOUR
            transaction.run("UPDATE cmsapi_requests SET back = ? WHERE key = ? AND back > ?", latest, key, latest)
            backs = transaction.run("SELECT id, back FROM cmsapi_requests WHERE key = ? ORDER BY back", key)
            times = [back for name, back in backs if name != _PAUSE]
            pauses = [back - now for name, back in backs if name == _PAUSE]
            bursts = [back - HOUR + SECOND for back in times if back - HOUR + SECOND > now]
            wait = pauses[0] if pauses else 0.0
            if len(times) >= per_hour:
                wait = max(wait, times[len(times) - per_hour] - now if per_hour else HOUR)
            if len(bursts) >= per_second:
                # Requests under way are usually answered long before their time limit.
                wait = max(wait, min(SECOND, bursts[len(bursts) - per_second] - now))
            if not wait:
                transaction.run("INSERT INTO cmsapi_requests (key, id, back) VALUES (?, ?, ?)", key, request_id, latest)
            statement = """SELECT kind, COUNT(*) FROM cmsapi_launches
                WHERE scope = ? AND status IN ('sending', 'running') GROUP BY kind"""
            return Taken(wait, len(times), dict(transaction.run(statement, self.scope)))

        return await self._transact(work, self._key)

    async def answered(self, request_id: str, *, departed: bool, pause: float) -> int:
        def work(transaction: _Transaction) -> int:
            now, key = transaction.now, self._key
            change = """INSERT INTO cmsapi_requests (key, id, back) VALUES (?, ?, ?)
                ON CONFLICT (key, id) DO UPDATE SET back = excluded.back"""
            if departed:
                transaction.run(change, key, request_id, now + HOUR)
            else:
                transaction.run("DELETE FROM cmsapi_requests WHERE key = ? AND id = ?", key, request_id)
            if pause:
                transaction.run(f"{change} WHERE excluded.back > cmsapi_requests.back", key, _PAUSE, now + pause)
            count = "SELECT COUNT(*) FROM cmsapi_requests WHERE key = ? AND id <> ? AND back > ? AND back <= ?"
            return int(transaction.run(count, key, _PAUSE, now, now + HOUR)[0][0])

        return await self._transact(work, self._key)

    async def aclose(self) -> None:
        await self._in_thread(self._close)

    def _select(self, transaction: _Transaction, where: str, *values: Any) -> list[Row]:
        statement = f"SELECT {_COLUMNS} FROM cmsapi_launches WHERE scope = ? AND {where}"  # noqa: S608  no caller's value
        rows = []
        for columns in transaction.run(statement, self.scope, *values):
            fields = dict(zip(_COLUMNS.split(", "), columns, strict=True))
            fields["status"] = JobStatus(fields["status"])
            fields["result"] = None if fields["result"] is None else bytes(fields["result"])
            created, deadline = fields.pop("created"), fields.pop("deadline")
            rows.append(Row(**fields, age=transaction.now - created, remaining=deadline - transaction.now))
        return rows

    def _find(self, transaction: _Transaction, kind: str, target: str) -> Row | None:
        where = "kind = ? AND target = ? AND status IN ('sending', 'running', 'review')"
        return next(iter(self._select(transaction, where, kind, target)), None)

    def _update(self, transaction: _Transaction, row: Row, deadline: float | None, changes: Mapping[str, Any]) -> bool:
        if not row.open and changes.get("status") in OPEN and self._find(transaction, row.kind, row.target):
            return False
        changed = dict(changes) if deadline is None else {**changes, "deadline": transaction.now + deadline}
        names = ", ".join(f"{name} = ?" for name in changed)
        statement = f"UPDATE cmsapi_launches SET {names} WHERE scope = ? AND id = ? AND status = ? AND attempt = ?"  # noqa: S608  constants
        expected = (self.scope, row.id, row.status, row.attempt)
        done = transaction.run_counted(statement, *changed.values(), *expected) == 1
        if done and changes.get("status") in ENDED:
            self._delete_unused(transaction, row.id)
        return done

    def _delete_unused(self, transaction: _Transaction, launch_id: str) -> None:
        closed = [status.value for status in JobStatus if status not in OPEN]
        statement = f"""DELETE FROM cmsapi_launches WHERE id = ? AND status IN ({", ".join("?" * len(closed))})
            AND id NOT IN (SELECT launch FROM cmsapi_items WHERE launch = ?)"""  # noqa: S608  constants
        transaction.run(statement, launch_id, *closed, launch_id)

    def _add_item(self, transaction: _Transaction, batch: str, item: str, launch_id: str) -> None:
        statement = """INSERT INTO cmsapi_items (scope, batch, item, launch) VALUES (?, ?, ?, ?)
            ON CONFLICT (scope, batch, item) DO UPDATE SET launch = excluded.launch"""
        transaction.run(statement, self.scope, batch, item, launch_id)

    async def _transact(self, work: Callable[[_Transaction], T], lock: str | None = None) -> T:
        return await self._in_thread(lambda: self._carry_out(work, lock or self.scope))

    async def _in_thread(self, work: Callable[[], T]) -> T:
        if self._one_at_a_time is None:
            self._one_at_a_time = anyio.CapacityLimiter(1)

        def alone() -> T:
            with self._connected:  # a cancelled call continues in its thread
                return work()

        return await anyio.to_thread.run_sync(alone, limiter=self._one_at_a_time)

    def _carry_out(self, work: Callable[[_Transaction], T], lock: str) -> T:
        dialect = self._dialect
        try:
            connection = self._begin(lock)
            result = work(_Transaction(connection, dialect.now(connection), dialect.marker))
            connection.execute("COMMIT")
        except BaseException as error:
            self._close()
            if isinstance(error, dialect.errors):
                reason = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
                raise StateError(f"the state {dialect.name} does not answer: {reason}") from error
            raise
        return result

    def _begin(self, lock: str) -> Any:
        if self._connection is not None:
            try:
                self._dialect.begin(self._connection, lock)
            except self._dialect.errors:  # the server has closed it
                self._close()
            else:
                return self._connection
        connection = self._connection = self._dialect.connect()
        self._dialect.begin(connection, "schema")
        for table in _TABLES:
            connection.execute(table)
        marker = self._dialect.marker
        add = f"INSERT INTO cmsapi_meta (name, value) VALUES ('schema', {marker}) ON CONFLICT (name) DO NOTHING"  # noqa: S608  constants
        connection.execute(add, (SCHEMA,))
        (schema,) = connection.execute("SELECT value FROM cmsapi_meta WHERE name = 'schema'").fetchone()
        connection.execute("COMMIT")
        check_schema(self._dialect.name, schema)
        self._dialect.begin(connection, lock)
        return connection

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(*self._dialect.errors):
                connection.close()
