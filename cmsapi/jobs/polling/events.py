"""Events of a job, for hooks."""

from __future__ import annotations

from cmsapi.jobs.tracked import TrackedJob
from cmsapi.observability.events import JobObserved, JobReleased, JobWatched


def watched(job: TrackedJob) -> JobWatched:
    """Report that a job is polled from now on."""
    return JobWatched(kind=job.kind.value, target=job.target, id=job.id, elapsed=job.elapsed)


def observed(job: TrackedJob, error: Exception | None = None) -> JobObserved:
    """Report what a poll has shown."""
    return JobObserved(
        kind=job.kind.value,
        target=job.target,
        phase=job.phase.value,
        state=job.word,
        polls=job.polls,
        error=type(error).__name__ if error else None,
    )


def released(job: TrackedJob) -> JobReleased:
    """Report that a job is finished, or that it has no waiters any more."""
    return JobReleased(
        kind=job.kind.value,
        target=job.target,
        id=job.id,
        phase=job.phase.value,
        finished=job.closed,
        polls=job.polls,
        elapsed=job.elapsed,
        error=type(job.error).__name__ if job.error is not None else None,
    )
