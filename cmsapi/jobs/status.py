"""Snapshots of a job, and the events that its listeners get."""

from __future__ import annotations

import enum
from datetime import datetime
from typing import Any, TypeAlias

import attrs

from cmsapi.display import markup


class Phase(enum.StrEnum):
    """Name the phases of a job, whatever words the service has for them.

    `LAUNCHING` is for work that is being sent; a `Job` exists only after that, so no job shows it.
    """

    LAUNCHING = "launching"
    RUNNING = "running"
    REVIEW = "review"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SUPERSEDED = "superseded"
    VANISHED = "vanished"
    UNKNOWN = "unknown"


@attrs.frozen(kw_only=True)
class JobStatus:
    """Show a job as the last poll left it. Times are the service's, as far as its clock is known.

    Args:
        state: The service's own word, or None.
        phase: Where the job stands.
        done: Whether the job is finished, with a result or an error.
        since: When the phase began, as far as polls can tell.
        observed_at: When the job was last observed, or None.
        polls: Polls so far.
        next_poll_at: When it is polled next, or None when it has no waiters.
        why_next: The reason for that time, in words.
        elapsed: Seconds since the launch, or since the watch began.
        eta: When it is expected to end, or None when that is not known.
    """

    state: str | None
    phase: Phase
    done: bool
    since: datetime
    observed_at: datetime | None
    polls: int
    next_poll_at: datetime | None
    why_next: str
    elapsed: float
    eta: datetime | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as values of JSON; times are texts in ISO 8601."""
        return {
            name: value.isoformat() if isinstance(value, datetime) else value
            for name, value in attrs.asdict(self).items()
        }

    def _repr_html_(self) -> str:
        return markup.record(self)


@attrs.frozen
class Observed:
    """Report a poll that succeeded.

    Args:
        status: The job after the poll.
        changed: Whether the state or the phase differs from the one before.
    """

    status: JobStatus
    changed: bool


@attrs.frozen
class PollFailed:
    """Report a poll that failed; that says nothing about the job, and the next poll comes as usual.

    Args:
        status: The job as it was last observed.
        error: Why the poll failed.
    """

    status: JobStatus
    error: Exception


@attrs.frozen
class Finished:
    """Report that the job is finished; it is the last event.

    Args:
        status: The job at its end.
        error: The error that its waiters get, or None when they get a result.
    """

    status: JobStatus
    error: Exception | None


JobEvent: TypeAlias = Observed | PollFailed | Finished
