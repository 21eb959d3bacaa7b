"""Launch a job for each of many items, a bounded number at a time, and give the outcomes as the jobs finish."""

from __future__ import annotations

import asyncio
import contextlib
import math
import operator
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Iterable
from typing import Literal, TypeVar

from cmsapi.api.arguments import function, several, within
from cmsapi.api.wire.mismatch import excerpt
from cmsapi.errors import ArgumentError, ClientClosedError, JobError
from cmsapi.jobs.fanout.stream import Outcome, OutcomeStream
from cmsapi.jobs.job import Job, job_of
from cmsapi.jobs.launching.credits import CreditBudget
from cmsapi.jobs.launching.pending import TRACES, PendingLaunch
from cmsapi.jobs.polling.poller import Poller
from cmsapi.jobs.scheduling.admission import LaunchQueue
from cmsapi.jobs.tracked import LoadKey, TrackedJob

# Without `in_flight`, launching stops at so many outcomes that the caller has not taken: about those of an hour.
_ROOM = 1000
_LAUNCHES_AT_ONCE = 40

I = TypeVar("I")  # noqa: E741  an item
R = TypeVar("R")


class Fanout(OutcomeStream[I, R]):
    """Launch a job for each item and give the outcomes as they come; an async iterator and context manager.

    Leaving the context early stops launching: it cancels launches that wait for permits, and waits for launches in
    flight. Launched jobs continue: `launched` has those that are not finished. Without the context, launching stops
    after twice `in_flight`, or after a thousand, outcomes that the caller has not taken.

    Args:
        launch: Launches the job of one item.
        items: The items; may be endless, because no more are taken than can be in flight.
        poller: Polls the jobs.
        in_flight: The most jobs that are launched and not finished; `"auto"` for as many as fit into the request limit,
            and at most a thousand.
        errors: `"collect"` puts errors into outcomes, `"raise"` stops launching at the first and raises it.
        max_credits: Credits that may be spent, one a launch; None for as many as there are.

    Raises:
        ArgumentError: An argument is of the wrong kind; nothing was sent.
    """

    def __init__(
        self,
        launch: Callable[[I], Awaitable[Job[R]]],
        items: Iterable[I] | AsyncIterable[I],
        poller: Poller,
        *,
        in_flight: int | Literal["auto"] = "auto",
        errors: Literal["collect", "raise"] = "collect",
        max_credits: int | None = None,
    ) -> None:
        super().__init__()
        function("launch", launch)
        if not isinstance(items, AsyncIterable):
            several("items", items)
        if in_flight != "auto":
            within("in_flight", in_flight, 1)
        if errors not in ("collect", "raise"):
            raise ArgumentError(
                f"`errors` must be 'collect' or 'raise', got {excerpt(errors)}. Nothing was sent.", parameter="errors"
            )
        if max_credits is not None:
            within("max_credits", max_credits, 0)
        self._launch = launch
        self._items = items
        most = None if in_flight == "auto" else in_flight
        self._free = asyncio.Semaphore(most) if most is not None else None
        # A caller that left its loop without closing the fan-out must not pay for all remaining items.
        self._room = asyncio.Semaphore(2 * most if most is not None else _ROOM)
        # A launch that waits for a permit cannot be cancelled when the credits run out.
        self._launching = asyncio.Semaphore(_LAUNCHES_AT_ONCE)
        self._budget = CreditBudget(max_credits, poller.poll_settings.read_user)
        self._poller = poller
        self._admission = poller.scheduler.admission
        strict = poller.poll_settings.policy.budget == "strict"
        self._launch_queue = LaunchQueue(
            waiting=operator.length_hint(items, 0),
            slots=math.inf if most is None else most,
            gated=most is None or strict,
            strict=strict,
        )
        self._errors = errors
        # Why the stream ends early; raised after its last outcome.
        self._failure: Exception | None = None
        self._feeder: asyncio.Task[None] | None = None
        self._running: set[asyncio.Task[None]] = set()
        self._left = False
        self._in_flight: list[asyncio.Task[TrackedJob]] = []
        # A dictionary: it keeps the order, and removing a job takes the same time however many there are.
        self._launched: dict[Job[R], None] = {}

    @property
    def launched(self) -> list[Job[R]]:
        """The jobs that were launched and are not finished, in the order of their launches."""
        return list(self._launched)

    async def __anext__(self) -> Outcome[I, R]:
        if self._feeder is None and not self._left:
            self._admission.open(self._launch_queue)
            self._feeder = self._poller.tasks.start(self._feed())
            self._feeder.add_done_callback(self._on_fed)
        try:
            outcome = await super().__anext__()
        except StopAsyncIteration:
            if self._failure is not None:
                raise self._failure from None
            raise
        self._room.release()
        if outcome.error is not None and self._errors == "raise":
            await self.aclose()
            outcome.error.add_note(f"It was item {outcome.item!r}; {len(self._launched)} launched jobs continue.")
            raise outcome.error
        return outcome

    async def aclose(self) -> None:
        """Stop launching; launched jobs continue, and `launched` lists them."""
        self._left = True
        self._admission.close(self._launch_queue)
        tasks = [task for task in (self._feeder, *self._running) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        in_flight, self._in_flight = self._in_flight, []
        answers = await asyncio.gather(*in_flight, return_exceptions=True)
        self._launched |= {job_of(job, self._poller): None for job in answers if isinstance(job, TrackedJob)}
        self._end()

    async def _feed(self) -> None:
        try:
            async with contextlib.aclosing(_each(self._items)) as items:
                async for item in items:
                    await self._room.acquire()
                    if self._free is not None:
                        await self._free.acquire()
                    await self._launching.acquire()
                    await self._admission.admit(self._launch_queue)
                    if not await self._budget.begin():
                        self._admission.launched(self._launch_queue, None)
                        self._put(Outcome(item, None, None, self._budget.stopped))
                        break
                    task = self._poller.tasks.start(self._one(item))
                    self._running.add(task)
                    task.add_done_callback(self._running.discard)
        finally:
            if not self._left:
                await asyncio.gather(*self._running, return_exceptions=True)
                self._admission.close(self._launch_queue)

    def _on_fed(self, feeder: asyncio.Task[None]) -> None:
        """End the stream: all items have ended, the caller's iterable failed, or the client was closed."""
        if self._left and feeder.cancelled():
            return
        if feeder.cancelled():
            self._failure = ClientClosedError(
                "The client was closed before the fan-out was finished; `launched` lists the jobs that continue."
            )
        elif isinstance(error := feeder.exception(), Exception):
            self._failure = error
        self._end()

    async def _one(self, item: I) -> None:
        job: Job[R] | None = None
        # The launch runs in a copy of this task's context.
        traces: list[PendingLaunch] = []
        TRACES.set(traces)
        try:
            job = await self._launch_one(item, traces)
            self._launched[job] = None
            outcome = Outcome(item, job, await job, None)
            self._launched.pop(job, None)
        except asyncio.CancelledError:
            asked = asyncio.current_task()
            if asked is not None and not asked.cancelling():
                # The launch or the job waited for a task that was cancelled; the fan-out continues.
                self._put(Outcome(item, job, None, JobError(f"Item {item!r} was cancelled.", job=job)))
                return
            if job is None:
                self._in_flight += [pending.task for pending in traces if pending.in_flight]
            raise
        except Exception as error:
            if job is not None and job.done:
                self._launched.pop(job, None)
            outcome = Outcome(item, job, None, error)
        finally:
            if self._free is not None:
                self._free.release()
        self._put(outcome)

    async def _launch_one(self, item: I, traces: list[PendingLaunch]) -> Job[R]:
        key: LoadKey | None = None
        failure: BaseException | None = None
        try:
            job = _launched(await self._launch(item))
        except BaseException as error:
            failure = error
            raise
        else:
            key = (job.tracked.kind, self._poller.poll_settings.policy)
            return job
        finally:
            self._launching.release()
            self._admission.launched(self._launch_queue, key)
            await self._budget.end(failure, sent=any(pending.counted for pending in traces))


def _launched(job: Job[R]) -> Job[R]:
    """Return the job that a launch function gave, and refuse any other value."""
    if not isinstance(job, Job):
        raise ArgumentError(
            f"`launch` must return the job and not await it; it returned a "
            f"{type(job).__name__}. If it launched a job, that job continues and may be paid for.",
            parameter="launch",
        )
    return job


async def _each(items: Iterable[I] | AsyncIterable[I]) -> AsyncGenerator[I, None]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item
