"""Write launches down before they are sent, and strike them out when their end was seen.

A client that dies leaves its entries to the next one: an *intent* was not sent, what was *sending* may have been, and
what is *running* or in *review* is known to the service by name. Nothing is held for longer than it is worked on: once
a job is known and nobody here waits for it, others may look at it. So each job has one stream of looks over all
processes, and whoever else waits for it follows the journal instead of asking the service.

In memory the same is written, without a thread or a request.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

import attrs

from cmsapi.api.models import User
from cmsapi.errors import CMSError, LeaseLostError, StateError
from cmsapi.jobs.journal.balances import BalanceReadings
from cmsapi.jobs.journal.leases import FOLLOW, Leases
from cmsapi.jobs.journal.write_queue import WriteQueue
from cmsapi.jobs.kinds.registry import find_kind
from cmsapi.jobs.tracked import INTENT, REVIEW, RUNNING, UNKNOWN, Record
from cmsapi.state.journal import Entry, Lease, digest_of
from cmsapi.state.store import State, evict_dead_owners

logger: logging.Logger = logging.getLogger("cmsapi")

ReadUser: TypeAlias = Callable[[], Awaitable[User]]

# An entry of the journal is small.
LONGEST_REASON = 500

_NOTHING = Entry(kind="", target="", asked_at=0.0)


def scope_of(base_url: str, organization_id: str) -> str:
    """Name the journal of an organisation, so that a rotated key keeps its jobs."""
    return hashlib.blake2b(f"{base_url}\n{organization_id}".encode(), digest_size=16).hexdigest()


class LaunchJournal:
    """Keep the entries of one client.

    Args:
        state: Where it is kept.
        account: Digest of base URL and key.
        base_url: Where the jobs run.
        shared: Whether other processes may read it.
        wall: Tells the time on which processes agree, in seconds since the epoch.
    """

    def __init__(
        self, state: State, account: str, base_url: str, *, shared: bool, wall: Callable[[], float] = time.time
    ) -> None:
        self.state: State = state
        self.shared: bool = shared
        self.wall: Callable[[], float] = wall
        self._account = account
        self._base_url = base_url
        # One for each client that opens it, because each waits as long as its own settings say. They go when unused.
        self._opening: WeakValueDictionary[ReadUser | None, asyncio.Lock] = WeakValueDictionary()
        self._scope: str | None = None
        self._salt = ""
        self._leases = Leases(state, self._leave_idle, shared=shared)
        self._writes = WriteQueue()
        self._seen: tuple[float, dict[str, Entry]] | None = None
        #: What was known before launches left.
        self.balances: BalanceReadings = BalanceReadings()

    async def open(self, read_user: ReadUser | None = None) -> str:
        """Find out whose journal it is, and that it can be written; one request the first time, none in memory.

        Args:
            read_user: Reads whose key it is, with the settings of the client that asks; None takes the key itself.

        Returns:
            The scope: whose journal it is.

        Raises:
            StateError: The state cannot be reached, or is another version's; nothing was sent.
        """
        if self._scope is None:
            async with self._opening.setdefault(read_user, asyncio.Lock()):
                if self._scope is None:
                    self._scope = self._leases.scope = await self._open(read_user)
        return self._scope

    async def _open(self, read_user: ReadUser | None) -> str:
        state, scope = self.state, self._account
        if self.shared and read_user is not None:
            # Before the request, so that a state that does not work is found first.
            await state.get_document(scope, "salt")
            scope = scope_of(self._base_url, (await read_user()).organization.id)
            await evict_dead_owners(state, scope)
        self._salt = await state.compare_and_set(scope, "salt", None, secrets.token_hex(16))
        return scope

    @property
    def scope(self) -> str:
        """Whose journal it is, once it was opened."""
        if self._scope is None:
            raise RuntimeError("the journal was not opened")
        return self._scope

    def digest(self, settings: Mapping[str, Any] | None) -> str | None:
        """Return a digest of settings that tells nothing about them."""
        return digest_of(settings, self._salt)

    # Launches

    async def begin(self, key: str, entry: Entry) -> Record:
        """Write an entry and hold it, or take over what stands in the way, or find out what does.

        Returns:
            A record whose entry is `entry` itself when that was written. Otherwise it has what stands in the way, and
            holds it if nobody else who is alive does.
        """
        await self._writes.of(key)
        if (mine := self._leases.get(key)) is not None:
            return mine
        lease = Lease(self.scope, key)
        record = Record(entry, lease)
        try:
            stands = await self.state.begin(lease, entry)
        except BaseException:
            # It may have been written all the same.
            self.delete_later(record)
            raise
        if stands is None:
            self._leases.hold(record)
            return record
        record.entry = stands
        if not stands.over:
            await self._claim(record)
        return record

    async def claim(self, key: str) -> Record | None:
        """Hold an open entry that nobody alive holds, to work on it, or return None."""
        record = Record(_NOTHING, Lease(self.scope, key))
        await self._claim(record)
        return record if record.held else None

    def release_later(self, record: Record) -> None:
        """Leave an entry to whoever asks next; it is written in a moment."""

        async def release() -> None:
            await self.release(record)

        self._later(record, release)

    async def write(self, record: Record, **changes: Any) -> None:
        """Change what an entry says; it is flushed before this returns.

        Raises:
            LeaseLostError: Another process has taken it over; nothing was written.
        """
        if record.lease is None:
            return
        entry = attrs.evolve(record.entry, **changes)
        try:
            await self.state.update(record.lease, entry)
        except LeaseLostError:
            self._leases.let_go(record)
            raise
        record.entry = entry

    async def delete(self, record: Record, status: str | None = None, **changes: Any) -> None:
        """Strike an entry out; with a status it is the outcome of the item of a batch, if it has one.

        Raises:
            LeaseLostError: Another process has taken it over; nothing was written.
        """
        try:
            await self._delete(record, status, **changes)
        except LeaseLostError:
            raise
        except BaseException:
            # It may be held still, by nobody who works on it.
            self.release_later(record)
            raise

    async def _delete(self, record: Record, status: str | None = None, **changes: Any) -> None:
        if record.lease is None:
            return
        outcome = None
        if status is not None and record.entry.batch is not None:
            outcome = attrs.evolve(record.entry, status=status, ended_at=self.wall(), **changes)
        try:
            await self.state.end(record.lease, outcome)
        finally:
            self._leases.let_go(record)

    async def record_launched(self, record: Record, **changes: Any) -> None:
        """Write down that a launch has happened, and which job it is."""
        try:
            await self.write(record, status=RUNNING, **changes)
        except (StateError, LeaseLostError) as error:
            # It is launched: losing it here would be worse than looking at it twice.
            logger.warning("a launch could not be written down as done: %s", error)
            record.entry = attrs.evolve(record.entry, status=RUNNING, **changes)
        self.balances.launched(record.entry)

    async def record_unknown(self, record: Record, why: str) -> Entry:
        """Strike out a launch of which nobody knows whether it happened, and return what is known of it."""
        entry = attrs.evolve(record.entry, facts={**record.entry.facts, "found": why[:LONGEST_REASON]})
        self.balances.launched(attrs.evolve(entry, status=UNKNOWN))
        if record.lease is not None:
            name = _unknown(record.lease.key)
            await self.state.compare_and_set(
                self.scope, name, await self.state.get_document(self.scope, name), entry.asked_at
            )
        await self.delete(record, UNKNOWN, facts=entry.facts)
        return entry

    async def was_unknown(self, record: Record, followed: Entry) -> bool:
        """Tell whether an entry of the same key was struck out because nobody knows whether it happened."""
        name = "" if record.lease is None else _unknown(record.lease.key)
        return bool(await self.state.get_document(self.scope, name) == followed.asked_at)

    async def note_outcome(self, entry: Entry) -> None:
        """Keep the outcome of an item whose job another entry stands for."""
        lease = Lease(self.scope, f"outcome of {entry.item!r} in {entry.batch!r}")
        if await self.state.begin(lease, attrs.evolve(entry, ended_at=None)) is None:
            await self.state.end(lease, entry)

    def delete_later(self, record: Record) -> None:
        """Strike out what was written under this lease, without an outcome; it is written in a moment."""

        async def end() -> None:
            await self._delete(record)

        self._later(record, end)

    # Jobs

    def record_end(self, record: Record, status: str | None, decision: str | None = None) -> None:
        """Delete the entry of a job that is finished; it is written in a moment.

        Args:
            record: The entry.
            status: How the item of its batch ended; None keeps no outcome.
            decision: What was decided on its article.
        """
        launch = record.entry

        async def end() -> None:
            if await self._still(record, launch):
                await self._delete(record, status, decision=decision)

        self._later(record, end)

    def record_review(self, record: Record) -> None:
        """Note that an article waits for its decision; it is written in a moment, and anybody may decide."""
        launch = record.entry

        async def note() -> None:
            if await self._still(record, launch):
                await self.write(record, status=REVIEW)
                await self.release(record)

        self._later(record, note)

    async def acquire(self, record: Record, *, claim: bool = True) -> bool:
        """Hold the entry of a job so that the job may be looked at here.

        Args:
            record: The entry.
            claim: Whether to try to hold it, or only to see whether it is still there.

        Returns:
            False while somebody else who is alive holds it.
        """
        if not (record.held or record.free):
            if record.lease is not None:
                await self._writes.of(record.lease.key)
            mine = await self._mine(record) if claim or await self._leases.evict() else record.held
            record.free = not mine and (record.lease is None or record.lease.key not in await self._recent_entries())
        return record.held or record.free

    def holds(self, record: Record) -> bool:
        """Tell whether a job may be looked at here; after a standstill its entry has to be held anew first."""
        if record.held and self._leases.lapsed:
            self._leases.let_go(record)
        return record.held or record.free

    async def _recent_entries(self) -> dict[str, Entry]:
        """Read the open entries, once for all jobs that are followed."""
        now = asyncio.get_running_loop().time()
        if self._seen is None or not 0 <= now - self._seen[0] < FOLLOW / 2:
            self._seen = now, await self.state.entries(self.scope)
        return self._seen[1]

    async def release(self, record: Record) -> None:
        """Let others work on it."""
        self._leases.let_go(record)
        if record.lease is not None:
            await self.state.release(record.lease)

    async def known_entries(self) -> dict[str, Entry]:
        """Read the open entries by their keys, without those of kinds that only a newer version knows."""
        await self.flush()
        found = await self.state.entries(self.scope)
        strange = {key: entry.kind for key, entry in found.items() if find_kind(entry.kind) is None}
        if strange:
            logger.warning(
                "%d launches of kinds that this version of cmsapi does not know (%s) stay in the journal as they are, "
                "for the newer version that made them",
                len(strange),
                ", ".join(sorted(set(strange.values()))),
            )
        return {key: entry for key, entry in found.items() if key not in strange}

    async def flush(self) -> None:
        """Wait until everything that was noted is written."""
        await self._writes.all()

    async def aclose(self) -> None:
        """Write what was noted, and let others have what is held."""
        await self.flush()
        # All at once, so that a state that does not answer is waited for once.
        await asyncio.gather(*(self._give_back(record) for record in self._leases.all()))
        await self._writes.close()
        # Last, because an end that is written at the end may be held for it once more.
        await self._leases.aclose()

    # How

    async def _give_back(self, record: Record) -> None:
        with contextlib.suppress(StateError, LeaseLostError):
            # What was not sent is nobody's work.
            await (self.delete(record) if record.entry.status == INTENT else self.release(record))

    async def _mine(self, record: Record) -> bool:
        """Hold a record if it can be held."""
        try:
            # A job that was attached may be over before anything has opened the journal.
            await self.open(record.job.settings.read_user if record.job is not None else None)
        except StateError:
            raise
        except CMSError as error:
            # No caller waits for this: it is tried again like a state that cannot be reached.
            raise StateError(f"It could not be found out whose journal it is: {error}") from error
        if not record.held:
            if record.lease is None:
                key = await self._find(record.entry)
                record.lease = None if key is None else Lease(self.scope, key)
            await self._claim(record)
        return record.held

    async def _still(self, record: Record, launch: Entry) -> bool:
        """Hold a record if it can be held and stands for the same launch still: another one is nothing to write in."""
        held = await self._mine(record)
        if held and launch.asked_at not in (record.entry.asked_at, _NOTHING.asked_at):
            await self.release(record)
            return False
        return held

    async def _find(self, wanted: Entry) -> str | None:
        for key, entry in (await self.state.entries(self.scope)).items():
            named = entry.job_id == wanted.job_id if wanted.job_id else entry.target == wanted.target
            if entry.kind == wanted.kind and named:
                return key
        return None

    async def _claim(self, record: Record) -> None:
        if record.lease is None or self._leases.get(record.lease.key) is not None:
            return
        try:
            entry = await self.state.claim(record.lease)
            if entry is None and await self._leases.evict():
                entry = await self.state.claim(record.lease)
        except BaseException:
            # It may be held all the same.
            self.release_later(record)
            raise
        if entry is not None:
            record.entry = entry
            self._leases.hold(record)

    def _leave_idle(self, record: Record) -> None:
        """Release what nobody waits for, after whatever else is being written of it."""

        async def release() -> None:
            if record.idle:
                await self.release(record)

        self._later(record, release)

    def _later(self, record: Record, write: Callable[[], Awaitable[None]]) -> None:
        key = record.lease.key if record.lease is not None else f"{record.entry.kind} {record.entry.target}"
        self._writes.add(key, write)


def _unknown(key: str) -> str:
    return f"unknown {key}"
