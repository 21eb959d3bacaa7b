"""Share a state within one process."""

from __future__ import annotations

import asyncio
import itertools
import math
import os
from collections.abc import Callable, Collection, Sequence

import attrs

from cmsapi.state.entry import Entry, Lease
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
class Memory:
    """Hold the data that the memory states of one process share, by scope and name."""

    journal: dict[tuple[str, str], _Row] = attrs.field(factory=dict)
    outcomes: dict[tuple[str, str | None, str | None], Entry] = attrs.field(factory=dict)
    documents: dict[tuple[str, str], str] = attrs.field(factory=dict)
    owners: dict[tuple[str, str], tuple[Owner, float]] = attrs.field(factory=dict)
    limits: dict[str, str] = attrs.field(factory=dict)


class MemoryState(State):
    """Share a state within one process; it is gone with the process.

    Args:
        memory: What is shared; None for one of its own.
        lease_ttl: Seconds after which leases of an owner without a heartbeat may be taken over.
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

    def _beat(self, scope: str) -> None:
        """Send a heartbeat."""
        self._memory.owners[scope, self._owner.id] = self._owner, self._now() + self._lease_ttl

    def _alive(self, scope: str, owner: str | None) -> bool:
        _, until = self._memory.owners.get((scope, owner or ""), (None, -math.inf))
        return until > self._now()

    async def _step(
        self, lease: Lease, when: Standing, step: Step, entry: Entry | None = None
    ) -> tuple[Standing, Entry | None]:
        self._beat(lease.scope)
        memory, scope, key = self._memory, lease.scope, (lease.scope, lease.key)
        row = memory.journal.get(key)
        if row is None:
            found = None if entry is None else memory.outcomes.get((scope, entry.batch, entry.item))
            stood = Standing.ABSENT if found is None else Standing.ENDED
        else:
            other = Standing.HELD if self._alive(scope, row.owner) else Standing.FREE
            found, stood = row.entry, Standing.MINE if row.lease == lease.id else other
        if stood is when:
            written = entry if entry is not None else found
            if step is Step.END:
                del memory.journal[key]
                if entry is not None and entry.batch is not None:
                    memory.outcomes[scope, entry.batch, entry.item] = entry
            elif written is not None:
                held = (lease.id, self._owner.id) if step is Step.HOLD else (None, None)
                memory.journal[key] = _Row(written, *held)
        return stood, found

    async def entries(self, scope: str) -> dict[str, Entry]:
        """Return all open entries by key."""
        return {key: row.entry for (of, key), row in self._memory.journal.items() if of == scope}

    async def heartbeat(self, scope: str) -> Sequence[Owner]:
        """Send a heartbeat, and return the other owners that are alive."""
        self._beat(scope)
        owners = [owner for (of, _), (owner, _) in self._memory.owners.items() if of == scope]
        return [owner for owner in owners if owner != self._owner and self._alive(scope, owner.id)]

    async def evict(self, scope: str, owner: Owner) -> None:
        """Let others claim what an owner holds."""
        self._memory.owners.pop((scope, owner.id), None)

    async def outcomes(self, scope: str, batch: str) -> dict[str, Entry]:
        """Return how the items of a batch ended, by item."""
        found = self._memory.outcomes.items()
        return {item: entry for (of, name, item), entry in found if (of, name) == (scope, batch) and item is not None}

    async def recent_outcomes(self, scope: str, since: float) -> list[Entry]:
        """Return how the items of all batches ended that were asked for after a time."""
        found = self._memory.outcomes.items()
        return [entry for (of, _, _), entry in found if of == scope and entry.asked_at >= since]

    async def forget(self, scope: str, batch: str, items: Collection[str]) -> None:
        """Forget how some items ended."""
        for item in items:
            self._memory.outcomes.pop((scope, batch, item), None)

    async def _get_text(self, scope: str, name: str) -> str | None:
        return self._memory.documents.get((scope, name))

    async def _swap_text(self, scope: str, name: str, old: str | None, new: str | None) -> str | None:
        documents = self._memory.documents
        if documents.get((scope, name)) == old:
            documents.pop((scope, name), None)
            if new is not None:
                documents[scope, name] = new
        return documents.get((scope, name))

    async def update_limits(self, account: str, change: Change[T]) -> T:
        """Put a new document in the place of an account's old one."""
        limits = self._memory.limits
        limits[account], result = change(limits.get(account), self._now())
        return result

    async def aclose(self) -> None:
        """Let others claim what this owner holds."""
        for scope, owner in tuple(self._memory.owners):
            if owner == self._owner.id:
                del self._memory.owners[scope, owner]
