"""Launches: at most once, never lost.

A launch costs credits and cannot be recognized by the service when it comes twice. So it is written down before it is
sent, as a row of the state, and what follows depends on what came back:

===========================================================  ==========================================================
What came                                                    What follows
===========================================================  ==========================================================
nothing left this machine                                    repeat
429, or 503 in the specification's form                      repeat after the wait (specification 7)
4xx in the specification's form to the first attempt         delete the row, raise
500 or 502 in the specification's form                       ask the job's document: it shows the launch, adopt it; else
                                                             repeat. A search, which no document shows, is repeated only
                                                             if the balance has not fallen; else unknown
anything else, and 4xx to a later attempt                    once no request can be under way any more, ask the job's
                                                             document: it shows the launch, adopt it; else unknown
===========================================================  ==========================================================

That a document does not show a launch proves nothing, so an unknown launch is the caller's to decide about.

A launch runs in a task of its own. Until it may be sent, it ends with the last caller who waits for it; from then on it
goes on, whoever is cancelled, and its row keeps the job.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import random
import secrets
from contextvars import ContextVar
from enum import Enum
from typing import Any

from attrs import define, evolve, field, frozen

from cmsapi.config import MARGIN, LaunchPolicy
from cmsapi.errors import (
    APIError,
    ArgumentError,
    ClientClosedError,
    CMSError,
    ConflictError,
    DeadlineError,
    DecodeError,
    JobError,
    LaunchUnknownError,
    NotFoundError,
    NotSentError,
    OutcomeUnknownError,
    OutOfCreditsError,
    TransportError,
)
from cmsapi.jobs.job import Job
from cmsapi.jobs.kinds import JobKind, Kind, service_time
from cmsapi.jobs.poller import Poller, poller_of
from cmsapi.jobs.recovery import Recovery
from cmsapi.jobs.review import OnReview
from cmsapi.jobs.tracked import Token, Tracked
from cmsapi.limits.limiter import Priority
from cmsapi.observe.events import RetryScheduled
from cmsapi.state.store import Row
from cmsapi.transport.answers import error_of
from cmsapi.transport.pipeline import Pipeline, read
from cmsapi.wire.converter import dump


class Budget:
    """Credits that launches may cost.

    Args:
        limit: How many; None for no bound.
    """

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.spent = 0

    def take(self) -> None:
        """Reserve one credit.

        Raises:
            OutOfCreditsError: None is left.
        """
        if self.limit is not None and self.spent >= self.limit:
            raise OutOfCreditsError(f"max_credits={self.limit} is reached; nothing was sent")
        self.spent += 1


@define(eq=False)
class Item:
    """An item of a fan-out, while its launching function runs.

    Attributes:
        budget: Credits of the fan-out.
        batch: Name of the batch, if it is one.
        key: Name of the item in the batch.
        used: True once the function has launched a job.
    """

    budget: Budget
    batch: str | None = None
    key: str = ""
    used: bool = False


CURRENT_ITEM: ContextVar[Item | None] = ContextVar("CURRENT_ITEM", default=None)
"""The item whose launching function runs, so that the function need not pass it on."""


@frozen
class Order:
    """What is to be launched: operation, identifiers of its path, body, and what the job will be known by."""

    kind: Kind
    target: str
    name: str
    ids: tuple[str, ...]
    body: Any
    settings: str | None
    on_review: OnReview | None
    item: Item | None

    @property
    def place(self) -> tuple[str, str] | None:
        """Batch and item that the launch belongs to."""
        return (self.item.batch, self.item.key) if self.item and self.item.batch else None


class _InTheWayError(Exception):
    """Raised when another process launches for the same target, or has taken over this launch."""


class _SuspendedError(Exception):
    """Raised when the process stood still between the writing of the row and the sending."""


@define(eq=False)
class Pending:
    """A launch that has no job yet, with all who wait for it.

    Attributes:
        settings: Digest of its settings.
        owner: What the client that launches and its copies have in common.
        callers: Those who wait.
        sent: True once it has the permission to be sent.
        row_id: Its launch in the state.
        closed: True if the client was closed meanwhile.
        task: What carries it out.
    """

    settings: str | None
    owner: Any
    callers: int = 0
    sent: bool = False
    row_id: str | None = None
    closed: bool = False
    task: asyncio.Task[Tracked] = field(init=False)


@frozen
class Launcher:
    """Launch jobs for one client."""

    pipeline: Pipeline
    recovery: Recovery
    policy: LaunchPolicy
    budget: Budget

    async def launch(
        self,
        kind: JobKind,
        target: str,
        *ids: str,
        name: str = "",
        body: Any = None,
        on_review: OnReview | None = None,
    ) -> Job[Any]:
        """Launch a job, or join the one that runs for the target.

        Args:
            kind: Its kind.
            target: What it works on.
            ids: Identifiers in the path of the launch.
            name: What is launched, for people.
            body: JSON of the launch.
            on_review: What decides on an article.
        """
        item, known = CURRENT_ITEM.get(), self.recovery.kinds[kind]
        if item is not None:
            if item.used:
                raise ArgumentError("launch", "must launch one job for each item; the second one was not sent")
            item.used = True
        order = Order(
            known, target, name or target, ids, body, self._digest(body) if known.joins else None, on_review, item
        )
        self.pipeline.operations[known.launch].fill(ids)  # refuses identifiers before anything is sent
        poller = poller_of(self.pipeline.account(), self.recovery.polling)
        joins = known.joins and self.policy.dedupe == "join"
        if not joins:
            order = evolve(order, target=f"{target}#{secrets.token_hex(6)}")
        pending = poller.pending.get((kind, order.target))
        if pending is None:
            pending = poller.pending[kind, order.target] = Pending(order.settings, self.pipeline.account)
            pending.task = asyncio.create_task(self._run(order, pending, poller, target))
        elif pending.settings != order.settings:
            raise JobError(f"another {kind} of {name or target} with other settings is under way; nothing was sent")
        tracked = await self._wait(pending, order)
        if order.place and tracked.row and order.place not in tracked.places:
            await poller.store.add_item(*order.place, tracked.row.id)
            tracked.places += (order.place,)
        if item is None:
            poller.launched_alone()
        return Job(tracked, poller)

    async def _wait(self, pending: Pending, order: Order) -> Tracked:
        seconds = self.pipeline.timeouts.deadline
        pending.callers += 1
        deadline = asyncio.timeout(seconds)
        try:
            async with deadline:
                return await asyncio.shield(pending.task)
        except TimeoutError:
            if not deadline.expired():
                raise
            consequence = "it goes on, and jobs.watch finds it" if pending.sent else "nothing was sent"
            problem = f"{order.kind.launch} of {order.name}: not launched in {seconds:g} s; {consequence}"
            raise DeadlineError(problem, sent=pending.sent) from None
        finally:
            pending.callers -= 1
            if not pending.callers and not pending.sent:
                pending.task.cancel()

    async def aclose(self) -> None:
        """Wait for the launches that were sent, and refuse the others."""
        poller = self.pipeline.account().poller
        mine = [each for each in (poller.pending.values() if poller else ()) if each.owner == self.pipeline.account]
        for pending in mine:
            if not pending.sent:
                pending.closed = True
                pending.task.cancel()
        await asyncio.gather(*(pending.task for pending in mine), return_exceptions=True)

    def _digest(self, body: Any) -> str | None:
        if body is None:
            return None
        key = self.pipeline.headers["Authorization"].encode()  # instructions must not be guessed from their digest
        return hmac.new(key, dump(body), hashlib.sha256).hexdigest()[:32]

    async def _run(self, order: Order, pending: Pending, poller: Poller, target: str) -> Tracked:
        try:
            await poller.open(self.pipeline)
            while True:
                row = await poller.store.find(order.kind.name, order.target) if order.kind.joins else None
                if row is not None and row.settings != order.settings:
                    problem = f"another {row.kind} of {row.name} with other settings is under way; nothing was sent"
                    raise JobError(problem, token=row.token)
                joined = None if row is None else await self.recovery.join(row, order.on_review)
                if joined is not None:
                    return joined
                if row is None:
                    with contextlib.suppress(_InTheWayError):
                        return await _Attempts(self, order, pending, poller, target).run()
        except asyncio.CancelledError:
            if pending.closed:
                raise ClientClosedError(
                    "the client was closed before the launch was sent; no credit was spent"
                ) from None
            raise
        finally:
            poller.pending.pop((order.kind.name, order.target), None)


class _Verdict(Enum):
    """What the failure of an attempt means."""

    REPEAT = "nothing was carried out"
    FAILED = "the service failed, and may have carried it out"
    REFUSED = "nothing was carried out, nor will it be"
    DOUBT = "it may have been carried out"


def _verdict(failure: CMSError, *, doubtful: bool) -> _Verdict:
    """Return what a failure means, by the table above.

    Args:
        failure: What came of the latest attempt.
        doubtful: True if an earlier attempt may have been carried out, so that a refusal may be of the second one only.
    """
    if isinstance(failure, NotSentError):
        return _Verdict.REPEAT
    if isinstance(failure, APIError):
        specified = failure.code is not None
        if failure.status == 429 or (specified and failure.status == 503):
            return _Verdict.REPEAT
        if specified and failure.status in (500, 502):
            return _Verdict.FAILED
        if specified and 400 <= failure.status < 500 and not doubtful:
            return _Verdict.REFUSED
    return _Verdict.DOUBT


class _Attempts:
    """One launch with all its attempts."""

    def __init__(self, launcher: Launcher, order: Order, pending: Pending, poller: Poller, id: str) -> None:  # noqa: A002
        self._launcher = launcher
        self._recovery = launcher.recovery
        self._order = order
        self._pending = pending
        self._poller = poller
        self._pipeline = launcher.pipeline
        self._deadline = launcher.pipeline.timeouts.request + MARGIN
        self._token = Token(order.kind.name, id, order.name)
        self._row: Row | None = None
        self._number = 0
        self._began = 0.0  # loop time at which the latest attempt left
        self._doubtful = False
        self._found: Tracked | None = None  # what the job's document has shown after a failure
        self._repeats_unknown = launcher.policy.on_unknown == "repeat"

    async def run(self) -> Tracked:
        """Launch, and return the job."""
        reserved: list[Budget] = []
        try:
            if self._order.kind.credit is not None:
                for budget in (self._launcher.budget, self._order.item and self._order.item.budget):
                    if budget:
                        budget.take()
                        reserved.append(budget)
            return await self._until_settled()
        except BaseException as error:
            if not isinstance(error, LaunchUnknownError):
                for budget in reserved:
                    budget.spent -= 1
            raise

    async def _until_settled(self) -> Tracked:
        await self._look_before()
        while True:
            try:
                return await self._attempt()
            except _SuspendedError:
                continue
            except (APIError, NotSentError, OutcomeUnknownError, DecodeError) as error:
                failure: CMSError = error
            verdict = _verdict(failure, doubtful=self._doubtful)
            again = verdict in (_Verdict.REPEAT, _Verdict.FAILED) and await self._pause(failure)
            self._doubtful |= verdict in (_Verdict.FAILED, _Verdict.DOUBT)
            if again and (verdict is _Verdict.REPEAT or await self._may_repeat()):
                continue
            if not self._doubtful:
                await self._delete()
                raise await self._reason(failure)
            try:
                return self._found or await self._settle(failure, verdict)
            except LaunchUnknownError:
                if not self._repeats_unknown:
                    raise
                self._repeats_unknown = False
                await self._delete()

    async def _look_before(self) -> None:
        """Read what tells a new job from an earlier one, if its document does not."""
        kind = self._order.kind
        if kind.name is JobKind.SEARCH:
            await self._poller.balance.prepare(self._pipeline)
        elif kind.name is JobKind.GENERATION:
            with contextlib.suppress(NotFoundError):
                newest: Any = await self._pipeline.call(kind.poll, kind.shape, self._token.id)
                self._token = evolve(self._token, before=newest.id)

    async def _attempt(self) -> Tracked:
        pipeline, order = self._pipeline, self._order
        self._number += 1
        operation, account = pipeline.operations[order.kind.launch], pipeline.account()
        request = pipeline.build(operation, order.ids, None, order.body)
        permit = account.limiter.acquire(Priority.LAUNCH, pipeline.max_wait, pipeline.emit)
        searches = order.kind.name is JobKind.SEARCH
        self._poller.balance.in_flight += searches
        try:
            response = await pipeline.attempt(account.transport, request, permit, self._number, self._write_down)
        except (_SuspendedError, TransportError):
            raise
        except BaseException:  # cancelled while it waited, or mistaken: nothing is under way
            if not permit.departed and not self._doubtful:
                await self._delete()
            raise
        finally:
            self._poller.balance.in_flight -= searches
        if response.status >= 300:
            raise error_of(response, request, operation)
        answer = read(response, order.kind.answer, order.kind.launch)
        identifier, own = order.kind.identify(self._token.id, answer)
        at = service_time(response, self._began)
        token = evolve(self._token, id=identifier, own=own, at=at, launch=self._known_row.id)
        if searches:
            self._poller.balance.accepted()
        tracked = await self._poller.adopt(self._known_row, order.kind, token, self._began, pipeline, order.on_review)
        tracked.places = (order.place,) if order.place else ()
        return tracked

    async def _write_down(self) -> None:
        """Insert or update the row, right before the request leaves."""
        loop = asyncio.get_running_loop()
        self._pending.sent, self._began = True, loop.time()
        store, order = self._poller.store, self._order
        if self._row is None:
            row = Row(order.kind.name, order.target, order.name, settings=order.settings, token=str(self._token))
            self._pending.row_id = row.id
            if await store.insert(row, self._deadline, order.place):
                raise _InTheWayError
            self._row = row
        else:
            if not await store.update(self._row, self._deadline, attempt=self._row.attempt + 1):
                raise _InTheWayError
            self._row = evolve(self._row, attempt=self._row.attempt + 1)
        now = loop.time()
        if now - self._began > self._deadline / 2:
            raise _SuspendedError
        self._began = now

    @property
    def _known_row(self) -> Row:
        assert self._row is not None  # noqa: S101  an attempt has been made
        return self._row

    async def _pause(self, failure: CMSError) -> bool:
        """Wait before the next attempt; return False if there is none."""
        retry = self._pipeline.retry
        floor = (failure.retry_after or 0.0) if isinstance(failure, APIError) else 0.0
        if self._number >= retry.max_attempts or (retry.max_retry_after or floor) < floor:
            return False
        delay = floor + min(retry.cap, retry.base * 2 ** (self._number - 1)) * random.uniform(0.5, 1)  # noqa: S311
        self._pipeline.emit(RetryScheduled(self._order.kind.launch, self._number, delay, type(failure).__name__))
        await asyncio.sleep(delay)
        return True

    async def _may_repeat(self) -> bool:
        """Return True if nothing shows that the service has accepted a launch that it says has failed."""
        if self._order.kind.name is JobKind.SEARCH:
            return await self._poller.balance.stands(self._pipeline)
        row, on_review = self._known_row, self._order.on_review
        self._found = await self._recovery.look(row, self._began, on_review)
        return self._found is None

    async def _settle(self, failure: CMSError, verdict: _Verdict) -> Tracked:
        if self._order.kind.leaves_traces and verdict is _Verdict.DOUBT:
            await asyncio.sleep(self._began + self._deadline - asyncio.get_running_loop().time())
        row, on_review = self._known_row, self._order.on_review
        return await self._recovery.resolve(row, self._began, failure, on_review)

    async def _delete(self) -> None:
        row, self._row = self._row, None
        if row is not None:
            await self._poller.store.delete(row.id)

    async def _reason(self, refusal: CMSError) -> CMSError:
        """Return why the service refuses: for want of credits, if its balance says so, else what it says."""
        if isinstance(refusal, ConflictError) and self._order.kind.credit is not None:
            with contextlib.suppress(CMSError):
                left = self._order.kind.balance(await self._poller.balance.read(self._pipeline))
                if left is not None and left <= 0:
                    error = OutOfCreditsError(f"no {self._order.kind.credit} credit is left; nothing was launched")
                    error.__cause__ = refusal
                    return error
        return refusal
