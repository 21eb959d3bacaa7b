"""Write launches down before they are sent, and delete their entries when their jobs are finished.

The next process finds the entries of a process that died. The status of an entry says how far its launch was: an
*intent* was not sent, *sending* may have been sent, *running* and *review* have a job at the service. A client holds an
entry while it works on it. Once the job is known and no caller of this client waits for it, other clients may poll it:
each job has one stream of polls over all processes, and the other processes follow the journal instead of asking the
service.

In memory the same is written, without a thread or a request.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

import attrs

from cmsapi.api.models.user import User
from cmsapi.errors import CMSError, LeaseLostError, StateError
from cmsapi.jobs.journal.balances import BalanceReadings
from cmsapi.jobs.journal.heartbeat import FOLLOW, SALT, Leases
from cmsapi.jobs.journal.unknown_launches import UnknownLaunches
from cmsapi.jobs.journal.write_queue import Write, WriteQueue
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.jobs.tracked import Record
from cmsapi.state.entry import Entry, EntryStatus, Lease, digest_of
from cmsapi.state.store import State

logger: logging.Logger = logging.getLogger("cmsapi")

ReadUser: TypeAlias = Callable[[], Awaitable[User]]

# An entry of the journal is small.
LONGEST_REASON = 500
#: The fact of a generation whose article waits for a decision that `on_review` was asked for, and has not made.
HOOK_ASKED = "deciding"
#: The fact of a launch that follows one of the same that stayed unknown: once it has happened, that one is not asked
#: for any more.
FOLLOWS_UNKNOWN = "follows_unknown"

# Seconds by which the times of one launch may differ.
_SAME_TIME = 1.0

# The document of an account that names its journal, for those who must not ask the service.
_JOURNAL = "journal"

_NOTHING = Entry(kind="", target="", asked_at=0.0)


def _organization_of(user: User) -> str:
    # The specification shows one, but a null is read as None.
    organization = getattr(user.organization, "id", None)
    if organization is None:
        raise StateError(
            "The answer to `get_me` does not show the organization of the key, so that the journal that its processes "
            "share cannot be found. Nothing was sent or charged. With `state='memory:'` the client works without it."
        )
    return str(organization)


def scope_of(base_url: str, organization_id: str) -> str:
    """Name the journal of an organisation."""
    return hashlib.blake2b(f"{base_url}\n{organization_id}".encode(), digest_size=16).hexdigest()


class LaunchJournal:
    """Keep the entries of one client.

    A journal belongs to an organisation, so that a rotated key keeps its jobs.

    Args:
        state: Where it is kept.
        account: Digest of base URL and key.
        base_url: Where the jobs run.
        wall: Tells the time on which processes agree, in seconds since the epoch.
    """

    def __init__(self, state: State, account: str, base_url: str, *, wall: Callable[[], float] = time.time) -> None:
        self.state: State = state
        self.wall: Callable[[], float] = wall
        #: Digest of base URL and key.
        self.account: str = account
        self._base_url = base_url
        # One for each client that opens it, because each waits as long as its own settings say. They go when unused.
        self._opening: WeakValueDictionary[ReadUser | None, asyncio.Lock] = WeakValueDictionary()
        self._scope: str | None = None
        self._writes = WriteQueue()
        #: The entries that this client holds.
        self.leases: Leases = Leases(state, self._writes)
        self._seen: tuple[float, dict[str, Entry]] | None = None
        #: What was known before launches left.
        self.balances: BalanceReadings = BalanceReadings()
        #: The launches that became unknown.
        self.unknown: UnknownLaunches = UnknownLaunches(state, wall)

    async def open(self, read_user: ReadUser | None = None) -> str:
        """Find out whose journal it is, and that it can be written; one request the first time, none in memory.

        Args:
            read_user: Reads whose key it is, with the settings of the client that asks; None takes the key itself.

        Returns:
            The scope of the journal.

        Raises:
            StateError: The state cannot be reached, or is another version's; nothing was sent.
        """
        if self._scope is None:
            async with self._opening.setdefault(read_user, asyncio.Lock()):
                if self._scope is None:
                    state, scope = self.state, self.account
                    if state.shared and read_user is not None:
                        # Before the request, so that a state that does not work is found first.
                        await state.get_document(scope, SALT)
                        scope = scope_of(self._base_url, _organization_of(await read_user()))
                        await state.evict_dead_owners(scope)
                        if (named := await state.get_document(self.account, _JOURNAL)) != scope:
                            await state.compare_and_set(self.account, _JOURNAL, named, scope)
                    await self.leases.open(scope)
                    self._scope = scope
        return self._scope

    async def find(self) -> str | None:
        """Return the scope of the journal if it is known, to this process or from one that opened it; sends nothing.

        Raises:
            StateError: The state cannot be reached.
        """
        if self._scope is not None or not self.state.shared:
            return self._scope or self.account
        scope = await self.state.get_document(self.account, _JOURNAL)
        return scope if isinstance(scope, str) else None

    @property
    def opened(self) -> bool:
        """Whether it is known whose journal it is."""
        return self._scope is not None

    @property
    def scope(self) -> str:
        """Whose journal it is, once it was opened."""
        if self._scope is None:
            raise RuntimeError("the journal was not opened")
        return self._scope

    def digest(self, settings: Mapping[str, Any] | None) -> str | None:
        """Return a digest of settings that tells nothing about them."""
        return None if settings is None else digest_of(settings, self.leases.salt)

    async def begin(self, key: str, entry: Entry) -> Record:
        """Write an entry and hold it, or claim the entry that the key has already.

        Returns:
            A record whose entry is `entry` itself when that was written. Otherwise it has the earlier entry, and holds
            that unless another process that is alive does.
        """
        lease = Lease(self.scope, key)
        await self._writes.flush(key)
        if (mine := self.leases.records.get(key)) is not None:
            return mine
        record = Record(entry, lease)
        try:
            earlier = await self.state.begin(lease, entry)
        except BaseException:
            # It may have been written all the same.
            self.delete_later(record)
            raise
        if earlier is None:
            self.leases.hold(record)
            return record
        record.entry = earlier
        if not earlier.over:
            await self.leases.claim(record)
        return record

    async def claim(self, key: str) -> Record | None:
        """Hold an open entry to work on it; return None while another process that is alive holds it."""
        record = Record(_NOTHING, Lease(self.scope, key))
        await self.leases.claim(record)
        return record if record.held else None

    async def write(self, record: Record, **changes: Any) -> None:
        """Change what an entry says; it is flushed before this returns. One that the state has lost is written anew.

        Raises:
            LeaseLostError: Another process has taken it over; nothing was written.
        """
        entry = attrs.evolve(record.entry, **changes)
        try:
            await self.state.update(record.lease, entry)
        except LeaseLostError:
            # What is not launched must not be sent while another process may have launched it.
            mine = self.leases.certain(record) or entry.status not in (EntryStatus.INTENT, EntryStatus.SENDING)
            if not (mine and await self.leases.restore(record.lease, entry)):
                self.leases.drop(record)
                raise
            # A heartbeat may have been faster, and have written what was known before.
            await self.state.update(record.lease, entry)
        record.entry = entry

    async def delete(self, record: Record, status: EntryStatus | None = None, **changes: Any) -> None:
        """Delete an entry; with a status it becomes the outcome of its item, if it belongs to a batch.

        Raises:
            LeaseLostError: Another process has taken it over; nothing was written.
        """
        try:
            await self._delete(record, status, **changes)
        except LeaseLostError:
            raise
        except BaseException:
            # It may be held still, and no task works on it any more.
            self.leases.release_later(record)
            raise

    async def _delete(self, record: Record, status: EntryStatus | None = None, **changes: Any) -> None:
        try:
            if await self.state.end(record.lease, self._outcome(record.entry, status, **changes)):
                self.leases.note_loss()
        finally:
            self.leases.drop(record)

    def _outcome(self, entry: Entry, status: EntryStatus | None, **changes: Any) -> Entry | None:
        """Return the outcome of an item whose entry ends with a status; None where the entry is of no batch."""
        if status is None or entry.batch is None:
            return None
        return attrs.evolve(entry, status=status, ended_at=self.wall(), **changes)

    async def record_launched(self, record: Record, **changes: Any) -> None:
        """Write down that a launch has happened, and which job it is; if that fails, it is written once it can be."""
        launched = {"status": EntryStatus.RUNNING, **changes}
        try:
            await self.write(record, **launched)
        except BaseException as error:
            # It is launched: losing it here would be worse than polling it twice.
            record.entry = attrs.evolve(record.entry, **launched)
            # To hold the entry anew may read the old one again.
            self._later_if_held(record, lambda: self.write(record, **({} if record.bound else launched)))
            if not isinstance(error, StateError | LeaseLostError):
                raise
            logger.warning("Journal unavailable; a launch could not be recorded as done: %s", error)
        else:
            if FOLLOWS_UNKNOWN in record.entry.facts:
                self._writes.add(record.lease.key, partial(self.unknown.close, record.lease))

    async def record_unknown(self, record: Record, why: str) -> None:
        """Delete the entry of a launch that may have happened, and tell the clients that follow it."""
        entry = attrs.evolve(record.entry, facts={**record.entry.facts, "found": why[:LONGEST_REASON]})
        await self.unknown.add(record.lease, entry)
        # If it is left open all the same, its entry alone is to be asked for.
        record.entry = attrs.evolve(record.entry, facts={**record.entry.facts, FOLLOWS_UNKNOWN: True})
        await self.delete(record, EntryStatus.UNKNOWN, facts=entry.facts)

    def leave_open(self, record: Record) -> None:
        """Write what is known of a launch in doubt, also if its entry was deleted, and release it; in a moment."""

        async def leave() -> None:
            # Another process may have it by now.
            if record.held or await self.state.begin(record.lease, record.entry) is None:
                await self.write(record)
                await self.leases.release(record)

        self._writes.add(record.lease.key, leave)

    async def note_outcome(self, entry: Entry, *, anew: bool = False) -> None:
        """Keep the outcome of an item whose job has the entry of another item; also when its caller is cancelled.

        Args:
            entry: The outcome.
            anew: Whether it takes the place of an earlier outcome of the item.

        Raises:
            StateError: It is not kept yet; it is tried again.
        """
        lease, failures = Lease(self.scope, f"outcome of {entry.item!r} in {entry.batch!r}"), list[StateError]()

        async def note() -> None:
            try:
                await (self.state.note_anew if anew else self.state.note)(lease, entry)
            except StateError as error:
                failures.append(error)
                raise

        self._writes.add(lease.key, note)
        await self._writes.flush(lease.key)
        if failures:
            raise failures[0]

    def delete_later(self, record: Record) -> None:
        """Delete what was written under this lease, without an outcome; it is written in a moment."""
        self._writes.add(record.lease.key, partial(self._delete, record))

    def record_end(self, record: Record, status: EntryStatus | None, decision: str | None = None) -> None:
        """Delete the entry of a job that is finished, as `delete` does; it is written in a moment."""
        outcome = self._outcome(record.entry, status, decision=decision)

        async def note() -> None:
            # While this process stood still, another one may have found the launch unknown.
            if outcome is not None:
                await self.state.note_known(record.lease, outcome)

        self._later_if_held(record, lambda: self._delete(record, status, decision=decision), otherwise=note)

    def record_deciding(self, record: Record) -> None:
        """Note that `on_review` is asked for the decision on an article; it is written in a moment."""
        self._later_if_held(record, lambda: self.write(record, facts={**record.entry.facts, HOOK_ASKED: True}))

    def record_review(self, record: Record, *, hook_failed: bool = False) -> None:
        """Note that an article waits for its decision, and release its entry; it is written in a moment."""

        async def note() -> None:
            # The next run asks a hook that has failed again.
            facts = {name: fact for name, fact in record.entry.facts.items() if hook_failed or name != HOOK_ASKED}
            await self.write(record, status=EntryStatus.REVIEW, facts=facts)
            await self.leases.release(record)

        self._later_if_held(record, note)

    async def acquire(self, record: Record, *, claim: bool = True) -> bool:
        """Hold the entry of a job so that this client may poll the job; return False while another process holds it.

        Without `claim` this only checks that the entry is still there, unless a process has died.
        """
        if not record.pollable:
            await self._writes.flush(record.lease.key)
            mine = await self._hold(record) if claim or await self.leases.evict(self.scope) else record.held
            record.pollable = mine or not record.lease.scope or record.lease.key not in await self._recent_entries()
        return record.pollable

    async def _recent_entries(self) -> dict[str, Entry]:
        """Read the open entries, once for all jobs that are followed."""
        now = asyncio.get_running_loop().time()
        if self._seen is None or not 0 <= now - self._seen[0] < FOLLOW / 2:
            self._seen = now, await self.state.entries(self.scope)
        return self._seen[1]

    async def known_entries(self) -> dict[str, Entry]:
        """Read the open entries by their keys, without those of kinds that only a newer version knows."""
        await self.flush()
        found = await self.state.entries(self.scope)
        strange = {key: entry.kind for key, entry in found.items() if KINDS.get(entry.kind) is None}
        if strange:
            message = (
                "%d launches of kinds that this version of cmsapi does not know (%s) stay in the journal as they are, "
                "for the newer version that made them"
            )
            logger.warning(message, len(strange), ", ".join(sorted(set(strange.values()))))
        return {key: entry for key, entry in found.items() if key not in strange}

    async def flush(self) -> None:
        """Wait until everything is written that is written in a moment."""
        await self._writes.flush()

    async def aclose(self) -> None:
        """Write what is to be written, and release all entries."""
        await self.flush()
        # All at once, so that a state that does not answer is waited for once.
        await asyncio.gather(*(self._release_at_end(record) for record in self.leases.records.values()))
        await self._writes.close()
        # Last, because an end that is written at the end may be held for it once more.
        await self.leases.aclose()

    async def _release_at_end(self, record: Record) -> None:
        with contextlib.suppress(StateError, LeaseLostError):
            # An intent that was not sent needs no other process.
            await (self.delete(record) if record.entry.status == EntryStatus.INTENT else self.leases.release(record))

    async def _hold(self, record: Record) -> bool:
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
            if not record.lease.scope and (key := await self._find(record.entry)) is not None:
                record.lease = Lease(self.scope, key)
            await self.leases.claim(record)
        return record.held

    async def _find(self, wanted: Entry) -> str | None:
        found = await self.state.entries(self.scope)
        return next((key for key, entry in found.items() if is_of_the_same_launch(entry, wanted)), None)

    def _later_if_held(self, record: Record, write: Write, *, otherwise: Write | None = None) -> None:
        """Write in a moment, if the record can be held and is still the entry of the same launch.

        Args:
            record: The record.
            write: What is written then.
            otherwise: What is written if it cannot be held.
        """
        asked_at = record.entry.asked_at

        async def write_if_held() -> None:
            if await self._hold(record):
                # The entry of an attached job has no time of its launch.
                same = asked_at in (record.entry.asked_at, _NOTHING.asked_at)
                await (write() if same else self.leases.release(record))
            elif otherwise is not None:
                await otherwise()

        self._writes.add(record.lease.key, write_if_held)


def is_of_the_same_launch(entry: Entry, known: Entry) -> bool:
    """Tell whether an open entry is that of a known job, and not of a later launch for the same target."""
    if entry.kind != known.kind or entry.status in (EntryStatus.INTENT, EntryStatus.SENDING):
        return False
    if known.job_id is not None:
        return entry.job_id == known.job_id
    if entry.served_at is None or known.served_at is None:
        return entry.target == known.target
    return entry.target == known.target and abs(entry.served_at - known.served_at) < _SAME_TIME
