"""Events of a job, for hooks."""

from __future__ import annotations

from typing import Any

from cmsapi.jobs.job import Job
from cmsapi.observability.events import JobObserved, JobReleased, JobWatched


def watched(job: Job[Any]) -> JobWatched:
    """Tell that a job is looked at from now on."""
    return JobWatched(kind=job.kind.value, target=job.target, id=job.id, elapsed=job._elapsed())


def observed(job: Job[Any], error: Exception | None = None) -> JobObserved:
    """Tell what a look has shown."""
    return JobObserved(
        kind=job.kind.value,
        target=job.target,
        phase=job._phase.value,
        state=job._state,
        polls=job._polls,
        error=type(error).__name__ if error else None,
    )


def released(job: Job[Any]) -> JobReleased:
    """Tell that a job is over, or that nobody waits for it any more."""
    return JobReleased(
        kind=job.kind.value,
        target=job.target,
        id=job.id,
        phase=job._phase.value,
        finished=job.done,
        polls=job._polls,
        elapsed=job._elapsed(),
        error=type(job._error).__name__ if job._error is not None else None,
    )
