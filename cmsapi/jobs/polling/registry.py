"""What is under way: launches that are being sent, and jobs that another launch would repeat.

A launch looks here before it is sent. Clients that share one of these never pay twice for the same work.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, TypeAlias

import attrs

from cmsapi.jobs.job import Job
from cmsapi.jobs.kinds.kind import JobKind
from cmsapi.ratelimit.permits import Permit

Key: TypeAlias = tuple[JobKind, str]

# A job that nobody has looked at for this long is no longer joined: it may have ended long ago.
FORGOTTEN_AFTER = 86_400.0


@attrs.define(eq=False)
class PendingLaunch:
    """Hold a launch that is being sent.

    Args:
        key: What work it is.
        settings: What it was asked to do.
        sender: The client's launcher that sends it.
        callers: How many wait for its answer.
        counted: Whether it counts as paid.
        permit: Of its newest attempt; None before the first, and after one that was certainly not executed.
        in_doubt: Whether an attempt before that one may have been executed.
        left_at: Loop time at which the first attempt left that may have been executed, or None.
        settles_at: Loop time after which the newest such attempt can no longer arrive, or None.
        task: Sends it.
    """

    key: Key
    settings: Mapping[str, Any] | None
    sender: object
    callers: int = 0
    counted: bool = False
    permit: Permit | None = None
    in_doubt: bool = False
    left_at: float | None = None
    settles_at: float | None = None
    task: asyncio.Task[Job[Any]] = attrs.field(init=False)

    @property
    def in_flight(self) -> bool:
        """Whether bytes of it may have left: then only its answer tells whether it is paid for."""
        return self.in_doubt or (self.permit is not None and self.permit.stage not in ("taken", "unsent"))

    def not_executed(self) -> None:
        """Note that its newest attempt was certainly not executed: until the next one it can be called back."""
        self.permit = self.left_at = None


#: Where the launches of a task leave a trace, so that a fan-out that is left does not lose what is being sent.
TRACES: ContextVar[list[PendingLaunch] | None] = ContextVar("cmsapi_launches", default=None)


#: The batch and the item for which a task launches, so that the journal can say so.
ITEM: ContextVar[tuple[str, str] | None] = ContextVar("cmsapi_item", default=None)


class JobRegistry:
    """Remember what is being launched and what runs, by kind and target."""

    def __init__(self) -> None:
        self.pending: dict[Key, PendingLaunch] = {}
        #: Launches that were sent and not certainly free.
        self.paid: int = 0
        self._jobs: OrderedDict[Key, Job[Any]] = OrderedDict()

    def job(self, key: Key) -> Job[Any] | None:
        """Return the job for a target, or None."""
        return self._jobs.get(key)

    def jobs(self) -> tuple[Job[Any], ...]:
        """Return all jobs that are remembered, oldest first."""
        return tuple(self._jobs.values())

    def add(self, job: Job[Any], now: float) -> list[Job[Any]]:
        """Remember a launched job, and return those that are forgotten now."""
        jobs, forgotten = self._jobs, []
        while jobs and next(iter(jobs.values()))._history.began < now - FORGOTTEN_AFTER:
            forgotten.append(jobs.popitem(last=False)[1])
        key = (job.kind, job.target)
        jobs[key] = job
        jobs.move_to_end(key)
        return forgotten

    def remove(self, job: Job[Any]) -> None:
        """Forget a job, unless another one has taken its place."""
        key = (job.kind, job.target)
        if self._jobs.get(key) is job:
            del self._jobs[key]

    def count(self, pending: PendingLaunch) -> None:
        """Count a launch as paid."""
        self.paid += 1
        pending.counted = True

    def uncount(self, pending: PendingLaunch) -> None:
        """Count a launch no more, because it certainly cost nothing."""
        self.paid -= pending.counted
        pending.counted = False

    def sent(self, pending: PendingLaunch) -> None:
        """Forget a launch that is sent or called back, unless another one has taken its place."""
        if self.pending.get(pending.key) is pending:
            del self.pending[pending.key]
