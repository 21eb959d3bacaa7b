"""``client.jobs``: what concerns jobs of every kind."""

from __future__ import annotations

import math
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable
from datetime import timedelta
from typing import Any, Literal, TypeVar

from cmsapi.jobs.fan_out import FanOut, Run, check_options, seconds_of
from cmsapi.jobs.job import Job
from cmsapi.jobs.kinds import JobKind
from cmsapi.jobs.launch import Budget, Launcher
from cmsapi.jobs.poller import Poller
from cmsapi.wire.arguments import check_word, identifier

I = TypeVar("I")  # noqa: E741  an item
R = TypeVar("R")


class Jobs:
    """Launch many jobs, and wait for jobs, whoever launched them."""

    def __init__(self, launcher: Launcher) -> None:
        self._launcher = launcher
        self._pipeline = launcher.pipeline

    def _poller(self) -> Poller:
        return self._launcher.recovery.poller

    def watch(self, kind: JobKind | str, id: str) -> Job[Any]:  # noqa: A002  the word of the service
        """Return a job that runs at the service, whoever launched it. Costs nothing until it is awaited.

        Args:
            kind: ``analysis``, ``prompt``, ``search``, ``generation`` or ``knowledge_document``.
            id: Identifier of the keyword, prompt, search, content or knowledge document.

        Raises:
            ArgumentError: There is no such kind, or the identifier cannot be one.
        """
        identifier("id", id)
        check_word("kind", kind, JobKind)
        poller = self._poller()
        tracked = poller.track(self._launcher.recovery.kinds[JobKind(kind)], id, self._pipeline)
        tracked.moved = True  # what the document shows is what is asked for: no launch of our own is looked for
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
        """Launch a job for each item as the hour allows, and return the outcomes as they come.

        Iterate with ``async for``, or ``await`` the list of all. Costs the launches, their credits, and polls that fit
        the hour::

            async for outcome in client.jobs.map(client.keywords.analyze, keyword_ids):
                print(outcome.item, outcome.ok)

        Args:
            launch: Launches one job for an item and returns it.
            items: The items; an asynchronous iterable is read as jobs can be launched.
            in_flight: Jobs that run at the same time, at most; ``"auto"`` for as many as the hour holds.
            errors: ``"collect"`` hands out failed items as `Failed`; ``"raise"`` raises the first error.
            max_credits: Credits that the launches may cost; further items fail with `OutOfCreditsError`, unsent.
            timeout: Seconds from the launch of each job for which it is waited for.
            ordered: True for outcomes in the order of the items.
        """
        flying = check_options(launch, in_flight, errors, max_credits, ordered=ordered)
        run: Run[I, R] = Run(self._poller(), launch, items, flying, Budget(max_credits), seconds_of(timeout))
        return FanOut(run, ordered=ordered, errors=errors)

    def as_completed(self, jobs: Iterable[Job[R]]) -> FanOut[Job[R], R]:
        """Wait for jobs, and return their outcomes as they come. Costs the polls."""
        run: Run[Job[R], R] = Run(self._poller(), _itself, list(jobs), None, Budget(None), math.inf)
        return FanOut(run, ordered=False, errors="collect")

    async def run(self, launch: Awaitable[Job[R]]) -> R:
        """Launch a job and return its result: ``await client.jobs.run(client.keywords.analyze(id))``."""
        return await (await launch)


async def _itself(job: Job[R]) -> Job[R]:
    return job
