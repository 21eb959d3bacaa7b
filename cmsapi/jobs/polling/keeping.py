"""Jobs that are kept, so that a launch of the same work joins them, and the journal knows which are looked at."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import attrs

from cmsapi.jobs.job import Job, Keeper
from cmsapi.jobs.journal.journal import LaunchJournal
from cmsapi.jobs.journal.record import Record
from cmsapi.jobs.kinds.evidence import by_own_clock
from cmsapi.jobs.kinds.observation import JobHistory
from cmsapi.jobs.kinds.registry import kind_of
from cmsapi.jobs.polling.registry import JobRegistry
from cmsapi.jobs.status import Phase
from cmsapi.state.journal import Entry


class Kept:
    """Make jobs and keep them.

    Args:
        keeper: Looks at them.
        registry: What runs already; shared by clients that must not pay twice for the same work.
        journal: What is written down of it.
    """

    def __init__(self, keeper: Keeper, registry: JobRegistry, journal: LaunchJournal) -> None:
        self._keeper = keeper
        self._registry = registry
        self._journal = journal

    def launched(self, job: Job[Any]) -> None:
        """Keep a launched job so that another launch for the same target joins it."""
        for forgotten in self._registry.add(job, self._keeper.time()):
            if forgotten._record is not None and not self._journal.shared:
                # What only this process knows is not kept for ever.
                self._journal.forget(forgotten._record)

    def ended_elsewhere(self, job: Job[Any]) -> None:
        """Let nobody join a job that has ended, or whose article somebody else has decided on."""
        self._registry.remove(job)
        if job._undecided and job._record is not None:
            self._journal.saw_end(job._record, Phase.SUCCEEDED.value, "elsewhere")

    def take_over(self, record: Record) -> Job[Any]:
        """Return the job that an entry of the journal stands for, and keep it; sends nothing."""
        entry = record.entry
        kind = kind_of(entry.kind)
        served_at = entry.served_at
        launched_at = by_own_clock(entry.asked_at) if served_at is None else datetime.fromtimestamp(served_at, UTC)
        target = kind.job_target(entry.target, entry.job_id)
        kept = self._registry.job((kind.name, target))
        if kept is not None and not kept.done and not entry.over and kept.id == (entry.job_id or target):
            kept._record, record.job = record, kept
            self._keeper.join(kept)
            return kept
        history = JobHistory(
            began=self._keeper.time(), launched_at=launched_at, job_id=entry.job_id, watched=entry.over
        )
        job: Job[Any] = Job(self._keeper, kind.name, target, history)
        if not entry.over:
            job._record, record.job = record, job
            self.launched(job)
        return job

    def attached(self, job: Job[Any]) -> Job[Any]:
        """Keep a job that a token names likewise, or return the one that is kept for it already."""
        job._record = Record(Entry(kind=job.kind, target=job.target, asked_at=0.0, job_id=job._history.job_id), job=job)
        kept = self._registry.job((job.kind, job.target))
        if kept is None:
            self.launched(job)
        elif not kept.done and kept.id == job.id and kept._history.launched_at == job._history.launched_at:
            self._keeper.join(kept)
            return kept
        return job

    def reopen(self, job: Job[Any]) -> Job[Any]:
        """Return a new job for a generation that still waits for its decision."""
        history = attrs.evolve(job._history, fresh=False)
        again: Job[Any] = Job(self._keeper, job.kind, job.target, history)
        again._record = job._record
        if again._record is not None:
            again._record.job = again
        self.launched(again)
        return again
