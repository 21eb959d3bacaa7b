"""The entries of the journal that one client holds, and the heartbeats that keep them.

An entry that a dead process held is free for others. A process that stood still for longer than its leases live may
have lost its entries without having noticed.

A state that lost everything, such as a server that was restarted without its data, goes on answering, and then what a
process that is alive knows is the only copy. An entry that is absent although this process holds it was lost, because
no other process may delete it meanwhile: it is written anew. After a standstill another process may have ended it. So a
state has an *origin*, a text that its first process draws: only a state that has another one by now has lost entries.
"""

from __future__ import annotations

import asyncio
import logging
import math
import secrets
from functools import partial

from cmsapi.errors import LeaseLostError, StateError
from cmsapi.jobs.journal.write_queue import WriteQueue
from cmsapi.jobs.tracked import Record
from cmsapi.state.entry import Entry, Lease
from cmsapi.state.store import LEASE_TTL, State

logger: logging.Logger = logging.getLogger("cmsapi")

# Seconds between two heartbeats while an entry is held.
HEARTBEAT = LEASE_TTL / 3
# Seconds between two checks whether an entry that another process holds is deleted or free.
FOLLOW = 1.0
#: The document with the salt of the digests.
SALT = "salt"
# The document that is drawn anew when the state has lost everything.
_ORIGIN = "origin"


class Leases:
    """Hold entries, send heartbeats as long as there are any, and write anew what the state has lost.

    Args:
        state: Where the journal is kept.
        writes: Writes the entries.
    """

    def __init__(self, state: State, writes: WriteQueue) -> None:
        self._state = state
        self._writes = writes
        #: The salt of the digests, empty before it is known.
        self.salt: str = ""
        # The origin of the state, None before it is known.
        self._origin: str | None = None
        #: How many losses of the state were noticed.
        self.losses: int = 0
        #: The held entries, by key.
        self.records: dict[str, Record] = {}
        self._heartbeats: asyncio.Task[None] | None = None
        self._evicting = asyncio.Lock()
        self._closed = False
        # Loop times of the last heartbeat, of the last eviction of dead processes, and of the last one that found any.
        self._heard = self._evicted_at = self._found_at = -math.inf

    def hold(self, record: Record) -> None:
        """Note that an entry is held from now on."""
        record.held = record.pollable = True
        if not self.records:
            self._heard = asyncio.get_running_loop().time()
        self.records[record.lease.key] = record
        # A write at the end may hold an entry for itself; it needs no heartbeat.
        if not self._closed and (self._heartbeats is None or self._heartbeats.done()):
            self._heartbeats = asyncio.create_task(self._heartbeat())

    def drop(self, record: Record) -> None:
        """Note that an entry is not held any more."""
        if record.held:
            record.held = record.pollable = False
        if self.records.get(record.lease.key) is record:
            del self.records[record.lease.key]

    def holds(self, record: Record) -> bool:
        """Tell whether this client may poll a job; after a standstill its entry has to be acquired anew first."""
        if record.held and self._lapsed:
            self.drop(record)
        return record.pollable

    async def claim(self, record: Record) -> None:
        """Hold an open entry, and read it, unless another process that is alive holds it."""
        if not record.lease.scope or record.lease.key in self.records:
            return
        try:
            entry = await self._state.claim(record.lease)
            if entry is None and await self.evict(record.lease.scope):
                entry = await self._state.claim(record.lease)
        except BaseException:
            # It may be held all the same.
            self.release_later(record)
            raise
        if entry is not None:
            record.entry = entry
            self.hold(record)

    async def release(self, record: Record) -> None:
        """Let other processes hold an entry."""
        self.drop(record)
        await self._state.release(record.lease)

    def release_later(self, record: Record) -> None:
        """Let other processes hold an entry; it is written in a moment."""
        self._writes.add(record.lease.key, partial(self.release, record))

    @property
    def _lapsed(self) -> bool:
        """Whether other processes may have taken the entries over, because this one stood still for so long."""
        return self._state.shared and asyncio.get_running_loop().time() - self._heard >= LEASE_TTL

    async def evict(self, scope: str) -> bool:
        """Evict dead processes, once a round for all that wait; tell whether this round or the last found one."""
        if not self._state.shared:
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
                        self._writes.add(record.lease.key, partial(self._release_idle, record))
                if self._state.shared and self.records:
                    now, lapsed = asyncio.get_running_loop().time(), self._lapsed
                    scope = next(iter(self.records.values())).lease.scope
                    await self._state.evict_dead_owners(scope)
                    origin = await self._read_origin(scope)
                    for record in tuple(self.records.values()) if lapsed else ():
                        await self._keep(record, lost=origin != self._origin)
                    self._heard, self._origin = now, origin
                    await self._restore_lost()
                level = logging.WARNING
            except Exception as error:
                # Whatever went wrong: without heartbeats another process would take over what this one works on. When
                # they fail for longer than a lease lives, the entries count as lost.
                strange = None if isinstance(error, StateError) else error
                message = "Heartbeat failed; other processes may take the launches over: %s"
                logger.log(level, message, error, exc_info=strange)
                level = logging.DEBUG

    async def _keep(self, record: Record, *, lost: bool) -> None:
        """Make sure that an entry is held; one that the state has lost is written anew if its job is launched."""
        try:
            await self._state.keep(record.lease)
        except LeaseLostError as error:
            if record.held and not (lost and record.bound and await self.restore(record.lease, record.entry)):
                logger.info("%s", error)
                self.drop(record)

    async def _restore_lost(self) -> None:
        """Write what this client holds anew if the state has lost it: other processes must not launch it again."""
        if not self.records:
            return
        scope = next(iter(self.records.values())).lease.scope
        found = await self._state.entries(scope)
        for record in [record for key, record in self.records.items() if key not in found]:
            self._writes.add(record.lease.key, partial(self._restore, record))
        if self.salt:
            await self.agree_on_salt(scope)

    async def _restore(self, record: Record) -> None:
        # It may have ended since the entries were read.
        if not record.held or not await self.restore(record.lease, record.entry):
            return
        if not record.held:
            await self._state.release(record.lease)

    async def restore(self, lease: Lease, entry: Entry) -> bool:
        """Write an entry that is absent and hold it; return False when another process has written one, or its end."""
        if await self._state.begin(lease, entry) is not None:
            return False
        self.note_loss()
        return True

    async def open(self, scope: str) -> None:
        """Take the salt and the origin that stand, and write those that there are not.

        Raises:
            StateError: What stands there is no salt.
        """
        await self.agree_on_salt(scope)
        self._origin = await self._read_origin(scope)

    async def _read_origin(self, scope: str) -> str:
        return str(await self._state.compare_and_set(scope, _ORIGIN, None, secrets.token_hex(8)))

    async def agree_on_salt(self, scope: str) -> None:
        """Take the salt of the digests that stands, and write one where there is none.

        Raises:
            StateError: What stands there is no salt.
        """
        stands = await self._state.compare_and_set(scope, SALT, None, self.salt or secrets.token_hex(16))
        if not isinstance(stands, str) or not stands:
            raise StateError(
                "The document 'salt' of the state is damaged: it is not a text, so that launches cannot be compared "
                "with those of other processes. Nothing was sent or charged by this call. Name another state, or "
                "delete that document when no process uses the state; open jobs then count as launched with other "
                "settings."
            )
        self.salt = stands

    def note_loss(self) -> None:
        """Count a loss, and warn of the first."""
        self.losses += 1
        message = (
            "the state has lost entries that this process wrote (was its server restarted without its data, or were "
            "rows deleted?): it writes anew what it still knows. What earlier processes wrote may be lost; the next "
            "run of their batches would launch it again and pay for it again"
        )
        logger.log(logging.WARNING if self.losses == 1 else logging.DEBUG, message)

    def certain(self, record: Record) -> bool:
        """Tell whether no other process can have taken an entry over, so that one that is absent was lost."""
        return record.held and not self._lapsed

    async def _release_idle(self, record: Record) -> None:
        """Release an entry that this client neither works on nor waits for."""
        if record.idle:
            await self.release(record)
