"""A launch that is being sent: it is written down, sent, and settled when its answer is lost.

Only what was certainly not executed (429, or nothing sent) is repeated at once. After a 5xx, a lost answer or an
unreadable one the launch is settled first (`reconcile`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextvars import ContextVar

import attrs

from cmsapi.api.model import Model
from cmsapi.errors import (
    APIError,
    ConflictError,
    DecodeError,
    JobError,
    LaunchUnknownError,
    LeaseLostError,
    OutOfCreditsError,
    StateError,
)
from cmsapi.jobs.errors import sent_times
from cmsapi.jobs.kinds.evidence import Verdict, by_own_clock
from cmsapi.jobs.kinds.kind import ChargeEvidence, JobHistory
from cmsapi.jobs.launching.intent import Intent
from cmsapi.jobs.launching.reconcile import LostAnswer, Reconciler
from cmsapi.jobs.launching.request import LaunchRequest
from cmsapi.jobs.tracked import INTENT, SENDING, JobKey, Record, TrackedJob
from cmsapi.ratelimit.limiter import Priority
from cmsapi.ratelimit.permits import Permit
from cmsapi.state.entry import Entry, Fact
from cmsapi.transport.call import CallOptions
from cmsapi.transport.requests import expand

logger: logging.Logger = logging.getLogger("cmsapi")

# Seconds within which a service is assumed to do what it was asked, or never: from when the last byte may have left.
COMMITS = 60.0
# Seconds after a launch was written down in which its bytes may leave, however soon it is reconciled.
_LAST_BYTES = 5.0

_NOT_WRITTEN = Record(Entry(kind="", target="", asked_at=0.0))


@attrs.define(eq=False)
class PendingLaunches:
    """Remember the launches that are being sent, and count the credits that they may have cost.

    Args:
        joinable: The launches that others of the same work join.
        paid: Attempts that were sent and are not certainly free.
    """

    joinable: dict[JobKey, PendingLaunch] = attrs.field(factory=dict)
    paid: int = 0


@attrs.define(eq=False)
class PendingLaunch:
    """Send one launch.

    Args:
        request: What is asked for.
        reconciler: Settles it when its answer is lost, and has what the launches of the client have in common.
        launches: The launches of the client and its copies that are being sent.
        purpose: The item of a fan-out that it is for; None outside of fan-outs.
        callers: How many wait for its answer.
        credits: How many credits it may have cost.
        attempts: How often it was sent, apart from what was certainly not executed.
        record: Its entry in the journal.
        permit: The permit of its newest attempt; None before the first, and once it is known what became of it.
        left_at: Loop time at which that attempt was written down, and once its bytes leave, at which they do.
        task: Runs it.
    """

    request: LaunchRequest
    reconciler: Reconciler
    launches: PendingLaunches
    purpose: LaunchPurpose | None = None
    callers: int = 0
    credits: int = 0
    attempts: int = 0
    record: Record = _NOT_WRITTEN
    permit: Permit | None = None
    left_at: float = 0.0
    task: asyncio.Task[TrackedJob] = attrs.field(init=False)

    @property
    def in_flight(self) -> bool:
        """Whether it may be paid for: bytes of it may have left, or an earlier attempt is in doubt."""
        return self.has_left or "doubt" in self.record.entry.facts

    @property
    def has_left(self) -> bool:
        """Whether bytes of its newest attempt may have left, and it is not known what became of it."""
        return self.permit is not None and self.permit.stage not in ("taken", "unsent")

    def remove(self, _: object = None) -> None:
        """Let no other launch join it any more."""
        if self.launches.joinable.get(self.request.key) is self:
            del self.launches.joinable[self.request.key]

    def call_back(self) -> None:
        """Stop it before it is sent; from now on it is not joined, and without attempts in doubt it costs nothing."""
        self.remove()
        if not self.in_flight:
            # At once, and not when its task ends.
            self._give_back(self.credits)
        self.task.cancel()

    def unknown(self, said: str) -> LaunchUnknownError:
        """Make the error of this launch while it is in flight, and its entry stays in the journal."""
        return self.reconciler.unknown(self.record.entry, self.request, said, stays=True)

    async def run(self) -> TrackedJob:
        """Write it down and send it, or find the job that runs in its place."""
        try:
            await self.reconciler.journal.open(self.reconciler.poller.poll_settings.read_user)
            item = None if self.purpose is None else self.purpose.item
            begun = await Intent(self.reconciler, self.request, item).begin()
            if isinstance(begun, TrackedJob):
                return begun
            self.record = begun
            with begun.in_work():
                return await self._pay()
        except StateError as error:
            error.add_note("This launch was not sent, and nothing was charged for it.")
            raise
        except LaunchUnknownError as error:
            if not self.callers:
                logger.error("no caller waits for this launch any more: %s", error)  # noqa: TRY400  no traceback tells more
            raise

    # Credits

    async def _pay(self) -> TrackedJob:
        """Send it, and settle its credits and its entry afterwards."""
        journal, record = self.reconciler.journal, self.record
        try:
            if not self._take_credit():
                raise OutOfCreditsError(
                    f"The {self.reconciler.policy.max_credits} credits that LaunchPolicy(max_credits=) allows this "
                    f"client are spent: the {self.request.kind} of {self.request.target} was not sent, and nothing was "
                    "charged for it. What is launched goes on."
                )
            return await self._send(await self._read_baseline())
        except asyncio.CancelledError as error:
            if not self.in_flight:
                raise
            # The end of the client cancels what is in flight, and the last caller a repeat that has not left.
            raise self.unknown("it was cancelled before its answer was read and written down") from error
        finally:
            if not self.in_flight:
                self._give_back(self.credits)
            if record.held and not record.bound:
                # What may have happened is settled by the next launch of the same, or by `jobs.resume`.
                journal.release_later(record) if self.in_flight else journal.delete_later(record)

    def _take_credit(self) -> bool:
        """Count one more attempt as paid, unless the policy does not allow another one."""
        most = self.reconciler.policy.max_credits
        if most is not None and self.launches.paid >= most:
            return False
        self.launches.paid += 1
        self.credits += 1
        return True

    def _take_repeat(self) -> bool:
        """Take the credit of a repeat, also from the fan-out, unless no caller waits for it any more."""
        purpose = self.purpose
        return self._wanted() and (purpose is None or purpose.take_another()) and self._take_credit()

    def _give_back(self, number: int) -> None:
        """Count some attempts no more, because they certainly cost nothing."""
        self.launches.paid -= number
        self.credits -= number

    # Sending

    async def _read_baseline(self) -> Mapping[str, Fact]:
        """Read the state before the launch, as facts for its entry, and the balances if they are evidence."""
        if self.reconciler.policy.baseline != "read":
            return {}
        kind, caller = self.request.kind, self.reconciler.caller
        baseline = await kind.read_baseline(caller, self.request.target)
        if kind.charge_evidence is not ChargeEvidence.NONE and not self.reconciler.journal.balances.fresh:
            # A launch that cannot be sent is refused before anything is read for it.
            expand(caller.operations[kind.launch_operation].path, self.request.path)
            await self.reconciler.charges.read_balances()
        return baseline

    async def _send(self, baseline: Mapping[str, Fact]) -> TrackedJob:
        """Send it until its job is known, it is refused, or it must not be repeated."""
        request, caller = self.request, self.reconciler.caller
        kind, operation = request.kind, request.kind.launch_operation
        options = CallOptions(
            priority=Priority.LAUNCH,
            before_attempt=self._before_attempt,
            not_executed=self._not_executed,
        )
        if baseline:
            self.record.entry = attrs.evolve(self.record.entry, facts={**self.record.entry.facts, **baseline})
        while True:
            self.attempts += 1
            try:
                call = await caller.exchange(operation, request.path, body=request.body, options=options)
                answered = None if kind.answer is None else caller.read(call, kind.answer)
                return await self._launched(answered, call.sent_at)
            except Exception as error:
                if kind.answer is None and DecodeError in (type(error), type(error.__cause__)):
                    # The service said 2xx, and nothing has to be read from its answer.
                    return await self._launched(None, self.left_at)
                # On a repeat, a conflict may be the echo of an earlier attempt.
                echo = isinstance(error, ConflictError) and self.attempts > 1
                if not self.has_left or (isinstance(error, APIError) and not echo):
                    await self._refused(error)
                    raise
                cause = error
            except asyncio.CancelledError:
                if self.credits and not self.has_left:
                    # Attempts in doubt before it count all the same.
                    self._give_back(1)
                raise
            if echo:
                self._discount()
            last = echo or self.attempts >= caller.pipeline.retry.max_attempts
            if (job := await self._settle(cause, last=last)) is not None:
                return job

    async def _launched(self, answered: Model | None, sent_at: float) -> TrackedJob:
        """Write down that it was launched, and track its job."""
        kind, poller, record = self.request.kind, self.reconciler.poller, self.record
        now, launched_at = asyncio.get_running_loop().time(), self.reconciler.caller.pipeline.clock.at(sent_at)
        job_id = None if answered is None else str(getattr(answered, "id", None))
        served_at = None if launched_at is None else launched_at.timestamp()
        await poller.journal.record_launched(record, job_id=job_id, served_at=served_at)
        history = JobHistory(
            began=now,
            launched_at=launched_at or by_own_clock(poller.journal.wall() - (now - sent_at)),
            job_id=job_id,
            fresh=True,
            document=answered if kind.result_requests else None,
        )
        job = TrackedJob(kind, kind.job_target(self.request.target, job_id), history, poller.poll_settings)
        record.bind(job)
        poller.registry.add(job)
        return job

    async def _refused(self, refusal: Exception) -> None:
        """Take the newest attempt back, which was refused or not sent.

        Raises:
            LaunchUnknownError: An attempt before that one may have been charged.
        """
        self._give_back(1)
        self._discount()
        self.permit = None
        if (earlier := self.record.entry.facts.get("doubt")) is not None:
            lost = LostAnswer(cause=refusal, wanted=self._wanted)
            await self.reconciler.give_up(self.record, self.request, str(earlier), str(refusal), lost)

    def _discount(self) -> None:
        """Count the newest attempt no more among those that may have been charged."""
        # A permit is noted once its attempt is written down.
        if self.permit is not None:
            entry = self.record.entry
            self.record.entry = attrs.evolve(entry, facts={**entry.facts, "sent": sent_times(entry) - 1})

    async def _settle(self, cause: Exception, *, last: bool) -> TrackedJob | None:
        """Find out whether it happened; return its job, or None to send it again.

        Raises:
            LaunchUnknownError: That could not be found out.
            JobError: It did not happen, and is not sent again.
            ConflictError: The same, because the service refuses it.
        """
        settle = self.reconciler.policy.settle
        lost = LostAnswer(
            cause=cause,
            left_at=self.left_at,
            # No byte of the newest attempt leaves any more.
            settles_at=asyncio.get_running_loop().time() + COMMITS if settle is None else self.left_at + settle,
            wanted=self._wanted,
            repeat=None if last else self._take_repeat,
        )
        settled = await self.reconciler.settle(self.record, self.request, lost)
        if isinstance(settled, TrackedJob):
            return settled
        self.permit = None
        if settled is Verdict.ABSENT and (last or not self._wanted()):
            if isinstance(cause, ConflictError):
                raise cause
            raise JobError(
                f"The {self.request.kind} for {self.request.target} was sent and got no usable answer ({lost.said}). "
                "It was found out that nothing was launched or charged. It is not sent again by itself; launch it "
                "again if it is still needed."
            ) from cause
        return None

    def _wanted(self) -> bool:
        return self.callers > 0

    # Attempts

    async def _before_attempt(self, permit: Permit) -> Callable[[], None]:
        """Write an attempt down, and return a check that its bytes may still leave."""
        journal, entry, now = self.reconciler.journal, self.record.entry, asyncio.get_running_loop().time()
        pipeline, wall = self.reconciler.caller.pipeline, journal.wall()
        timeout, settle = pipeline.timeouts.request, self.reconciler.policy.settle
        served_at, served = entry.served_at, pipeline.clock.at(now)
        if served_at is None and served is not None:
            served_at = served.timestamp()
        facts = {
            **entry.facts,
            "sent_at": wall,
            "settle": timeout + COMMITS if settle is None else settle,
            "sent": sent_times(entry) + 1,
            **journal.balances.leaves(entry.kind),
        }
        await journal.write(self.record, status=SENDING, served_at=served_at, facts=facts)
        self.permit, self.left_at = permit, now
        patience = max(timeout if settle is None else settle, _LAST_BYTES)

        def check() -> None:
            # A machine that was suspended shows it on the wall's clock only.
            stood_still = max(asyncio.get_running_loop().time() - now, journal.wall() - wall)
            if stood_still > patience:
                raise LeaseLostError(
                    "This process stood still between writing a launch down and sending it, for so long that another "
                    "one may have sent it instead. Nothing was sent here; launch again to join it."
                )
            self.left_at = asyncio.get_running_loop().time()

        return check

    async def _not_executed(self, permit: Permit) -> None:
        """Take the newest attempt back; one before it that is in doubt stays so, and cannot be called back."""
        # Its time may have ended while it was written down.
        written = self.permit is permit
        if written:
            self.permit = None
        if self.record.held:
            entry = self.record.entry
            facts = {**entry.facts, "sent": sent_times(entry) - written}
            undone = {} if "doubt" in facts else {"status": INTENT, "served_at": None}
            await self.reconciler.journal.write(self.record, facts=facts, **undone)


@attrs.define(eq=False)
class LaunchPurpose:
    """Say for which item of a fan-out a task launches.

    Args:
        take_credit: Takes one credit of the fan-out, and tells whether there was one.
        item: The batch and the key of the item, so that the journal can say so; None outside of a batch.
        taken: The credits that it has taken; one was, before it launches.
        launches: The launches that it has begun.
    """

    take_credit: Callable[[], bool]
    item: tuple[str, str] | None
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
        """Wait for its launches that may be paid for, and return their jobs."""
        tasks = [launch.task for launch in self.launches if launch.in_flight]
        if tasks:
            await asyncio.wait(tasks)
        return [task.result() for task in tasks if not task.cancelled() and task.exception() is None]


#: The fan-out for which the current task launches; None outside of fan-outs.
PURPOSE: ContextVar[LaunchPurpose | None] = ContextVar("cmsapi_launch_purpose", default=None)
