"""Launch inside the spending bound, and remember what was launched.

Each call of a launching tool runs a batch whose name begins with `assistant`, so that the client's state remembers
each item: the same call again joins what runs and gives back what ended, also after a restart of the server on the same
day. Only another `run` pays again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

import attrs

import cmsapi
from cmsapi.mcp.answers import SpendingBound

# Seconds for which a call waits until its items are launched; the launches go on after them.
LONGEST_WAIT = 20.0

Launch: TypeAlias = Callable[[str], Awaitable[cmsapi.Job[Any]]]
Report: TypeAlias = Callable[[int, int, str], Awaitable[None]]


@attrs.define(eq=False)
class LaunchRun:
    """Hold what has become of the items of one call.

    Args:
        items: The items by their keys in the batch.
        jobs: The jobs of those that have one.
        outcomes: How items ended, or why they have no job.
        failure: Why the run ended early.
    """

    items: Mapping[str, str]
    jobs: dict[str, cmsapi.Job[Any]] = attrs.field(factory=dict)
    outcomes: dict[str, cmsapi.Outcome[str, Any]] = attrs.field(factory=dict)
    failure: Exception | None = None
    changed: asyncio.Event = attrs.field(factory=asyncio.Event)
    _stream: cmsapi.BatchOutcomes[str, Any] = attrs.field(init=False)
    _task: asyncio.Task[None] = attrs.field(init=False)

    def begin(self, batch: cmsapi.Batch, launch: Launch) -> None:
        """Launch the items in a task of their own: a call that is cancelled loses none that may be paid for.

        Args:
            batch: Remembers them.
            launch: Launches one item.
        """

        async def launch_one(key: str) -> cmsapi.Job[Any]:
            job = self.jobs[key] = await launch(self.items[key])
            self.changed.set()
            return job

        self._stream = batch.map(launch_one, list(self.items))
        self._task = asyncio.create_task(self._drain(batch))

    async def _drain(self, batch: cmsapi.Batch) -> None:
        try:
            async with batch:
                async for outcome in self._stream:
                    self.outcomes[outcome.item] = outcome
                    if outcome.job is not None:
                        self.jobs[outcome.item] = outcome.job
                    self.changed.set()
        except cmsapi.CMSError as error:
            self.failure = error
        except Exception as error:  # a hook or a transport of the client, whose words may have secrets
            self.failure = RuntimeError(type(error).__name__)
        finally:
            self.changed.set()

    @property
    def credits(self) -> int:
        """Credits that it has cost so far, without those of earlier calls for the same day."""
        progress = self._stream.progress
        return progress.credits - progress.earlier_credits

    @property
    def done(self) -> bool:
        """Whether nothing more happens."""
        return self._task.done() or self.failure is not None

    @property
    def unlaunched(self) -> int:
        """Items that may still be launched."""
        return 0 if self.done else len(self.items.keys() - self.jobs.keys() - self.outcomes.keys())

    async def wait_for_launches(self, report: Report) -> None:
        """Wait until all items have a job, or cannot have one, or `LONGEST_WAIT` is over."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_WAIT):
                while self.unlaunched:
                    self.changed.clear()
                    await self.changed.wait()
                    total = len(self.items)
                    await report(total - self.unlaunched, total, f"{len(self.jobs)} of {total} have a job")

    async def cancel(self) -> None:
        """Launch no more items, and wait for the end; launched jobs go on, and the state remembers them."""
        self._task.cancel()
        await asyncio.wait([self._task])


class Launches:
    """Launch for one server.

    Args:
        client: Launches; its `LaunchPolicy(max_credits=)` holds the bound as well.
        max_credits: Most credits to spend until the server ends; 0 launches nothing.
    """

    def __init__(self, client: cmsapi.Client, max_credits: int) -> None:
        self._client = client
        self._max_credits = max_credits
        self._batch_name = f"assistant {datetime.now(UTC):%Y-%m-%d}"
        self._runs: list[LaunchRun] = []
        # One call at a time compares its items with the credits that the bound still allows.
        self._one_call = asyncio.Lock()

    @property
    def jobs(self) -> dict[str, cmsapi.Job[Any]]:
        """The jobs of this server by their tokens, in the order of their launches."""
        return {job.token: job for run in self._runs for job in run.jobs.values()}

    @property
    def bound(self) -> SpendingBound:
        """The bound now; credits of launches that are being sent count as spent."""
        spent = sum(run.credits for run in self._runs)
        return SpendingBound(max_credits=self._max_credits, spent=spent, left=max(0, self._max_credits - spent))

    async def launch(self, kind: cmsapi.JobKind, items: Mapping[str, str], launch: Launch, report: Report) -> LaunchRun:
        """Launch items, or join what was launched for them before.

        Args:
            kind: Kind of their jobs.
            items: The items by their keys.
            launch: Launches one.
            report: Is told how far it is.

        Raises:
            OutOfCreditsError: The bound does not allow all of them; nothing was launched.
        """
        async with self._one_call:
            await self._check_bound(kind, items)
            run = LaunchRun(items)
            run.begin(self._client.jobs.batch(self._batch_name), launch)
            self._runs.append(run)
            try:
                await run.wait_for_launches(report)
            except asyncio.CancelledError:
                await run.cancel()
                raise
        return run

    async def known(self) -> set[str]:
        """Return the keys of the items that were launched, or may have been: a call with them pays for none."""
        async with self._client.jobs.batch(self._batch_name) as batch:
            known = set(batch.ended)
        open_launches = await self._client.jobs.journal()
        return known | {str(entry.item) for entry in open_launches if entry.batch == self._batch_name}

    async def _check_bound(self, kind: cmsapi.JobKind, items: Mapping[str, str]) -> None:
        """Refuse a call before anything is sent, if it may cost more than what is left."""
        known = await self.known()
        running = await self._client.jobs.journal()
        # Two searches for one keyword are two requests; other launches join what runs for their target.
        joins = kind is not cmsapi.JobKind.IDEA_SEARCH
        joined = {entry.target for entry in running if joins and entry.kind == kind}
        count = sum(key not in known and item not in joined for key, item in items.items())
        left = self.bound.left - sum(run.unlaunched for run in self._runs)
        if count > left:
            raise cmsapi.OutOfCreditsError(
                f"This call would launch {count} jobs for up to {count} credits, and {max(0, left)} of the "
                f"{self._max_credits} credits are left that the person allowed with --max-credits. Nothing was "
                "launched or charged. Launch fewer items."
            )

    async def aclose(self) -> None:
        """Launch no more; launched jobs go on, and the state remembers them."""
        for run in self._runs:
            await run.cancel()
