"""Launch a job for each of many items, a bounded number at a time, and give the outcomes as the jobs finish.

What stops it at its own limit of credits, and when the balance is used up, is in `credits`.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import math
import operator
import sys
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Collection, Iterable
from typing import Literal, TypeVar, cast

from cmsapi.api.arguments import function, one_of, optional_seconds, several, within
from cmsapi.errors import ArgumentError, ClientClosedError, JobError, OutOfCreditsError
from cmsapi.jobs.fanout.credits import LaunchCredits
from cmsapi.jobs.fanout.outcome import Failed, Outcome, Succeeded
from cmsapi.jobs.fanout.stream import OutcomeStream
from cmsapi.jobs.fanout.tracking import Tracker, tracker_of
from cmsapi.jobs.job import Job, job_of
from cmsapi.jobs.launching.pending import PURPOSE, LaunchPurpose
from cmsapi.jobs.polling.poller import Poller
from cmsapi.jobs.scheduling.admission import LaunchQueue
from cmsapi.jobs.tracked import LoadKey
from cmsapi.transport.call import being_cancelled

# Outcomes that the caller has not taken, at which launching stops without `in_flight`: about those of an hour.
_ROOM = 1000
_LAUNCHES_AT_ONCE = 40

_CLOSED = "The client was closed before the fan-out was finished; `launched` lists the jobs that continue."

I = TypeVar("I")  # noqa: E741  an item
R = TypeVar("R")


class Fanout(OutcomeStream[I, R]):
    """Launch a job for each item and give the outcomes as they come; an async iterator and context manager.

    Made by `client.jobs.map`, whose arguments it takes. No more items are taken than can be in flight.

    Leaving the context early stops launching: it cancels launches that wait for permits, and waits for the answers of
    those in flight, five seconds at most. Launched jobs continue: `launched` has those that are not finished. Without
    the context, launching stops after twice `in_flight`, or after a thousand, outcomes that the caller has not taken.
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
        timeout: float | None = None,
        ordered: bool = False,
        batch: str | None = None,
        keep: Callable[[Outcome[I, R]], Awaitable[None]] | None = None,
        tracker: Tracker | None = None,
        earlier: Collection[I] = (),
    ) -> None:
        super().__init__(tracker or tracker_of(items, poller), ordered=ordered)
        function("launch", launch, "the method and the items: client.jobs.map(client.keywords.analyze, keyword_ids)")
        if not isinstance(items, AsyncIterable):
            several("items", items)
        if in_flight != "auto":
            within("in_flight", in_flight, 1)
        one_of("errors", errors, ("collect", "raise"))
        if max_credits is not None:
            within("max_credits", max_credits, 0)
        self._timeout = optional_seconds("timeout", timeout)
        self._launch = launch
        self._items = items
        self._poller = poller
        self._errors = errors
        # Its items are keys of that batch, which keeps an outcome before the caller gets it. `launch` gives the ended
        # jobs of the earlier ones, whose results are read again.
        self._batch = batch
        self._keep = keep
        self._earlier = earlier
        most = None if in_flight == "auto" else in_flight
        self._slots = asyncio.Semaphore(most or _ROOM)
        # A caller that left its loop without closing the fan-out must not pay for all remaining items.
        self._room = asyncio.Semaphore(2 * most if most is not None else _ROOM)
        # Those that wait for permits: about as many as two seconds give.
        self._launching = asyncio.Semaphore(_LAUNCHES_AT_ONCE)
        self._credits = LaunchCredits(max_credits, poller.poll_settings.read_user)
        self._admission = poller.scheduler.policy.admission
        strict = poller.poll_settings.policy.budget == "strict"
        self._launch_queue = LaunchQueue(
            waiting=operator.length_hint(items, 0), slots=most or math.inf, gated=most is None or strict, strict=strict
        )
        self._tracker.launch_queue = self._launch_queue
        self._feeder: asyncio.Task[None] | None = None
        self._closed = False
        # The items that have not ended, and those of them that wait until the others have.
        self._running = self._waiting = 0
        self._drained = asyncio.Event()
        # A dictionary: it keeps the order, and removing a job takes the same time however many there are.
        self._launched: dict[Job[R], None] = {}

    @property
    def launched(self) -> list[Job[R]]:
        """The jobs that were launched and are not finished, in the order of their launches."""
        return list(self._launched)

    async def _take(self) -> Outcome[I, R]:
        if self._feeder is None and not self._closed:
            self._feeder = self._poller.tasks.start(self._feed())
            self._tracker.tell_program()
        outcome = await super()._take()
        self._room.release()
        if outcome.error is not None and self._errors == "raise":
            await self.aclose()
            self._failure = outcome.error
            outcome.error.add_note(f"It was item {outcome.item!r}; {len(self._launched)} launched jobs continue.")
            raise outcome.error
        return outcome

    async def aclose(self) -> None:
        """Stop launching; launched jobs continue, and `launched` lists them."""
        self._closed = True
        if self._feeder is not None:
            self._feeder.cancel()
            await asyncio.wait([self._feeder])
        self._close()

    async def _feed(self) -> None:
        """Launch the items in turn, and end the stream when all of them have ended."""
        try:
            async with asyncio.TaskGroup() as tasks:
                await self._launch_all(tasks)
        except asyncio.CancelledError:
            if not self._closed:
                self._failure = ClientClosedError(_CLOSED)
            raise
        finally:
            self._admission.close(self._launch_queue)
            self._close()

    def _close(self) -> None:
        # That of a batch is closed by the batch.
        if self._batch is None:
            self._tracker.close()
        self._end()

    async def _launch_all(self, tasks: asyncio.TaskGroup) -> None:
        try:
            place = 0
            async with contextlib.aclosing(each(self._items)) as items:
                async for item in items:
                    earlier = item in self._earlier
                    if self._tracker.stopped and not earlier:
                        continue
                    self._tracker.taken += 1
                    await self._room.acquire()
                    await self._slots.acquire()
                    await self._launching.acquire()
                    await self._admission.admit(self._launch_queue)
                    await self._tracker.wanted.wait()
                    self._check_open()
                    if earlier or await self._credits.reserve(self._launch_queue):
                        tasks.create_task(self._run_one(item, place, earlier=earlier))
                    else:
                        self._admission.launched(self._launch_queue, None)
                        self._put(Failed(item, None, cast("OutOfCreditsError", self._credits.stopped)), place=place)
                        self._tracker.stopped = True
                        if not self._earlier:
                            break
                        self._launching.release()
                        self._slots.release()
                    place += 1
                else:
                    if self._batch is None:
                        self._tracker.total = self._tracker.taken
        # When the caller's iterable fails, the jobs that are launched end first.
        except Exception as error:
            self._failure = error
        except asyncio.CancelledError:
            if being_cancelled():
                raise
            self._failure = JobError("`items` waited for something that was cancelled; no more jobs are launched.")
        finally:
            self._launch_queue.waiting, self._launch_queue.exhausted = 0, True

    def _check_open(self) -> None:
        """Launch no item of a closed client: its outcome would say no more than the end of the fan-out."""
        try:
            self._poller.poll_settings.caller.open()
        except ClientClosedError as error:
            raise ClientClosedError(_CLOSED) from error

    async def _run_one(self, item: I, place: int, *, earlier: bool) -> None:
        """Launch the job of an item, wait for it, and give its outcome."""
        job: Job[R] | None = None
        outcome: Outcome[I, R]
        tracker, tracked = self._tracker, self._tracker.launch(item)
        # The launch runs in a copy of this task's context. One that a batch's item makes belongs to that item, too.
        outer = PURPOSE.get()
        inherited = None if outer is None else outer.item
        purpose = LaunchPurpose(
            self._credits.take,
            (self._batch, str(item)) if self._batch is not None else inherited,
            self._drain if self._errors == "collect" else None,
            self._credits.check,
            self._tracker.wanted,
            taken=0 if earlier else 1,
        )
        PURPOSE.set(purpose)
        tracked.launches = purpose.launches
        self._running += 1
        try:
            job = await self._launch_one(item, purpose)
            self._launched[job] = None
            tracker.run(tracked, job)
            timeout = None if earlier else self._timeout
            outcome = Succeeded(item, job, await job.wait(timeout, since_launch=True), earlier)
        except asyncio.CancelledError:
            if being_cancelled():
                if job is None:
                    # The job of a launch whose answer comes soon is listed; none is lost, listed or not.
                    found = [job_of(job, self._poller) for job in await purpose.jobs_in_flight()]
                    self._launched |= dict.fromkeys(found)
                    tracker.abandon(tracked, found)
                raise
            # The launch or the job waited for a task that was cancelled; the fan-out continues.
            outcome = Failed(item, job, JobError(f"Item {item!r} was cancelled.", job=job), earlier)
        except Exception as error:
            outcome = Failed(item, job, error, earlier)
        finally:
            self._slots.release()
            self._running -= 1
            self._wake_waiting()
        if job is not None and job.tracked.closed:
            self._launched.pop(job, None)
        try:
            if self._keep is not None:
                await self._keep(outcome)
        except Exception as error:
            self._failure = error
        self._put(outcome, tracked, place)

    async def _drain(self) -> None:
        """Wait until each item that runs waits for the same: the others have ended."""
        self._waiting += 1
        self._drained.clear()
        try:
            self._wake_waiting()
            await self._drained.wait()
        finally:
            self._waiting -= 1

    def _wake_waiting(self) -> None:
        if self._waiting >= self._running:
            self._drained.set()

    async def _launch_one(self, item: I, purpose: LaunchPurpose) -> Job[R]:
        key: LoadKey | None = None
        try:
            job = await self._launch(item)
            if not isinstance(job, Job):
                must = "return the job and not await it"
                if inspect.iscoroutine(job):
                    job.close()
                    must = "await the launch and return its job, as in `return await client.keywords.analyze(item)`"
                raise ArgumentError(
                    f"`launch` must {must}; it returned a {type(job).__name__}. "
                    "If it launched a job, that job continues and may be paid for.",
                    parameter="launch",
                )
            key = (job.tracked.kind, self._poller.poll_settings.policy)
            return job
        finally:
            self._launching.release()
            self._admission.launched(self._launch_queue, key)
            self._tracker.pay(item, purpose.taken - purpose.unspent)
            self._credits.give_back(purpose.unspent)
            await self._credits.note_failure(sys.exception())


async def each(items: Iterable[I] | AsyncIterable[I]) -> AsyncGenerator[I, None]:
    """Give the items of any iterable."""
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item
