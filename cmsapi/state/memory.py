"""Share a state within one process."""

from __future__ import annotations

import asyncio
import itertools
import math
import os
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence

import attrs

from cmsapi.state.journal import Entry, Lease
from cmsapi.state.process import Owner
from cmsapi.state.store import LEASE_TTL, Change, Standing, State, Step, T

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
    outcomes: dict[tuple[str | None, str | None], Entry] = attrs.field(factory=dict)
    documents: dict[str, str] = attrs.field(factory=dict)
    owners: dict[str, tuple[Owner, float]] = attrs.field(factory=dict)


class Memory:
    """Hold what the states of one process share."""

    def __init__(self) -> None:
        self.scopes: defaultdict[str, _Scope] = defaultdict(_Scope)
        self.limits: dict[str, str] = {}


class MemoryState(State):
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

    def _alive(self, place: _Scope, owner: str | None) -> bool:
        _, until = place.owners.get(owner or "", (None, -math.inf))
        return until > self._now()

    async def _step(
        self, lease: Lease, when: Standing, step: Step, entry: Entry | None = None
    ) -> tuple[Standing, Entry | None]:
        place = self._live(lease.scope)
        row, item = place.journal.get(lease.key), None if entry is None else (entry.batch, entry.item)
        if row is None:
            found = None if item is None else place.outcomes.get(item)
            stood = Standing.ABSENT if found is None else Standing.ENDED
        else:
            other = Standing.HELD if self._alive(place, row.owner) else Standing.FREE
            found, stood = row.entry, Standing.MINE if row.lease == lease.id else other
        if stood is when:
            written = entry if entry is not None else found
            if step is Step.END:
                del place.journal[lease.key]
                if entry is not None and entry.batch is not None:
                    place.outcomes[entry.batch, entry.item] = entry
            elif written is not None:
                held = (lease.id, self._owner.id) if step is Step.HOLD else (None, None)
                place.journal[lease.key] = _Row(written, *held)
        return stood, found

    async def entries(self, scope: str) -> dict[str, Entry]:
        """Return all open entries by key."""
        return {key: row.entry for key, row in self._memory.scopes[scope].journal.items()}

    async def heartbeat(self, scope: str) -> Sequence[Owner]:
        """Give a sign of life, and return the other owners that are alive."""
        place = self._live(scope)
        return [owner for owner, _ in place.owners.values() if owner != self._owner and self._alive(place, owner.id)]

    async def evict(self, scope: str, owner: Owner) -> None:
        """Let others claim what an owner holds."""
        self._memory.scopes[scope].owners.pop(owner.id, None)

    async def outcomes(self, scope: str, batch: str) -> dict[str, Entry]:
        """Return how the items of a batch ended, by item."""
        outcomes = self._memory.scopes[scope].outcomes
        return {item: entry for (name, item), entry in outcomes.items() if name == batch and item is not None}

    async def recent_outcomes(self, scope: str, since: float) -> list[Entry]:
        """Return how the items of all batches ended that were asked for after a time."""
        return [entry for entry in self._memory.scopes[scope].outcomes.values() if entry.asked_at >= since]

    async def forget(self, scope: str, batch: str, items: Collection[str]) -> None:
        """Forget how some items ended."""
        for item in items:
            self._memory.scopes[scope].outcomes.pop((batch, item), None)

    async def _get_text(self, scope: str, name: str) -> str | None:
        return self._memory.scopes[scope].documents.get(name)

    async def _swap_text(self, scope: str, name: str, old: str | None, new: str | None) -> str | None:
        documents = self._memory.scopes[scope].documents
        if documents.get(name) == old:
            documents.pop(name, None)
            if new is not None:
                documents[name] = new
        return documents.get(name)

    async def update_limits(self, account: str, change: Change[T]) -> T:
        """Put a new document in the place of an account's old one."""
        limits = self._memory.limits
        limits[account], result = change(limits.get(account), self._now())
        return result

    async def aclose(self) -> None:
        """Let others claim what this owner holds."""
        for place in self._memory.scopes.values():
            place.owners.pop(self._owner.id, None)
