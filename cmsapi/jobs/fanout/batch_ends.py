"""Know how the items of a batch have ended, and keep that in the state, so that no later run pays for them again."""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Any

import attrs

from cmsapi.errors import LaunchUnknownError, StateError
from cmsapi.jobs.errors import without_result
from cmsapi.jobs.fanout.batch_records import read_record
from cmsapi.jobs.fanout.batch_status import JOINED
from cmsapi.jobs.fanout.outcome import Outcome
from cmsapi.jobs.job import Job, job_of
from cmsapi.jobs.kinds.evidence import name_of
from cmsapi.jobs.kinds.review import GenerationReview
from cmsapi.jobs.polling.poller import Poller
from cmsapi.jobs.status import Phase
from cmsapi.jobs.tracked import Record
from cmsapi.state.entry import Entry, EntryStatus

logger: logging.Logger = logging.getLogger("cmsapi")


class BatchEnds:
    """Hold the ends of a batch's items, by their keys.

    Args:
        name: The name of the batch.
        poller: Polls the jobs.
    """

    def __init__(self, name: str, poller: Poller) -> None:
        self._name = name
        self._poller = poller
        self._journal = poller.journal
        self.entries: dict[str, Entry] = {}
        #: Whether the state has all of them.
        self.checked: bool = True
        # The losses of the journal that are dealt with, and how often outcomes had been forgotten by then.
        self._losses = self._forgotten = 0

    async def read(self) -> None:
        """Read the ends in the state, and write those anew that only this process knows."""
        journal = self._journal
        await journal.open(self._poller.poll_settings.read_user)
        await journal.flush()
        found = {str(entry.item): entry for entry in await journal.state.outcomes(journal.scope, batch=self._name)}
        record = await read_record(journal.state, journal.scope, self._name)
        forgotten = 0 if record is None else record.forgotten
        # Also those of earlier runs: the next run would pay for them again.
        missing = {name: entry for name, entry in self.entries.items() if name not in found}
        if forgotten > self._forgotten:
            missing.clear()
        if missing:
            journal.leases.note_loss()
        for entry in missing.values():
            await journal.note_outcome(entry)
        self.entries, self._losses, self.checked = found | missing, journal.leases.losses, True
        self._forgotten = forgotten

    async def restore_lost(self) -> None:
        """Read the ends once more at the end of a run; a state that cannot be reached does not fail it."""
        if not self.checked:
            try:
                await self.read()
            except StateError as error:
                logger.warning("the outcomes of %r could not be checked at the end of its run: %s", self._name, error)

    async def forget(self, keys: Collection[str]) -> None:
        """Forget how some items have ended, here and in the state."""
        await self._journal.flush()
        await self._journal.state.forget(self._journal.scope, self._name, keys)
        for key in keys:
            del self.entries[key]

    def job(self, name: str) -> Job[Any]:
        """Return the ended job of an item, so that awaiting it reads its result again.

        Raises:
            JobError: It has no result that could be read.
        """
        entry = self.entries[name]
        if (problem := without_result(entry)) is not None:
            raise problem
        return job_of(self._poller.take_over(Record(entry)), self._poller)

    async def keep(self, outcome: Outcome[str, Any]) -> None:
        """Keep how an item ended; an item whose job still runs has no end yet."""
        if outcome.earlier:
            await self._keep_anew(outcome)
            return
        name, now = outcome.item, self._journal.wall()
        if (entry := _end_of(outcome, now)) is None:
            return
        # The journal keeps the end of a job for the item for which it was launched, if there is one.
        kept = (entry.batch, entry.item) == (self._name, name)
        if not kept and outcome.job is not None:
            entry = attrs.evolve(entry, facts={**entry.facts, JOINED: True})
        entry = attrs.evolve(entry, batch=self._name, item=name, ended_at=now)
        if not kept:
            await self._journal.note_outcome(entry)
        self.entries[name] = entry
        self.checked = False
        if self._journal.leases.losses != self._losses:
            await self.restore_lost()

    async def _keep_anew(self, outcome: Outcome[str, Any]) -> None:
        """Keep the end of a job that the service did not report in an earlier run."""
        entry, job = self.entries[outcome.item], outcome.job
        if job is not None and job.done() and entry.status not in (job.tracked.final_status, EntryStatus.SUCCEEDED):
            entry = attrs.evolve(entry, status=job.tracked.final_status, decision=_decision(outcome))
            await self._journal.note_outcome(entry, anew=True)
            self.entries[outcome.item] = entry
        if isinstance(outcome.value, GenerationReview) and entry.decision:
            decided: Any = entry.decision
            outcome.value.decision = decided


def _end_of(outcome: Outcome[str, Any], now: float) -> Entry | None:
    """Return the end of an item that was launched or joined in this run, None when it has none."""
    error = outcome.error
    job = None if outcome.job is None else outcome.job.tracked
    if job is not None and job.closed and job.history.phase is not Phase.REVIEW:
        return attrs.evolve(
            Entry(kind=job.kind.name.value, target=job.target, asked_at=now)
            if job.record is None
            else job.record.entry,
            status=job.final_status,
            job_id=job.history.job_id,
            decision=_decision(outcome),
        )
    if isinstance(error, LaunchUnknownError) and "open" not in error.evidence:
        facts = {word: fact for word, fact in error.evidence.items() if isinstance(fact, str) and len(fact) <= 500}
        target = name_of(error.target)
        return Entry(kind=error.kind, target=target, asked_at=now, status=EntryStatus.UNKNOWN, facts=facts)
    return None


def _decision(outcome: Outcome[str, Any]) -> str | None:
    return outcome.value.decision if isinstance(outcome.value, GenerationReview) else None
