"""Wait for jobs that are launched already: for all of them, or for each as it ends."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterable
from typing import TypeVar, cast

from cmsapi.api.arguments import optional_seconds
from cmsapi.errors import ArgumentError, ClientClosedError
from cmsapi.jobs.fanout.outcome import Failed, Outcome, Succeeded
from cmsapi.jobs.fanout.stream import OutcomeStream
from cmsapi.jobs.fanout.tracking import TrackedItem, Tracker
from cmsapi.jobs.job import Job
from cmsapi.jobs.polling.poller import Poller

R = TypeVar("R")


class AsCompleted(OutcomeStream[str, R]):
    """Give the outcomes of jobs as they finish; an async iterator and context manager. `add` takes more jobs meanwhile.

    Made by `client.jobs.as_completed`. Leaving the context early stops waiting; the jobs continue.
    """

    def __init__(self, jobs: Iterable[Job[R]], poller: Poller, *, timeout: float | None = None) -> None:
        super().__init__(Tracker(poller, total=0))
        self._timeout = optional_seconds("timeout", timeout)
        self._tasks = poller.tasks
        self._waiting: dict[asyncio.Task[R], tuple[Job[R], TrackedItem]] = {}
        self._ended = True
        self.add(*jobs)

    def add(self, *jobs: Job[R]) -> None:
        """Wait for more jobs.

        Raises:
            ArgumentError: One of the jobs is not a job; none is added.
        """
        _check_jobs(jobs)
        for job in jobs:
            task = self._tasks.start(job.wait(self._timeout, since_launch=True), self._tracker.context())
            self._ended = False
            self._waiting[task] = job, self._tracker.add(job)
            task.add_done_callback(self._on_finished)

    async def aclose(self) -> None:
        """Stop waiting; the jobs continue."""
        waiting, self._waiting = self._waiting, {}
        self._tracker.close()
        self._end()
        for task in waiting:
            task.cancel()
        if waiting:
            await asyncio.wait(waiting)

    def _on_finished(self, task: asyncio.Task[R]) -> None:
        if task not in self._waiting:
            return
        job, tracked = self._waiting.pop(task)
        error: BaseException | None = ClientClosedError(
            f"The client was closed before {job!r} was finished. It continues."
        )
        if not task.cancelled():
            error = task.exception()
        outcome: Outcome[str, R]
        if error is None:
            outcome = Succeeded(job.target, job, task.result())
        else:
            outcome = Failed(job.target, job, cast("Exception", error))
        self._put(outcome, tracked)
        if not self._waiting:
            self._tracker.close()
            self._end()


def _check_jobs(jobs: Iterable[object]) -> None:
    if wrong := [job for job in jobs if not isinstance(job, Job)]:
        if isinstance(wrong[0], list | tuple | set):
            raise ArgumentError(
                f"Expected a Job, got {type(wrong[0]).__name__}. `client.jobs.gather(*jobs)` takes the jobs of a list. "
                "Nothing was sent.",
                parameter="jobs",
            )
        forgotten = ": did you forget `await`?" if inspect.iscoroutine(wrong[0]) else "."
        for launch in filter(inspect.iscoroutine, wrong):
            # It must launch nothing, and Python warns of a coroutine that is neither awaited nor closed.
            launch.close()
        raise ArgumentError(
            f"Expected a Job, got {type(wrong[0]).__name__}{forgotten} Await a launch to get its job: "
            "job = await client.keywords.analyze(...); client.jobs.map launches many. Nothing was sent.",
            parameter="jobs",
        )


async def gather(jobs: tuple[Job[R], ...], timeout: float | None) -> list[R]:  # noqa: ASYNC109  as for `wait`
    """Wait for all jobs; when no job is waited for any more, raise the first error, with a note on the others."""
    optional_seconds("timeout", timeout)
    _check_jobs(jobs)
    results = await asyncio.gather(*(job.wait(timeout, since_launch=True) for job in jobs), return_exceptions=True)
    if errors := [
        (job, result) for job, result in zip(jobs, results, strict=True) if isinstance(result, BaseException)
    ]:
        _, first = errors[0]
        first.add_note(
            f"{len(errors)} of {len(jobs)} jobs have no result: {', '.join(repr(job) for job, _ in errors[:5])}"
            f"{' …' if len(errors) > 5 else ''}. Await one of the other jobs for its result; that sends no request."
        )
        raise first
    return results  # type: ignore[return-value]  # no errors among them
