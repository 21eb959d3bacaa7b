"""Write down how far the run of a batch is, so that other processes can tell, and call `on_done` once at the end."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import secrets
from collections.abc import Callable, Collection
from typing import Any

import attrs

from cmsapi.errors import (
    ClientClosedError,
    DeadlineError,
    LaunchUnknownError,
    LeaseLostError,
    NotSentError,
    OutOfCreditsError,
    RateLimitedError,
    RateLimitWaitError,
    ServiceUnavailableError,
    StateError,
    UnauthorizedError,
)
from cmsapi.jobs.fanout.batch_records import WRITTEN_EVERY, BatchRecord, Change, change_record, list_name
from cmsapi.jobs.fanout.batch_status import BatchStatus, counts_of, paid, read_batch
from cmsapi.jobs.fanout.outcome import Outcome
from cmsapi.jobs.fanout.tracking import Tracker
from cmsapi.jobs.journal.journal import LaunchJournal
from cmsapi.jobs.polling.tasks import BackgroundTasks
from cmsapi.state.entry import Entry, EntryStatus

logger: logging.Logger = logging.getLogger("cmsapi")

# They say nothing of the item, so that the next run launches it. A launch that is unknown has an end of its own.
_SAYS_NOTHING_OF_THE_ITEM = (
    ClientClosedError,
    DeadlineError,
    LaunchUnknownError,
    LeaseLostError,
    NotSentError,
    OutOfCreditsError,
    RateLimitedError,
    RateLimitWaitError,
    ServiceUnavailableError,
    StateError,
    UnauthorizedError,
)


class BatchRun:
    """Keep the record of a batch up to date while one run works on it.

    Args:
        name: The name of the batch.
        journal: Where its record is.
        tracker: Counts the items of the run.
    """

    def __init__(self, name: str, journal: LaunchJournal, tracker: Tracker) -> None:
        self._name = name
        self._journal = journal
        self._tracker = tracker
        self._id = secrets.token_hex(4)
        self._total: int | None = None
        self._refused = 0
        # Requests that are in the record, and those that the write under way adds up to.
        self._written_requests = self._sent = 0
        self._changing = asyncio.Lock()
        self._over = asyncio.Event()
        self._writing: asyncio.Task[None] | None = None

    async def begin(self, keys: Collection[str], outcomes: Collection[Entry], tasks: BackgroundTasks) -> None:
        """Write down what the run works on, and from now on every few seconds how far it is.

        Args:
            keys: The keys of its items.
            outcomes: How items of the batch have ended.
            tasks: Runs the writing.
        """
        journal, ended = self._journal, {str(entry.item) for entry in outcomes}
        entries = (await journal.state.entries(journal.scope)).values()
        mine = [entry for entry in entries if entry.batch == self._name and entry.item not in ended]
        reviews = {entry.item for entry in mine if entry.status == EntryStatus.REVIEW}
        self._total = len({*keys, *ended, *(str(entry.item) for entry in mine)})
        has_work = any(key not in ended and key not in reviews for key in keys)

        def begin(current: BatchRecord | None) -> BatchRecord:
            record = self._now(current)
            return record.reopened() if has_work else record

        await list_name(journal.state, journal.scope, self._name, there=True)
        record = await change_record(journal.state, journal.scope, self._name, begin)
        if record is not None:
            paid_for = [str(entry.item) for entry in mine if paid([entry])]
            self._tracker.count_earlier(record.credits + paid(outcomes) + len(paid_for), record.requests, paid_for)
        self._written_requests = self._sent = self._tracker.requests
        self._writing = tasks.start(self._write())

    def note(self, outcome: Outcome[Any, Any]) -> None:
        """Count an item that ended without a job, of which the batch keeps no end."""
        refused = outcome.error is not None and outcome.job is None and not outcome.earlier
        self._refused += refused and not isinstance(outcome.error, _SAYS_NOTHING_OF_THE_ITEM)

    async def end(self, on_done: Callable[[BatchStatus], Any] | None) -> None:
        """Write the end of the batch if it is done, and call `on_done` unless another process does or did."""
        try:
            status = await self._conclude()
            mine = status.done and on_done is not None and await self._claim_call()
        except StateError as error:
            message = "the end of %r could not be written; the next run does, and calls its `on_done`: %s"
            logger.warning(message, self._name, error)
        else:
            if mine and on_done is not None:
                await self._call(on_done, status)
        finally:
            await self.stop()

    async def stop(self) -> None:
        """Write a last time that this run works on the batch no more."""
        self._over.set()
        if self._writing is not None:
            await asyncio.wait([self._writing])

    async def _conclude(self) -> BatchStatus:
        """Return how far the batch is, after its counts were written for good if all of its items have ended."""
        journal = self._journal
        await journal.flush()
        await self._change(self._now)
        # Another run may have ended it before the last of its results came.
        status = await read_batch(journal, journal.scope, self._name, recount=True)
        progress = status.progress
        if progress.total is None or progress.finished < progress.total or progress.running:
            return status
        counts = counts_of(status)

        def done(current: BatchRecord | None) -> BatchRecord:
            record = self._now(current)
            if record.total != progress.total:
                return record
            return attrs.evolve(record, done_at=record.done_at or journal.wall(), counts=counts, ends_at=None)

        await self._change(done)
        return await read_batch(journal, journal.scope, self._name)

    async def _claim_call(self) -> bool:
        """Take the call of `on_done` for this run, unless another one calls it now or has called it."""

        def claim(current: BatchRecord | None) -> BatchRecord:
            record = self._now(current)
            free = record.told_at is None and record.telling not in record.working(self._journal.wall())
            return attrs.evolve(record, telling=self._id) if free else record

        record = await self._change(claim)
        return record is not None and record.telling == self._id and record.told_at is None

    async def _call(self, on_done: Callable[[BatchStatus], Any], status: BatchStatus) -> None:
        called = False
        try:
            if inspect.isawaitable(waiting := on_done(status)):
                await waiting
            called = True
        finally:
            told_at = self._journal.wall() if called else None
            with contextlib.suppress(StateError) if not called else contextlib.nullcontext():
                await self._change(lambda current: attrs.evolve(self._now(current), telling=None, told_at=told_at))

    # Writing

    async def _change(self, change: Change) -> BatchRecord | None:
        journal = self._journal
        async with self._changing:
            self._sent = self._tracker.requests
            record = await change_record(journal.state, journal.scope, self._name, change)
            self._written_requests = self._sent
        return record

    def _now(self, current: BatchRecord | None) -> BatchRecord:
        """Return the record with what this run knows now."""
        now = self._journal.wall()
        record = current or BatchRecord(began_at=now, worked_at=now)
        workers = {run: at for run, at in record.working(now).items() if run != self._id}
        if not self._over.is_set():
            workers[self._id] = now
        progress, ends_at = self._tracker.progress, None
        if progress.seconds_left and progress.seconds_left_range is not None:
            ends_at = [now + seconds for seconds in (progress.seconds_left, *progress.seconds_left_range)]
        return attrs.evolve(
            record,
            worked_at=now,
            workers=workers,
            total=record.total if record.counts is not None else self._total,
            refused=self._refused,
            requests=record.requests + self._sent - self._written_requests,
            ends_at=ends_at,
        )

    async def _write(self) -> None:
        """Write every few seconds, and a last time at the end; a state that cannot be reached does not fail the run."""
        level = logging.WARNING
        while True:
            over = self._over.is_set()
            try:
                await self._change(self._now)
                level = logging.WARNING
            except StateError as error:
                logger.log(level, "other processes cannot see how far %r is: %s", self._name, error)
                level = logging.DEBUG
            if over:
                return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(WRITTEN_EVERY):
                    await self._over.wait()
