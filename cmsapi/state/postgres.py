"""Share a state among many hosts, in a Postgres database.

Each change is one transaction by the server's clock, in tables of the schema `cmsapi`. A process may die at any moment
without a loss, and so may the server: what decides about money is on its disk before the caller goes on.

Scopes, keys, batches and items are any text, and an index of the server takes neither long ones nor the character zero:
rows are found by digests of these names.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
from collections.abc import Collection, Sequence
from typing import Any

from cmsapi.errors import StateError
from cmsapi.state.entry import Entry, Lease
from cmsapi.state.process import Owner
from cmsapi.state.session import Connection, Session
from cmsapi.state.store import LEASE_TTL, Action, Change, Standing, State, T
from cmsapi.state.text import read_row, read_text, write_text

logger: logging.Logger = logging.getLogger("cmsapi")

_BEAT = """
INSERT INTO cmsapi.owners VALUES (%s, %s, %s, clock_timestamp() + make_interval(secs => %s))
ON CONFLICT (scope, id) DO UPDATE SET until = EXCLUDED.until
"""
# How an open entry stands to a lease, and its text.
_ENTRY = """
SELECT CASE WHEN lease = %s THEN 'mine' WHEN EXISTS (
    SELECT FROM cmsapi.owners WHERE scope = journal.scope AND id = journal.owner AND until > clock_timestamp()
) THEN 'held' ELSE 'free' END, entry, lease, owner FROM cmsapi.journal WHERE id = %s
"""
_OUTCOME = "SELECT 'ended', entry, NULL, NULL FROM cmsapi.outcomes WHERE id = %s"
_HOLD = """
INSERT INTO cmsapi.journal VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (id)
DO UPDATE SET lease = EXCLUDED.lease, owner = EXCLUDED.owner, entry = EXCLUDED.entry
"""
_RELEASE = "UPDATE cmsapi.journal SET lease = NULL, owner = NULL WHERE id = %s"
_END = "DELETE FROM cmsapi.journal WHERE id = %s"
_KEEP_OUTCOME = """
INSERT INTO cmsapi.outcomes VALUES (%s, %s, %s, %s) ON CONFLICT (id) DO UPDATE SET entry = EXCLUDED.entry
"""
_DOCUMENT = "SELECT text FROM cmsapi.documents WHERE scope = %s AND name = %s"
_WRITE_DOCUMENT = """
INSERT INTO cmsapi.documents VALUES (%s, %s, %s) ON CONFLICT (scope, name) DO UPDATE SET text = EXCLUDED.text
"""
_LIMITS = "SELECT document, writer FROM cmsapi.limits WHERE account = %s"
_WRITE_LIMITS = """
INSERT INTO cmsapi.limits VALUES (%s, %s, %s) ON CONFLICT (account)
DO UPDATE SET document = EXCLUDED.document, writer = EXCLUDED.writer
"""


class PostgresState(State):
    """Share a state among many hosts, in a Postgres database.

    Args:
        url: `postgresql://[user[:password]@]host[:port]/database`. What libpq takes as a query, such as
            `sslmode=verify-full`, may follow.
        lease_ttl: Seconds after which leases of an owner without a heartbeat may be taken over.

    Raises:
        ConfigError: The URL cannot be read.
    """

    def __init__(self, url: str, *, lease_ttl: float = LEASE_TTL) -> None:
        self._lease_ttl = lease_ttl
        self._journal = Session(url)
        # What waits for the limits, which other processes change, does not hold the journal up.
        self._limits = Session(url)
        self._owner: Owner | None = None
        # The leases under which this process holds entries.
        self._leases: set[str] = set()

    async def _beat(self, db: Connection, scope: str) -> Owner:
        """Send a heartbeat in a transaction of the journal."""
        owner = self._owner
        if owner is None:
            owner = self._owner = await asyncio.to_thread(Owner.here)
        await db.execute(_BEAT, (_digest(scope), owner.id, owner.spell(), self._lease_ttl))
        return owner

    async def change(
        self, lease: Lease, expected: Standing, action: Action, entry: Entry | None = None
    ) -> tuple[Standing, Entry | None]:
        """Change an entry if it stands as it must, and send a heartbeat."""
        scope, key, text = _digest(lease.scope), _digest(lease.scope, lease.key), entry.spell() if entry else None
        batch, item = (entry.batch, entry.item) if entry is not None else (None, None)
        outcome = _digest(lease.scope, batch, item)
        names = [key] if batch is None else [key, outcome]

        async def work(db: Connection) -> tuple[Standing, str | None]:
            owner = await self._beat(db, lease.scope)
            row = await _row(db, _ENTRY, lease.id, key)
            if row is None:
                row = await _row(db, _OUTCOME, outcome)
            stood, found = (Standing.ABSENT, None) if row is None else (Standing(row[0]), row[1])
            if row is not None and stood is Standing.HELD and row[3] == owner.id and row[2] not in self._leases:
                # Something else has written that: this process would wait for itself.
                stood = Standing.FREE
            if stood is not expected:
                return stood, found
            if action is Action.HOLD:
                await db.execute(_HOLD, (key, scope, write_text(lease.key), lease.id, owner.id, text or found))
            elif action is Action.RELEASE:
                await db.execute(_RELEASE, (key,))
            else:
                await db.execute(_END, (key,))
                if batch is not None:
                    await db.execute(_KEEP_OUTCOME, (outcome, scope, _digest(batch), text))
            return stood, found

        if action is Action.HOLD:
            self._leases.add(lease.id)
        flushed = entry is not None or action is Action.END
        stood, found = await self._journal.transact(names, work, flushed=flushed)
        if action is not Action.HOLD:
            self._leases.discard(lease.id)
        return stood, None if found is None or expected is Standing.MINE else read_row(Entry, found)

    async def entries(self, scope: str) -> dict[str, Entry]:
        """Return all open entries by key."""
        rows = await self._rows("SELECT key, entry FROM cmsapi.journal WHERE scope = %s", _digest(scope))
        return {read_text(key): read_row(Entry, text) for key, text in rows}

    async def heartbeat(self, scope: str) -> Sequence[Owner]:
        """Send a heartbeat, and return the others that are alive."""

        async def work(db: Connection) -> list[tuple[Any, ...]]:
            owner = await self._beat(db, scope)
            await db.execute(
                "DELETE FROM cmsapi.owners WHERE scope = %s AND until <= clock_timestamp()", (_digest(scope),)
            )
            others = "SELECT owner FROM cmsapi.owners WHERE scope = %s AND id <> %s"
            return await (await db.execute(others, (_digest(scope), owner.id))).fetchall()

        return [read_row(Owner, text) for (text,) in await self._journal.transact([_digest(scope)], work)]

    async def evict(self, scope: str, owner: Owner) -> None:
        """Let others claim what an owner holds."""
        await self._do("DELETE FROM cmsapi.owners WHERE scope = %s AND id = %s", _digest(scope), owner.id)

    async def outcomes(self, scope: str, *, batch: str | None = None, since: float = 0.0) -> list[Entry]:
        """Return how the items of a batch, or of all batches, ended."""
        found, values = "SELECT entry FROM cmsapi.outcomes WHERE scope = %s", [_digest(scope)]
        if batch is not None:
            found, values = f"{found} AND batch = %s", [*values, _digest(batch)]
        ended = [read_row(Entry, text) for (text,) in await self._rows(found, *values)]
        return [entry for entry in ended if entry.asked_at >= since]

    async def forget(self, scope: str, batch: str, items: Collection[str]) -> None:
        """Forget how some items ended."""
        outcomes = [_digest(scope, batch, item) for item in items]
        await self._do("DELETE FROM cmsapi.outcomes WHERE id = ANY(%s)", outcomes)

    async def get_text(self, scope: str, name: str) -> str | None:
        """Return the text of a document."""
        rows = await self._rows(_DOCUMENT, _digest(scope), name)
        return rows[0][0] if rows else None

    async def replace_text(self, scope: str, name: str, old: str | None, new: str | None) -> str | None:
        """Put a text in the place of the old one if that stands."""
        of = (_digest(scope), name)

        async def work(db: Connection) -> str | None:
            row = await _row(db, _DOCUMENT, *of)
            stands = None if row is None else str(row[0])
            if stands != old:
                return stands
            if new is None:
                await db.execute("DELETE FROM cmsapi.documents WHERE scope = %s AND name = %s", of)
            else:
                await db.execute(_WRITE_DOCUMENT, (*of, new))
            return new

        return await self._journal.transact([_digest(scope, name)], work, flushed=True)

    async def update_limits(self, account: str, change: Change[T]) -> T:
        """Put a new document in the place of an account's old one, in one transaction."""
        mine, results = secrets.token_hex(8), list[T]()

        async def work(db: Connection) -> T:
            row = await _row(db, _LIMITS, account)
            if row is not None and row[1] == mine:
                # The answer to the first attempt was lost.
                return results[-1]
            # A transaction that waited for another one begins now.
            clock = await _row(db, "SELECT extract(epoch FROM clock_timestamp())::float8")
            document, result = change(None if row is None else row[0], clock[0] if clock is not None else 0.0)
            results.append(result)
            await db.execute(_WRITE_LIMITS, (account, document, mine))
            return result

        return await self._limits.transact([account], work)

    async def aclose(self) -> None:
        """Let others claim what this process holds, and close the connections."""
        owner, self._owner = self._owner, None
        try:
            if owner is not None:
                await self._do("DELETE FROM cmsapi.owners WHERE id = %s", owner.id)
        except StateError as error:
            # The leases run out by themselves.
            logger.warning("leases were not given back: %s", error)
        finally:
            await self._journal.aclose()
            await self._limits.aclose()

    async def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        async def work(db: Connection) -> list[tuple[Any, ...]]:
            return await (await db.execute(query, values)).fetchall()

        return await self._journal.transact([], work)

    async def _do(self, statement: str, *values: Any) -> None:
        async def work(db: Connection) -> None:
            await db.execute(statement, values)

        await self._journal.transact([], work, flushed=True)


def _digest(*names: str | None) -> str:
    return hashlib.blake2b(write_text(names).encode(), digest_size=16).hexdigest()


async def _row(db: Connection, query: str, *values: Any) -> tuple[Any, ...] | None:
    return await (await db.execute(query, values)).fetchone()
