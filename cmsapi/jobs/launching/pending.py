"""The launches that are being sent: what is known of each, and the credits that it may have cost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from weakref import WeakValueDictionary

import attrs

from cmsapi.config import LaunchPolicy
from cmsapi.jobs.errors import sent_times
from cmsapi.jobs.launching.request import LaunchRequest
from cmsapi.jobs.polling.poller import Poller
from cmsapi.jobs.tracked import JobKey, Record, TrackedJob
from cmsapi.ratelimit.permits import Permit
from cmsapi.state.entry import Entry

# Seconds for which the end of a fan-out waits for answers: less than the ten after which a service manager kills.
_LAST_ANSWERS = 5.0
_NOT_WRITTEN = Record(Entry(kind="", target="", asked_at=0.0))


@attrs.define(eq=False)
class PendingLaunches:
    """Remember the launches that are being sent, and count the credits that they may have cost.

    Args:
        joinable: The launches that others of the same work join while their tasks run and were not called back.
        paid: Attempts that were sent and are not certainly free.
    """

    joinable: WeakValueDictionary[JobKey, PendingLaunch] = attrs.field(factory=WeakValueDictionary)
    paid: int = 0


@attrs.define(eq=False)
class PendingLaunch:
    """Hold what is known of one launch until it has a job or failed.

    Args:
        request: What is asked for.
        poller: The poller of the client that sends it.
        policy: The policy of that client.
        launches: The launches of the client and its copies that are being sent.
        purpose: The item of a fan-out that it is for; None outside of fan-outs.
        callers: How many wait for its answer.
        credits: How many credits it may have cost.
        attempts: How often it was sent, apart from what was certainly not executed.
        record: Its entry in the journal.
        permit: The permit of its newest attempt; None before the first, and once it is known what became of it.
        left_at: Loop time at which that attempt was written down, and once its bytes leave, at which they do.
        cause: What came instead of the answer to that attempt; None before, and for an orphan that is being settled.
        settles_at: Loop time until which it is waited to find out whether it happened; None while it was not lost.
        repeatable: Whether it may be sent once more.
        called_back: Whether it was stopped before it was sent, because no caller waits for it any more.
        task: Sends it.
    """

    request: LaunchRequest
    poller: Poller
    policy: LaunchPolicy
    launches: PendingLaunches = attrs.field(factory=PendingLaunches)
    purpose: LaunchPurpose | None = None
    callers: int = 0
    credits: int = 0
    attempts: int = 0
    record: Record = _NOT_WRITTEN
    permit: Permit | None = None
    left_at: float = 0.0
    cause: Exception | None = None
    settles_at: float | None = None
    repeatable: bool = True
    called_back: bool = False
    task: asyncio.Task[TrackedJob] = attrs.field(init=False)

    @property
    def in_flight(self) -> bool:
        """Whether it may be paid for: bytes of it may have left, or an earlier attempt is in doubt."""
        return self.has_left or "doubt" in self.record.entry.facts

    @property
    def has_left(self) -> bool:
        """Whether bytes of its newest attempt may have left, and it is not known what became of it."""
        return self.permit is not None and self.permit.stage not in ("taken", "unsent")

    @property
    def said(self) -> str:
        """What came instead of its answer, in words."""
        cause = self.cause
        if cause is None:
            return "the process that sent it ended before its answer"
        return str(cause.__cause__ or "") or str(cause) or type(cause).__name__

    def call_back(self) -> None:
        """Stop it before it is sent; from now on it is not joined, and without attempts in doubt it costs nothing."""
        self.called_back = True
        if not self.in_flight:
            # At once, and not when its task ends.
            self.give_back(self.credits)
        self.task.cancel()

    def take_credit(self) -> bool:
        """Count one more attempt as paid, unless the policy does not allow another one."""
        most = self.policy.max_credits
        if most is not None and self.launches.paid >= most:
            return False
        self.launches.paid += 1
        self.credits += 1
        return True

    def take_repeat(self) -> bool:
        """Take the credit of a repeat, also from the fan-out, unless no caller waits for it any more."""
        return self.callers > 0 and (self.purpose is None or self.purpose.take_another()) and self.take_credit()

    def give_back(self, number: int) -> None:
        """Count some attempts no more, because they certainly cost nothing."""
        self.launches.paid -= number
        self.credits -= number

    def discount(self) -> None:
        """Count the newest attempt no more among those that may have been charged."""
        # A permit is noted once its attempt is written down.
        if self.permit is not None:
            entry = self.record.entry
            self.record.entry = attrs.evolve(entry, facts={**entry.facts, "sent": sent_times(entry) - 1})


class WithdrawnError(Exception):
    """Say that a launch was not sent, because the outcomes of its fan-out are not asked for at present."""


@attrs.define(eq=False)
class LaunchPurpose:
    """Say for which item of a fan-out a task launches.

    Args:
        take_credit: Takes one credit of the fan-out, and tells whether there was one.
        item: The batch and the key of the item, so that the journal can say so; None outside of a batch.
        drained: Waits until all other items have ended, or wait for the same; None where no item is waited for.
        check: Awaited before each attempt; raises `OutOfCreditsError` if no credits were found to be left meanwhile.
        wanted: Set while its launches may be sent: not from an interruption on, until outcomes are asked for again.
        taken: The credits that it has taken; one was, before it launches.
        launches: The launches that it has begun.
    """

    take_credit: Callable[[], bool]
    item: tuple[str, str] | None
    drained: Callable[[], Awaitable[None]] | None
    check: Callable[[], Awaitable[None]]
    wanted: asyncio.Event
    taken: int = 1
    launches: list[PendingLaunch] = attrs.field(factory=list)

    def take_another(self) -> bool:
        """Take the credit of a repeat, and tell whether there was one."""
        one_more = self.take_credit()
        self.taken += one_more
        return one_more

    @property
    def unspent(self) -> int:
        """The credits that it has taken and that its launches certainly did not cost."""
        return self.taken - sum(launch.credits for launch in self.launches)

    async def jobs_in_flight(self) -> list[TrackedJob]:
        """Wait some seconds for the answers of its launches that may be paid for, and return their jobs.

        A launch whose answer does not come, or is lost, goes on without a caller: the client settles it, or the next
        launch of the same does.
        """
        sent = [launch for launch in self.launches if launch.in_flight]
        if waiting := [launch.task for launch in sent if launch.cause is None]:
            await asyncio.wait(waiting, timeout=_LAST_ANSWERS)
        tasks = [launch.task for launch in sent if launch.task.done() and not launch.task.cancelled()]
        return [task.result() for task in tasks if task.exception() is None]


#: The fan-out for which the current task launches; None outside of fan-outs.
PURPOSE: ContextVar[LaunchPurpose | None] = ContextVar("cmsapi_launch_purpose", default=None)
