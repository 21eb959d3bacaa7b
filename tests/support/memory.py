"""States in memory as several processes share them, each with leases of its own that expire."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable

from cmsapi.state.memory import MemoryState
from cmsapi.state.process import Owner
from cmsapi.state.store import LEASE_TTL

_numbers = itertools.count(1)


class ProcessState(MemoryState):
    """Share a memory as one of several processes.

    Args:
        memory: The state whose rows it shares; None for rows of its own.
        lease_ttl: Seconds after which leases of a process without a heartbeat may be taken over.
        clock: Tells the time in seconds; None for the running loop's.
    """

    def __init__(
        self,
        memory: MemoryState | None = None,
        *,
        lease_ttl: float = LEASE_TTL,
        clock: Callable[[], float] | None = None,
    ) -> None:
        super().__init__(lease_ttl)
        if memory is not None:
            self.rows = memory.rows
        self._clock = clock
        # Without a host, no process takes the owner for dead: it is this process.
        self._owner = Owner(id=f"memory-{next(_numbers)}", host="", pid=os.getpid(), started=None)

    def time(self) -> float:
        """Return the time of the processes in seconds."""
        return super().time() if self._clock is None else self._clock()
