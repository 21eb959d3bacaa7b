"""Keep a state in the tables of a database: the same statements for a file of SQLite and a server of Postgres.

Each operation is one transaction. It reads rows, decides what they mean, and writes.
"""

from __future__ import annotations

import abc
import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

import attrs

from cmsapi.errors import StateError
from cmsapi.state.entry import Entry, Lease
from cmsapi.state.process import Owner
from cmsapi.state.store import LEASE_TTL, Action, Standing, State
from cmsapi.state.text import read_row

logger: logging.Logger = logging.getLogger("cmsapi")

T = TypeVar("T")
#: A statement with question marks, and the values in their places.
Statement: TypeAlias = tuple[str, Sequence[Any]]
Rows: TypeAlias = list[tuple[Any, ...]]

_ENTRY = """
SELECT journal.entry, journal.lease, journal.owner, owners.until FROM journal
LEFT JOIN owners ON owners.scope = journal.scope AND owners.id = journal.owner
WHERE journal.scope = ? AND journal.key = ?
"""
_OWNERS = "SELECT id, owner, until FROM owners WHERE scope = ?"
# What names a row.
_KEY = "scope = ? AND key = ?"
_OUTCOME = "scope = ? AND batch = ? AND item = ?"
_DOCUMENT = "scope = ? AND name = ?"


@attrs.frozen
class Transaction(Generic[T]):
    """Describe what is read and written at once.

    Args:
        names: What it is about, always in the same order; no other process works under one of them meanwhile.
        reads: What to read.
        decide: Makes of the store's time and the rows of each of `reads` what to write, and the result. It may be
            called again, and find what was written before.
        flushed: Whether what is written must be on a disk in the end; None where nothing is written.
    """

    names: Sequence[str]
    reads: Sequence[Statement]
    decide: Callable[..., tuple[Sequence[Statement], T]]
    flushed: bool | None = True


class SqlState(State):
    """Keep a state in the tables of a database.

    Args:
        lease_ttl: Seconds after which leases of an owner without a heartbeat may be taken over.
    """

    #: The part of an entry that says when its launch was asked for.
    asked_at: ClassVar[str]

    def __init__(self, lease_ttl: float = LEASE_TTL) -> None:
        self._lease_ttl = lease_ttl
        self._owner: Owner | None = None
        # The leases under which this process holds entries.
        self._leases: set[str] = set()

    @abc.abstractmethod
    async def _run(self, transaction: Transaction[T]) -> T:
        """Run a transaction."""

    async def _this_process(self) -> Owner:
        if self._owner is None:
            found = await asyncio.to_thread(Owner.here)
            # Another operation may have been faster.
            self._owner = self._owner or found
        return self._owner

    def _heartbeat_statements(self, scope: str, owner: Owner, now: float) -> list[Statement]:
        """Return what sends a heartbeat."""
        return put("owners", "scope = ? AND id = ?", (scope, owner.id), owner.spell(), now + self._lease_ttl)

    async def change(
        self, lease: Lease, expected: Standing, action: Action, entry: Entry | None = None
    ) -> tuple[Standing, Entry | None]:
        """Change an entry if it stands as it must, and send a heartbeat."""
        owner, key = await self._this_process(), (lease.scope, lease.key)
        text, item = (None, None) if entry is None else (entry.spell(), (lease.scope, entry.batch, entry.item))

        def decide(now: float, rows: Rows, ended: Rows) -> tuple[Sequence[Statement], tuple[Standing, str | None]]:
            if not rows:
                stood, found = (Standing.ENDED, ended[0][0]) if ended else (Standing.ABSENT, None)
            else:
                found, held_by, holder, until = rows[0]
                stood = Standing.HELD if until is not None and until > now else Standing.FREE
                if held_by == lease.id:
                    stood = Standing.MINE
                elif holder == owner.id and held_by not in self._leases:
                    # Something else has written that: this process would wait for itself.
                    stood = Standing.FREE
            return [
                *self._heartbeat_statements(lease.scope, owner, now),
                *(write(found) if stood is expected else ()),
            ], (stood, found)

        def write(found: str | None) -> Sequence[Statement]:
            if action is Action.HOLD:
                return put("journal", _KEY, key, lease.id, owner.id, text or found)
            if action is Action.RELEASE:
                return put("journal", _KEY, key, None, None, text or found)
            kept = [] if item is None or item[1] is None else put("outcomes", _OUTCOME, item, text)
            return [(f"DELETE FROM journal WHERE {_KEY}", key), *kept]

        if action is Action.HOLD:
            self._leases.add(lease.id)
        names = [f"{key}", *([] if item is None else [f"{item}"])]
        reads = [(_ENTRY, key), (f"SELECT entry FROM outcomes WHERE {_OUTCOME}", item or (None, None, None))]
        flushed = entry is not None or action is Action.END
        stood, found = await self._run(Transaction(names, reads, decide, flushed))
        if action is not Action.HOLD:
            self._leases.discard(lease.id)
        return stood, None if found is None or expected is Standing.MINE else read_row(Entry, found)

    async def entries(self, scope: str) -> dict[str, Entry]:
        """Return all open entries by key."""
        rows = await self._read("SELECT key, entry FROM journal WHERE scope = ?", scope)
        return {key: read_row(Entry, text) for key, text in rows}

    async def heartbeat(self, scope: str) -> Sequence[Owner]:
        """Send a heartbeat, and return the others that are alive."""
        owner = await self._this_process()

        def decide(now: float, rows: Rows) -> tuple[Sequence[Statement], list[str]]:
            gone = ("DELETE FROM owners WHERE scope = ? AND until <= ?", (scope, now))
            return [*self._heartbeat_statements(scope, owner, now), gone], _others(owner, now, rows)

        alive = await self._run(Transaction([scope], [(_OWNERS, (scope,))], decide, flushed=False))
        return [read_row(Owner, text) for text in alive]

    async def others(self, scope: str) -> Sequence[Owner]:
        """Return the others that are alive, without a heartbeat."""
        owner = await self._this_process()

        def decide(now: float, rows: Rows) -> tuple[Sequence[Statement], list[str]]:
            return [], _others(owner, now, rows)

        alive = await self._run(Transaction([], [(_OWNERS, (scope,))], decide, flushed=None))
        return [read_row(Owner, text) for text in alive]

    async def evict(self, scope: str, owner: Owner) -> None:
        """Let others claim what an owner holds."""
        await self._write([("DELETE FROM owners WHERE scope = ? AND id = ?", (scope, owner.id))], flushed=False)

    async def outcomes(self, scope: str, *, batch: str | None = None, since: float = 0.0) -> list[Entry]:
        """Return how the items of a batch, or of all batches, ended."""
        found, values = f"SELECT entry FROM outcomes WHERE scope = ? AND {self.asked_at} >= ?", [scope, since]
        if batch is not None:
            found, values = f"{found} AND batch = ?", [*values, batch]
        return [read_row(Entry, text) for (text,) in await self._read(found, *values)]

    async def forget(self, scope: str, batch: str, items: Collection[str]) -> None:
        """Forget how some items ended."""
        await self._write([(f"DELETE FROM outcomes WHERE {_OUTCOME}", (scope, batch, item)) for item in items])

    async def get_text(self, scope: str, name: str) -> str | None:
        """Return the text of a document."""
        rows = await self._read(f"SELECT text FROM documents WHERE {_DOCUMENT}", scope, name)
        return rows[0][0] if rows else None

    async def replace_text(self, scope: str, name: str, old: str | None, new: str | None) -> str | None:
        """Put a text in the place of the old one if that stands."""

        def decide(now: float, rows: Rows) -> tuple[Sequence[Statement], str | None]:
            stands = rows[0][0] if rows else None
            if stands != old:
                return [], stands
            if new is None:
                return [(f"DELETE FROM documents WHERE {_DOCUMENT}", (scope, name))], None
            return put("documents", _DOCUMENT, (scope, name), new), new

        found = (f"SELECT text FROM documents WHERE {_DOCUMENT}", (scope, name))
        return await self._run(Transaction([f"{scope} {name}"], [found], decide))

    async def _give_back(self) -> None:
        """Let others claim what this process holds."""
        try:
            if self._owner is not None:
                await self._write([("DELETE FROM owners WHERE id = ?", (self._owner.id,))], flushed=False)
        except StateError as error:
            # The leases run out by themselves.
            logger.warning("leases were not given back: %s", error)

    async def _read(self, statement: str, *values: Any) -> Rows:
        return await self._run(Transaction([], [(statement, values)], lambda now, rows: ([], rows), flushed=None))

    async def _write(self, statements: Sequence[Statement], *, flushed: bool = True) -> None:
        await self._run(Transaction([], [], lambda now: (statements, None), flushed))


def _others(owner: Owner, now: float, rows: Rows) -> list[str]:
    """Return the owners among these rows that are alive, but for one."""
    return [text for name, text, until in rows if name != owner.id and until > now]


def put(table: str, where: str, names: Sequence[Any], *values: Any) -> list[Statement]:
    """Put a row in the place of the one of these names."""
    row = (*names, *values)
    marks = ", ".join("?" * len(row))
    return [(f"DELETE FROM {table} WHERE {where}", names), (f"INSERT INTO {table} VALUES ({marks})", row)]
