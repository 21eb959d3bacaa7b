"""The state that processes share: in memory, in a file, in a Postgres database or on a Redis server.

A state is shared by the processes that are given the same URL, and holds five things:

- the *journal* of launches that are open, one entry for a key, each held under a lease;
- the *owners*: the processes that use it, each alive until its last heartbeat is `LEASE_TTL` seconds old;
- the *outcomes* of the items of batches, so that a rerun launches only what is missing;
- small *documents* by name: learned durations, observed habits of the service, the salt of the digests;
- one document for the request limits of each account, whose meaning the state does not know.

Every operation is atomic, also against other processes, and may be repeated: a second time it finds what the first one
did. A cancelled operation may have taken effect. A scope names whose journal, owners, outcomes and documents these are:
base URL and organisation, so that a rotated key keeps its jobs. An account is the digest of base URL and key.

Each operation on an entry is a heartbeat of this process, too. An entry may be claimed when it is not held, when its
owner has sent no heartbeat for `LEASE_TTL` seconds, or when its owner was evicted because the process is gone.
"""

from __future__ import annotations

import abc
import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from enum import StrEnum
from typing import Any, ClassVar, TypeAlias, TypeVar

from cmsapi.errors import LeaseLostError, StateError
from cmsapi.state.entry import Entry, EntryStatus, Lease
from cmsapi.state.process import Owner
from cmsapi.state.rows import DOCUMENTS, JOURNAL, LIMITS, OUTCOMES, OWNERS, Read, Rows, Transaction, Write
from cmsapi.state.text import read_row, read_text, write_text

logger: logging.Logger = logging.getLogger("cmsapi")

# Seconds without a heartbeat after which a process loses its leases to the next process that asks for them.
LEASE_TTL = 30.0

T = TypeVar("T")
#: Makes a new document of the old one, or of None where there is none, and of the store's time in seconds; and returns
#: what its caller wants to know besides.
Change: TypeAlias = Callable[[str | None, float], tuple[str, T]]


class Standing(StrEnum):
    """Name how an entry stands to a lease."""

    ABSENT = "absent"
    #: There is no entry, but its item of its batch has an outcome.
    ENDED = "ended"
    #: There is no entry, and the outcome of its item is that its launch is unknown.
    UNKNOWN = "unknown"
    #: The entry is held under this lease.
    MINE = "mine"
    #: The entry is not held, or by a process that is not alive.
    FREE = "free"
    #: The entry is held under another lease.
    HELD = "held"


class Action(StrEnum):
    """Name what to do with an entry."""

    HOLD = "hold"
    RELEASE = "release"
    END = "end"


class State(abc.ABC):
    """Share launches, their owners and outcomes, small documents, and the limits.

    Every method raises `StateError` when the state cannot be reached, read or written.

    Args:
        lease_ttl: Seconds after which leases of an owner without a heartbeat may be taken over.
        owner: This process; None to find out with the first use.
    """

    #: Whether other processes may use the state too.
    shared: ClassVar[bool] = True

    def __init__(self, lease_ttl: float = LEASE_TTL, owner: Owner | None = None) -> None:
        self._lease_ttl = lease_ttl
        self._owner = owner
        # Where this process has sent a heartbeat, and the leases under which it holds entries.
        self._scopes: set[str] = set()
        self._leases: set[str] = set()

    # What a store has to have

    @abc.abstractmethod
    async def _run(self, transaction: Transaction[T]) -> T:
        """Run a transaction, and return its result."""

    async def _run_limits(self, transaction: Transaction[T]) -> T:
        """Run a transaction on the limits, which need not lie where the journal does."""
        return await self._run(transaction)

    async def aclose(self) -> None:
        """Let others claim what this process holds, and let go of files and connections. May be called twice."""
        try:
            while self._scopes:
                await self.evict(self._scopes.pop(), await self._this_process())
        except StateError as error:
            # The leases run out by themselves.
            logger.warning("leases were not given back: %s", error)

    # The journal

    async def begin(self, lease: Lease, entry: Entry) -> Entry | None:
        """Write an entry and hold it, unless something stands in the way; it is flushed before this returns.

        Returns:
            None when the entry is written and held under this lease. Otherwise what stands in the way: the open entry
            of the same key, or, once that is over, the outcome of the same item of the same batch.
        """
        stood, found = await self.change(lease, Standing.ABSENT, Action.HOLD, entry)
        return found if stood not in (Standing.ABSENT, Standing.MINE) else None

    async def claim(self, lease: Lease) -> Entry | None:
        """Hold an open entry under this lease, unless a live process holds it.

        Returns:
            The entry, or None when a live process holds it or there is none.
        """
        stood, found = await self.change(lease, Standing.FREE, Action.HOLD)
        return found if stood in (Standing.FREE, Standing.MINE) else None

    async def keep(self, lease: Lease) -> None:
        """Make sure that the entry is still held under this lease, and will be for another `LEASE_TTL` seconds.

        Raises:
            LeaseLostError: Another process has taken over, or the entry has ended.
        """
        if (await self.change(lease, Standing.MINE, Action.HOLD))[0] is not Standing.MINE:
            raise _lost(lease)

    async def update(self, lease: Lease, entry: Entry) -> None:
        """Write the entry anew; it is flushed before this returns.

        Raises:
            LeaseLostError: Another process has taken over, or the entry has ended; nothing was written.
        """
        if (await self.change(lease, Standing.MINE, Action.HOLD, entry))[0] is not Standing.MINE:
            raise _lost(lease)

    async def release(self, lease: Lease) -> None:
        """Let others claim the entry; one that is not held under this lease is left alone."""
        await self.change(lease, Standing.MINE, Action.RELEASE)

    async def end(self, lease: Lease, outcome: Entry | None = None) -> bool:
        """Delete the entry, and keep the outcome of its item if it has one; both are flushed, or neither.

        Deleting an entry that is deleted already changes nothing.

        Args:
            lease: Under which it is held.
            outcome: How it ended, with `batch`, `item` and `ended_at`; None to keep nothing.

        Returns:
            Whether the state had lost the entry: there was neither that nor an outcome, which is kept all the same.

        Raises:
            LeaseLostError: Another process has taken over; nothing was written.
        """
        stood, _ = await self.change(lease, Standing.MINE, Action.END, outcome)
        if stood in (Standing.FREE, Standing.HELD):
            raise _lost(lease)
        if outcome is not None and stood in (Standing.ABSENT, Standing.UNKNOWN):
            await self.note(lease, outcome)
        return stood is Standing.ABSENT and outcome is not None

    async def note(self, lease: Lease, outcome: Entry) -> None:
        """Keep the outcome of an item that has no entry, unless it has one that is known; it is flushed first."""
        if (await self.change(lease, Standing.ABSENT, Action.END, outcome))[0] is Standing.UNKNOWN:
            await self.note_known(lease, outcome)

    async def note_known(self, lease: Lease, outcome: Entry) -> None:
        """Keep an outcome in the place of one that says that the launch is unknown; it is flushed first."""
        await self.change(lease, Standing.UNKNOWN, Action.END, outcome)

    async def note_anew(self, lease: Lease, outcome: Entry) -> None:
        """Keep an outcome in the place of the one that the item has; it is flushed before this returns."""
        await self.change(lease, Standing.ENDED, Action.END, outcome)

    async def change(
        self, lease: Lease, expected: Standing, action: Action, entry: Entry | None = None
    ) -> tuple[Standing, Entry | None]:
        """Change an entry if it stands as it must, and send a heartbeat; all of it at once.

        Args:
            lease: Names the entry, and under what it is or will be held.
            expected: How the entry must stand; otherwise nothing is done.
            action: What to do.
            entry: What to write instead of the entry, or as the outcome when the entry ends; None to write nothing.
                It is flushed before this returns, and so is an end.

        Returns:
            How the entry stood, and what was found: the entry, or the outcome of the item of `entry`, or None. A
            caller that must hold the entry already knows it: what was found is not read for it.
        """
        owner, key = await self._this_process(), (lease.scope, lease.key)
        text = None if entry is None else entry.to_text()
        item = None
        if entry is not None and entry.batch is not None and entry.item is not None:
            item = (lease.scope, entry.batch, entry.item)

        def decide(
            now: float, rows: Rows, owners: Rows, *outcomes: Rows
        ) -> tuple[Sequence[Write], tuple[Standing, Any]]:
            stood, found = self._standing(lease, now, rows, owners), None
            if rows:
                found = rows[0][-1]
            elif any(outcomes):
                found = outcomes[0][0][-1]
                unknown = read_row(Entry, found).status == EntryStatus.UNKNOWN
                stood = Standing.UNKNOWN if unknown else Standing.ENDED
            heartbeat = self._heartbeat(lease.scope, owner, now)
            return [heartbeat, *(write(found) if stood is expected else ())], (stood, found)

        def write(found: str | None) -> list[Write]:
            if action is Action.HOLD:
                return [Write(JOURNAL, key, (lease.id, owner.id, text or found))]
            if action is Action.RELEASE:
                return [Write(JOURNAL, key, (None, None, text or found))]
            return [Write(JOURNAL, key), *([] if item is None else [Write(OUTCOMES, item, (text,))])]

        if action is Action.HOLD:
            self._leases.add(lease.id)
        reads = [Read(JOURNAL, key), Read(OWNERS, (lease.scope,)), *([] if item is None else [Read(OUTCOMES, item)])]
        flushed = entry is not None or action is Action.END
        stood, found = await self._run(Transaction(lease.scope, reads, decide, flushed))
        if action is not Action.HOLD:
            self._leases.discard(lease.id)
        return stood, None if found is None or expected is Standing.MINE else read_row(Entry, found)

    def _standing(self, lease: Lease, now: float, rows: Rows, owners: Rows) -> Standing:
        """Return how an entry stands to a lease, by its row and those of the owners."""
        if not rows:
            return Standing.ABSENT
        ((_, held_under, owner, _),) = rows
        if held_under == lease.id:
            return Standing.MINE
        if self._owner is not None and owner == self._owner.id and held_under not in self._leases:
            # Something else has written that: this process would wait for itself.
            return Standing.FREE
        return Standing.HELD if owner in _alive(owners, now) else Standing.FREE

    async def entries(self, scope: str) -> dict[str, Entry]:
        """Return all open entries by key."""
        return {key: read_row(Entry, text) for key, _, _, text in await self._read(Read(JOURNAL, (scope,)))}

    # The owners

    async def heartbeat(self, scope: str) -> Sequence[Owner]:
        """Send a heartbeat, and return the other processes that are alive as far as the state knows."""
        owner = await self._this_process()

        def decide(now: float, owners: Rows) -> tuple[Sequence[Write], list[str]]:
            alive = _alive(owners, now)
            gone = [Write(OWNERS, (scope, name)) for name, _, _ in owners if name not in alive]
            return [*gone, self._heartbeat(scope, owner, now)], self._others(alive)

        alive = await self._run(Transaction(scope, [Read(OWNERS, (scope,))], decide, flushed=False))
        return [read_row(Owner, text) for text in alive]

    async def others(self, scope: str) -> Sequence[Owner]:
        """Return the other processes that are alive as far as the state knows, without a heartbeat of this one."""

        def decide(now: float, owners: Rows) -> tuple[Sequence[Write], list[str]]:
            return [], self._others(_alive(owners, now))

        alive = await self._run(Transaction(scope, [Read(OWNERS, (scope,))], decide, flushed=None))
        return [read_row(Owner, text) for text in alive]

    async def evict(self, scope: str, owner: Owner) -> None:
        """Let others claim what an owner holds: its process is gone."""
        await self._write(scope, [Write(OWNERS, (scope, owner.id))], flushed=False)

    async def evict_dead_owners(self, scope: str) -> bool:
        """Send a heartbeat, and evict the owners whose processes are gone from this machine.

        Returns:
            Whether there was one to evict.
        """
        others = await self.heartbeat(scope)
        dead = await asyncio.to_thread(lambda: [owner for owner in others if owner.dead])
        for owner in dead:
            await self.evict(scope, owner)
        return bool(dead)

    # The outcomes of batches

    async def outcomes(self, scope: str, *, batch: str | None = None, since: float = 0.0) -> list[Entry]:
        """Return how the items of a batch, or of all batches, ended.

        Args:
            scope: Whose outcomes.
            batch: Which batch; None for all of them, which reads all outcomes.
            since: Leave out what was asked for before this time.
        """
        rows = await self._read(Read(OUTCOMES, (scope,) if batch is None else (scope, batch)))

        def recent() -> list[Entry]:
            return [entry for _, text in rows if (entry := read_row(Entry, text)).asked_at >= since]

        # All outcomes of years take seconds to read, in which the loop has heartbeats to send.
        return recent() if batch is not None else await asyncio.to_thread(recent)

    async def forget(self, scope: str, batch: str, items: Collection[str]) -> None:
        """Forget how some items ended, so that they may be launched again."""
        await self._write(scope, [Write(OUTCOMES, (scope, batch, item)) for item in items])

    # Small documents

    async def get_document(self, scope: str, name: str) -> Any:
        """Return a document, or None when there is none."""
        rows = await self._read(Read(DOCUMENTS, (scope, name)))
        return read_text(rows[0][-1]) if rows else None

    async def compare_and_set(self, scope: str, name: str, old: Any, new: Any) -> Any:
        """Put a document in the place of another one, unless another process was faster.

        Args:
            scope: Whose document.
            name: Which one.
            old: What was read; None for nothing, so that the first writer wins.
            new: What to write, a JSON value; None for nothing.

        Returns:
            The document that stands: `new`, or what another process has written.
        """
        text = None if new is None else write_text(new)

        def decide(now: float, rows: Rows) -> tuple[Sequence[Write], Any]:
            stands = read_text(rows[0][-1]) if rows else None
            if stands != old:
                return [], stands
            return [Write(DOCUMENTS, (scope, name), None if text is None else (text,))], new

        return await self._run(Transaction(scope, [Read(DOCUMENTS, (scope, name))], decide))

    # The limits

    async def update_limits(self, account: str, change: Change[T]) -> T:
        """Put a new document in the place of an account's old one, in one step.

        Args:
            account: Whose document: a digest of base URL and key.
            change: Makes the new document. It may be called several times, and on another thread.

        Returns:
            What `change` returned besides the document that was written.
        """

        def decide(now: float, rows: Rows) -> tuple[Sequence[Write], T]:
            document, result = change(rows[0][-1] if rows else None, now)
            return [Write(LIMITS, (account,), (document,))], result

        return await self._run_limits(Transaction(account, [Read(LIMITS, (account,))], decide, flushed=False))

    async def get_limits(self, account: str) -> tuple[str | None, float]:
        """Return the document of an account, or None when there is none, and the store's time."""

        def look(now: float, rows: Rows) -> tuple[Sequence[Write], tuple[str | None, float]]:
            return [], (rows[0][-1] if rows else None, now)

        return await self._run_limits(Transaction(account, [Read(LIMITS, (account,))], look, flushed=None))

    # What the operations have in common

    async def _this_process(self) -> Owner:
        if self._owner is None:
            found = await asyncio.to_thread(Owner.here)
            # Another operation may have been faster.
            self._owner = self._owner or found
        return self._owner

    def _heartbeat(self, scope: str, owner: Owner, now: float) -> Write:
        """Return what sends a heartbeat."""
        self._scopes.add(scope)
        return Write(OWNERS, (scope, owner.id), (owner.to_text(), now + self._lease_ttl))

    def _others(self, alive: Mapping[str, str]) -> list[str]:
        """Return the texts of the owners that are alive, but for this process."""
        return [text for name, text in alive.items() if self._owner is None or name != self._owner.id]

    async def _read(self, read: Read) -> Rows:
        return await self._run(Transaction(read.names[0], [read], lambda now, rows: ([], rows), flushed=None))

    async def _write(self, scope: str, writes: Sequence[Write], *, flushed: bool = True) -> None:
        if writes:
            await self._run(Transaction(scope, [], lambda now: (writes, None), flushed))


def _alive(owners: Rows, now: float) -> dict[str, str]:
    """Return the texts of the owners that are alive, by name; one of which that cannot be read is not."""
    return {name: text for name, text, until in owners if isinstance(until, int | float) and until > now}


def _lost(lease: Lease) -> LeaseLostError:
    return LeaseLostError(
        f"{lease.key} is no longer held by this process: its heartbeat came too late, and another process has "
        "taken over, or has ended it. Nothing was written; what this process has sent may have taken effect."
    )
