"""The entries of the journal that one client holds, and the heartbeats that keep them.

An entry that a dead process held is free for others. A process that stood still for longer than its leases live may
have lost its entries without having noticed.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable

from cmsapi.errors import LeaseLostError, StateError
from cmsapi.jobs.tracked import Record
from cmsapi.state.store import LEASE_TTL, State

logger: logging.Logger = logging.getLogger("cmsapi")

# Seconds between two heartbeats while an entry is held.
HEARTBEAT = LEASE_TTL / 3
# Seconds between two checks whether an entry that another process holds is deleted or free.
FOLLOW = 1.0


class Leases:
    """Hold entries, and send heartbeats as long as there are any.

    Args:
        state: Where the journal is kept.
        on_idle: Called at each heartbeat for each entry that this client neither works on nor waits for.
        shared: Whether other processes may use the state too.
    """

    def __init__(self, state: State, on_idle: Callable[[Record], None], *, shared: bool) -> None:
        self._state = state
        self._on_idle = on_idle
        self._shared = shared
        self._scope = ""
        #: The held entries, by key.
        self.records: dict[str, Record] = {}
        self._heartbeats: asyncio.Task[None] | None = None
        self._evicting = asyncio.Lock()
        self._closed = False
        # Loop times of the last heartbeat, of the last eviction of dead processes, and of the last one that found any.
        self._heard = self._evicted_at = self._found_at = -math.inf

    def hold(self, record: Record) -> None:
        """Note that an entry is held from now on."""
        if record.lease is None:
            return
        record.held, self._scope = True, record.lease.scope
        if not self.records:
            self._heard = asyncio.get_running_loop().time()
        self.records[record.lease.key] = record
        # A write at the end may hold an entry for itself; it needs no heartbeat.
        if not self._closed and (self._heartbeats is None or self._heartbeats.done()):
            self._heartbeats = asyncio.create_task(self._heartbeat())

    def drop(self, record: Record) -> None:
        """Note that an entry is not held any more."""
        record.held = False
        if record.lease is not None and self.records.get(record.lease.key) is record:
            del self.records[record.lease.key]

    @property
    def lapsed(self) -> bool:
        """Whether other processes may have taken the entries over, because this one stood still for so long."""
        return self._shared and asyncio.get_running_loop().time() - self._heard >= LEASE_TTL

    async def evict(self, scope: str) -> bool:
        """Evict dead processes, once a round for all that wait; tell whether this round or the last found one."""
        if not self._shared:
            return False
        async with self._evicting:
            now = asyncio.get_running_loop().time()
            if now - self._evicted_at >= FOLLOW:
                if await self._state.evict_dead_owners(scope):
                    self._found_at = now
                self._evicted_at = now
            return now - self._found_at < 2 * FOLLOW

    async def aclose(self) -> None:
        """Send no more heartbeats."""
        self._closed = True
        if self._heartbeats is not None:
            self._heartbeats.cancel()
            await asyncio.gather(self._heartbeats, return_exceptions=True)

    async def _heartbeat(self) -> None:
        level = logging.WARNING
        while self.records:
            await asyncio.sleep(HEARTBEAT)
            try:
                for record in tuple(self.records.values()):
                    if record.idle:
                        self._on_idle(record)
                if self._shared and self.records:
                    now, lapsed = asyncio.get_running_loop().time(), self.lapsed
                    await self._state.evict_dead_owners(self._scope)
                    for record in tuple(self.records.values()) if lapsed else ():
                        await self._keep(record)
                    self._heard = now
                level = logging.WARNING
            except Exception as error:
                # Whatever went wrong: without heartbeats another process would take over what this one works on. When
                # they fail for longer than a lease lives, the entries count as lost.
                strange = None if isinstance(error, StateError) else error
                message = "Heartbeat failed; other processes may take the launches over: %s"
                logger.log(level, message, error, exc_info=strange)
                level = logging.DEBUG

    async def _keep(self, record: Record) -> None:
        try:
            if record.lease is not None:
                await self._state.keep(record.lease)
        except LeaseLostError as error:
            logger.info("%s", error)
            self.drop(record)
