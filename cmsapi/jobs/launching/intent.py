"""Write a launch down before it is sent, or find what stands in its place.

What another client or process has launched is joined, what a dead one left behind is looked up, and what ended long ago
is struck out.
"""

from __future__ import annotations

import asyncio
import secrets

import attrs

from cmsapi.config import LaunchPolicy
from cmsapi.errors import JobError
from cmsapi.jobs.errors import sent_times, without_result
from cmsapi.jobs.journal.journal import LaunchJournal
from cmsapi.jobs.journal.leases import FOLLOW
from cmsapi.jobs.kinds.evidence import Finding, Verdict
from cmsapi.jobs.kinds.registry import kind_of
from cmsapi.jobs.launching.pending import ITEM
from cmsapi.jobs.launching.reconcile import Reconciler
from cmsapi.jobs.launching.recovery import adopt
from cmsapi.jobs.launching.request import LaunchRequest
from cmsapi.jobs.launching.unknown import Doubts
from cmsapi.jobs.polling.poller import Poller
from cmsapi.jobs.tracked import REVIEW, SENDING, Record, TrackedJob
from cmsapi.state.journal import Entry

# An analysis or a search that was launched so long ago has ended, and is no answer to a launch of today.
STALE_AFTER = 12 * 3600.0


@attrs.frozen
class IntentLog:
    """Write launches down.

    Args:
        poller: Knows the journal, and takes up what was launched.
        policy: What to do when the same work is under way.
        reconciler: Finds out what became of launches.
        doubts: Tells of those of which nobody knows.
    """

    poller: Poller
    policy: LaunchPolicy
    reconciler: Reconciler
    doubts: Doubts

    @property
    def journal(self) -> LaunchJournal:
        """Where they are written."""
        return self.poller.journal

    async def begin(self, launch: LaunchRequest) -> Record | TrackedJob:
        """Write a launch down, or return the job that stands in its place."""
        kind = kind_of(launch.kind)
        batch, item = ITEM.get() or (None, None)
        entry = Entry(
            kind=launch.kind.value,
            target=kind.entry_target(launch.target),
            asked_at=self.journal.wall(),
            batch=batch,
            item=item,
            settings=self.journal.digest(launch.body),
            facts=kind.launch_facts(launch.path),
        )
        if launch.joins and self.policy.dedupe != "allow":
            key = f"{launch.kind.value} {launch.target}"
        elif item is not None:
            key = f"{launch.kind.value} for {item!r} in {batch!r}"
        else:
            key = f"{launch.kind.value} {secrets.token_hex(8)}"
        followed: Entry | None = None
        while True:
            record = await self.journal.begin(key, entry)
            if record.entry is entry:
                if followed is not None:
                    with record.in_work():
                        await self._share_fate(launch, record, followed)
                return record
            followed = record.entry
            if record.working is not None:
                await record.working.wait()
                continue
            with record.in_work():
                found = await self._stands(launch, record, entry)
            if found is not None:
                return found

    async def _share_fate(self, launch: LaunchRequest, record: Record, followed: Entry) -> None:
        """Raise when nobody knows whether the launch happened for which this one has waited."""
        if await self.journal.gave_up(record, followed):
            why = "another client sent it, and it could not find out whether it happened"
            await self.doubts.give_up(launch, record, Finding.unknown(why), "no answer", None)

    async def _stands(self, launch: LaunchRequest, record: Record, wanted: Entry) -> Record | TrackedJob | None:
        """Say what to do about an entry that stands in the way; None to begin anew."""
        entry = record.entry
        if record.job is not None and not record.job.closed:
            self.poller.join(record.job)
            return record.job
        if not entry.over:
            self._check_entry(launch, entry, wanted)
        elif (problem := without_result(entry)) is not None:
            raise problem
        if entry.over or record.bound:
            if not entry.over and await self._is_stale(record):
                return None
            job = self.poller.take_over(record)
            job.history.settings = launch.body
            return job
        if not record.held:
            await asyncio.sleep(FOLLOW)
            return None
        if entry.status == SENDING:
            finding = await self.reconciler.find_out(entry)
            if finding.verdict is Verdict.LAUNCHED:
                return await adopt(self.poller, record, finding, launch.body)
            if finding.verdict is Verdict.UNKNOWN:
                await self.doubts.give_up(
                    launch, record, finding, "the process that sent it ended before its answer", None
                )
        # It was not sent: this launch takes its place.
        facts = dict(wanted.facts)
        if (doubt := record.entry.facts.get("doubt")) is not None:
            facts.update(doubt=doubt, sent=sent_times(record.entry))
        await self.journal.write(record, **{**attrs.asdict(wanted, recurse=False), "facts": facts})
        return record

    def _check_entry(self, launch: LaunchRequest, entry: Entry, wanted: Entry) -> None:
        same_item = entry.item is not None and (entry.batch, entry.item) == (wanted.batch, wanted.item)
        if entry.settings != wanted.settings or (self.policy.dedupe == "error" and not same_item):
            problem = " with other settings" if entry.settings != wanted.settings else ""
            raise JobError(
                f"A {launch.kind.value} for {launch.target} is under way already{problem}, launched by another client; "
                "nothing was sent or charged. Wait for it, or launch with LaunchPolicy(dedupe='allow')."
            )

    async def _is_stale(self, record: Record) -> bool:
        """Strike out what was launched long ago and has ended, so that its old result answers no new launch."""
        entry = record.entry
        recent = self.journal.wall() - entry.asked_at < STALE_AFTER
        if not record.held or entry.batch is not None or (recent and entry.status != REVIEW):
            return False
        over = await kind_of(entry.kind).is_over(self.reconciler.caller, entry)
        if over:
            await self.journal.delete(record)
        return over
