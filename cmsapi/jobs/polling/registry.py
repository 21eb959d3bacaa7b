"""The jobs in flight: a launch of the same work joins them, and the journal follows their ends.

Clients that share a registry never pay twice for the same work.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from datetime import UTC, datetime

import attrs

from cmsapi.jobs.journal.journal import LaunchJournal, is_of_the_same_launch
from cmsapi.jobs.kinds.evidence import by_own_clock
from cmsapi.jobs.kinds.kind import JobHistory, job_before
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.jobs.kinds.review import GenerationReview
from cmsapi.jobs.status import Phase
from cmsapi.jobs.tracked import JobKey, PollSettings, Record, TrackedJob
from cmsapi.observability.hooks import Hooks
from cmsapi.state.entry import Entry, EntryStatus

# A job that began this long ago is no longer joined: it may have ended long ago.
FORGOTTEN_AFTER = 86_400.0

# Finished jobs that are kept for their tokens. A result may be a long article.
_KEPT = 100
_FINAL = (Phase.SUCCEEDED, Phase.FAILED, Phase.SUPERSEDED)


class JobRegistry:
    """Remember the jobs in flight, by kind and target, and those with subscribers.

    Args:
        journal: Where launches are written down.
        names: What the targets of jobs are called, as far as their documents were read.
    """

    def __init__(self, journal: LaunchJournal, names: Mapping[JobKey, str]) -> None:
        #: The jobs with subscribers, in the order of their subscriptions, and the hooks that hear of their polls.
        self.subscribed: dict[TrackedJob, Hooks] = {}
        #: The jobs whose entries in the journal are being acquired.
        self.acquiring: set[TrackedJob] = set()
        self.journal: LaunchJournal = journal
        self.names: Mapping[JobKey, str] = names
        #: The jobs in flight, oldest first.
        self.jobs: OrderedDict[JobKey, TrackedJob] = OrderedDict()
        # The last jobs that are finished, the newest at the end.
        self._finished: OrderedDict[JobKey, TrackedJob] = OrderedDict()

    def add(self, job: TrackedJob) -> None:
        """Remember a job so that a launch for the same target joins it."""
        jobs, oldest = self.jobs, asyncio.get_running_loop().time() - FORGOTTEN_AFTER
        while jobs and (first := next(iter(jobs.values()))).history.began < oldest:
            del jobs[first.key]
            record = first.record
            if record is not None and record.entry.batch is None and not self.journal.state.shared:
                # What only this process knows is not kept without limit, but for what the rerun of a batch asks for.
                self.journal.record_end(record, None)
        jobs[job.key] = job
        jobs.move_to_end(job.key)

    def name(self, job: TrackedJob) -> str | None:
        """Return what the target of a job is called, None while no document of it was read; sends nothing."""
        # The answer to a launch may name it, too.
        return self.names.get(job.key) or getattr(job.history.document, job.kind.name_field, None)

    def last_ended(self, key: JobKey) -> TrackedJob | None:
        """Return the last job of a kind and target that has ended here, None where none is known."""
        return self._finished.get(key)

    def remove(self, job: TrackedJob) -> None:
        """Forget a job, unless another one has taken its place."""
        if self.jobs.get(job.key) is job:
            del self.jobs[job.key]

    def attach(self, job: TrackedJob) -> TrackedJob:
        """Remember a job that a token names, or return the same job if it is known already."""
        known, finished = self.jobs.get(job.key), self._finished.get(job.key)
        if known is not None and not known.closed and _same(known, job):
            return known
        if finished is not None and _same(finished, job):
            return finished
        launched_at = job.history.launched_at
        entry = Entry(
            kind=job.kind.name.value,
            target=job.target,
            asked_at=0.0,
            job_id=job.history.job_id,
            served_at=None if launched_at is None else launched_at.timestamp(),
        )
        Record(entry).bind(job)
        if known is None:
            self.add(job)
        return job

    def find(self, entry: Entry) -> TrackedJob | None:
        """Return the job in flight that an open entry of the journal stands for, None where it is not known here."""
        kind = KINDS[entry.kind]
        known = self.jobs.get((kind, kind.job_target(entry.target, entry.job_id)))
        if known is None or known.id != (entry.job_id or known.target):
            return None
        # The job of an earlier launch may be attached.
        its = known.record
        return known if its is None or is_of_the_same_launch(entry, its.entry) else None

    def take_over(self, record: Record, settings: PollSettings) -> TrackedJob:
        """Return the job that an entry of the journal stands for, and remember it; sends nothing."""
        entry = record.entry
        kind = KINDS[entry.kind]
        served_at = entry.served_at
        launched_at = by_own_clock(entry.asked_at) if served_at is None else datetime.fromtimestamp(served_at, UTC)
        if not entry.over and (known := self.find(entry)) is not None and not known.closed:
            record.bind(known)
            return known
        # What the service has said to be its end needs no proof any more.
        ended = entry.status in (EntryStatus.SUCCEEDED, EntryStatus.FAILED)
        history = JobHistory(launched_at=launched_at, job_id=entry.job_id, before=job_before(entry), watched=ended)
        job = TrackedJob(kind, kind.job_target(entry.target, entry.job_id), history, settings)
        if not entry.over:
            record.bind(job)
            self.add(job)
        return job

    def reopen(self, job: TrackedJob, settings: PollSettings) -> TrackedJob:
        """Return a new job for a generation that still waits for its decision."""
        known, began = job.history, job.history.began
        history = attrs.evolve(known, fresh=False, phase=Phase.RUNNING, word=None, since=began, observed_at=None)
        again = TrackedJob(job.kind, job.target, history, settings)
        if job.record is not None:
            job.record.bind(again)
        self.add(again)
        return again

    def ended_elsewhere(self, job: TrackedJob) -> None:
        """Remove a job that has ended, or whose article was decided on outside of this client."""
        self.remove(job)
        if job.undecided and job.record is not None:
            self.journal.record_end(job.record, EntryStatus.SUCCEEDED, "elsewhere")

    def finished(self, job: TrackedJob) -> None:
        """Remove a job that is finished, unless it waits for a decision, and have the journal note that."""
        phase = job.history.phase
        if phase is not Phase.REVIEW:
            self.remove(job)
        if phase in _FINAL and not job.history.watched:
            self._finished[job.key] = job
            self._finished.move_to_end(job.key)
            if len(self._finished) > _KEPT:
                self._finished.popitem(last=False)
        review = job.result if isinstance(job.result, GenerationReview) else None
        if phase is Phase.REVIEW and review is not None:
            review.on_decided = lambda _: self._decided(job, review)
        if (record := job.record) is None:
            return
        if phase is Phase.REVIEW:
            self.journal.record_review(record, hook_failed=review is None)
        else:
            self.journal.record_end(record, job.final_status, review.decision if review is not None else None)

    def _decided(self, job: TrackedJob, review: GenerationReview) -> None:
        job.decided(review)
        self.finished(job)
        again = self.jobs.get(job.key)
        if again is not None and again.id == job.id and again.record is not None:
            # It was taken over since, and a copy that lags would show the review once more.
            self.remove(again)
            self.journal.record_end(again.record, EntryStatus.SUCCEEDED, review.decision)


def _same(known: TrackedJob, job: TrackedJob) -> bool:
    """Tell whether two jobs of one target are of the same launch."""
    return known.id == job.id and known.history.launched_at == job.history.launched_at
