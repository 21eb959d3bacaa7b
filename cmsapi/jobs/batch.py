"""Batches: named fan-outs recorded in the state, so that a later run launches only what was not launched before."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable
from datetime import timedelta
from typing import Any, Literal, Self, TypeVar

from attrs import define, field, frozen

from cmsapi.errors import ArgumentError, CMSError, JobFailedError, LaunchUnknownError
from cmsapi.jobs.fan_out import FanOut, Run, check_options, each
from cmsapi.jobs.job import Job
from cmsapi.jobs.kinds import JobKind
from cmsapi.jobs.outcomes import Failed, Outcome, Succeeded
from cmsapi.jobs.progress import Progress
from cmsapi.jobs.recovery import Recovery
from cmsapi.jobs.review import GenerationReview, OnReview
from cmsapi.state.store import JobStatus, Row
from cmsapi.wire.arguments import check_text

I = TypeVar("I")  # noqa: E741  an item
R = TypeVar("R")


@frozen
class BatchStatus:
    """Number of a batch's items in each status, across all its runs in all processes."""

    name: str
    running: int  # being launched, or running
    review: int  # with an article that waits for a decision
    succeeded: int
    failed: int
    unknown: int  # with a launch that may or may not have been accepted

    @property
    def total(self) -> int:
        """Number of items that have been launched, whatever their status."""
        return self.running + self.review + self.succeeded + self.failed + self.unknown


def status_of(name: str, counts: dict[JobStatus, int]) -> BatchStatus:
    """Return the status of the batch ``name``. ``counts`` maps each status to its number of items."""
    running = counts.get(JobStatus.SENDING, 0) + counts.get(JobStatus.RUNNING, 0)
    ended = (JobStatus.REVIEW, JobStatus.SUCCEEDED, JobStatus.FAILED, JobStatus.UNKNOWN)
    return BatchStatus(name, running, *(counts.get(status, 0) for status in ended))


class Batch:
    """A named fan-out recorded in the state. Entering ``async with`` reads its items; leaving it stops the run."""

    def __init__(self, name: str, recovery: Recovery) -> None:
        self.name: str = check_text("name", name)
        self._recovery = recovery
        self._statuses: dict[str, JobStatus] = {}  # by item, as far as this program knows
        self._run: _BatchRun[Any, Any] | None = None

    async def __aenter__(self) -> Self:
        await self._read()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._run is not None:
            await self._run.stop()

    def map(
        self,
        launch: Callable[[I], Awaitable[Job[R]]],
        items: Iterable[I] | AsyncIterable[I],
        *,
        key: Callable[[I], str] = str,
        in_flight: int | Literal["auto"] = "auto",
        errors: Literal["collect", "raise"] = "collect",
        max_credits: int | None = None,
        timeout: float | timedelta | None = None,
        ordered: bool = False,
        on_review: OnReview | None = None,
    ) -> FanOut[I, R]:
        """Return a fan-out that launches only items not launched before, and yields the outcomes of all items.

        Finished jobs usually cost no request; running jobs are waited for. A failed item stays failed until
        `retry_failed` is called, and an unknown launch fails with `LaunchUnknownError` until `retry_unknown` is called.

        The arguments are those of `Jobs.map` and two more. ``key`` returns an item's unique name, and is needed unless
        items are texts or integers. ``on_review`` also decides on earlier articles, unless a launch passes its own.
        """
        options = check_options(items, in_flight, errors, max_credits, timeout)
        named = (self.name, key, on_review)
        run: _BatchRun[I, R] = _BatchRun(
            self._recovery.poller, launch, *options, *named, recovery=self._recovery, statuses=self._statuses
        )
        self._run = run  # not the fan-out, which stops the run when it is garbage-collected
        return FanOut(run, ordered=ordered, errors=errors)

    @property
    def progress(self) -> Progress:
        """Progress of the latest run, including earlier outcomes; before any run, counts of the recorded items."""
        if self._run is not None:
            return self._run.progress()
        known = status_of(self.name, Counter(self._statuses.values()))
        counts = (known.running + known.review, known.succeeded, known.failed, known.unknown)
        return Progress(known.total, *counts, credits=0, requests=0, seconds_left=None)

    async def status(self) -> BatchStatus:
        """Return the number of items in each status, across all processes. Costs no request once the state is open."""
        await self._recovery.poller.open(self._recovery.pipeline)
        return status_of(self.name, (await self._recovery.poller.store.batches()).get(self.name, {}))

    @property
    def failed(self) -> list[str]:
        """Names of the items whose jobs failed, as far as this program knows."""
        return self._named(JobStatus.FAILED)

    @property
    def unknown(self) -> list[str]:
        """Names of the items whose launches may or may not have been accepted, as far as this program knows."""
        return self._named(JobStatus.UNKNOWN)

    @property
    def unfinished(self) -> list[str]:
        """Names of the items that are being launched, running or in review, as far as this program knows."""
        return self._named(JobStatus.SENDING, JobStatus.RUNNING, JobStatus.REVIEW)

    async def retry_failed(self) -> int:
        """Mark the failed items to be launched again by the next run, for new credits. Return how many were marked."""
        return await self._drop(JobStatus.FAILED)

    async def retry_unknown(self) -> int:
        """Mark the `unknown` items to be launched again by the next run. Return how many. Each may be charged twice."""
        return await self._drop(JobStatus.UNKNOWN)

    async def forget(self) -> int:
        """Delete the batch's items and results, and return the number of items. Running jobs continue."""
        return await self._drop(*JobStatus)

    async def _drop(self, *statuses: JobStatus) -> int:
        names = [name for name, row in (await self._read()).items() if row.status in statuses]
        await self._recovery.poller.store.drop_items(self.name, names)
        for name in names:
            del self._statuses[name]
        return len(names)

    async def _read(self) -> dict[str, Row]:
        poller = self._recovery.poller
        await poller.open(self._recovery.pipeline)
        rows = await poller.store.items(self.name)
        self._statuses.update((name, row.status) for name, row in rows.items())
        return rows

    def _named(self, *statuses: JobStatus) -> list[str]:
        return [name for name, status in self._statuses.items() if status in statuses]


@define(eq=False)
class _BatchRun(Run[I, R]):
    """A single run of a batch. Some items may already have been launched by an earlier run."""

    recovery: Recovery = field(kw_only=True)
    statuses: dict[str, JobStatus] = field(kw_only=True)
    _names: dict[int, str] = field(factory=dict, init=False)

    async def _to_launch(self) -> AsyncIterator[tuple[int, I]]:
        poller = self._poller
        await poller.open(self.recovery.pipeline)
        items = [item async for item in each(self._items)]
        if self._key is str and not all(isinstance(item, str | int) for item in items):
            raise ArgumentError("key", "must be given: the texts of these items may change from run to run")
        names = [check_text("key", self._key(item)) for item in items]
        repeated = [name for name, count in Counter(names).items() if count > 1]
        if repeated:
            raise ArgumentError("key", f"must give each item its own name: two items are named {repeated[0]!r}")
        self.total, self._names = len(items), dict(enumerate(names))
        self.statuses.update(dict.fromkeys(names, JobStatus.SENDING))
        rows = await poller.store.items(str(self._batch))
        for number, name in enumerate(names):
            if row := rows.get(name):
                self.begun, self.running = self.begun + 1, self.running + 1
                self.credits_before += self.recovery.kinds[JobKind(row.kind)].credit is not None
                self._take_over(number, items[number], row)
        for number, item in enumerate(items):
            if names[number] not in rows:
                yield number, item

    def _take_over(self, number: int, item: I, row: Row) -> None:
        """Record the outcome of an item launched before, or begin to wait for it. ``row`` is the row of its launch."""
        if row.status is JobStatus.SENDING:
            self.start(self._settle(number, item, row))
            return
        try:
            job: Job[R] = Job(self.recovery.recall(row, self.on_review), self._poller)
        except LaunchUnknownError as error:
            self.end(number, Failed(item, None, error, earlier=True))
            return
        failure = job.exception()
        if failure is not None:
            self.end(number, Failed(item, job, failure, earlier=True))
        elif job.done():
            self.end(number, Succeeded(item, job, job.result(), earlier=True))
        else:
            self.follow(number, item, job)

    async def _settle(self, number: int, item: I, row: Row) -> None:
        """Wait until the launch in ``row`` is settled, then take over its job. If the row is gone, launch a new job."""
        try:
            tracked = await self.recovery.join(row, self.on_review)
        except CMSError as error:
            self.end(number, Failed(item, None, error, earlier=True))
            return
        there = None if tracked is not None else await self._poller.store.get(row.id)
        if tracked is not None:
            self.follow(number, item, Job(tracked, self._poller))
        elif there is not None:
            self._take_over(number, item, there)
        else:  # the launching process has deleted the row: nothing was accepted
            self.start(self.one(number, item), await self._poller.room(JobKind(row.kind)))

    def end(self, number: int, outcome: Outcome[I, R]) -> None:
        """Record the item's status, and queue ``outcome`` for the iteration."""
        if outcome.ok:
            undecided = isinstance(outcome.value, GenerationReview) and outcome.value.decision is None
            status = JobStatus.REVIEW if undecided else JobStatus.SUCCEEDED
        elif isinstance(outcome.error, LaunchUnknownError):
            status = JobStatus.UNKNOWN
        else:
            status = JobStatus.FAILED if isinstance(outcome.error, JobFailedError) else JobStatus.RUNNING
        self.statuses[self._names[number]] = status
        super().end(number, outcome)
