"""What is known of a job, as a snapshot."""

from __future__ import annotations

import enum
from datetime import datetime

import attrs

from cmsapi.display import markup


class Phase(enum.StrEnum):
    """Say where a job stands, whatever words the service has for it.

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
    """Show a job as it was when last looked at. Times are the service's, as far as its clock is known.

    Args:
        state: The service's own word, or None.
        phase: Where the job stands.
        since: When the phase began, as far as looks can tell.
        observed_at: When the job was last looked at, or None.
        polls: Looks so far.
        next_poll_at: When it will be looked at next, or None when nobody waits for it.
        why_next: Why then, in words.
        elapsed: Seconds since the launch, or since the watch began.
        eta: When it is expected to end, or None when that is not known.
    """

    state: str | None
    phase: Phase
    since: datetime
    observed_at: datetime | None
    polls: int
    next_poll_at: datetime | None
    why_next: str
    elapsed: float
    eta: datetime | None = None

    def _repr_html_(self) -> str:
        return markup.record(self)
