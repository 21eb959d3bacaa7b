"""Write a launch down before it is sent, or deal with the entry that the journal already has for the same work.

A launch of another client or process is joined, an orphan of a dead process is reconciled, and the entry of a job that
ended long ago is deleted.
"""

from __future__ import annotations

import asyncio
import secrets

import attrs

from cmsapi.config import LaunchPolicy
from cmsapi.jobs.errors import sent_times, without_result
from cmsapi.jobs.journal.heartbeat import FOLLOW
from cmsapi.jobs.journal.journal import LaunchJournal
from cmsapi.jobs.kinds.evidence import Verdict
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.jobs.launching.pending import ITEM
from cmsapi.jobs.launching.reconcile import Reconciler, adopt
from cmsapi.jobs.launching.request import LaunchRequest, already_running
from cmsapi.jobs.launching.unknown import raise_unknown
from cmsapi.jobs.polling.poller import Poller
from cmsapi.jobs.tracked import REVIEW, SENDING, Record, TrackedJob
from cmsapi.state.journal import Entry

# An analysis or a search that was launched so long ago has ended, and is no answer to a launch of today.
STALE_AFTER = 12 * 3600.0


@attrs.frozen
class IntentLog:
    """Write launches down.

    Args:
        journal: Where they are written.
        poller: Polls what was launched.
        policy: What to do when the same work is under way.
        reconciler: Finds out what became of launches.
    """

    journal: LaunchJournal
    poller: Poller
    policy: LaunchPolicy
    reconciler: Reconciler

    async def begin(self, request: LaunchRequest) -> Record | TrackedJob:
        """Write a launch down and return its record, or return the job that runs in its place."""
        key, wanted = self._entry(request)
        followed: Entry | None = None
        while True:
            record = await self.journal.begin(key, wanted)
            if record.entry is wanted:
                if followed is not None:
                    with record.in_work():
                        await self._check_followed(request, record, followed)
                return record
            followed = record.entry
            if record.working is not None:
                await record.working.wait()
                continue
            with record.in_work():
                found = await self._resolve(request, record, wanted)
            if found is not None:
                return found

    def _entry(self, request: LaunchRequest) -> tuple[str, Entry]:
        """Return the entry of a launch, and its key; launches with the same key join."""
        kind = request.kind
        batch, item = ITEM.get() or (None, None)
        if kind.joins and self.policy.dedupe != "allow":
            key = f"{kind} {request.target}"
        elif item is not None:
            key = f"{kind} for {item!r} in {batch!r}"
        else:
            key = f"{kind} {secrets.token_hex(8)}"
        return key, Entry(
            kind=kind.name.value,
            target=kind.entry_target(request.target),
            asked_at=self.journal.wall(),
            batch=batch,
            item=item,
            settings=self.journal.digest(request.body),
            facts=kind.launch_facts(request.path),
        )

    async def _check_followed(self, request: LaunchRequest, record: Record, followed: Entry) -> None:
        """Raise when it is unknown whether the launch happened for which this one has waited."""
        if await self.journal.was_unknown(record, followed):
            why = "another client sent it, and it could not find out whether it happened"
            await raise_unknown(self.poller, self.policy, request, record, why, "no answer")

    async def _resolve(self, request: LaunchRequest, record: Record, wanted: Entry) -> Record | TrackedJob | None:
        """Deal with an entry of the same key.

        Returns:
            The job to wait for, the record to launch with, or None to begin anew.
        """
        job, entry = record.job, record.entry
        if job is not None and not job.closed:
            self.poller.join(job)
            return job
        if entry.over:
            return self._ended(request, record)
        self._check_same(request, entry, wanted)
        if record.bound:
            return await self._running(request, record)
        if not record.held:
            await asyncio.sleep(FOLLOW)
            return None
        if entry.status == SENDING and (job := await self._orphan(request, record)) is not None:
            return job
        return await self._replace(record, wanted)

    def _ended(self, request: LaunchRequest, record: Record) -> TrackedJob:
        """Return the job of an item of a batch that ended in another run, or raise what it ended with."""
        if (problem := without_result(record.entry)) is not None:
            raise problem
        return self._take_over(request, record)

    async def _running(self, request: LaunchRequest, record: Record) -> TrackedJob | None:
        """Return the job of a launch that happened, or None when that ended long ago."""
        return None if await self._is_stale(record) else self._take_over(request, record)

    def _take_over(self, request: LaunchRequest, record: Record) -> TrackedJob:
        job = self.poller.take_over(record)
        job.history.settings = request.body
        return job

    async def _orphan(self, request: LaunchRequest, record: Record) -> TrackedJob | None:
        """Reconcile a launch whose process ended before its answer; return its job, None when it did not happen.

        Raises:
            LaunchUnknownError: That could not be found out, and the policy does not repeat it.
        """
        finding = await self.reconciler.find_out(record.entry)
        if finding.verdict is Verdict.LAUNCHED:
            return await adopt(self.poller, record, finding, request.body)
        if finding.verdict is Verdict.UNKNOWN:
            said = "the process that sent it ended before its answer"
            await raise_unknown(self.poller, self.policy, request, record, finding.why, said)
        return None

    async def _replace(self, record: Record, wanted: Entry) -> Record:
        """Let this launch take the place of one that was not sent, or that is repeated."""
        facts = dict(wanted.facts)
        if (doubt := record.entry.facts.get("doubt")) is not None:
            facts.update(doubt=doubt, sent=sent_times(record.entry))
        await self.journal.write(record, **{**attrs.asdict(wanted, recurse=False), "facts": facts})
        return record

    def _check_same(self, request: LaunchRequest, entry: Entry, wanted: Entry) -> None:
        same_item = entry.item is not None and (entry.batch, entry.item) == (wanted.batch, wanted.item)
        if entry.settings != wanted.settings or (self.policy.dedupe == "error" and not same_item):
            problem = " with other settings" if entry.settings != wanted.settings else ""
            raise already_running(request, f"{problem}, launched by another client")

    async def _is_stale(self, record: Record) -> bool:
        """Delete the entry of a job that ended long ago, so that its old result answers no new launch."""
        entry = record.entry
        recent = self.journal.wall() - entry.asked_at < STALE_AFTER
        if not record.held or entry.batch is not None or (recent and entry.status != REVIEW):
            return False
        over = await KINDS[entry.kind].is_over(self.reconciler.caller, entry)
        if over:
            await self.journal.delete(record)
        return over
