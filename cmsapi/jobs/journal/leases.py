"""What one client holds of the journal, and the signs of life that let it.

What a dead process held is free for others. One that stood still for longer than a lease lives may have lost what it
holds without having noticed.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable

from cmsapi.errors import LeaseLostError, StateError
from cmsapi.jobs.tracked import Record
from cmsapi.state.store import LEASE_TTL, State, evict_dead_owners

logger: logging.Logger = logging.getLogger("cmsapi")

# Seconds between two signs of life while something is held.
HEARTBEAT = LEASE_TTL / 3
# Seconds after which is looked again whether what somebody else holds is over or free.
FOLLOW = 1.0


class Leases:
    """Hold entries, and show that this process lives as long as it holds any.

    Args:
        state: Where the journal is kept.
        spare: Called at each sign of life for each entry that nobody here works on or waits for.
        shared: Whether other processes may use the state too.
    """

    def __init__(self, state: State, spare: Callable[[Record], None], *, shared: bool) -> None:
        #: Whose journal it is, once that is known.
        self.scope: str = ""
        self._state = state
        self._spare = spare
        self._shared = shared
        self._records: dict[str, Record] = {}
        self._heartbeats: asyncio.Task[None] | None = None
        self._evicting = asyncio.Lock()
        self._closed = False
        # Loop times of the last sign of life, of the last look for dead processes, and of the last one that found any.
        self._heard = self._evicted_at = self._found_at = -math.inf

    def get(self, key: str) -> Record | None:
        """Return what is held under a key."""
        return self._records.get(key)

    def all(self) -> tuple[Record, ...]:
        """Return what is held."""
        return tuple(self._records.values())

    def hold(self, record: Record) -> None:
        """Note that an entry is held from now on."""
        if record.lease is None:
            return
        record.held = True
        if not self._records:
            self._heard = asyncio.get_running_loop().time()
        self._records[record.lease.key] = record
        # What is held after the end is let go of by the write that holds it.
        if not self._closed and (self._heartbeats is None or self._heartbeats.done()):
            self._heartbeats = asyncio.create_task(self._heartbeat())

    def let_go(self, record: Record) -> None:
        """Note that an entry is not held any more."""
        record.held = False
        if record.lease is not None and self._records.get(record.lease.key) is record:
            del self._records[record.lease.key]

    @property
    def lapsed(self) -> bool:
        """Whether others may have taken over what is held, because this process stood still for so long."""
        return self._shared and asyncio.get_running_loop().time() - self._heard >= LEASE_TTL

    async def evict(self) -> bool:
        """Look for dead processes, once a round for all that wait; tell whether one was found in this or the last."""
        if not self._shared:
            return False
        async with self._evicting:
            now = asyncio.get_running_loop().time()
            if now - self._evicted_at >= FOLLOW:
                if await self._evict():
                    self._found_at = now
                self._evicted_at = now
            return now - self._found_at < 2 * FOLLOW

    async def aclose(self) -> None:
        """Give no more signs of life."""
        self._closed = True
        if self._heartbeats is not None:
            self._heartbeats.cancel()
            await asyncio.gather(self._heartbeats, return_exceptions=True)

    async def _evict(self) -> bool:
        return await evict_dead_owners(self._state, self.scope)

    async def _heartbeat(self) -> None:
        while self._records:
            await asyncio.sleep(HEARTBEAT)
            try:
                for record in self.all():
                    if record.idle:
                        self._spare(record)
                if self._shared and self._records:
                    now, lapsed = asyncio.get_running_loop().time(), self.lapsed
                    await self._evict()
                    if lapsed:
                        await self._keep_what_is_left()
                    self._heard = now
            except StateError as error:
                logger.warning("the journal of launches cannot be written; others may take them over: %s", error)

    async def _keep_what_is_left(self) -> None:
        for record in self.all():
            try:
                if record.lease is not None:
                    await self._state.keep(record.lease)
            except LeaseLostError as error:
                logger.info("%s", error)
                self.let_go(record)
