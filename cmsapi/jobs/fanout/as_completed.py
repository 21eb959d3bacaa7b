"""Jobs that are launched already: wait for all of them, or take them as they end."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Callable, Iterable
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from cmsapi.errors import ArgumentError, ClientClosedError
from cmsapi.jobs.fanout.fan_out import Outcome
from cmsapi.jobs.job import Job

R = TypeVar("R")


class AsCompleted(Generic[R]):
    """Give the outcomes of jobs as they end; an async iterator and context manager. More jobs may be added on the way.

    Leaving the context early stops waiting; the jobs continue.

    Args:
        jobs: The jobs.
        start: Runs a coroutine as a task of the client.
    """

    def __init__(self, jobs: Iterable[Job[R]], start: Callable[[Any], asyncio.Task[Any]]) -> None:
        self._start = start
        # None ends the iteration.
        self._ended: asyncio.Queue[Outcome[str, R] | None] = asyncio.Queue()
        self._waiting: set[asyncio.Task[Outcome[str, R]]] = set()
        self._open = 0
        self.add(*jobs)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def add(self, *jobs: Job[R]) -> None:
        """Wait for more jobs.

        Raises:
            ArgumentError: One of them is not a job; none is added.
        """
        _check_jobs(jobs)
        for job in jobs:
            task = self._start(self._one(job))
            self._open += 1
            self._waiting.add(task)
            task.add_done_callback(functools.partial(self._note, job))

    async def aclose(self) -> None:
        """Stop waiting; the jobs continue."""
        waiting = tuple(self._waiting)
        self._waiting.clear()
        self._open -= len(waiting)
        for task in waiting:
            task.cancel()
        # A call that waits for an outcome at this moment must not wait for one that does not come any more.
        while self._open < 0:
            self._open += 1
            self._ended.put_nowait(None)
        await asyncio.gather(*waiting, return_exceptions=True)

    def __aiter__(self) -> AsyncIterator[Outcome[str, R]]:
        return self

    async def __anext__(self) -> Outcome[str, R]:
        if not self._open:
            raise StopAsyncIteration
        # Taken before it is there, so that two iterations at once do not wait for the same last one.
        self._open -= 1
        try:
            outcome = await self._ended.get()
        except asyncio.CancelledError:
            self._open += 1
            raise
        if outcome is None:
            raise StopAsyncIteration
        return outcome

    async def _one(self, job: Job[R]) -> Outcome[str, R]:
        try:
            return Outcome(job.target, job, await job, None)
        except Exception as error:
            return Outcome(job.target, job, None, error)

    def _note(self, job: Job[R], task: asyncio.Task[Outcome[str, R]]) -> None:
        if task not in self._waiting:
            return
        self._waiting.remove(task)
        closed = ClientClosedError(f"The client was closed before {job!r} was finished. It continues.")
        self._ended.put_nowait(Outcome(job.target, job, None, closed) if task.cancelled() else task.result())


def _check_jobs(jobs: Iterable[object]) -> None:
    wrong = [job for job in jobs if not isinstance(job, Job)]
    for one in wrong:
        if inspect.iscoroutine(one):
            # Not run, so that nothing is launched, and closed, so that Python does not complain about that.
            one.close()
    if wrong:
        forgotten = ": did you forget `await`?" if inspect.iscoroutine(wrong[0]) else "."
        raise ArgumentError(
            f"Expected a Job, got {type(wrong[0]).__name__}{forgotten} A launch gives its job when it is awaited: "
            "job = await client.keywords.analyze(...); client.jobs.map launches many. Nothing was sent.",
            parameter="jobs",
        )


async def gather(jobs: tuple[Job[R], ...]) -> list[R]:
    """Wait for all jobs; the first error is raised when all are finished, with a note on the others."""
    _check_jobs(jobs)
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
