"""Fan-outs: launch a job for each item as the hourly limit allows, and return the outcomes as they come.

A `CMSError` becomes the outcome of its item, unless it is an `ArgumentError`, or a `ClientClosedError` from a launch.
These two, and any other exception, are raised by the iteration at once. A launch finds its item in `CURRENT_ITEM`.
"""

from __future__ import annotations

import asyncio
import copy
import inspect
from collections import Counter, deque
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Generator, Iterable, Sized
from contextvars import Context, copy_context
from datetime import timedelta
from functools import partial
from typing import Any, Generic, Literal, Self, TypeVar

from attrs import Factory, define, field

from cmsapi.errors import ArgumentError, ClientClosedError, CMSError, LaunchUnknownError, OutOfCreditsError
from cmsapi.jobs.job import Job, Wait
from cmsapi.jobs.kinds import JobKind
from cmsapi.jobs.launch import CURRENT_ITEM, Budget, Item
from cmsapi.jobs.outcomes import Failed, Outcome, Succeeded
from cmsapi.jobs.poller import Poller
from cmsapi.jobs.progress import Follow, Progress
from cmsapi.jobs.review import OnReview
from cmsapi.notebook import DataFrame, to_pandas
from cmsapi.wire.arguments import check_number, check_seconds, check_word

I = TypeVar("I")  # noqa: E741  an item
R = TypeVar("R")


@define(eq=False)
class Run(Generic[I, R]):
    """The work of one fan-out, done in the background until all items have outcomes or the run is stopped."""

    _poller: Poller
    _launch: Callable[[I], Any] | None  # None for items that are jobs
    _items: Iterable[I] | AsyncIterable[I]
    _in_flight: int | None  # None for as many as the hourly limit allows
    _budget: Budget
    _timeout: float
    _batch: str | None = None
    _key: Callable[[I], str] = str
    on_review: OnReview | None = None
    loop: asyncio.AbstractEventLoop | None = field(default=None, init=False)
    _kind: JobKind | None = field(default=None, init=False)
    _tasks: set[asyncio.Task[None]] = field(factory=set, init=False)
    _sent_before: int = field(default=Factory(lambda self: self._poller.limiter.sent, takes_self=True), init=False)
    _slot: asyncio.Event = field(factory=asyncio.Event, init=False)  # set when a job has ended
    _out_of_credits: OutOfCreditsError | None = field(default=None, init=False)
    _fed: bool = field(default=False, init=False)
    _stopped: bool = field(default=False, init=False)
    _context: Context = field(factory=copy_context, init=False)  # one for all jobs instead of one each
    waits: dict[int, Wait] = field(factory=dict, init=False)
    total: int | None = field(
        default=Factory(lambda self: len(self._items) if isinstance(self._items, list) else None, True), init=False
    )
    begun: int = field(default=0, init=False)
    running: int = field(default=0, init=False)
    credits_before: int = field(default=0, init=False)  # of earlier runs of a batch
    counts: Counter[str] = field(factory=lambda: Counter(succeeded=0, failed=0, unknown=0), init=False)
    launched: list[Job[R]] = field(factory=list, init=False)
    outcomes: deque[tuple[int, Outcome[I, R]]] = field(factory=deque, init=False)
    failure: BaseException | None = field(default=None, init=False)
    asked: asyncio.Event = field(factory=asyncio.Event, init=False)  # set by ``anext``, cleared if it is cancelled
    arrived: asyncio.Event = field(factory=asyncio.Event, init=False)
    changed: asyncio.Event = field(factory=asyncio.Event, init=False)

    @property
    def finished(self) -> bool:
        """True if the run will add no further outcomes."""
        return self.failure is not None or (self._fed and not self.running)

    def begin(self) -> None:
        """Start the task that launches the jobs, unless it has been started before."""
        if self.loop is None:
            self.loop = asyncio.get_running_loop()
            self.start(self._feed())

    async def stop(self) -> None:
        """Stop launching jobs and waiting for them; return when the tasks have ended. Sent launches continue."""
        self.abandon()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def abandon(self) -> None:
        """Stop launching jobs and waiting for them; return at once, possibly before the tasks have ended."""
        self._stopped = True
        self._poller.waiting.pop(self, None)
        for task in self._tasks:
            if task is not asyncio.current_task(self.loop):
                task.cancel()
        for wait in self.waits.values():
            wait.close()
        self.waits.clear()
        self._fed, self.running = True, 0
        self._tell()

    def progress(self) -> Progress:
        """Return the progress of the run so far."""
        left = self._poller.seconds_left(self._kind, self._held(), self._in_flight) if self._kind else None
        return Progress(
            total=self.total,
            running=self.running,
            **self.counts,
            credits=self._budget.spent + self.credits_before,
            requests=self._poller.limiter.sent - self._sent_before,
            seconds_left=0.0 if self.finished else left,
        )

    def _held(self) -> int:
        return 0 if self.total is None else self.total - self.begun

    async def _feed(self) -> None:
        try:
            async for number, item in self._to_launch():
                reserved = 0.0 if self._out_of_credits or self._launch is None else await self._admit()
                self.begun, self.running = self.begun + 1, self.running + 1
                if self._launch is None and isinstance(item, Job):
                    self.follow(number, item, item)
                elif self._out_of_credits:
                    self.end(number, Failed(item, None, copy.copy(self._out_of_credits)))
                else:
                    self.start(self.one(number, item), reserved)
            self._fed, self.total = True, self.begun
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # raised while iterating over the items
            self._fail(error)
        finally:
            self._poller.waiting.pop(self, None)
            self._tell()

    async def _to_launch(self) -> AsyncIterator[tuple[int, I]]:
        """Yield ``(number, item)`` for each item that is to be launched or, if it is a job, waited for."""
        number = 0
        async for item in each(self._items):
            yield number, item
            number += 1

    def start(self, work: Coroutine[Any, Any, None], reserved: float = 0.0) -> None:
        """Run ``work`` in a task that `abandon` cancels, and release ``reserved`` requests when the task ends."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(partial(self._worked, reserved))

    def _worked(self, reserved: float, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._poller.admitted -= reserved  # here, because a task that is cancelled early never begins
        self._poller.changed()
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)

    async def _admit(self) -> float:
        """Wait until another job may be launched, reserve requests for it, and return their number."""
        await self.asked.wait()
        while self._in_flight is not None and self.running >= self._in_flight:
            self._slot.clear()
            await self._slot.wait()
        self._poller.waiting[self] = (self._kind, max(1, self._held()))
        return await self._poller.room(self._kind)

    async def one(self, number: int, item: I) -> None:
        """Launch a job for ``item`` and follow it; if the launch fails, record the outcome or end the run."""
        assert self._launch is not None  # noqa: S101  the items are not jobs
        try:
            key = self._key(item) if self._batch else ""
            CURRENT_ITEM.set(Item(self._budget, self.asked, self._batch, key, self.on_review))
            answer = self._launch(item)
            job = await answer if inspect.isawaitable(answer) and not isinstance(answer, Job) else answer
        except BaseException as error:
            if isinstance(error, OutOfCreditsError):
                self._out_of_credits = error
            if isinstance(error, CMSError) and not isinstance(error, ArgumentError | ClientClosedError):
                self.end(number, Failed(item, None, error))
            elif not self._stopped:
                self._fail(error)
            return
        if not isinstance(job, Job):
            problem = f"launch must return the job that it launches for {item!r}, got {type(job).__name__}"
            self._fail(TypeError(problem))
            return
        self._kind = job.kind
        self.launched.append(job)
        self.follow(number, item, job)

    def follow(self, number: int, item: I, job: Job[R]) -> None:
        """Begin to wait for ``job``; when the wait ends, record the outcome, or end the run on unexpected errors."""
        wait = self.waits[number] = job.begin_wait(self._timeout)
        wait.ended.add_done_callback(partial(self._ended, number, item, job), context=self._context)

    def _ended(self, number: int, item: I, job: Job[R], future: asyncio.Future[None]) -> None:
        wait = self.waits.pop(number, None)
        if wait is None:
            return  # the run was stopped
        wait.close()
        error = future.exception() or job.exception()
        if error is None:
            self.end(number, Succeeded(item, job, job.result()))
        elif isinstance(error, CMSError) and not isinstance(error, ArgumentError):
            self.end(number, Failed(item, job, error))
        else:
            self._fail(error)

    def end(self, number: int, outcome: Outcome[I, R]) -> None:
        """Count ``outcome``, and queue it for the iteration."""
        self.running -= 1
        unknown = isinstance(outcome.error, LaunchUnknownError)
        self.counts["succeeded" if outcome.ok else "unknown" if unknown else "failed"] += 1
        self.outcomes.append((number, outcome))
        self._slot.set()
        self._tell()

    def _fail(self, error: BaseException) -> None:
        self.failure = self.failure or error
        self.abandon()

    def _tell(self) -> None:
        self.arrived.set()
        self.changed.set()


class FanOut(AsyncIterator[Outcome[I, R]], Generic[I, R]):
    """Outcomes of many jobs: use ``async for`` to get them as they come, or ``await`` to get them all in a list.

    Launching begins with the iteration. If the iteration is cancelled, launching pauses until the iteration is resumed.
    At the end of an ``async with`` block, launching and waiting stop, but running jobs continue at the service.
    """

    def __init__(self, run: Run[I, R], *, ordered: bool, errors: Literal["collect", "raise"]) -> None:
        self._run = run
        self._ordered = ordered
        self._errors = errors
        self._given = 0
        self._early: dict[int, Outcome[I, R]] = {}  # outcomes that came before their turn
        self._list: list[Outcome[I, R]] = []  # shared by all who await it, also by a second ``await`` after a timeout

    def __del__(self) -> None:
        loop = self._run.loop
        if loop is not None and not loop.is_closed() and not self._run.finished:
            loop.call_soon_threadsafe(self._run.abandon)

    @property
    def progress(self) -> Progress:
        """Current progress of the fan-out. Reading it costs no request."""
        return self._run.progress()

    @property
    def launched(self) -> list[Job[R]]:
        """Jobs that this fan-out has launched or joined so far, earliest first."""
        return list(self._run.launched)

    def follow(self) -> Follow:
        """Return a stream of the progress after each change, for use while another task iterates over the outcomes."""
        return Follow(self._run.progress, self._run.changed, lambda: self._run.finished)

    async def __anext__(self) -> Outcome[I, R]:
        run = self._run
        run.asked.set()
        run.begin()
        while True:
            self._early.update(run.outcomes)
            run.outcomes.clear()
            number = self._given if self._ordered else next(iter(self._early), -1)
            if run.failure is not None:
                await self.aclose()
                raise run.failure
            if number in self._early:
                self._given, outcome = self._given + 1, self._early.pop(number)
                if outcome.error is None or self._errors == "collect":
                    return outcome
                await self.aclose()
                raise outcome.error
            if run.finished:
                raise StopAsyncIteration
            run.arrived.clear()
            try:
                await run.arrived.wait()
            except asyncio.CancelledError:
                run.asked.clear()
                raise

    def __await__(self) -> Generator[Any, None, list[Outcome[I, R]]]:
        return self._all().__await__()

    async def to_pandas(self) -> DataFrame:
        """Await all outcomes not yet iterated over, and return them as a pandas DataFrame (see `cmsapi.to_pandas`)."""
        to_pandas(())  # raises before anything is launched if pandas is not installed
        return to_pandas(await self)

    async def _all(self) -> list[Outcome[I, R]]:
        async for outcome in self:
            self._list.append(outcome)
        return self._list

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop launching jobs and waiting for them. Running jobs continue at the service."""
        await self._run.stop()


def check_options(
    items: Any,
    in_flight: int | Literal["auto"],
    errors: str,
    max_credits: int | None,
    timeout: float | timedelta | None,
) -> tuple[Any, int | None, Budget, float]:
    """Return the arguments of ``map`` in the form that `Run` takes; raise `ArgumentError` if one is invalid."""
    if isinstance(items, str | bytes):
        raise ArgumentError("items", "must be an iterable of items, not one text")
    check_word("errors", errors, ("collect", "raise"))
    if max_credits is not None:
        check_number("max_credits", max_credits, 0)
    listed = list(items) if isinstance(items, Sized) and isinstance(items, Iterable) else items
    flying = None if in_flight == "auto" else check_number("in_flight", in_flight, 1)
    return listed, flying, Budget(max_credits), check_seconds("timeout", timeout, above=True)


async def each(items: Iterable[I] | AsyncIterable[I]) -> AsyncIterator[I]:
    """Yield each of ``items``, which may be a synchronous or an asynchronous iterable."""
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item
