"""Launch paid work, at most once.

A launch costs a credit and there is no idempotency key, so it is written down before it is sent, and never repeated
while it may have happened. Only what was certainly not executed (429, or nothing sent) is repeated at once. After a
5xx, a lost answer or an unreadable one it is found out whether the service has launched it: then the job is taken up,
or it is sent again, or `LaunchUnknownError` says what is known.

Launches for the same target join: while one is being sent, a second one waits for its answer; while the job runs, or
its article waits for a decision, it is returned instead of being paid again. So is what another process has launched,
and what one that died has left behind.

A launch belongs to the client and not to its caller: once it is handed to the transport, cancelling the caller does
not lose the job that may be paid for. While it still waits for quota, it is called back when nobody waits for it any
more.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import secrets
import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import attrs

from cmsapi.config import LaunchPolicy
from cmsapi.core import Core
from cmsapi.errors import (
    ArgumentError,
    CMSError,
    ConflictError,
    DeadlineError,
    DecodeError,
    JobError,
    LaunchUnknownError,
    LeaseLostError,
    OutcomeUnknownError,
    StateError,
)
from cmsapi.jobs.departure import Departure
from cmsapi.jobs.desk import Desk
from cmsapi.jobs.endings import unknown_launch
from cmsapi.jobs.evidence import Finding, Verdict, name_of
from cmsapi.jobs.job import Job
from cmsapi.jobs.journaling import FOLLOW, INTENT, REVIEW, RUNNING, SENDING, Journal, Record
from cmsapi.jobs.kinds import JobKind, Trail
from cmsapi.jobs.ongoing import ITEM, TRACES, Key, Sending
from cmsapi.jobs.reconcile import Reconciler
from cmsapi.jobs.resume import adopt
from cmsapi.jobs.review import ReviewHook
from cmsapi.models import ContentIdeaSearch, Generation, GenerationStatus
from cmsapi.state.journal import Entry
from cmsapi.transport.pipeline import Demand, Exchange
from cmsapi.transport.ratelimit import Priority

logger: logging.Logger = logging.getLogger("cmsapi")

# Seconds for the last bytes on top of the request timeout.
_LAST_BYTES = 5.0
_STAYS_OPEN = "it stays in the journal: the next launch of the same, or jobs.resume, looks it up again"
# An analysis or a search that was launched so long ago has ended, and is no answer to a launch of today.
STALE_AFTER = 12 * 3600.0


@attrs.frozen(kw_only=True)
class Launch:
    """Describe one launch.

    Args:
        kind: Kind of job.
        target: What it works on.
        operation: The operation that launches it.
        path: Its path parameters.
        body: Its body, by wire name.
        joins: Whether launches for the same target are the same work.
        workspace: The workspace, where the target alone does not tell.
    """

    kind: JobKind
    target: str
    operation: str
    path: Mapping[str, str]
    body: Mapping[str, Any] | None = None
    joins: bool = True
    workspace: str | None = None

    @property
    def key(self) -> Key:
        """What launches of the same work have in common."""
        return (self.kind, self.target)


class Launcher:
    """Launch jobs of one client.

    Args:
        core: Calls the operations.
        desk: Looks at what was launched.
        policy: What to do when the same work is under way.
    """

    def __init__(self, core: Core, desk: Desk, policy: LaunchPolicy) -> None:
        self._core = core
        self._desk = desk
        self._policy = policy
        self.journal: Journal = desk.journal
        self.reconciler: Reconciler = Reconciler(core, desk.journal)

    async def launch(self, launch: Launch, on_review: ReviewHook | None = None) -> Job[Any]:
        """Launch a job, or join the one that is under way.

        Raises:
            ArgumentError: `on_review` is not a function; nothing was sent.
            LaunchUnknownError: It was sent, and it could not be found out whether it happened.
            StateError: It could not be written down; nothing was sent.
            LeaseLostError: This process stood still, and another one has taken the launch over; nothing was sent.
            JobError: The policy forbids a second launch, or it has other settings than the one under way.
            APIError: The service refused it; nothing was charged.
            NotSentError: Nothing was sent.
        """
        self._core.ensure_open()
        if on_review is not None and not callable(on_review):
            raise ArgumentError(f"on_review is a function, not {on_review!r}.", parameter="on_review")
        job = await self._join(launch) if launch.joins and self._policy.dedupe != "allow" else None
        if job is None:
            job = await self._answer(self._send(launch))
        if on_review is not None and job.adopted:
            logger.warning("%r may be a colleague's, so that on_review does not decide on it", job)
        elif on_review is not None:
            self._desk.order(job, on_review)
        return job

    async def _join(self, launch: Launch) -> Job[Any] | None:
        """Find the job that this launch would repeat.

        Whatever was waited for, all is looked at once more: others may have launched meanwhile.
        """
        ongoing = self._desk.ongoing
        while True:
            if (sending := ongoing.sending.get(launch.key)) is not None:
                self._check_same(launch, sending.settings)
                return await self._answer(sending)
            job = ongoing.job(launch.key)
            if job is None:
                return None
            # When nobody looks at it, it may have ended, and an ended one is not what a new launch asks for.
            if not job._wanted and not await self._goes_on(job):
                self._desk.ended_elsewhere(job)
            elif ongoing.job(launch.key) is job:
                self._check_same(launch, job._trail.settings, job)
                return self._desk.reopen(job) if job.done else job

    async def _goes_on(self, job: Job[Any]) -> bool:
        if not job.done:
            await job.refresh()
        elif job._undecided:
            current = await self._core.call(Generation, "get_generation", {"contentId": job.target})
            return current.id == job.id and current.status == GenerationStatus.REVIEW
        return not job.done or job._undecided

    def _check_same(self, launch: Launch, settings: Mapping[str, Any] | None, job: Job[Any] | None = None) -> None:
        same = launch.body == settings
        if self._policy.dedupe == "error" or not same:
            problem = "" if same else " with other settings" if settings else " with settings not known to this client"
            raise JobError(
                f"A {launch.kind.value} for {launch.target} is under way already{problem}; nothing was sent or "
                "charged. Wait for it, or launch with LaunchPolicy(dedupe='allow').",
                job=job,
            )

    def _send(self, launch: Launch) -> Sending:
        """Begin to send a launch. Nothing may be waited for since it was found that there is none to join."""
        sending = Sending(launch.key, launch.body, Departure())
        sending.task = self._desk.start(self._post(launch, sending))
        if (traces := TRACES.get()) is not None:
            traces.append(sending)
        if launch.joins:
            self._desk.ongoing.sending[launch.key] = sending
            sending.task.add_done_callback(lambda _: self._desk.ongoing.sent(sending))
        return sending

    async def _answer(self, sending: Sending) -> Job[Any]:
        sending.callers += 1
        try:
            return await asyncio.shield(sending.task)
        except CMSError as error:
            raise error.fresh() from error.__cause__
        except asyncio.CancelledError:
            if sending.callers == 1 and not sending.departure.departed:
                # Nobody else may join it from now on.
                self._desk.ongoing.sent(sending)
                sending.task.cancel()
            raise
        finally:
            sending.callers -= 1

    async def _post(self, launch: Launch, sending: Sending) -> Job[Any]:
        await self.journal.open()
        begun = await self._begin(launch)
        if isinstance(begun, Job):
            return begun
        with begun.in_work():
            try:
                return await self._carry_out(launch, sending, begun)
            finally:
                if begun.held and begun.entry.status == INTENT:
                    # Nothing happened, and nobody works on it any more.
                    self.journal.withdraw(begun)
                elif begun.held and not begun.bound:
                    self.journal.leave(begun)

    # Writing it down

    async def _begin(self, launch: Launch) -> Record | Job[Any]:
        """Write a launch down, or return the job that stands in its place."""
        batch, item = ITEM.get() or (None, None)
        entry = Entry(
            kind=launch.kind.value,
            target=name_of(launch.target),
            asked_at=time.time(),
            batch=batch,
            item=item,
            settings=self.journal.digest(launch.body),
            facts={} if launch.workspace is None else {"workspace": launch.workspace},
        )
        if launch.joins and self._policy.dedupe != "allow":
            key = f"{launch.kind.value} {launch.target}"
        elif item is not None:
            key = f"{launch.kind.value} for {item!r} in {batch!r}"
        else:
            key = f"{launch.kind.value} {secrets.token_hex(8)}"
        while True:
            record = await self.journal.begin(key, entry)
            if record.entry is entry:
                return record
            if record.working is not None:
                await record.working.wait()
                continue
            with record.in_work():
                found = await self._stands(launch, record, entry)
            if found is not None:
                return found

    async def _stands(self, launch: Launch, record: Record, wanted: Entry) -> Record | Job[Any] | None:
        """Say what to do about an entry that stands in the way; None to begin anew."""
        entry = record.entry
        if record.job is not None and not record.job.done:
            return record.job
        if not entry.over:
            self._check_entry(launch, entry, wanted)
        if entry.over or record.bound:
            if not entry.over and await self._is_stale(record):
                return None
            job = self._desk.take_over(record)
            job._trail.settings = launch.body
            return job
        if not record.held:
            await asyncio.sleep(FOLLOW)
            return None
        if entry.status == SENDING:
            finding = await self.reconciler.find_out(entry)
            if finding.verdict is Verdict.LAUNCHED:
                return await self._adopt(launch, record, finding)
            if finding.verdict is Verdict.UNKNOWN:
                await self._give_up(launch, record, finding, "the process that sent it ended before its answer", None)
        # It was not sent: this launch takes its place.
        await self.journal.write(record, **attrs.asdict(wanted, recurse=False))
        return record

    def _check_entry(self, launch: Launch, entry: Entry, wanted: Entry) -> None:
        same_item = entry.item is not None and (entry.batch, entry.item) == (wanted.batch, wanted.item)
        if entry.settings != wanted.settings or (self._policy.dedupe == "error" and not same_item):
            problem = " with other settings" if entry.settings != wanted.settings else ""
            raise JobError(
                f"A {launch.kind.value} for {launch.target} is under way already{problem}, launched by another client; "
                "nothing was sent or charged. Wait for it, or launch with LaunchPolicy(dedupe='allow')."
            )

    async def _is_stale(self, record: Record) -> bool:
        """Strike out what was launched long ago and has ended, so that its old result answers no new launch."""
        entry = record.entry
        recent = time.time() - entry.asked_at < STALE_AFTER
        if not record.held or entry.batch is not None or (recent and entry.status != REVIEW):
            return False
        if record.entry.kind != JobKind.GENERATION:
            await self.journal.strike(record)
            return True
        current = await self.reconciler.baseline(record.entry.target)
        decided = current is None or current.id != record.entry.job_id or current.status in _DECIDED
        if decided:
            await self.journal.strike(record)
        return decided

    async def _adopt(self, launch: Launch, record: Record, finding: Finding) -> Job[Any]:
        """Take up what was launched although its answer is lost."""
        job = await adopt(self._desk, record, finding)
        job._trail.settings = launch.body
        return job

    async def _give_up(
        self, launch: Launch, record: Record, finding: Finding, said: str, cause: BaseException | None
    ) -> None:
        """Record that nobody knows whether it happened, unless the policy says that it shall be repeated."""
        unknown = self._unknown(launch, said, record.entry.asked_at, found=finding.why)
        wish = self._policy.on_unknown
        if callable(wish):
            wish = wish(unknown)
            if inspect.isawaitable(wish):
                wish = await wish
        if wish == "repeat":
            return
        await self.journal.give_up(record, finding.why)
        raise unknown from cause

    # Sending it

    async def _carry_out(self, launch: Launch, sending: Sending, record: Record) -> Job[Any]:
        """Send a launch that is written down, find out what became of it, and repeat it only if nothing did."""
        baseline: dict[str, Any] = {}
        if launch.kind is JobKind.GENERATION and self._policy.baseline == "read":
            current = await self.reconciler.baseline(launch.target)
            baseline["baseline"] = None if current is None else current.id
        core = self._watched(sending, record, baseline)
        tries = 0
        while True:
            tries += 1
            try:
                return await self._ask(launch, sending, record, core)
            except _DoubtError as doubt:
                cause, said = doubt.cause, doubt.said
            except LaunchUnknownError:
                raise
            except CMSError as refusal:
                # A conflict may be the echo of an earlier attempt.
                if tries > 1 and isinstance(refusal, ConflictError):
                    cause, said = refusal, str(refusal)
                else:
                    if record.held and sending.departure.departed:
                        self.journal.withdraw(record)
                    raise
            try:
                finding = await self.reconciler.find_out(record.entry, sending.departure.left_at)
            except (Exception, asyncio.CancelledError) as error:
                found = f"looking it up failed: {error}"
                unknown = self._unknown(launch, said, record.entry.asked_at, found=found, open=_STAYS_OPEN)
                self._log(unknown, sending)
                raise unknown from cause
            if finding.verdict is Verdict.LAUNCHED:
                return await self._adopt(launch, record, finding)
            if finding.verdict is Verdict.UNKNOWN:
                try:
                    await self._give_up(launch, record, finding, said, cause)
                except LaunchUnknownError as unknown:
                    self._log(unknown, sending)
                    raise
            if tries >= self._core.pipeline.retry.max_attempts or isinstance(cause, ConflictError):
                await self.journal.strike(record)
                cause.add_note("It was found out that nothing was launched or charged.")
                raise cause

    def _watched(self, sending: Sending, record: Record, baseline: Mapping[str, Any]) -> Core:
        """Have it written down before each request that it is about to be sent, and afterwards that it was not."""
        departure, clock = sending.departure, self._core.pipeline.clock
        settle = self._policy.settle
        if settle is None:
            settle = self._core.pipeline.timeouts.request + _LAST_BYTES

        async def before() -> None:
            now = self._desk.time()
            served = clock.at(now)
            first = record.entry.served_at
            await self.journal.write(
                record,
                status=SENDING,
                served_at=first if first is not None else served.timestamp() if served is not None else None,
                facts={**record.entry.facts, **baseline, "sent_at": time.time(), "settle": settle},
            )
            departure.until = now + max(settle, _LAST_BYTES)
            if departure.left_at is None:
                departure.left_at = now

        async def undone() -> None:
            if record.held:
                await self.journal.write(record, status=INTENT, served_at=None)
            departure.left_at = None

        departure.before, departure.undone = before, undone
        return departure.watching(self._core)

    async def _ask(self, launch: Launch, sending: Sending, record: Record, core: Core) -> Job[Any]:
        """Send it and read the answer.

        Raises:
            _DoubtError: It may have happened.
        """
        asked = self._desk.time()
        demand = Demand(priority=Priority.LAUNCH, sent=tuple(_names(launch.body or {})))
        try:
            exchange = await core.exchange(launch.operation, launch.path, body=launch.body, demand=demand)
            launched = self._launched(launch, exchange)
            sent_at = exchange.sent_at
        except (OutcomeUnknownError, DecodeError) as error:
            if not (_was_accepted(error) and launch.kind in _NAMED_BY_TARGET):
                raise _DoubtError(error) from error
            launched, sent_at = None, asked
        except DeadlineError as error:
            if not error.sent:
                raise
            raise _DoubtError(error) from error
        except CMSError:
            raise
        except asyncio.CancelledError as error:
            # Only the end of the client cancels what has departed; the next one that asks finds out.
            if sending.departure.departed:
                unknown = self._unknown(launch, type(error).__name__, record.entry.asked_at, open=_STAYS_OPEN)
                self._log(unknown, sending)
                raise unknown from error
            self._core.ensure_open()
            raise
        except Exception as error:
            # A transport that raises what no transport should: it may have been sent all the same.
            raise _DoubtError(error) from error
        launched_at = self._core.pipeline.clock.at(sent_at)
        job_id = launched.id if launched is not None else None
        await self._bind(record, job_id, launched_at)
        trail = Trail(
            began=self._desk.time(),
            launched_at=launched_at,
            job_id=job_id,
            fresh=True,
            settings=launch.body,
            search=launched if isinstance(launched, ContentIdeaSearch) else None,
        )
        target = job_id if launch.kind is JobKind.IDEA_SEARCH and job_id else launch.target
        job: Job[Any] = Job(self._desk, launch.kind, target, trail)
        job._record, record.job = record, job
        self._desk.launched(job)
        return job

    async def _bind(self, record: Record, job_id: str | None, launched_at: datetime | None) -> None:
        """Write down which job it is."""
        served_at = None if launched_at is None else launched_at.timestamp()
        try:
            await self.journal.write(record, status=RUNNING, job_id=job_id, served_at=served_at)
        except (StateError, LeaseLostError) as error:
            # It is launched: losing it here would be worse than looking at it twice.
            logger.warning("a launch could not be written down as done: %s", error)

    def _launched(self, launch: Launch, exchange: Exchange) -> ContentIdeaSearch | Generation | None:
        if launch.kind is JobKind.IDEA_SEARCH:
            return self._core.read(launch.operation, exchange, ContentIdeaSearch)
        if launch.kind is JobKind.GENERATION:
            return self._core.read(launch.operation, exchange, Generation)
        return None

    def _unknown(self, launch: Launch, said: str, asked_at: float, **found: str) -> LaunchUnknownError:
        at = self._desk.datetime_at(self._desk.time() - max(0.0, time.time() - asked_at))
        evidence = {"operation": launch.operation, "asked_at": at.isoformat(), "said": said, **found}
        return unknown_launch(launch.kind, launch.target, evidence)

    def _log(self, unknown: LaunchUnknownError, sending: Sending) -> None:
        if not sending.callers:
            logger.error("nobody waits for this launch any more: %s", unknown)


class _DoubtError(Exception):
    """Say that a launch may have happened."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(cause)
        self.cause = cause
        self.said = str(cause.__cause__ or cause) or type(cause).__name__


_DECIDED = (GenerationStatus.APPLIED, GenerationStatus.DISCARDED, GenerationStatus.FAILED)

_NAMED_BY_TARGET = (JobKind.KEYWORD_ANALYSIS, JobKind.PROMPT_ANALYSIS)


def _names(body: Mapping[str, Any]) -> Iterator[str]:
    """Name the fields of a body, those of nested objects instead of the objects."""
    for name, value in body.items():
        if isinstance(value, Mapping):
            yield from _names(value)
        else:
            yield name


def _was_accepted(error: CMSError) -> bool:
    """Tell whether the service said 2xx and only the document could not be read."""
    return isinstance(error, DecodeError) or isinstance(error.__cause__, DecodeError)
