"""Launches that are being sent: a launch of the same work joins them."""

from __future__ import annotations

import asyncio
from contextvars import Context, ContextVar, copy_context

import attrs

from cmsapi.jobs.launching.request import LaunchRequest
from cmsapi.jobs.tracked import JobKey, TrackedJob
from cmsapi.ratelimit.permits import Permit


@attrs.define(eq=False)
class PendingLaunch:
    """Hold a launch that is being sent.

    Args:
        request: What it was asked to do.
        sender: The client's launcher that sends it.
        callers: How many wait for its answer.
        counted: Whether it counts as paid.
        permit: The permit of its newest attempt; None before the first, and after one that was certainly not executed.
        in_doubt: Whether an attempt before that one may have been executed.
        left_at: Loop time at which the first attempt left that may have been executed, or None.
        settles_at: Loop time after which the newest such attempt can no longer arrive, or None.
        task: Sends it.
    """

    request: LaunchRequest
    sender: object
    callers: int = 0
    counted: bool = False
    permit: Permit | None = None
    in_doubt: bool = False
    left_at: float | None = None
    settles_at: float | None = None
    task: asyncio.Task[TrackedJob] = attrs.field(init=False)

    @property
    def in_flight(self) -> bool:
        """Whether bytes of it may have left: then only its answer tells whether it is paid for."""
        return self.in_doubt or (self.permit is not None and self.permit.stage not in ("taken", "unsent"))

    def not_executed(self) -> None:
        """Note that its newest attempt was certainly not executed: until the next one it can be called back."""
        self.permit = self.left_at = None


#: Collects the launches of a task, so that a fan-out that is left does not lose what is being sent.
TRACES: ContextVar[list[PendingLaunch] | None] = ContextVar("cmsapi_launches", default=None)

#: The batch and the item for which a task launches, so that the journal can say so.
ITEM: ContextVar[tuple[str, str] | None] = ContextVar("cmsapi_item", default=None)


def without_fan_out() -> Context:
    """Return a copy of the current context in which launches belong to no fan-out and to no item of a batch."""
    context = copy_context()
    context.run(TRACES.set, None)
    context.run(ITEM.set, None)
    return context


class PendingLaunches:
    """Remember the launches that are being sent, by kind and target, and count those that were paid for."""

    def __init__(self) -> None:
        #: Launches that were sent and are not certainly free.
        self.paid: int = 0
        self._launches: dict[JobKey, PendingLaunch] = {}

    def get(self, key: JobKey) -> PendingLaunch | None:
        """Return the launch that is being sent for a target, or None."""
        return self._launches.get(key)

    def add(self, pending: PendingLaunch) -> None:
        """Remember a launch so that others for the same target join it."""
        self._launches[pending.request.key] = pending

    def remove(self, pending: PendingLaunch) -> None:
        """Forget a launch that was sent or called back, unless another one has taken its place."""
        if self._launches.get(pending.request.key) is pending:
            del self._launches[pending.request.key]

    def count(self, pending: PendingLaunch) -> None:
        """Count a launch as paid."""
        self.paid += 1
        pending.counted = True

    def uncount(self, pending: PendingLaunch) -> None:
        """Count a launch no more, because it certainly cost nothing."""
        self.paid -= pending.counted
        pending.counted = False
