"""What happens to a job, as its listeners hear it."""

from __future__ import annotations

from typing import TypeAlias

import attrs

from cmsapi.jobs.status import JobStatus


@attrs.frozen
class Observed:
    """Tell that a look succeeded.

    Args:
        status: The job after the look.
        changed: Whether the state or the phase is another one than before.
    """

    status: JobStatus
    changed: bool


@attrs.frozen
class PollFailed:
    """Tell that a look failed; that says nothing about the job, and the next look comes as usual.

    Args:
        status: The job as it was last seen.
        error: Why the look failed.
    """

    status: JobStatus
    error: Exception


@attrs.frozen
class Finished:
    """Tell that the job is over; nothing follows.

    Args:
        status: The job at its end.
        error: What its waiters get raised, or None when they get a result.
    """

    status: JobStatus
    error: Exception | None


JobEvent: TypeAlias = Observed | PollFailed | Finished
