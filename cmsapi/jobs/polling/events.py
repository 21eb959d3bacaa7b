"""What is told of a job: its status to the program, its events to hooks and the log."""

from __future__ import annotations

import asyncio

from cmsapi.jobs.kinds.doubt import Doubt
from cmsapi.jobs.scheduling.scheduler import Scheduler
from cmsapi.jobs.status import JobStatus, Phase
from cmsapi.jobs.tracked import TrackedJob
from cmsapi.observability.job_events import JobObserved, JobReleased


def status(job: TrackedJob, scheduler: Scheduler) -> JobStatus:
    """Return what is known of a job now; before the first subscription no poll is planned."""
    at = job.settings.caller.pipeline.clock.datetime_at
    next_poll, end, why = None, None, "it is finished"
    if not job.closed:
        next_poll, end, why = (
            scheduler.next_poll(job),
            scheduler.policy.durations.expected_end(job.kind, job.timing),
            scheduler.why(job),
        )
        if (lasting := job.lasting) is not None:
            left = lasting.left(job.settings.policy, asyncio.get_running_loop().time(), seen=job.history.seen)
            word = f" ({job.history.word!r})" if lasting.doubt is Doubt.UNLISTED else ""
            why = f"{why}; {lasting.doubt.words}{word}, and if that stays, the job ends in {left:.0f} s"
    return JobStatus(
        state=job.history.word,
        phase=job.history.phase,
        # A result that takes further requests may not be read yet.
        done=job.closed or job.history.phase is Phase.SUCCEEDED,
        since=at(job.history.since),
        observed_at=None if job.history.observed_at is None else at(job.history.observed_at),
        polls=job.polls,
        next_poll_at=None if next_poll is None else at(next_poll),
        why_next=why,
        elapsed=job.elapsed,
        eta=None if end is None else at(end),
    )


def observed(job: TrackedJob, scheduler: Scheduler, reason: str, error: Exception | None) -> JobObserved:
    """Make the event of a poll, with the next one if it is planned."""
    next_poll = scheduler.next_poll(job)
    return JobObserved(
        kind=job.kind.name.value,
        target=job.target,
        id=job.id,
        phase=job.history.phase.value,
        state=job.history.word,
        polls=job.polls,
        elapsed=job.elapsed,
        reason=reason,
        next_in=None if next_poll is None else max(0.0, next_poll - asyncio.get_running_loop().time()),
        next_reason=None if next_poll is None else scheduler.why(job),
        error=type(error).__name__ if error is not None else None,
    )


def released(job: TrackedJob) -> JobReleased:
    """Make the event of the end of a job, or of its last subscription."""
    return JobReleased(
        kind=job.kind.name.value,
        target=job.target,
        id=job.id,
        phase=job.history.phase.value,
        finished=job.closed,
        polls=job.polls,
        elapsed=job.elapsed,
        error=None if job.end is None or job.end.error is None else type(job.end.error).__name__,
    )
