"""What is told of a job: its status, and events for hooks."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from cmsapi.jobs.scheduling.scheduler import Scheduler
from cmsapi.jobs.status import JobStatus
from cmsapi.jobs.tracked import TrackedJob
from cmsapi.observability.events import JobObserved, JobReleased, JobWatched


def status(job: TrackedJob, scheduler: Scheduler, at: Callable[[float], datetime]) -> JobStatus:
    """Return what is known of a job now.

    Args:
        job: The job.
        scheduler: Plans its polls.
        at: Tells a moment of the loop on the service's clock.
    """
    next_poll, end, why = None, None, "it is finished"
    if not job.closed:
        next_poll, end, why = scheduler.next_poll(job), scheduler.durations.expected_end(job), scheduler.why(job)
    return JobStatus(
        state=job.word,
        phase=job.phase,
        since=at(job.since),
        observed_at=at(job.observed_at) if job.observed_at is not None else None,
        polls=job.polls,
        next_poll_at=at(next_poll) if next_poll is not None else None,
        why_next=why,
        elapsed=job.elapsed,
        eta=at(end) if end is not None else None,
    )


def watched(job: TrackedJob) -> JobWatched:
    """Report that a job is polled from now on."""
    return JobWatched(kind=job.kind.name.value, target=job.target, id=job.id, elapsed=job.elapsed)


def observed(job: TrackedJob, error: Exception | None = None) -> JobObserved:
    """Report what a poll has shown."""
    return JobObserved(
        kind=job.kind.name.value,
        target=job.target,
        phase=job.phase.value,
        state=job.word,
        polls=job.polls,
        error=type(error).__name__ if error else None,
    )


def released(job: TrackedJob) -> JobReleased:
    """Report that a job is finished, or that it has no waiters any more."""
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
