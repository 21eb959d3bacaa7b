"""Send one launch: write it down, send it, and settle it when its answer is lost.

Only what was certainly not executed (429, or nothing sent) is repeated at once. A failure that the service itself
reports (500, 503) is repeated with backoff while nothing shows that it was launched or charged (specification 7). After
any other 5xx, a lost answer or an unreadable one the launch is settled first (`reconcile`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial

import attrs

from cmsapi.api.model import Model
from cmsapi.api.models.user import User
from cmsapi.api.wire.mismatch import excerpt
from cmsapi.api.wire.reading import identifier_of
from cmsapi.errors import (
    APIError,
    ArgumentError,
    CMSError,
    ConflictError,
    DecodeError,
    JobError,
    LaunchUnknownError,
    LeaseLostError,
    OutcomeUnknownError,
    OutOfCreditsError,
    ServerError,
    StateError,
)
from cmsapi.jobs.errors import in_a_sentence, sent_times
from cmsapi.jobs.kinds.evidence import Verdict, by_own_clock
from cmsapi.jobs.kinds.kind import JobHistory, Kind, job_before
from cmsapi.jobs.launching.books import Books
from cmsapi.jobs.launching.intent import Intent
from cmsapi.jobs.launching.pending import PendingLaunch, WithdrawnError
from cmsapi.jobs.launching.reconcile import COMMITS, Reconciler
from cmsapi.jobs.polling.poller import Poller
from cmsapi.jobs.tracked import TrackedJob
from cmsapi.ratelimit.limiter import Priority
from cmsapi.ratelimit.permits import Permit
from cmsapi.state.entry import EntryStatus
from cmsapi.transport.call import Call, CallOptions
from cmsapi.transport.retry import backoff, longest_retry_after

logger: logging.Logger = logging.getLogger("cmsapi")

# The failures that the service itself reports (specification 7); gateways answer in other words.
_OWN_FAILURES = {500: "internal_error", 503: "service_unavailable"}
# Seconds after a launch was written down in which its bytes may leave, however soon it is reconciled.
_LAST_BYTES = 5.0
_NOT_SENT = "This launch was not sent, and nothing was charged for it."


class Sender:
    """Send the launches of one client."""

    def __init__(self, poller: Poller, books: Books, reconciler: Reconciler) -> None:
        self._poller = poller
        self._journal = poller.journal
        self._caller = poller.poll_settings.caller
        self._books = books
        self._reconciler = reconciler
        # One launch of the client at a time reads the balances. Others wait as long as their own settings say.
        self._reading = asyncio.Lock()

    async def run(self, launch: PendingLaunch) -> TrackedJob:
        """Write a launch down and send it, or find the job that runs in its place."""
        try:
            await self._journal.open(self._poller.poll_settings.read_user)
            begun = await Intent(self._reconciler, launch).begin()
            if isinstance(begun, TrackedJob):
                return begun
            launch.record = begun
            with begun.in_work():
                return await self._pay(launch)
        except StateError as error:
            error.add_note(_NOT_SENT)
            raise
        except LaunchUnknownError as error:
            if not launch.callers:
                # At the end of a program its state keeps them, and the next one finds out what became of each.
                closing = self._caller.pipeline.active_calls.closing and self._journal.state.shared
                level = logging.INFO if closing and "open" in error.evidence else logging.ERROR
                logger.log(level, "no caller waits for this launch any more: %s", error)
            raise

    async def _pay(self, launch: PendingLaunch) -> TrackedJob:
        """Send a launch; when that fails, settle its credits and its entry."""
        record = launch.record
        try:
            _take_first_credit(launch)
            if launch.policy.baseline == "read":
                await self._read_baseline(launch)
            return await self._send(launch)
        except BaseException as error:
            in_flight = launch.in_flight
            if not in_flight:
                launch.give_back(launch.credits)
            if record.held and not record.bound:
                # What may have happened is settled by the next launch of the same, or by `jobs.resume`.
                self._journal.leave_open(record) if in_flight else self._journal.delete_later(record)
            if in_flight and isinstance(error, asyncio.CancelledError):
                # The end of the client cancels what is in flight, and the last caller a repeat that has not left.
                said = "it was cancelled before its answer was read and written down"
                raise self._reconciler.unknown(launch, said, stays=True) from error
            raise

    async def _read_baseline(self, launch: PendingLaunch) -> None:
        """Read the state before a launch, as facts for its entry, and the balances if they are evidence."""
        request, record = launch.request, launch.record
        kind = request.kind
        try:
            baseline = await kind.read_baseline(self._caller, request.target)
        except CMSError as error:
            error.add_note(_NOT_SENT)
            raise
        if (kind.in_usages or kind.in_review) and not self._journal.balances.fresh:
            await self._read_balances()
        if baseline:
            record.entry = attrs.evolve(record.entry, facts={**record.entry.facts, **baseline})

    async def _read_balances(self) -> None:
        """Read the balances before a launch; without an answer the launch goes on."""
        balances = self._journal.balances
        if balances.known and self._reading.locked():
            return
        options = CallOptions(priority=Priority.LAUNCH, max_attempts=1 if balances.known else 2)
        try:
            async with self._reading:
                if not balances.fresh:
                    await self._caller.call(User, "get_me", options=options)
        except Exception as error:
            logger.debug("the balances could not be read before a launch: %s", error)

    async def _send(self, launch: PendingLaunch) -> TrackedJob:
        """Send a launch until its job is known, it is refused, or it must not be repeated."""
        request, caller = launch.request, self._caller
        kind, operation = request.kind, request.kind.launch_operation
        options = CallOptions(
            priority=Priority.LAUNCH,
            before_attempt=partial(self._before_attempt, launch),
            not_executed=partial(self._not_executed, launch),
            # Where no answer has to be read, a page is still told from one.
            or_text=kind.answer is None,
        )
        while True:
            launch.attempts += 1
            try:
                async with self._books.turn(kind, first_alone=self._learns(launch)):
                    try:
                        call = await caller.exchange(operation, request.path, body=request.body, options=options)
                    except BaseException:
                        self._books.go_on(kind)
                        raise
                    # The books are read only once they hold no launch that is not written down as taken.
                    return await self._taken(launch, call)
            except LaunchUnknownError:
                raise
            except Exception as error:
                if kind.answer is None and DecodeError in (type(error), type(error.__cause__)):
                    # The service said 2xx, and nothing has to be read from its answer.
                    return await self._launched(launch, None, launch.left_at)
                refused = isinstance(error, APIError) and not error.in_doubt
                # On a repeat, a conflict may be the echo of an earlier attempt.
                echo = refused and isinstance(error, ConflictError) and launch.attempts > 1
                if not launch.has_left or (refused and not echo):
                    await self._refused(launch, error)
                    raise
                cause = error
            except asyncio.CancelledError:
                if launch.credits and not launch.has_left:
                    # Attempts in doubt before it count all the same.
                    launch.give_back(1)
                raise
            if (job := await self._after(launch, cause, echo=echo)) is not None:
                return job

    async def _after(self, launch: PendingLaunch, cause: Exception, *, echo: bool) -> TrackedJob | None:
        """Find out what became of an attempt without a clear answer; return its job, or None to send it again."""
        if isinstance(cause, ServerError) and _OWN_FAILURES.get(cause.status) == cause.code:
            found = await self._after_failure(launch, cause)
            if found is not Verdict.UNKNOWN:
                return found if isinstance(found, TrackedJob) else None
        if echo:
            launch.discount()
        launch.repeatable = not echo and launch.attempts < self._caller.pipeline.retry.max_attempts
        return await self._settle(launch, cause)

    async def _taken(self, launch: PendingLaunch, call: Call) -> TrackedJob:
        """Read the answer to a launch that the service has taken, and track its job."""
        kind = launch.request.kind
        if _is_page(call.document):
            raise OutcomeUnknownError(
                "The answer was a page of another server, so that it tells nothing of the launch."
            )
        if (unusable := _unusable_id(kind, call.document)) is not None:
            await self._reconciler.give_up_unnamed(launch, unusable)
        answered = None if kind.answer is None else _named(self._caller.read(call, kind.answer), kind)
        return await self._launched(launch, answered, call.sent_at)

    async def _launched(self, launch: PendingLaunch, answered: Model | None, sent_at: float) -> TrackedJob:
        """Write down that a launch has happened, and track its job."""
        kind, poller, record = launch.request.kind, self._poller, launch.record
        now, launched_at = asyncio.get_running_loop().time(), self._caller.pipeline.clock.at(sent_at)
        job_id: str | None = getattr(answered, "id", None)
        served_at = None if launched_at is None else launched_at.timestamp()
        await self._journal.record_launched(record, job_id=job_id, served_at=served_at)
        last = poller.registry.last_ended((kind, launch.request.target))
        history = JobHistory(
            began=now,
            launched_at=launched_at or by_own_clock(self._journal.wall() - (now - sent_at)),
            job_id=job_id,
            before=job_before(record.entry),
            again=last is not None,
            earlier=getattr(last and last.result, "last_analyzed_at", None),
            fresh=True,
            document=answered if kind.result_requests else None,
        )
        job = TrackedJob(kind, kind.job_target(launch.request.target, job_id), history, poller.poll_settings)
        record.bind(job)
        poller.registry.add(job)
        self._books.note_taken(record.entry, answered=True)
        if self._learns(launch):
            poller.tasks.start(self._books.learn_cheaply(self._caller, kind))
        return job

    def _learns(self, launch: PendingLaunch) -> bool:
        """Tell whether it is looked how a launch is booked: a shared state keeps that for all that come later."""
        return self._journal.state.shared and launch.policy.baseline == "read"

    async def _refused(self, launch: PendingLaunch, refusal: Exception) -> None:
        """Take the newest attempt back, which was refused or not sent.

        Raises:
            LaunchUnknownError: An attempt before that one may have been charged.
        """
        launch.give_back(1)
        launch.discount()
        launch.permit, launch.cause, launch.repeatable = None, refusal, False
        if (earlier := launch.record.entry.facts.get("doubt")) is not None:
            await self._reconciler.give_up(launch, str(earlier), str(refusal))

    async def _after_failure(self, launch: PendingLaunch, failure: ServerError) -> TrackedJob | Verdict:
        """Wait after a failure that the service itself reports, and look whether it has launched all the same.

        Returns:
            The job that it has launched; `ABSENT` to send the launch again; `UNKNOWN` if something shows a charge.

        Raises:
            ServerError: Nothing was launched or charged, and it was sent as often as the settings allow.
            LaunchUnknownError: An attempt before that one may have been charged.
        """
        retry, rng = self._caller.pipeline.retry, self._caller.pipeline.rng
        launch.cause = failure
        last = launch.attempts >= retry.max_attempts or (failure.retry_after or 0.0) > longest_retry_after(retry)
        if not last:
            await asyncio.sleep(backoff(retry, launch.attempts, failure.retry_after, rng))
        finding = await self._reconciler.look_after_failure(launch)
        if finding.verdict is Verdict.LAUNCHED:
            return await self._reconciler.adopt(launch.record, finding)
        if finding.verdict is Verdict.UNKNOWN:
            return Verdict.UNKNOWN
        if last or not launch.callers:
            failure.attempts, failure.in_doubt = launch.attempts, False
            await self._refused(launch, failure)
            raise failure
        launch.discount()
        launch.permit = None
        return Verdict.ABSENT

    async def _settle(self, launch: PendingLaunch, cause: Exception) -> TrackedJob | None:
        """Find out whether a launch happened; return its job, or None to send it again.

        Raises:
            LaunchUnknownError: That could not be found out.
            JobError: It did not happen, and is not sent again.
            ConflictError: The same, because the service refuses it.
        """
        launch.cause = cause
        settled = await self._reconciler.settle(launch)
        if isinstance(settled, TrackedJob):
            return settled
        launch.permit = None
        if settled is Verdict.ABSENT and not (launch.repeatable and launch.callers):
            if isinstance(cause, ConflictError) and not cause.in_doubt:
                raise cause
            request = launch.request
            raise JobError(
                f"The {request} was sent and got no usable answer "
                f"({in_a_sentence(launch.said)}). It was found out that nothing was launched or charged. It is not "
                "sent again by itself; launch it again if it is still needed."
            ) from cause
        return None

    # Attempts

    async def _before_attempt(self, launch: PendingLaunch, permit: Permit) -> Callable[[], None]:
        """Write an attempt down, and return a check that its bytes may still leave.

        Raises:
            OutOfCreditsError: The fan-out for which it is has found that no credits are left.
            WithdrawnError: The outcomes of that fan-out are not asked for at present.
        """
        if launch.purpose is not None:
            await launch.purpose.check()
            if not (launch.purpose.wanted.is_set() or launch.in_flight):
                raise WithdrawnError
        journal, entry, now = self._journal, launch.record.entry, asyncio.get_running_loop().time()
        pipeline, wall, settle = self._caller.pipeline, journal.wall(), launch.policy.settle
        served = pipeline.clock.at(now)
        left_at = None if served is None else served.timestamp()
        served_at = left_at if entry.served_at is None else entry.served_at
        timeout = pipeline.timeouts.request
        facts = {
            **entry.facts,
            "sent_at": wall,
            "settle": timeout + COMMITS if settle is None else settle,
            "sent": sent_times(entry) + 1,
            **({"repeated_at": left_at} if sent_times(entry) else {}),
            **journal.balances.leaves(entry.kind),
        }
        await journal.write(launch.record, status=EntryStatus.SENDING, served_at=served_at, facts=facts)
        launch.permit, launch.left_at = permit, now
        patience = max(timeout if settle is None else settle, _LAST_BYTES)

        def check() -> None:
            # A machine that was suspended shows it on the wall's clock only.
            stood_still = max(asyncio.get_running_loop().time() - now, journal.wall() - wall)
            if stood_still > patience:
                raise LeaseLostError(
                    "This process stood still between writing a launch down and sending it, for so long that another "
                    "one may have sent it instead. Nothing was sent here; launch again to join it."
                )
            launch.left_at = asyncio.get_running_loop().time()

        return check

    async def _not_executed(self, launch: PendingLaunch, permit: Permit) -> None:
        """Take the newest attempt back; one before it that is in doubt stays so, and cannot be called back."""
        # Its time may have ended while it was written down.
        written = launch.permit is permit
        if written:
            launch.permit = None
        if launch.record.held:
            entry = launch.record.entry
            facts = {**entry.facts, "sent": sent_times(entry) - written}
            undone = {} if "doubt" in facts else {"status": EntryStatus.INTENT, "served_at": None}
            await self._journal.write(launch.record, facts=facts, **undone)


def _unusable_id(kind: Kind, document: object) -> str | None:
    """Return what an answer to a launch names its job by, if that cannot be asked for; None when it can be."""
    if not kind.polled_by_id or not isinstance(document, dict):
        return None
    identifier = identifier_of(document.get("id"))
    try:
        kind.check(identifier)
    except ArgumentError:
        return "null" if identifier is None else excerpt(identifier)
    return None


def _take_first_credit(launch: PendingLaunch) -> None:
    if not launch.take_credit():
        raise OutOfCreditsError(
            f"The {launch.policy.max_credits} credits that LaunchPolicy(max_credits=) allows this client are spent: "
            f"the {launch.request} was not sent, and nothing was charged for it. What "
            "is launched goes on."
        )


def _is_page(document: object) -> bool:
    """Tell whether an answer that was read as a text is the page of a proxy or a login, and not the service's."""
    return isinstance(document, str) and document.lstrip().startswith("<")


def _named(answered: Model, kind: Kind) -> Model:
    """Check that the answer to a launch names its job: what is read later may be of an earlier one."""
    if not getattr(answered, "id", None):
        raise DecodeError("Expected an identifier", path="$.id", operation=kind.launch_operation)
    return answered
