"""Launch a job for each of many items, a bounded number at a time, and give the outcomes as the jobs finish."""

from __future__ import annotations

import asyncio
import contextlib
import math
import operator
import sys
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Iterable
from typing import Literal, TypeVar

from cmsapi.api.arguments import function, several, within
from cmsapi.api.wire.mismatch import excerpt
from cmsapi.errors import ArgumentError, ClientClosedError, JobError
from cmsapi.jobs.fanout.credits import CreditBudget
from cmsapi.jobs.fanout.stream import Outcome, OutcomeStream
from cmsapi.jobs.job import Job, job_of
from cmsapi.jobs.launching.pending import REPEAT, TRACES, PendingLaunch
from cmsapi.jobs.polling.poller import Poller
from cmsapi.jobs.scheduling.admission import LaunchQueue
from cmsapi.jobs.tracked import LoadKey
from cmsapi.transport.call import being_cancelled

# Without `in_flight`, launching stops at so many outcomes that the caller has not taken: about those of an hour.
_ROOM = 1000
_LAUNCHES_AT_ONCE = 40

I = TypeVar("I")  # noqa: E741  an item
R = TypeVar("R")


class Fanout(OutcomeStream[I, R]):
    """Launch a job for each item and give the outcomes as they come; an async iterator and context manager.

    Made by `client.jobs.map`, whose arguments it takes. No more items are taken than can be in flight.

    Leaving the context early stops launching: it cancels launches that wait for permits, and waits for launches in
    flight. Launched jobs continue: `launched` has those that are not finished. Without the context, launching stops
    after twice `in_flight`, or after a thousand, outcomes that the caller has not taken.
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
        keep: Callable[[Outcome[I, R]], Awaitable[None]] | None = None,
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
        self._poller = poller
        self._errors = errors
        # Keeps an outcome before the caller gets it.
        self._keep = keep
        most = None if in_flight == "auto" else in_flight
        self._slots = asyncio.Semaphore(most or _ROOM)
        # A caller that left its loop without closing the fan-out must not pay for all remaining items.
        self._room = asyncio.Semaphore(2 * most if most is not None else _ROOM)
        # A launch that waits for a permit cannot be cancelled when the credits run out.
        self._launching = asyncio.Semaphore(_LAUNCHES_AT_ONCE)
        self._budget = CreditBudget(max_credits, poller.poll_settings.read_user)
        self._admission = poller.scheduler.admission
        strict = poller.poll_settings.policy.budget == "strict"
        self._launch_queue = LaunchQueue(
            waiting=operator.length_hint(items, 0), slots=most or math.inf, gated=most is None or strict, strict=strict
        )
        self._feeder: asyncio.Task[None] | None = None
        self._left = False
        # A dictionary: it keeps the order, and removing a job takes the same time however many there are.
        self._launched: dict[Job[R], None] = {}

    @property
    def launched(self) -> list[Job[R]]:
        """The jobs that were launched and are not finished, in the order of their launches."""
        return list(self._launched)

    async def __anext__(self) -> Outcome[I, R]:
        if self._feeder is None and not self._left:
            self._feeder = self._poller.tasks.start(self._feed())
        outcome = await super().__anext__()
        self._room.release()
        if outcome.error is not None and self._errors == "raise":
            await self.aclose()
            outcome.error.add_note(f"It was item {outcome.item!r}; {len(self._launched)} launched jobs continue.")
            raise outcome.error
        return outcome

    async def aclose(self) -> None:
        """Stop launching; launched jobs continue, and `launched` lists them."""
        self._left = True
        if self._feeder is not None:
            self._feeder.cancel()
            await asyncio.wait([self._feeder])
        self._end()

    async def _feed(self) -> None:
        """Launch the items in turn, and end the stream when all of them have ended."""
        self._admission.open(self._launch_queue)
        try:
            async with asyncio.TaskGroup() as tasks:
                await self._launch_all(tasks)
        except asyncio.CancelledError:
            if not self._left:
                self._failure = ClientClosedError(
                    "The client was closed before the fan-out was finished; `launched` lists the jobs that continue."
                )
            raise
        finally:
            self._admission.close(self._launch_queue)
            self._end()

    async def _launch_all(self, tasks: asyncio.TaskGroup) -> None:
        try:
            async with contextlib.aclosing(each(self._items)) as items:
                async for item in items:
                    await self._room.acquire()
                    await self._slots.acquire()
                    await self._launching.acquire()
                    await self._admission.admit(self._launch_queue)
                    if not await self._budget.begin():
                        self._admission.launched(self._launch_queue, None)
                        self._put(Outcome(item, None, None, self._budget.stopped))
                        break
                    tasks.create_task(self._run_one(item))
        # When the caller's iterable fails, the jobs that are launched end first.
        except Exception as error:
            self._failure = error
        except asyncio.CancelledError:
            if being_cancelled():
                raise
            self._failure = JobError("`items` waited for something that was cancelled; no more jobs are launched.")

    async def _run_one(self, item: I) -> None:
        """Launch the job of an item, wait for it, and give its outcome."""
        job: Job[R] | None = None
        # The launch runs in a copy of this task's context.
        traces: list[PendingLaunch] = []
        TRACES.set(traces)
        try:
            job = await self._launch_one(item, traces)
            self._launched[job] = None
            outcome = Outcome(item, job, await job, None)
        except asyncio.CancelledError:
            if being_cancelled():
                if job is None:
                    await self._keep_in_flight(traces)
                raise
            # The launch or the job waited for a task that was cancelled; the fan-out continues.
            outcome = Outcome(item, job, None, JobError(f"Item {item!r} was cancelled.", job=job))
        except Exception as error:
            outcome = Outcome(item, job, None, error)
        finally:
            self._slots.release()
        if job is not None and job.done:
            self._launched.pop(job, None)
        try:
            if self._keep is not None:
                await self._keep(outcome)
        except Exception as error:
            self._failure = error
        self._put(outcome)

    async def _launch_one(self, item: I, traces: list[PendingLaunch]) -> Job[R]:
        key: LoadKey | None = None
        taken = 1

        def repeat() -> bool:
            nonlocal taken
            one_more = self._budget.take()
            taken += one_more
            return one_more

        REPEAT.set(repeat)
        try:
            job = await self._launch(item)
            if not isinstance(job, Job):
                raise ArgumentError(
                    f"`launch` must return the job and not await it; it returned a "
                    f"{type(job).__name__}. If it launched a job, that job continues and may be paid for.",
                    parameter="launch",
                )
            key = (job.tracked.kind, self._poller.poll_settings.policy)
            return job
        finally:
            self._launching.release()
            self._admission.launched(self._launch_queue, key)
            await self._budget.end(sys.exception(), unspent=taken - sum(pending.credits for pending in traces))

    async def _keep_in_flight(self, traces: list[PendingLaunch]) -> None:
        """Wait for the launches of an item that may be paid for, and list their jobs."""
        if tasks := [pending.task for pending in traces if pending.in_flight]:
            await asyncio.wait(tasks)
            jobs = [task.result() for task in tasks if not task.cancelled() and task.exception() is None]
            self._launched |= {job_of(job, self._poller): None for job in jobs}


async def each(items: Iterable[I] | AsyncIterable[I]) -> AsyncGenerator[I, None]:
    """Give the items of any iterable."""
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item
