"""Events of jobs and their launches. Only these events hold identifiers."""

from __future__ import annotations

import logging
from typing import ClassVar

import attrs

from cmsapi.observability.events import Event


@attrs.frozen(kw_only=True)
class Throttled(Event):
    """Report that jobs of a kind are polled less often than the service advises: the hour has too few requests.

    Args:
        kind: Kind of job.
        jobs: Number of running jobs of this kind.
        interval: Seconds from a launch to its first poll, from now on.
    """

    name: ClassVar[str] = "cmsapi.jobs.throttled"
    kind: str
    jobs: int
    interval: float


@attrs.frozen(kw_only=True)
class ProgressChanged(Event):
    """Report how far a fan-out or a batch is, at most once in five seconds, and at its end.

    Args:
        batch: Name of the batch, or None without one.
        finished: Items that have an outcome.
        running: Items whose jobs run.
        waiting: Items that have no job yet.
        failed: Items among the finished ones that have no result.
        unknown: Items among the failed ones that may have been launched and paid for.
        earlier: Items among the finished ones that ended in an earlier run of the batch.
        total: All items, or None while that is not known.
        stopped: Whether no more items are launched.
        seconds_left: Seconds until about the last outcome, or None while that is not known.
        seconds_left_range: The fewest and the most seconds that are expected, or None while that is not known.
        credits: Credits that the launches have cost; of a batch those of all its runs.
        earlier_credits: Those among them that earlier runs of the batch have cost.
        requests: Requests that were sent for the items; of a batch those of all its runs.
        requests_planned: Requests that all of it is expected to take, or None while that is not known.
    """

    name: ClassVar[str] = "cmsapi.jobs.progress"
    batch: str | None
    finished: int
    running: int
    waiting: int
    failed: int
    unknown: int
    earlier: int
    total: int | None
    stopped: bool
    seconds_left: float | None
    seconds_left_range: tuple[float, float] | None
    credits: int
    earlier_credits: int
    requests: int
    requests_planned: int | None


@attrs.frozen(kw_only=True)
class JobWatched(Event):
    """Report that a job has its first waiter, and is polled from now on.

    The polls run in a copy of the waiter's context (`contextvars`), and so do hooks on this event: the polls see the
    variables that a hook sets.

    Args:
        kind: Kind of job.
        target: Identifier of the resource that the job works on.
        id: Identifier of the job.
        elapsed: Seconds since the launch, or since the client first knew of the job.
    """

    name: ClassVar[str] = "cmsapi.job.watched"
    level: ClassVar[int] = logging.DEBUG
    kind: str
    target: str
    id: str
    elapsed: float


@attrs.frozen(kw_only=True)
class JobObserved(Event):
    """Report what a poll showed of a job.

    Args:
        kind: Kind of job.
        target: Identifier of the resource that the job works on.
        id: Identifier of the job.
        phase: Phase after the poll.
        state: The service's own word for it, or None.
        polls: Number of polls so far.
        elapsed: Seconds since the launch, or since the client first knew of the job.
        reason: Why the job was polled at this time.
        next_in: Seconds until the next poll, or None if none is planned.
        next_reason: Why the next poll comes then, or None.
        error: Name of the error if the poll failed; a failed poll never fails the job.
    """

    name: ClassVar[str] = "cmsapi.job.observed"
    kind: str
    target: str
    id: str
    phase: str
    state: str | None
    polls: int
    elapsed: float
    reason: str
    next_in: float | None = None
    next_reason: str | None = None
    error: str | None = None


@attrs.frozen(kw_only=True)
class UnlistedState(Event):
    """Report that jobs of a kind show a word that is not listed; once for each word.

    Args:
        kind: Kind of job.
        state: The service's word, or None where it shows none.
        ends_in: Seconds after which a job that still shows it ends with `UnknownJobStateError`.
    """

    name: ClassVar[str] = "cmsapi.job.unlisted_state"
    level: ClassVar[int] = logging.WARNING
    kind: str
    state: str | None
    ends_in: float


@attrs.frozen(kw_only=True)
class JobReleased(Event):
    """Report that a job has finished, or has lost its last waiter.

    Args:
        kind: Kind of job.
        target: Identifier of the resource that the job works on.
        id: Identifier of the job.
        phase: Phase of the job.
        finished: Whether the job has finished.
        polls: Number of polls so far.
        elapsed: Seconds since the launch, or since the client first knew of the job.
        error: Name of the error that the job ended with, or None.
    """

    name: ClassVar[str] = "cmsapi.job.released"
    kind: str
    target: str
    id: str
    phase: str
    finished: bool
    polls: int
    elapsed: float
    error: str | None


@attrs.frozen(kw_only=True)
class LaunchStarted(Event):
    """Report that a launch was asked for.

    Args:
        kind: Kind of job.
        target: Identifier of the resource that the job is to work on, or its keyword.
    """

    name: ClassVar[str] = "cmsapi.launch.started"
    level: ClassVar[int] = logging.DEBUG
    kind: str
    target: str


@attrs.frozen(kw_only=True)
class LaunchFinished(Event):
    """Report that a launch has a job, or that it failed.

    Args:
        kind: Kind of job.
        target: Identifier of the resource that the job works on, or its keyword.
        id: Identifier of the job, or None without a job.
        joined: Whether it joined a launch or a job that was under way, and sent nothing itself.
        duration: Seconds since the launch was asked for, waits included.
        error: Name of the error that the launch raised, or None.
    """

    name: ClassVar[str] = "cmsapi.launch.finished"
    kind: str
    target: str
    id: str | None
    joined: bool
    duration: float
    error: str | None


@attrs.frozen(kw_only=True)
class LaunchLost(Event):
    """Report that a launch has no answer, so that it may have happened; the client finds out.

    Args:
        kind: Kind of job.
        target: Identifier of the resource that the job works on, or its keyword.
        reason: What came instead of the answer.
        settles_in: Seconds until the launch can no longer arrive, so that its outcome is read.
    """

    name: ClassVar[str] = "cmsapi.launch.lost"
    level: ClassVar[int] = logging.WARNING
    kind: str
    target: str
    reason: str
    settles_in: float


@attrs.frozen(kw_only=True)
class LaunchSettled(Event):
    """Report what was found out about a launch without an answer.

    Args:
        kind: Kind of job.
        target: Identifier of the resource that the job works on, or its keyword.
        verdict: `"launched"`, `"absent"` or `"unknown"`.
        reason: The evidence.
        id: Identifier of the job, where it is known.
        orphan: Whether a process that has ended sent the launch.
    """

    name: ClassVar[str] = "cmsapi.launch.settled"
    kind: str
    target: str
    verdict: str
    reason: str
    id: str | None
    orphan: bool


@attrs.frozen(kw_only=True)
class LaunchRecovered(Event):
    """Report that an entry that an earlier process left in the journal was recovered.

    Args:
        kind: Kind of job.
        target: Identifier of the resource that the job works on, or its keyword.
        id: Identifier of the job, where it is known.
        status: Status of the entry: `"intent"`, `"sending"`, `"running"` or `"review"`.
        outcome: `"polled"` if its job is polled again, `"deleted"` if it was not launched, or the name of the error.
        elapsed: Seconds since the launch was written down.
    """

    name: ClassVar[str] = "cmsapi.launch.recovered"
    kind: str
    target: str
    id: str | None
    status: str
    outcome: str
    elapsed: float
