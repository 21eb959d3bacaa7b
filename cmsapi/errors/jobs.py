"""The errors of jobs, launches and edits, and of the state that processes share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cmsapi.errors.base import CMSError


class JobError(CMSError):
    """Report how a job, or the wait for it, ended without a result.

    Args:
        message: What happened and how to go on.
        job: The job, or None where no job is known. Pickling drops it and keeps the token.
        token: Text that `client.jobs.attach` turns back into the job, or None.
        status: Last known `JobStatus`, or None.
    """

    def __init__(self, message: str, *, job: Any = None, token: str | None = None, status: Any = None) -> None:
        super().__init__(message)
        self.job = job
        self.token: str | None = token if token is not None else getattr(job, "token", None)
        self.status: Any = status if status is not None else getattr(job, "status", None)

    def _picklable(self) -> dict[str, Any]:
        # A live job belongs to a client and a loop; neither can cross a process.
        return {**self.__dict__, "job": None}


class JobFailedError(JobError):
    """Report that the job failed, as the service says."""


class JobSupersededError(JobError):
    """Report that a newer generation has replaced this one on the content."""


class JobVanishedError(JobError):
    """Report that the service has not known the job for a minute and three polls, or a new one for five minutes."""


class JobDetachedError(JobError):
    """Tell a waiter that its job was detached; the job goes on at the service, and its token stays valid."""


class UnknownJobStateError(JobError):
    """Report that what the service shows, or that it fails, has not told the end of the job for too long."""


class JobWaitTimeoutError(JobError, TimeoutError):
    """Report that the time of one wait is over; the job and its other waiters go on."""


class LaunchUnknownError(JobError):
    """Report that a launch was sent and may have happened, with a credit spent.

    Args:
        message: What happened and how to find out more.
        kind: Kind of job.
        target: Identifier of the job's target.
        evidence: What is known about the launch.
        **job: As for `JobError`.
    """

    in_doubt = True

    def __init__(self, message: str, *, kind: str, target: str, evidence: Mapping[str, Any], **job: Any) -> None:
        super().__init__(message, **job)
        self.kind = kind
        self.target = target
        self.evidence: dict[str, Any] = dict(evidence)


class OutOfCreditsError(CMSError):
    """Report that `max_credits` is spent, or that the service has no credits left; nothing was launched or charged."""


class EditConflictError(CMSError):
    """Report that an optimistic edit met a newer version at each attempt; nothing was saved.

    Args:
        message: What happened.
        base: The content as it was before the last attempt.
        current: The content as it is now, or None when it could not be read.
    """

    def __init__(self, message: str, *, base: Any, current: Any = None) -> None:
        super().__init__(message)
        self.base = base
        self.current = current


class StateError(CMSError):
    """Report that the shared state cannot be reached, read or written.

    A failed write may have been carried out, unless the message says that it was not. A launch that cannot be written
    to the journal is not sent and costs nothing.
    """


class LeaseLostError(CMSError):
    """Report that another process has taken over a job, because the lease of this one expired; nothing was written."""
