"""Share a state within one event loop."""

from __future__ import annotations

import asyncio
import math
import os
from typing import Any, ClassVar

from cmsapi.state.process import Owner
from cmsapi.state.rows import Read, Rows, Transaction
from cmsapi.state.store import State, T


class MemoryState(State):
    """Share a state within one event loop; it is gone with the process.

    All leases are those of this process, which is alive: an entry stays held until it is released.

    Args:
        lease_ttl: Seconds after which leases of an owner without a heartbeat may be taken over.
    """

    shared: ClassVar[bool] = False

    def __init__(self, lease_ttl: float = math.inf) -> None:
        # No process takes the owner for dead: it has no host.
        super().__init__(lease_ttl, Owner(id="memory", host="", pid=os.getpid(), started=None))
        #: The values of each row, by its table's title and its names.
        self.rows: dict[str, dict[tuple[str, ...], tuple[Any, ...]]] = {}

    def time(self) -> float:
        """Return the time of the state in seconds."""
        return asyncio.get_running_loop().time()

    async def _run(self, transaction: Transaction[T]) -> T:
        writes, result = transaction.decide(self.time(), *map(self._found, transaction.reads))
        for write in writes:
            rows = self.rows.setdefault(write.table.title, {})
            rows.pop(write.names, None)
            if write.values is not None:
                rows[write.names] = write.values
        return result

    def _found(self, read: Read) -> Rows:
        rows = self.rows.get(read.table.title, {})
        if read.is_one:
            return [(read.names[-1], *rows[read.names])] if read.names in rows else []
        return [(names[-1], *values) for names, values in rows.items() if names[: len(read.names)] == read.names]
