"""What failed looks at a job mean: as a rule nothing, and the looks go on.

Not a 404 either, until it has been 404 for a minute and three looks. Looks that fail for half an hour in a way that
repeating does not mend end the job as one whose end cannot be told. A refused key is told to the waiters; the job goes
on.
"""

from __future__ import annotations

import enum

import attrs

from cmsapi.errors import (
    APIError,
    CMSError,
    DeadlineError,
    DecodeError,
    ForbiddenError,
    NotFoundError,
    RateLimitWaitError,
    TransportError,
    UnauthorizedError,
)

# How long the service answers 404 about a job before it counts as gone, in seconds, and in how many looks at least.
VANISHED_AFTER = 60.0
_VANISHED_LOOKS = 3
_HOPELESS_LOOKS = 3
# Refusals that repeating does not mend. 404 about the job itself is told apart from this: that job has vanished.
_REFUSALS = (400, 404, 422)


class Sequel(enum.Enum):
    """Say what follows from a failed look."""

    GO_ON = "the looks go on"
    TELL = "those who wait now are told"
    VANISHED = "the service no longer knows the job"
    UNREADABLE = "what the service shows of it cannot be read"


@attrs.define
class Failures:
    """Count the failed looks at one job since the last one that succeeded."""

    looks: int = 0
    _missing_since: float | None = None
    _missing_looks: int = 0
    _hopeless: object = None
    _hopeless_since: float = 0.0
    _hopeless_looks: int = 0

    def weigh(self, error: Exception, operation: str, now: float, patience: float) -> Sequel:
        """Count a failed look and say what follows.

        Args:
            error: How it failed.
            operation: The operation that shows the job itself.
            now: The time.
            patience: Seconds after which failures that repeating does not mend end the job.
        """
        self.looks += 1
        if isinstance(error, UnauthorizedError | ForbiddenError) or not isinstance(error, CMSError):
            return Sequel.TELL
        if isinstance(error, NotFoundError) and error.operation == operation:
            self._missing_since = now if self._missing_since is None else self._missing_since
            self._missing_looks += 1
            long_enough = now - self._missing_since >= VANISHED_AFTER
            return Sequel.VANISHED if self._missing_looks >= _VANISHED_LOOKS and long_enough else Sequel.GO_ON
        if not isinstance(error, APIError | TransportError | RateLimitWaitError | DeadlineError):
            # Something of this side, which no answer of the service will mend.
            return Sequel.TELL
        if (failure := _hopeless(error)) is None:
            return Sequel.GO_ON
        if self._hopeless != failure:
            self._hopeless, self._hopeless_since, self._hopeless_looks = failure, now, 0
        self._hopeless_looks += 1
        long_enough = now - self._hopeless_since >= patience
        return Sequel.UNREADABLE if self._hopeless_looks >= _HOPELESS_LOOKS and long_enough else Sequel.GO_ON

    def found(self) -> None:
        """Note that the service knows the job."""
        self._missing_since, self._missing_looks = None, 0


def _hopeless(error: CMSError) -> object:
    """Return what tells a failure that repeating does not mend from another such one, or None when it may be mended."""
    if isinstance(error, DecodeError):
        return DecodeError, error.operation
    if isinstance(error, APIError) and error.status in _REFUSALS:
        return error.status, error.operation
    return None
