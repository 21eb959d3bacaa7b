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
from cmsapi.state.session import Rows, Session, Statement, Transaction
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
_END_DOCUMENT = "DELETE FROM cmsapi.documents WHERE scope = %s AND name = %s"
_WRITE_DOCUMENT = """
INSERT INTO cmsapi.documents VALUES (%s, %s, %s) ON CONFLICT (scope, name) DO UPDATE SET text = EXCLUDED.text
"""
_LIMITS = "SELECT document, writer FROM cmsapi.limits WHERE account = %s"
_CLOCK = "SELECT extract(epoch FROM clock_timestamp())::float8"
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

    async def _owner_here(self) -> Owner:
        if self._owner is None:
            found = await asyncio.to_thread(Owner.here)
            # Another operation may have been faster.
            self._owner = self._owner or found
        return self._owner

    def _beat(self, scope: str, owner: Owner) -> Statement:
        """Send a heartbeat."""
        return _BEAT, (_digest(scope), owner.id, owner.spell(), self._lease_ttl)

    async def change(
        self, lease: Lease, expected: Standing, action: Action, entry: Entry | None = None
    ) -> tuple[Standing, Entry | None]:
        """Change an entry if it stands as it must, and send a heartbeat."""
        owner, scope, key = await self._owner_here(), _digest(lease.scope), _digest(lease.scope, lease.key)
        text, batch, item = (None, None, None) if entry is None else (entry.spell(), entry.batch, entry.item)
        outcome = _digest(lease.scope, batch, item)

        def decide(_: Rows, open_: Rows, ended: Rows) -> tuple[Sequence[Statement], tuple[Standing, str | None]]:
            ((stood, found, held_by, holder),) = open_ or ended or [(Standing.ABSENT, None, None, None)]
            if stood == Standing.HELD and holder == owner.id and held_by not in self._leases:
                # Something else has written that: this process would wait for itself.
                stood = Standing.FREE
            writes: list[Statement] = [(_END, (key,))]
            if stood != expected:
                writes = []
            elif action is Action.HOLD:
                writes = [(_HOLD, (key, scope, write_text(lease.key), lease.id, owner.id, text or found))]
            elif action is Action.RELEASE:
                writes = [(_RELEASE, (key,))]
            elif batch is not None:
                writes.append((_KEEP_OUTCOME, (outcome, scope, _digest(batch), text)))
            return writes, (Standing(stood), found)

        names = [key] if batch is None else [key, outcome]
        reads = [self._beat(lease.scope, owner), (_ENTRY, (lease.id, key)), (_OUTCOME, (outcome,))]
        if action is Action.HOLD:
            self._leases.add(lease.id)
        stood, found = await self._journal.run(Transaction(names, reads, decide))
        if action is not Action.HOLD:
            self._leases.discard(lease.id)
        return stood, None if found is None or expected is Standing.MINE else read_row(Entry, found)

    async def entries(self, scope: str) -> dict[str, Entry]:
        """Return all open entries by key."""
        rows = await self._do("SELECT key, entry FROM cmsapi.journal WHERE scope = %s", _digest(scope))
        return {read_text(key): read_row(Entry, text) for key, text in rows}

    async def heartbeat(self, scope: str) -> Sequence[Owner]:
        """Send a heartbeat, and return the others that are alive."""
        owner = await self._owner_here()
        gone = "DELETE FROM cmsapi.owners WHERE scope = %s AND until <= clock_timestamp()"
        found = "SELECT owner FROM cmsapi.owners WHERE scope = %s AND id <> %s"
        reads = [self._beat(scope, owner), (gone, (_digest(scope),)), (found, (_digest(scope), owner.id))]
        rows = await self._journal.run(Transaction([_digest(scope)], reads, lambda *rows: ((), rows[-1])))
        return [read_row(Owner, text) for (text,) in rows]

    async def evict(self, scope: str, owner: Owner) -> None:
        """Let others claim what an owner holds."""
        await self._do("DELETE FROM cmsapi.owners WHERE scope = %s AND id = %s", _digest(scope), owner.id)

    async def outcomes(self, scope: str, *, batch: str | None = None, since: float = 0.0) -> list[Entry]:
        """Return how the items of a batch, or of all batches, ended."""
        found, values = "SELECT entry FROM cmsapi.outcomes WHERE scope = %s", [_digest(scope)]
        if batch is not None:
            found, values = f"{found} AND batch = %s", [*values, _digest(batch)]
        ended = [read_row(Entry, text) for (text,) in await self._do(found, *values)]
        return [entry for entry in ended if entry.asked_at >= since]

    async def forget(self, scope: str, batch: str, items: Collection[str]) -> None:
        """Forget how some items ended."""
        outcomes = [_digest(scope, batch, item) for item in items]
        await self._do("DELETE FROM cmsapi.outcomes WHERE id = ANY(%s)", outcomes)

    async def get_text(self, scope: str, name: str) -> str | None:
        """Return the text of a document."""
        rows = await self._do(_DOCUMENT, _digest(scope), name)
        return rows[0][0] if rows else None

    async def replace_text(self, scope: str, name: str, old: str | None, new: str | None) -> str | None:
        """Put a text in the place of the old one if that stands."""
        of = (_digest(scope), name)

        def decide(found: Rows) -> tuple[Sequence[Statement], str | None]:
            stands = found[0][0] if found else None
            if stands != old:
                return (), stands
            return [(_END_DOCUMENT, of) if new is None else (_WRITE_DOCUMENT, (*of, new))], new

        return await self._journal.run(Transaction([_digest(scope, name)], [(_DOCUMENT, of)], decide))

    async def update_limits(self, account: str, change: Change[T]) -> T:
        """Put a new document in the place of an account's old one, in one transaction."""
        mine, results = secrets.token_hex(8), list[T]()

        def decide(found: Rows, clock: Rows) -> tuple[Sequence[Statement], T]:
            document, writer = found[0] if found else (None, None)
            if writer == mine:
                # The answer to the first attempt was lost.
                return (), results[-1]
            document, result = change(document, clock[0][0])
            results.append(result)
            return [(_WRITE_LIMITS, (account, document, mine))], result

        # A transaction that waited for another one begins when it is told the time.
        return await self._limits.run(Transaction([account], [(_LIMITS, (account,)), (_CLOCK, ())], decide))

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

    async def _do(self, statement: str, *values: Any) -> Rows:
        transaction: Transaction[Rows] = Transaction([], [(statement, values)], lambda rows: ((), rows))
        return await self._journal.run(transaction)


def _digest(*names: str | None) -> str:
    return hashlib.blake2b(write_text(names).encode(), digest_size=16).hexdigest()
