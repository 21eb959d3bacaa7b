"""Many jobs at once: launch a bounded number, and hand out what ends as it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable
from types import TracebackType
from typing import Any, Generic, Literal, Self, TypeVar

import attrs

from cmsapi.jobs.job import Job

I = TypeVar("I")  # noqa: E741  an item
R = TypeVar("R")


@attrs.frozen
class Outcome(Generic[I, R]):
    """Hold how one item of a fan-out ended.

    Args:
        item: The item.
        job: Its job, or None when it was not launched.
        value: The job's result, or None.
        error: Why there is no result, or None.
    """

    item: I
    job: Job[R] | None
    value: R | None
    error: Exception | None


class Fanout(Generic[I, R]):
    """Launch a job for each item and give the outcomes as they come; an async iterator and context manager.

    Leaving the context early stops launching. What is launched goes on: `launched` has the jobs that have not ended.

    Args:
        launch: Launches the job of one item.
        items: The items; may be endless, since only as many are taken as can be in flight.
        in_flight: Jobs that are launched and not over, at the most.
        errors: `"collect"` puts errors into outcomes, `"raise"` stops launching at the first and raises it.
        start: Runs a coroutine as a task of the client.
    """

    def __init__(
        self,
        launch: Callable[[I], Awaitable[Job[R]]],
        items: Iterable[I] | AsyncIterable[I],
        in_flight: int,
        errors: Literal["collect", "raise"],
        start: Callable[[Any], asyncio.Task[Any]],
    ) -> None:
        self._launch = launch
        self._items = items
        self._free = asyncio.Semaphore(in_flight)
        self._errors = errors
        self._start = start
        self._ended: asyncio.Queue[Outcome[I, R] | _Over] = asyncio.Queue()
        self._feeder: asyncio.Task[None] | None = None
        self._running: set[asyncio.Task[None]] = set()
        #: Jobs that were launched and are not over, by item position.
        self.launched: list[Job[R]] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __aiter__(self) -> AsyncIterator[Outcome[I, R]]:
        return self

    async def __anext__(self) -> Outcome[I, R]:
        if self._feeder is None:
            self._feeder = self._start(self._feed())
        outcome = await self._ended.get()
        if isinstance(outcome, _Over):
            # For whoever asks again.
            self._ended.put_nowait(outcome)
            if outcome.error is not None:
                raise outcome.error
            raise StopAsyncIteration
        if outcome.error is not None and self._errors == "raise":
            await self.aclose()
            outcome.error.add_note(f"It was item {outcome.item!r}; {len(self.launched)} launched jobs go on.")
            raise outcome.error
        return outcome

    async def aclose(self) -> None:
        """Stop launching; what is launched goes on, and is listed in `launched`."""
        tasks = [task for task in (self._feeder, *self._running) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._ended.put_nowait(_Over(None))

    async def _feed(self) -> None:
        error: Exception | None = None
        try:
            async for item in _each(self._items):
                await self._free.acquire()
                task = self._start(self._one(item))
                self._running.add(task)
                task.add_done_callback(self._running.discard)
        except Exception as failed:  # the caller's own iterable
            error = failed
        await asyncio.gather(*self._running, return_exceptions=True)
        self._ended.put_nowait(_Over(error))

    async def _one(self, item: I) -> None:
        job: Job[R] | None = None
        try:
            job = await self._launch(item)
            self.launched.append(job)
            outcome = Outcome(item, job, await job, None)
            self.launched.remove(job)
        except Exception as error:
            if job is not None and job.done:
                self.launched.remove(job)
            outcome = Outcome(item, job, None, error)
        finally:
            self._free.release()
        self._ended.put_nowait(outcome)


@attrs.frozen
class _Over:
    error: Exception | None


async def _each(items: Iterable[I] | AsyncIterable[I]) -> AsyncIterator[I]:
    if isinstance(items, AsyncIterable):
        async for item in items:
            yield item
    else:
        for item in items:
            yield item


class AsCompleted(Generic[R]):
    """Give the outcomes of jobs as they end; more jobs may be added on the way.

    Args:
        jobs: The jobs.
        start: Runs a coroutine as a task of the client.
    """

    def __init__(self, jobs: Iterable[Job[R]], start: Callable[[Any], asyncio.Task[Any]]) -> None:
        self._start = start
        self._ended: asyncio.Queue[Outcome[str, R]] = asyncio.Queue()
        self._open = 0
        self.add(*jobs)

    def add(self, *jobs: Job[R]) -> None:
        """Wait for more jobs."""
        for job in jobs:
            self._open += 1
            self._start(self._one(job))

    def __aiter__(self) -> AsyncIterator[Outcome[str, R]]:
        return self

    async def __anext__(self) -> Outcome[str, R]:
        if not self._open:
            raise StopAsyncIteration
        outcome = await self._ended.get()
        self._open -= 1
        return outcome

    async def _one(self, job: Job[R]) -> None:
        try:
            outcome = Outcome(job.target, job, await job, None)
        except Exception as error:
            outcome = Outcome(job.target, job, None, error)
        self._ended.put_nowait(outcome)


async def gather(jobs: tuple[Job[R], ...]) -> list[R]:
    """Wait for all jobs; the first error is raised when all are over, with a note on the others."""
    results = await asyncio.gather(*jobs, return_exceptions=True)
    errors = [(job, result) for job, result in zip(jobs, results, strict=True) if isinstance(result, BaseException)]
    if errors:
        _, first = errors[0]
        first.add_note(
            f"{len(errors)} of {len(jobs)} jobs have no result: {', '.join(repr(job) for job, _ in errors[:5])}"
            f"{' …' if len(errors) > 5 else ''}. Awaiting one of the others again gives its result without a request."
        )
        raise first
    return results  # type: ignore[return-value]  # no errors among them
