"""What failed polls of a job mean: as a rule nothing, and the polls go on.

A 404 about the job counts as its end only when it has lasted for a minute and three polls. Polls that fail for half an
hour in a way that repeating does not mend end the job as one whose end cannot be told. A refused key is reported to the
waiters; the job goes on.
"""

from __future__ import annotations

import enum

from cmsapi.errors import (
    APIError,
    CMSError,
    DeadlineError,
    DecodeError,
    ForbiddenError,
    RateLimitWaitError,
    TransportError,
    UnauthorizedError,
)
from cmsapi.jobs.tracked import Failures

# How long the service answers 404 about a job before it counts as gone, in seconds.
VANISHED_AFTER = 60.0
# So many polls have to fail in the same way before that can end a job.
_LASTING_POLLS = 3
# Refusals that repeating does not mend.
_REFUSALS = (400, 404, 422)


class Consequence(enum.Enum):
    """Say what follows from a failed poll."""

    GO_ON = "the polls go on"
    TELL = "the present waiters are told"
    VANISHED = "the service no longer knows the job"
    UNREADABLE = "what the service shows of it cannot be read"


def count_failure(failures: Failures, error: Exception, operation: str, now: float, patience: float) -> Consequence:
    """Count a failed poll and say what follows.

    Args:
        failures: The failures so far.
        error: How it failed.
        operation: The operation that shows the job itself.
        now: Time of the loop.
        patience: Seconds after which failures that repeating does not mend end the job.
    """
    failures.polls += 1
    if isinstance(error, UnauthorizedError | ForbiddenError) or not isinstance(error, CMSError):
        return Consequence.TELL
    if not isinstance(error, APIError | TransportError | RateLimitWaitError | DeadlineError):
        # A failure of this side, which no answer of the service will mend.
        return Consequence.TELL
    if (failure := _lasting(error)) is None:
        return Consequence.GO_ON
    if failures.lasting != failure:
        failures.lasting, failures.lasting_since, failures.lasting_polls = failure, now, 0
    failures.lasting_polls += 1
    gone = failure == (404, operation)
    if failures.lasting_polls < _LASTING_POLLS or now - failures.lasting_since < (VANISHED_AFTER if gone else patience):
        return Consequence.GO_ON
    return Consequence.VANISHED if gone else Consequence.UNREADABLE


def note_success(failures: Failures | None, operation: str) -> None:
    """Note that an operation has succeeded, although the poll may still fail with another one."""
    if failures is not None and failures.lasting is not None and failures.lasting[1] == operation:
        failures.lasting = None


def _lasting(error: CMSError) -> tuple[object, str | None] | None:
    """Return what tells such a failure from another one, or None when repeating may mend it."""
    if isinstance(error, DecodeError):
        return DecodeError, error.operation
    if isinstance(error, APIError) and error.status in _REFUSALS:
        return error.status, error.operation
    return None
