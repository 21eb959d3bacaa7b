"""Write a launch down before it is sent, or deal with the entry that the journal already has for the same work.

A launch of another client or process is joined. The orphan of a dead process is settled first, if that process may have
sent it, and then replaced. The entry of a job that ended long ago is deleted.
"""

from __future__ import annotations

import asyncio
import secrets

import attrs

from cmsapi.jobs.errors import without_result
from cmsapi.jobs.journal.heartbeat import FOLLOW
from cmsapi.jobs.kinds.evidence import name_of
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.jobs.launching.pending import PendingLaunch
from cmsapi.jobs.launching.reconcile import Reconciler
from cmsapi.jobs.tracked import Record, TrackedJob
from cmsapi.state.entry import Entry, EntryStatus

# An analysis or a search that was launched so long ago has ended, and is no answer to a launch of today.
STALE_AFTER = 12 * 3600.0


class Intent:
    """Write one launch down; the journal is open."""

    def __init__(self, reconciler: Reconciler, launch: PendingLaunch) -> None:
        self._reconciler = reconciler
        self._launch = launch
        self._poller = launch.poller
        self._journal = launch.poller.journal

    async def begin(self) -> Record | TrackedJob:
        """Write the launch down and return its record, or return the job that runs in its place."""
        key, self._entry = self._describe()
        followed: Entry | None = None
        while True:
            record = await self._journal.begin(key, self._entry)
            if record.entry is self._entry:
                if followed is not None:
                    with record.in_work():
                        await self._check_followed(record, followed)
                return await self._reconciler.look_again(record) or record
            followed = record.entry
            if record.working is not None:
                await record.working.wait()
                continue
            with record.in_work():
                found = await self._resolve(record)
            if found is not None:
                return found

    def _describe(self) -> tuple[str, Entry]:
        """Return the key that launches of the same work share, and its entry."""
        request, journal, purpose = self._launch.request, self._journal, self._launch.purpose
        kind = request.kind
        batch, item = (purpose and purpose.item) or (None, None)
        work = secrets.token_hex(8)
        if kind.joins and self._launch.policy.dedupe != "allow":
            work = request.target
        elif item is not None:
            work = f"for {item!r} in {batch!r}"
        return f"{kind.name.value} {work}", Entry(
            kind=kind.name.value,
            # An identifier is what a later process polls by; a keyword is only compared, and may be a whole text.
            target=name_of(request.target) if kind.polled_by_id else request.target,
            asked_at=journal.wall(),
            batch=batch,
            item=item,
            settings=journal.digest(request.body),
            facts={"workspace": request.path["workspaceId"]} if "workspaceId" in request.path else {},
        )

    async def _check_followed(self, record: Record, followed: Entry) -> None:
        """Raise when it is unknown whether the launch happened for which this one has waited."""
        doubted = await self._journal.unknown.of(record.lease, followed.asked_at)
        if doubted is not None:
            # That launch is the one in doubt, also for others that have waited for it, and what tells of it is kept.
            record.entry = attrs.evolve(
                record.entry, asked_at=doubted.asked_at, served_at=doubted.served_at, facts=doubted.facts
            )
            self._launch.record = record
            why = "another client sent it, and it could not find out whether it happened"
            await self._reconciler.give_up(self._launch, why, "no answer")

    async def _resolve(self, record: Record) -> Record | TrackedJob | None:
        """Deal with an entry of the same key: return a job to wait for, a record to launch with, or None to try again.

        Raises:
            JobError: The entry and this launch exclude each other.
            LaunchUnknownError: It is unknown whether the orphan of a dead process was launched.
        """
        job, entry = record.job, record.entry
        if job is not None and not job.closed:
            self._poller.join(job)
            return job
        if entry.over:
            # The item of a batch ended in another run.
            if (problem := without_result(entry)) is not None:
                raise problem
            return self._poller.take_over(record)
        if record.bound:
            if await self._is_stale(record):
                return None
            self._check_join(entry)
            return self._poller.take_over(record)
        if not record.held:
            # A process that is alive works on it.
            self._check_join(entry)
            await asyncio.sleep(FOLLOW)
            return None
        if entry.status == EntryStatus.SENDING:
            self._launch.record = record
            settled = await self._reconciler.settle(self._launch)
            if isinstance(settled, TrackedJob):
                self._check_join(entry)
                return settled
        # Nothing was launched, or it is repeated, so that the settings of the dead process do not matter.
        replacement = self._entry
        if "doubt" in record.entry.facts:
            # Until this launch is sent, that of the dead process is the one that may have been.
            facts, served_at = {**replacement.facts, **record.entry.facts}, record.entry.served_at
            replacement = attrs.evolve(replacement, status=EntryStatus.SENDING, served_at=served_at, facts=facts)
        await self._journal.write(record, **attrs.asdict(replacement, recurse=False))
        return record

    def _check_join(self, entry: Entry) -> None:
        same_item = entry.item is not None and (entry.batch, entry.item) == (self._entry.batch, self._entry.item)
        self._launch.request.check_join(
            self._launch.policy,
            settings=self._entry.settings,
            theirs=entry.settings,
            elsewhere=True,
            same_item=same_item,
        )

    async def _is_stale(self, record: Record) -> bool:
        """Delete the entry of a job that ended long ago, so that its old result answers no new launch."""
        entry, journal = record.entry, self._journal
        recent = journal.wall() - entry.asked_at < STALE_AFTER
        if not record.held or entry.batch is not None or (recent and entry.status != EntryStatus.REVIEW):
            return False
        over = await KINDS[entry.kind].is_over(self._poller.poll_settings.caller, entry)
        if over:
            await journal.delete(record)
        return over
