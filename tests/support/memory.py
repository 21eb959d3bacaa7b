"""States in memory as several processes share them, each with leases of its own that expire."""

from __future__ import annotations

import asyncio
import itertools
import math
import os
from collections.abc import Callable, Sequence

from cmsapi.state.entry import Entry, Lease
from cmsapi.state.memory import MemoryState
from cmsapi.state.process import Owner
from cmsapi.state.store import LEASE_TTL, Action, Change, Standing, T

_numbers = itertools.count(1)


class SharedMemory(MemoryState):
    """Hold what processes share, and know until when each of them is alive, and which leases are whose."""

    def __init__(self) -> None:
        super().__init__()
        self.owners: dict[tuple[str, str], tuple[Owner, float]] = {}
        self.holders: dict[str, str] = {}


class ProcessState(MemoryState):
    """Share a memory as one of several processes.

    Args:
        memory: What is shared; None for one of its own.
        lease_ttl: Seconds after which leases of a process without a heartbeat may be taken over.
        clock: Tells the time in seconds; None for the running loop's.
    """

    def __init__(
        self,
        memory: SharedMemory | None = None,
        *,
        lease_ttl: float = LEASE_TTL,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.processes = memory if memory is not None else SharedMemory()
        super().__init__()
        shared = self.processes
        self.rows, self.ended, self.documents, self.limits = shared.rows, shared.ended, shared.documents, shared.limits
        self._lease_ttl = lease_ttl
        self._clock = clock
        # Without a host, no process takes the owner for dead: it is this process.
        self._owner = Owner(id=f"memory-{next(_numbers)}", host="", pid=os.getpid(), started=None)

    def _now(self) -> float:
        return asyncio.get_running_loop().time() if self._clock is None else self._clock()

    def _beat(self, scope: str) -> None:
        self.processes.owners[scope, self._owner.id] = self._owner, self._now() + self._lease_ttl

    def _alive(self, scope: str, owner: str) -> bool:
        _, until = self.processes.owners.get((scope, owner), (None, -math.inf))
        return until > self._now()

    async def change(
        self, lease: Lease, expected: Standing, action: Action, entry: Entry | None = None
    ) -> tuple[Standing, Entry | None]:
        self._beat(lease.scope)
        row, holders = self.rows.get((lease.scope, lease.key)), self.processes.holders
        if row is not None and row.lease not in (None, lease.id):
            row.lease = row.lease if self._alive(lease.scope, holders.get(row.lease or "", "")) else None
        stood, found = await super().change(lease, expected, action, entry)
        if stood is expected and action is Action.HOLD:
            holders[lease.id] = self._owner.id
        return stood, found

    async def heartbeat(self, scope: str) -> Sequence[Owner]:
        """Send a heartbeat, and return the other owners that are alive."""
        self._beat(scope)
        return await self.others(scope)

    async def others(self, scope: str) -> Sequence[Owner]:
        """Return the other owners that are alive."""
        owners = [owner for (of, _), (owner, _) in self.processes.owners.items() if of == scope]
        return [owner for owner in owners if owner != self._owner and self._alive(scope, owner.id)]

    async def evict(self, scope: str, owner: Owner) -> None:
        """Let others claim what an owner holds."""
        self.processes.owners.pop((scope, owner.id), None)

    async def update_limits(self, account: str, change: Change[T]) -> T:
        """Put a new document in the place of an account's old one, by the clock of the processes."""
        return await super().update_limits(account, lambda document, _: change(document, self._now()))

    async def aclose(self) -> None:
        """Let others claim what this owner holds."""
        for scope, owner in tuple(self.processes.owners):
            if owner == self._owner.id:
                del self.processes.owners[scope, owner]
