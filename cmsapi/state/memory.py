"""Share a state within one process."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

import attrs

from cmsapi.state.journal import Entry, Lease, document_of, document_text, taken_over
from cmsapi.state.process import Owner
from cmsapi.state.store import LEASE_TTL, Change

T = TypeVar("T")

_numbers = itertools.count(1)


@attrs.define
class _Row:
    """Hold an open entry, the lease under which it is held, and by whom."""

    entry: Entry
    lease: str | None
    owner: str | None


@attrs.define
class _Scope:
    journal: dict[str, _Row] = attrs.field(factory=dict)
    outcomes: dict[tuple[str, str], Entry] = attrs.field(factory=dict)
    documents: dict[str, str] = attrs.field(factory=dict)
    owners: dict[str, tuple[Owner, float]] = attrs.field(factory=dict)


class Memory:
    """Hold what the states of one process share."""

    def __init__(self) -> None:
        self.scopes: defaultdict[str, _Scope] = defaultdict(_Scope)
        self.limits: dict[str, str] = {}


class MemoryState:
    """Share a state within one process; it is gone with the process.

    Args:
        memory: What is shared; None for one of its own.
        lease_ttl: Seconds after which leases of an owner that was not heard of may be taken over.
        clock: Tells the time in seconds; None for the running loop's.
    """

    def __init__(
        self, memory: Memory | None = None, *, lease_ttl: float = LEASE_TTL, clock: Callable[[], float] | None = None
    ) -> None:
        self._memory = memory if memory is not None else Memory()
        self._lease_ttl = lease_ttl
        self._clock = clock
        # Without a host, no process takes the owner for dead: it is this process.
        self._owner = Owner(id=f"memory-{next(_numbers)}", host="", pid=os.getpid(), started=None)

    def _now(self) -> float:
        return asyncio.get_running_loop().time() if self._clock is None else self._clock()

    def _live(self, scope: str) -> _Scope:
        place = self._memory.scopes[scope]
        place.owners[self._owner.id] = self._owner, self._now() + self._lease_ttl
        return place

    def _alive(self, place: _Scope) -> dict[str | None, Owner]:
        now = self._now()
        return {name: owner for name, (owner, until) in place.owners.items() if until > now}

    def _held(self, lease: Lease) -> _Row | None:
        row = self._live(lease.scope).journal.get(lease.key)
        if row is not None and row.lease != lease.id:
            raise taken_over(lease)
        return row

    async def begin(self, lease: Lease, entry: Entry) -> Entry | None:
        """Write an entry and hold it, or return what stands in the way."""
        place = self._live(lease.scope)
        row = place.journal.get(lease.key)
        if row is not None:
            return None if row.lease == lease.id else row.entry
        if entry.batch is not None and entry.item is not None:
            outcome = place.outcomes.get((entry.batch, entry.item))
            if outcome is not None:
                return outcome
        place.journal[lease.key] = _Row(entry, lease.id, self._owner.id)
        return None

    async def keep(self, lease: Lease) -> None:
        """Make sure that the entry is still held under this lease."""
        if self._held(lease) is None:
            raise taken_over(lease)

    async def update(self, lease: Lease, entry: Entry) -> None:
        """Write the entry anew."""
        row = self._held(lease)
        if row is None:
            raise taken_over(lease)
        row.entry = entry

    async def end(self, lease: Lease, outcome: Entry | None = None) -> None:
        """Delete the entry, and keep the outcome of its item if it has one."""
        if self._held(lease) is None:
            return
        place = self._memory.scopes[lease.scope]
        del place.journal[lease.key]
        if outcome is not None and outcome.batch is not None and outcome.item is not None:
            place.outcomes[outcome.batch, outcome.item] = outcome

    async def release(self, lease: Lease) -> None:
        """Let others claim the entry."""
        row = self._memory.scopes[lease.scope].journal.get(lease.key)
        if row is not None and row.lease == lease.id:
            row.lease = row.owner = None

    async def claim(self, lease: Lease) -> Entry | None:
        """Hold an open entry under this lease, unless a live process holds it."""
        place = self._live(lease.scope)
        row = place.journal.get(lease.key)
        if row is None:
            return None
        if row.lease != lease.id:
            if row.owner in self._alive(place):
                return None
            row.lease, row.owner = lease.id, self._owner.id
        return row.entry

    async def entries(self, scope: str) -> dict[str, Entry]:
        """Return all open entries by key."""
        return {key: row.entry for key, row in self._memory.scopes[scope].journal.items()}

    async def heartbeat(self, scope: str) -> Sequence[Owner]:
        """Say that this owner lives, and return the others that are alive."""
        return [owner for owner in self._alive(self._live(scope)).values() if owner != self._owner]

    async def evict(self, scope: str, owner: Owner) -> None:
        """Let others claim what an owner holds."""
        self._memory.scopes[scope].owners.pop(owner.id, None)

    async def outcomes(self, scope: str, batch: str) -> dict[str, Entry]:
        """Return how the items of a batch ended, by item."""
        outcomes = self._memory.scopes[scope].outcomes
        return {item: entry for (name, item), entry in outcomes.items() if name == batch}

    async def recent_outcomes(self, scope: str, since: float) -> list[Entry]:
        """Return how the items of all batches ended that were asked for after a time."""
        return [entry for entry in self._memory.scopes[scope].outcomes.values() if entry.asked_at >= since]

    async def forget(self, scope: str, batch: str, items: Collection[str]) -> None:
        """Forget how some items ended."""
        for item in items:
            self._memory.scopes[scope].outcomes.pop((batch, item), None)

    async def get_document(self, scope: str, name: str) -> Any:
        """Return a document, or None when there is none."""
        return document_of(self._memory.scopes[scope].documents.get(name))

    async def compare_and_set(self, scope: str, name: str, old: Any, new: Any) -> Any:
        """Put a document in the place of another one, unless another process was faster."""
        documents = self._memory.scopes[scope].documents
        if documents.get(name) == document_text(old):
            text = document_text(new)
            if text is None:
                documents.pop(name, None)
            else:
                documents[name] = text
        return document_of(documents.get(name))

    async def update_limits(self, account: str, change: Change[T]) -> T:
        """Put a new document in the place of an account's old one."""
        limits = self._memory.limits
        limits[account], result = change(limits.get(account), self._now())
        return result

    async def aclose(self) -> None:
        """Let others claim what this owner holds."""
        for place in self._memory.scopes.values():
            place.owners.pop(self._owner.id, None)
