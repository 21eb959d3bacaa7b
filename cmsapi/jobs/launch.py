"""Launches, each of which is recorded in the state before it is sent, so that no launch is lost in a crash.

Most launches cost a credit, and the service does not notice if it receives the same launch twice. So a row is inserted
into the state before a launch is sent, and `cmsapi.jobs.launch_failures` decides what follows from a failure.

A launch runs in a task of its own. If its last caller is cancelled before the launch is sent, the launch is cancelled
too. A launch that was sent continues, and its row records the job.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import secrets
from contextvars import ContextVar
from typing import Any

import anyio
from attrs import define, evolve, frozen

from cmsapi.config import MARGIN, LaunchPolicy
from cmsapi.errors import (
    APIError,
    ArgumentError,
    ClientClosedError,
    CMSError,
    ConflictError,
    DeadlineError,
    JobError,
    LaunchUnknownError,
    NotFoundError,
    NotSentError,
    OutOfCreditsError,
)
from cmsapi.jobs.job import Job
from cmsapi.jobs.kinds import JobKind, service_time
from cmsapi.jobs.launch_failures import Verdict, verdict_of
from cmsapi.jobs.poller import LOOK, Poller, poller_of
from cmsapi.jobs.recovery import Recovery
from cmsapi.jobs.review import OnReview
from cmsapi.jobs.token import Token
from cmsapi.jobs.tracked import Tracked
from cmsapi.limits.limiter import Priority
from cmsapi.observe.events import RetryScheduled
from cmsapi.observe.log import logger
from cmsapi.state.store import Row
from cmsapi.transport.error_responses import error_of
from cmsapi.transport.pipeline import Pipeline, read
from cmsapi.transport.retries import brief, next_delay
from cmsapi.wire.converter import dump


@define(eq=False)
class Budget:
    """Limit on the credits that launches may cost (None for no limit), and the credits spent or reserved so far."""

    limit: int | None
    spent: int = 0


@define(eq=False)
class Item:
    """What a launch has to know about the fan-out and the item that it belongs to."""

    budget: Budget
    asked: asyncio.Event  # cleared while the iteration is cancelled; nothing is launched then
    batch: str | None = None
    key: str = ""  # name of the item in the batch
    on_review: OnReview | None = None
    used: bool = False  # whether the function has launched a job


CURRENT_ITEM: ContextVar[Item | None] = ContextVar("CURRENT_ITEM", default=None)
"""The fan-out item whose launching function is running; a context variable, so the function need not pass it on."""


class _InTheWayError(Exception):
    """Raised when another launch has the target or item, or another process took over this launch. Holds the row."""


class _SuspendedError(Exception):
    """Raised when an unsent attempt must start over: the process stalled, or the fan-out's iteration was cancelled."""


@frozen
class Launcher:
    """Launcher of jobs for one client, within its policy and its budget of credits."""

    pipeline: Pipeline
    recovery: Recovery
    policy: LaunchPolicy
    budget: Budget

    async def launch(
        self,
        kind: JobKind,
        target: str,
        *,
        name: str | None = None,
        body: Any = None,
        on_review: OnReview | None = None,
    ) -> Job[Any]:
        """Launch a job or join the running one, and return it; ``target`` is the identifier in the operation's path."""
        item, known = CURRENT_ITEM.get(), self.recovery.kinds[kind]
        if item is not None:
            if item.used:
                raise ArgumentError("launch", "must launch only one job for each item; the second launch was not sent")
            item.used = True
        self.pipeline.operations[known.launch].fill((target,))  # refuses invalid identifiers before anything is sent
        poller = poller_of(self.pipeline.account(), self.recovery.polling)
        wanted = Launch(self, poller, Token(kind, target, name or target), body, on_review, item)
        launch = poller.pending.setdefault(wanted.key, wanted)
        if launch.settings != wanted.settings:
            raise launch.other_settings(None)
        launch.callers += 1
        if launch is wanted:
            launch.task = asyncio.create_task(launch.run())
        launch.on_review = launch.on_review or wanted.on_review
        job = await self._wait(launch, poller)
        if wanted.place and job.token.launch and wanted.place not in job.places:
            await poller.store.add_item(*wanted.place, job.token.launch)
            job.places += (wanted.place,)
        if item is None:
            poller.schedule.arrivals.append(asyncio.get_running_loop().time())
        return Job(job, poller)

    async def _wait(self, launch: Launch, poller: Poller) -> Tracked:
        deadline = asyncio.timeout(self.pipeline.timeouts.deadline)
        try:
            async with deadline:
                return await asyncio.shield(launch.task)
        except TimeoutError:
            if not deadline.expired():
                raise
            consequence = "it continues, and jobs.resume finds it" if launch.sent else "nothing was sent"
            seconds = self.pipeline.timeouts.deadline
            raise DeadlineError(f"{launch}: not launched in {seconds:g} s; {consequence}", sent=launch.sent) from None
        finally:
            launch.callers -= 1
            if not launch.callers and not launch.sent:
                poller.pending.pop(launch.key, None)  # a launch that is being cancelled cannot be joined
                launch.task.cancel()

    async def aclose(self) -> None:
        """End the unsent launches with `ClientClosedError`, and wait for the launches that were sent."""
        poller = self.pipeline.account().poller
        mine = [each for key, each in (poller.pending.items() if poller else ()) if key[0] == self.pipeline.account]
        for launch in mine:
            if not launch.sent:
                launch.closed = True
                launch.task.cancel()
        await asyncio.gather(*(launch.task for launch in mine), return_exceptions=True)


class Launch:
    """One launch, shared by all callers that wait for it, from the first call until its job or its error is known."""

    task: asyncio.Task[Tracked]

    def __init__(
        self, launcher: Launcher, poller: Poller, token: Token, body: Any, on_review: OnReview | None, item: Item | None
    ) -> None:
        kind = self._kind = launcher.recovery.kinds[token.kind]
        joins = kind.exclusive and launcher.policy.dedupe == "join"
        self.target: str = token.id if joins else f"{token.id} {secrets.token_hex(6)}"
        # The client is part of the key, so that no client depends on another.
        self.key: tuple[object, ...] = (launcher.pipeline.account, kind.name, self.target)
        self.settings: str | None = _digest(launcher.pipeline, body) if kind.exclusive and body is not None else None
        self.place: tuple[str, str] | None = (item.batch, item.key) if item and item.batch else None
        self.callers: int = 0
        self.sent: bool = False  # whether it may have been sent, so that it has to go on
        self.closed: bool = False  # whether the client was closed meanwhile
        self.row: Row | None = None
        self._recovery = launcher.recovery
        self._pipeline = launcher.pipeline
        self._poller = poller
        self._body = body
        self.on_review: OnReview | None = on_review or (item.on_review if item else None)
        self._asked = item.asked if item else None
        self._token = token
        self._budgets = [launcher.budget, *([item.budget] if item else [])] if kind.credit else []
        self._deadline = launcher.pipeline.timeouts.request + MARGIN
        self._number = 0
        self._began = 0.0  # loop time right before the latest attempt was sent
        self._first = True  # whether a refusal is final: all earlier attempts were unsent or got a 429
        self._doubtful = False  # whether an attempt may have been carried out
        self._found: Tracked | None = None  # the job, if its document has shown it after a failure
        self._repeats_unknown = launcher.policy.on_unknown == "repeat"

    def __str__(self) -> str:
        return f"{self._kind.name} of {self._token.name}"

    def other_settings(self, token: str | None) -> JobError:
        """Return the error for settings that differ from those of the running launch; ``token`` identifies its job."""
        return JobError(f"{self}: a launch with other settings is under way; nothing was sent", token=token)

    async def run(self) -> Tracked:
        """Join the target's running job or launch a new one; raise `JobError` if the running one has other settings."""
        try:
            await self._poller.open(self._pipeline)
            store, place = self._poller.store, (self._kind.name, self.target)
            row = await store.find(*place) if self._kind.exclusive else None
            while True:
                if row is None:
                    try:
                        return await self._launch()
                    except _InTheWayError as other:
                        (row,) = other.args
                elif row.settings != self.settings:
                    raise self.other_settings(row.token)
                elif job := await self._recovery.join(row, self.on_review):
                    return job
                else:
                    row = await store.find(*place)
        except asyncio.CancelledError:
            if self.closed:
                raise ClientClosedError(f"{self}: the client was closed; nothing was sent or charged") from None
            raise
        finally:
            if self._poller.pending.get(self.key) is self:
                del self._poller.pending[self.key]

    async def _launch(self) -> Tracked:
        await self._look_before()
        self._reserve()
        searches = self._kind.name is JobKind.SEARCH
        self._poller.balance.in_flight += searches
        try:
            return await self._until_settled()
        except BaseException as error:
            if not isinstance(error, LaunchUnknownError):
                for budget in self._budgets:
                    budget.spent -= 1
            if not self.sent:
                await self._delete()
            raise
        finally:
            self._poller.balance.in_flight -= searches

    async def _until_settled(self) -> Tracked:
        while True:
            try:
                return await self._attempt()
            except _SuspendedError:
                continue
            except CMSError as error:
                if not self.sent:
                    raise
                failure = error
            verdict = verdict_of(failure, first=self._first)
            status = failure.status if isinstance(failure, APIError) else None
            self._first = self._first and (status == 429 or isinstance(failure, NotSentError))
            self._doubtful |= verdict in (Verdict.FAILED, Verdict.DOUBT)
            self.sent = self._doubtful
            if not self._doubtful:
                await self._delete()  # the row must not look like a launch whose process died
            again = verdict in (Verdict.REPEAT, Verdict.FAILED) and await self._pause(failure)
            if again and (verdict is Verdict.REPEAT or await self._may_repeat()):
                continue
            if not self._doubtful:
                raise await self._reason(failure)
            try:
                return self._found or await self._settle(failure, verdict)
            except LaunchUnknownError:
                if not self._repeats_unknown or any(budget.limit == budget.spent for budget in self._budgets):
                    raise
                self._repeats_unknown = False
                self._reserve()
                await self._delete()

    async def _look_before(self) -> None:
        """Read the balance (for a search) or the newest generation, to compare with it if the launch fails."""
        kind = self._kind
        if kind.name is JobKind.SEARCH:
            await self._poller.balance.prepare(self._pipeline)
        elif kind.name is JobKind.GENERATION:
            with contextlib.suppress(NotFoundError, ConflictError):  # 404, 409 or null: there is no generation yet
                newest: Any = await self._pipeline.call(kind.poll, kind.shape | None, self._token.id)  # type: ignore[arg-type]  # a type
                self._token = evolve(self._token, before=newest and newest.id)

    async def _attempt(self) -> Tracked:
        pipeline, kind = self._pipeline, self._kind
        while self._asked is not None and self._withheld:
            with anyio.move_on_after(LOOK):
                await self._asked.wait()
        self._number += 1
        operation, account = pipeline.operations[kind.launch], pipeline.account()
        request = pipeline.build(operation, (self._token.id,), None, self._body)
        permit = account.limiter.acquire(Priority.LAUNCH, pipeline.max_wait, pipeline.emit)
        response = await pipeline.attempt(account.transport, request, permit, self._number, self._write_down)
        if response.status >= 300:
            raise error_of(response, request, operation)
        identifier, own = kind.identify(self._token.id, read(response, kind.response, kind.launch))
        if kind.name is JobKind.SEARCH:
            self._poller.balance.changed(accepted=True)
        at, row = service_time(response, self._began), self._known_row
        token = evolve(self._token, id=identifier, own=own, at=at)
        job = await self._poller.adopt(row, kind, token, self._began, pipeline, self.on_review)
        job.places = (self.place,) if self.place else ()
        return job

    async def _write_down(self) -> None:
        """Insert or update the row right before the request is sent; raise if the request must not be sent now."""
        loop, store = asyncio.get_running_loop(), self._poller.store
        if not self.callers and not self._doubtful:
            raise asyncio.CancelledError  # the last caller has gone while nothing was under way
        if self._withheld:
            raise _SuspendedError
        began = loop.time()
        if self.row is None:
            row = Row(self._kind.name, self.target, self._token.name, settings=self.settings)
            self._token = evolve(self._token, launch=row.id)
            self.row = row = evolve(row, token=str(self._token))  # set first: a cancelled insertion may have succeeded
            if there := await store.insert(row, self._deadline, self.place):
                self.row = None
                raise _InTheWayError(there)
        else:
            row = evolve(self.row, attempt=self.row.attempt + 1)
            if not await store.update(self.row, self._deadline, attempt=row.attempt):
                self.row = None
                raise _InTheWayError(await store.get(row.id))
        self.row, self._began = row, loop.time()
        if self._began - began > self._deadline / 2:
            raise _SuspendedError
        self.sent = True

    @property
    def _withheld(self) -> bool:
        """True if the launch must wait because its only caller is a fan-out whose iteration is cancelled."""
        return self._asked is not None and not self._asked.is_set() and self.callers < 2 and not self._doubtful

    @property
    def _known_row(self) -> Row:
        assert self.row is not None  # noqa: S101  an attempt has been made
        return self.row

    async def _pause(self, failure: CMSError) -> bool:
        """Extend the row's deadline, wait before the next attempt, and return True; False if no attempt is left."""
        delay = next_delay(self._pipeline.retry, self._number, failure)
        if delay is None:
            return False
        self._pipeline.emit(RetryScheduled(self._kind.launch, self._number, delay, brief(failure)))
        if self.row is not None:
            await self._poller.store.update(self.row, self._deadline + delay)
        await asyncio.sleep(delay)
        return True

    async def _may_repeat(self) -> bool:
        """Return True if a check finds no sign that the launch was accepted; False if it finds one or fails."""
        with contextlib.suppress(CMSError):
            if self._kind.name is JobKind.SEARCH:
                return await self._poller.balance.stands(self._pipeline)
            self._found = await self._recovery.look(self._known_row, self._began, self.on_review)
            return self._found is None
        return False

    async def _settle(self, failure: CMSError, verdict: Verdict) -> Tracked:
        if self._kind.exclusive and verdict is Verdict.DOUBT:
            logger.warning(
                "%s: it is not known whether the service accepted the launch; its document will be read", self
            )
            await asyncio.sleep(self._began + self._deadline - asyncio.get_running_loop().time())
        return await self._recovery.resolve(self._known_row, self._began, failure, self.on_review)

    def _reserve(self) -> None:
        for budget in self._budgets:
            if budget.spent == budget.limit:
                raise OutOfCreditsError(f"{self}: max_credits={budget.limit} is reached; nothing was sent")
        for budget in self._budgets:
            budget.spent += 1

    async def _delete(self) -> None:
        row, self.row = self.row, None
        if row is not None:
            await self._poller.store.delete(row.id)

    async def _reason(self, refusal: CMSError) -> CMSError:
        """Return `OutOfCreditsError` if ``refusal`` is a 409 and no credit is left to launch with, else ``refusal``."""
        if isinstance(refusal, ConflictError) and self._kind.credit is not None:
            with contextlib.suppress(CMSError):
                left = self._kind.balance(await self._poller.balance.read(self._pipeline))
                if left is not None and left <= 0:
                    error = OutOfCreditsError(f"{self}: no {self._kind.credit} credit is left; nothing was launched")
                    error.__cause__ = refusal
                    return error
        return refusal


def _digest(pipeline: Pipeline, body: Any) -> str:
    key = pipeline.headers["Authorization"].encode()  # keyed, so that settings cannot be guessed from their digest
    return hmac.new(key, dump(body), hashlib.sha256).hexdigest()[:32]
