"""``client.jobs``: methods for jobs of every kind."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable
from datetime import timedelta
from typing import Any, Literal, TypeVar

from attrs import frozen

from cmsapi.errors import ArgumentError, LaunchUnknownError
from cmsapi.jobs.batch import Batch, BatchStatus, status_of
from cmsapi.jobs.fan_out import FanOut, Run, check_options
from cmsapi.jobs.job import Job
from cmsapi.jobs.kinds import JobKind
from cmsapi.jobs.launch import Budget, Launcher
from cmsapi.jobs.poller import Poller, poller_of
from cmsapi.jobs.recovery import unknown
from cmsapi.jobs.review import GenerationReview
from cmsapi.jobs.token import Token
from cmsapi.state.store import JobStatus, Row, Store
from cmsapi.wire.arguments import check_number, check_seconds, check_text, check_word, identifier

I = TypeVar("I")  # noqa: E741  an item
R = TypeVar("R")


class Jobs:
    """Methods to launch many jobs at once, run batches, and find or wait for jobs that any program has launched."""

    def __init__(self, launcher: Launcher) -> None:
        self._launcher = launcher
        self._pipeline = launcher.pipeline

    def _poller(self) -> Poller:
        return poller_of(self._pipeline.account(), self._launcher.recovery.polling)

    def watch(self, kind: JobKind | str, id: str) -> Job[Any]:  # noqa: A002  the service's word
        """Return the job of ``kind`` and ``id``, whichever program launched it. Costs nothing until it is awaited.

        ``id`` is the identifier of the keyword, prompt, search, content or knowledge document.
        """
        identifier("id", id)
        check_word("kind", kind, JobKind)
        poller = self._poller()
        tracked = poller.track(self._launcher.recovery.kinds[JobKind(kind)], id, self._pipeline)
        tracked.moved = True  # believe what the document shows: there is no launch of our own to look for
        return Job(tracked, poller)

    def map(
        self,
        launch: Callable[[I], Awaitable[Job[R]]],
        items: Iterable[I] | AsyncIterable[I],
        *,
        in_flight: int | Literal["auto"] = "auto",
        errors: Literal["collect", "raise"] = "collect",
        max_credits: int | None = None,
        timeout: float | timedelta | None = None,
        ordered: bool = False,
    ) -> FanOut[I, R]:
        """Return a fan-out, which launches a job for each item as the hourly limit allows and yields the outcomes.

        Iterate with ``async for``, or ``await`` the list of all outcomes. Costs launches, credits and polls::

            async for outcome in client.jobs.map(client.keywords.analyze, keyword_ids):
                print(outcome.item, outcome.ok)

        Args:
            launch: Function that launches an item's job and returns it; a bug or an `ArgumentError` ends the iteration.
            items: The items; an asynchronous iterable is read only as fast as jobs can be launched.
            in_flight: Maximum number of jobs running at once; ``"auto"`` for as many as the hourly limit allows.
            errors: ``"collect"`` yields failed items as `Failed`; ``"raise"`` raises the first error.
            max_credits: Maximum credits to spend; further items are not launched and fail with `OutOfCreditsError`.
            timeout: Seconds to wait for each job after its launch, or a timedelta; None for `PollPolicy.job_timeout`.
            ordered: True for outcomes in the order of the items, False for outcomes as they come.
        """
        options = check_options(items, in_flight, errors, max_credits, timeout)
        run: Run[I, R] = Run(self._poller(), launch, *options)
        return FanOut(run, ordered=ordered, errors=errors)

    def as_completed(self, jobs: Iterable[Job[R]]) -> FanOut[Job[R], R]:
        """Return a fan-out that waits for ``jobs`` and yields their outcomes as they come. Only polls cost requests."""
        listed = list(jobs)
        if not all(isinstance(job, Job) for job in listed):
            raise ArgumentError("jobs", "must be jobs: await the launches first")
        run: Run[Job[R], R] = Run(self._poller(), None, listed, None, Budget(None), math.inf)
        return FanOut(run, ordered=False, errors="collect")

    async def run(self, launch: Awaitable[Job[R]]) -> R:
        """Launch a job, wait for it, and return its result: ``await client.jobs.run(client.keywords.analyze(id))``."""
        return await (await launch)

    async def plan(self, kind: JobKind | str, n: int) -> JobPlan:
        """Return the estimated cost and duration of ``n`` jobs of the given ``kind``. Costs one request."""
        check_word("kind", kind, JobKind)
        check_number("n", n, 1)
        poller, known = self._poller(), self._launcher.recovery.kinds[JobKind(kind)]
        user = await poller.balance.read(self._pipeline)
        return JobPlan(
            kind=known.name,
            jobs=n,
            credits=n if known.credit else 0,
            credits_left=known.balance(user),
            requests=math.ceil(n * (poller.life(known.name) + 1)),
            requests_left=self._pipeline.account().limiter.status().free,
            seconds=poller.seconds_left(known.name, n, None),
        )

    def batch(self, name: str) -> Batch:
        """Return the batch called ``name``, whose next run continues where the previous one stopped. Costs nothing.

        Use one name for one piece of work, such as ``keywords-2026-11``. A new name begins an empty batch.
        """
        return Batch(name, self._launcher.recovery)

    async def batches(self) -> list[BatchStatus]:
        """Return the status of each batch in the state. Costs one request if this opens a shared state, else none."""
        return [status_of(name, counts) for name, counts in (await (await self._store()).batches()).items()]

    def attach(self, token: str, kind: JobKind | str | None = None) -> Job[Any]:
        """Return the job that ``token`` identifies, whichever process launched it. Costs nothing until it is awaited.

        Raises:
            ArgumentError: ``token`` is not the token of a job, or the job is not of the given ``kind``.
        """
        known = Token.parse(check_text("token", token))
        if kind is not None and known.kind != kind:
            raise ArgumentError("token", f"is of kind {known.kind}, not {kind}")
        poller = self._poller()
        return Job(poller.trace(self._launcher.recovery.kinds[known.kind], known, self._pipeline), poller)

    async def status(self, token: str) -> JobStatus:
        """Return the status of the job that ``token`` identifies, after at most one poll. Raises if the poll fails.

        Call this at will: it polls at most once per `PollPolicy.min_interval`. An ended job is polled only if it is a
        search whose list of ideas is incomplete.
        """
        known = Token.parse(check_text("token", token))
        row = await (await self._store()).get(known.launch) if known.launch else None
        if row is not None and row.status not in (JobStatus.RUNNING, JobStatus.REVIEW):
            return row.status
        poller, polling = self._poller(), self._launcher.recovery.polling
        tracked = poller.trace(self._launcher.recovery.kinds[known.kind], known, self._pipeline)
        job: Job[Any] = Job(tracked, poller)
        if tracked not in poller.remembered:
            poller.remembered.append(tracked)
        elif asyncio.get_running_loop().time() < tracked.polled + polling.min_interval:
            return job.status
        return await job.refresh()

    async def reviews(self) -> list[GenerationReview]:
        """Return reviews of the stored articles that await a decision. Costs one request per open generation."""
        rows = await (await self._store()).rows([JobStatus.RUNNING, JobStatus.REVIEW])
        jobs = [self._job(row) for row in rows if row.kind == JobKind.GENERATION]
        for job in jobs:
            await job.refresh()
        found = [job.result() for job in jobs if job.status is JobStatus.REVIEW]
        return [review for review in found if isinstance(review, GenerationReview)]

    async def unknown(self) -> list[LaunchUnknownError]:
        """Return an error for each launch that may or may not have been accepted. The error says where to look."""
        return [unknown(row) for row in await (await self._store()).rows([JobStatus.UNKNOWN])]

    async def resume(self) -> list[Job[Any]]:
        """Return the stored jobs that are running or await a decision; await them, or pass them to `as_completed`.

        Launches that dead processes left open are settled first. Those that stay unknown are listed by `unknown`.
        """
        store, recovery = await self._store(), self._launcher.recovery
        sending = await store.rows([JobStatus.SENDING])
        mine = {launch.row.id for launch in self._poller().pending.values() if launch.row}
        settled = [recovery.join(row) for row in sending if row.id not in mine]
        for outcome in await asyncio.gather(*settled, return_exceptions=True):
            if isinstance(outcome, BaseException) and not isinstance(outcome, LaunchUnknownError):
                raise outcome
        return [self._job(row) for row in await store.rows([JobStatus.RUNNING, JobStatus.REVIEW])]

    async def forget(self, older_than: float | timedelta = timedelta(days=30)) -> int:
        """Delete ended or unknown launches older than ``older_than`` and their items. Return the number of launches."""
        store, seconds = await self._store(), check_seconds("older_than", older_than)
        ended = await store.rows([JobStatus.SUCCEEDED, JobStatus.FAILED, JobStatus.UNKNOWN])
        old = [row.id for row in ended if row.age > seconds]
        await store.delete(*old)
        return len(old)

    def _job(self, row: Row) -> Job[Any]:
        return Job(self._launcher.recovery.recall(row), self._poller())

    async def _store(self) -> Store:
        poller = self._poller()
        await poller.open(self._pipeline)
        return poller.store


@frozen
class JobPlan:
    """Estimated cost and duration of a number of jobs of one kind."""

    kind: JobKind
    jobs: int
    credits: int
    credits_left: int | None  # None if the service does not say
    requests: int  # approximate
    requests_left: int  # in this hour
    seconds: float | None  # approximate; None until a job of this kind was seen to end
