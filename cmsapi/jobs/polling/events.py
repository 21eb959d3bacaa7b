"""The events of jobs with subscribers, for hooks and the log."""

from __future__ import annotations

import asyncio

from cmsapi.jobs.scheduling.scheduler import Scheduler
from cmsapi.jobs.tracked import TrackedJob
from cmsapi.observability.job_events import JobObserved, JobReleased, JobWatched


def watched(job: TrackedJob) -> JobWatched:
    """Make the event of a job's first subscription."""
    return JobWatched(kind=job.kind.name.value, target=job.target, id=job.id, elapsed=job.elapsed)


def observed(job: TrackedJob, scheduler: Scheduler, reason: str, error: Exception | None) -> JobObserved:
    """Make the event of a poll, with the next one if it is planned."""
    next_poll = scheduler.next_poll(job)
    return JobObserved(
        kind=job.kind.name.value,
        target=job.target,
        id=job.id,
        phase=job.phase.value,
        state=job.word,
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
        phase=job.phase.value,
        finished=job.closed,
        polls=job.polls,
        elapsed=job.elapsed,
        error=type(job.error).__name__ if job.error is not None else None,
    )
