"""Keep the counts of a fan-out, so that a snapshot of its progress takes the same time however many items there are."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import itertools
import math
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Mapping, Sequence, Sized
from typing import Any

import attrs

from cmsapi.display import live, markup
from cmsapi.errors import LaunchUnknownError
from cmsapi.jobs.fanout.batch_status import paid
from cmsapi.jobs.fanout.outcome import Outcome
from cmsapi.jobs.fanout.progress import ItemState, ItemStatus, Progress
from cmsapi.jobs.job import Job
from cmsapi.jobs.launching.pending import PendingLaunch
from cmsapi.jobs.planning.forecast import Estimate
from cmsapi.jobs.polling.poller import Poller
from cmsapi.jobs.scheduling.admission import LaunchQueue
from cmsapi.jobs.scheduling.outlook import remaining
from cmsapi.jobs.status import Phase
from cmsapi.jobs.tracked import LoadKey, TrackedJob
from cmsapi.observability.job_events import ProgressChanged
from cmsapi.transport.call import REQUEST_COUNT, RequestCount

# Rows of ended items that are kept for tables.
_KEPT = 100
# Seconds for which an estimate holds, and between two events at the least.
_FRESH, _EVENT_INTERVAL = 1.0, 5.0
_ORDER = {state: place for place, state in enumerate(ItemState)}


@attrs.define(eq=False)
class TrackedItem:
    """Hold an item that is being launched or whose job runs.

    Args:
        item: The item.
        began: Loop time at which its launch began.
        job: Its job, once there is one.
        launches: The launches that were begun for it here.
    """

    item: Any
    began: float
    job: Job[Any] | None = None
    launches: Sequence[PendingLaunch] = ()


class Tracker:
    """Count the items of a fan-out by their states; sends nothing.

    Args:
        poller: Polls the jobs.
        total: How many items there are, None while that is not known.
        pending: Items that are launched in their order, where they are known.
    """

    def __init__(
        self,
        poller: Poller,
        *,
        total: int | None = None,
        pending: Sequence[Any] = (),
    ) -> None:
        self._poller = poller
        self._pending = pending
        # The name of the batch, and its items by their keys.
        self._batch: str | None = None
        self._items: Mapping[Any, Any] = {}
        self.total: int | None = total
        #: Items that were taken from the iterable.
        self.taken: int = 0
        # Those of the items that were begun.
        self._begun = 0
        self.finished: int = 0
        self.failed: int = 0
        self.unknown: int = 0
        self.earlier: int = 0
        self.credits: int = 0
        self.earlier_credits: int = 0
        # Items of the batch that are open or were launched by this run, and whose credits are counted.
        self._paid_for: set[str] = set()
        #: Items whose results are still to be read again.
        self.to_read: int = 0
        self.stopped: bool = False
        #: Set while launches may begin: not from an interruption on, until outcomes are asked for again.
        self.wanted: asyncio.Event = asyncio.Event()
        #: What its jobs have in common; None before the first job.
        self.load_key: LoadKey | None = None
        #: The launches that the scheduler knows of already.
        self.launch_queue: LaunchQueue | None = None
        self._requests = RequestCount()
        self._running = 0
        self._active: dict[TrackedItem, None] = {}
        self._ended: deque[tuple[Outcome[Any, Any], float | None]] = deque(maxlen=_KEPT)
        # Those of them without a result, which later ones with one do not push out.
        self._without_result: deque[tuple[Outcome[Any, Any], float | None]] = deque(maxlen=_KEPT)
        # The last estimate of the rest: when it was made, and the requests of the whole run.
        self._estimated_at = -math.inf
        self._rest: Estimate | None = None
        self._planned = 0.0
        self._version = 0
        self._changed, self._over = asyncio.Event(), asyncio.Event()
        # When hooks are told next, and when they were told last.
        self._timer: asyncio.TimerHandle | None = None
        self._told_at = -math.inf

    def open_batch(self, name: str, items: Mapping[str, Any], order: Sequence[str]) -> None:
        """Note the items of a batch by their keys, and the order in which they are taken."""
        self._batch, self._items, self._pending, self.total = name, items, order, len(items)

    def count_earlier(self, credits: int, requests: int, paid_for: Iterable[str]) -> None:  # noqa: A002  the word that users know
        """Count what earlier runs of the batch have cost, for these of its open items among others."""
        self.credits += credits
        self.earlier_credits += credits
        self._requests.sent += requests
        self._paid_for.update(paid_for)

    def pay(self, item: Any, credits: int) -> None:  # noqa: A002  the word that users know
        """Count what the launch of an item has cost this run."""
        self.credits += credits
        if credits and self._batch is not None:
            self._paid_for.add(item)

    def _count_found(self, item: str, job: TrackedJob) -> None:
        """Count what another run has paid for an item of the batch, if that was not known: its answer was lost."""
        entry = None if job.record is None else job.record.entry
        if entry is not None and (entry.batch, entry.item) == (self._batch, item) and item not in self._paid_for:
            self.count_earlier(paid([entry]), 0, [item])

    @property
    def requests(self) -> int:
        """Requests that were sent for the items, in all runs of the batch."""
        return self._requests.sent

    # What happens to items

    def context(self) -> contextvars.Context:
        """Return a copy of the current context in which requests are counted here."""
        context = contextvars.copy_context()
        context.run(REQUEST_COUNT.set, self._requests)
        return context

    def launch(self, item: Any) -> TrackedItem:
        """Note that the current task launches an item; its requests, and those of the polls, are counted here."""
        REQUEST_COUNT.set(self._requests)
        return self._begin(item)

    def add(self, job: Job[Any]) -> TrackedItem:
        """Count a job that was launched before."""
        self.taken += 1
        self.total = self.taken
        self._over.clear()
        tracked = self._begin(job.target)
        self.run(tracked, job)
        return tracked

    def _begin(self, item: Any) -> TrackedItem:
        self._begun += 1
        tracked = TrackedItem(item, _now())
        self._active[tracked] = None
        self._change()
        return tracked

    def run(self, tracked: TrackedItem, job: Job[Any]) -> None:
        """Note that an item has a job."""
        tracked.job = job
        if self._batch is not None:
            self._count_found(tracked.item, job.tracked)
        self.load_key = job.tracked.load_key
        self._running += 1
        self._active[tracked] = None
        self._change()

    def abandon(self, tracked: TrackedItem, found: Sequence[Job[Any]]) -> None:
        """Note that the launch of an item is not waited for any more, and the jobs that it had made."""
        if found:
            self.run(tracked, found[0])
        else:
            del self._active[tracked]

    def end(self, outcome: Outcome[Any, Any], tracked: TrackedItem | None = None) -> None:
        """Count the outcome of an item."""
        self.finished += 1
        self.failed += outcome.error is not None
        self.unknown += isinstance(outcome.error, LaunchUnknownError)
        self.earlier += outcome.earlier
        self.to_read -= outcome.earlier
        elapsed = None
        if tracked is None:
            self._begun += 1
        else:
            self._active.pop(tracked, None)
            self._running -= tracked.job is not None
            elapsed = _now() - tracked.began
        self._ended.append((outcome, elapsed))
        if outcome.error is not None:
            self._without_result.append((outcome, elapsed))
        self._change()

    def close(self) -> None:
        """Note that the stream of outcomes has ended, and tell the last progress."""
        if self._over.is_set():
            return
        self.stopped = self.stopped or self.finished != self.total
        self._over.set()
        self._change()
        if self._timer is not None:
            self._timer.cancel()
            self._tell()

    # What is shown

    @property
    def progress(self) -> Progress:
        """The counts now, with an estimate that is at most a second old."""
        known = self.taken if self.total is None else self.total
        waiting = known - self.finished - self._running
        seconds, seconds_range, planned = self._estimate(waiting)
        return Progress(
            finished=self.finished,
            running=self._running,
            waiting=waiting,
            failed=self.failed,
            unknown=self.unknown,
            earlier=self.earlier,
            total=self.total,
            stopped=self.stopped,
            seconds_left=seconds,
            seconds_left_range=seconds_range,
            eta=None if not seconds else self._poller.poll_settings.caller.pipeline.clock.datetime_at(_now() + seconds),
            credits=self.credits,
            earlier_credits=self.earlier_credits,
            requests=self._requests.sent,
            requests_planned=planned,
        )

    def rows(self, limit: int) -> list[ItemStatus]:
        """Return rows in the order of their states: those that are active, then ended ones, then waiting ones."""
        rows = list[ItemStatus]()
        for tracked in itertools.islice(self._active, limit):
            job = tracked.job
            elapsed = _now() - tracked.began if job is None else job.tracked.elapsed
            rows.append(self._row(tracked.item, _state(job), job, elapsed))
        rows += [self._ended_row(*ended) for ended in itertools.islice(reversed(self._ended), limit - len(rows))]
        waiting = self._pending[self._begun : self._begun + limit - len(rows)]
        rows += [self._row(item, ItemState.WAITING) for item in waiting]
        return sorted(rows, key=lambda row: _ORDER[row.state])

    def urgent(self, limit: int) -> list[ItemStatus]:
        """Return rows of the items without a result, at most half of all, and further ones as `rows` does."""
        failed = [
            self._ended_row(*ended) for ended in itertools.islice(reversed(self._without_result), max(1, limit // 2))
        ]
        others = [row for row in self.rows(limit) if row.state is not ItemState.FAILED]
        return [*failed, *others[: limit - len(failed)]]

    def _ended_row(self, outcome: Outcome[Any, Any], elapsed: float | None) -> ItemStatus:
        state, job = ItemState.FINISHED if outcome.error is None else ItemState.FAILED, outcome.job
        ended = job.tracked.elapsed if job is not None and job.tracked.closed else elapsed
        row = self._row(outcome.item, state, job, ended)
        return attrs.evolve(row, earlier=outcome.earlier, error=outcome.error)

    def _row(
        self, taken: Any, state: ItemState, job: Job[Any] | None = None, elapsed: float | None = None
    ) -> ItemStatus:
        item = taken if self._batch is None else self._items[taken]
        label = self._label(item, job)
        return ItemStatus(item=item, label=label, state=state, elapsed=elapsed, job=job)

    def _label(self, item: Any, job: Job[Any] | None) -> str:
        """Return what people call an item: the name of its target, else of the item itself."""
        name = None if job is None else job.name
        if job is None and self.load_key is not None and isinstance(item, str):
            name = self._poller.registry.names.get((self.load_key[0], item))
        return name or markup.brief(item)

    def _estimate(self, waiting: int) -> tuple[float | None, tuple[float, float] | None, int | None]:
        """Return the seconds until about the last outcome, their range, and the requests of the whole run."""
        if self.finished == self.total or self._over.is_set():
            return 0.0, (0.0, 0.0), self._requests.sent
        if self.load_key is None or self.total is None:
            return None, None, None
        now = _now()
        if now - self._estimated_at >= _FRESH or self._rest is None:
            self._estimated_at = now
            jobs = [tracked.job.tracked for tracked in self._active if tracked.job is not None]
            left = 0 if self.stopped else waiting
            rest = remaining(
                self._poller.scheduler.policy,
                now,
                self.load_key,
                jobs,
                left - min(left, self.to_read),
                self.launch_queue,
                earlier=self.to_read,
            )
            self._rest, self._planned = rest, self._requests.sent + rest.requests
        passed = now - self._estimated_at
        early, late = (max(0.0, seconds - passed) for seconds in self._rest.seconds_range)
        # The last job ends no sooner than any of those that are shown.
        expected_end = self._poller.scheduler.policy.durations.expected_end
        running = [tracked.job.tracked for tracked in self._active if tracked.job is not None]
        ends = [
            end - now for job in running if not job.closed and (end := expected_end(job.kind, job.timing)) is not None
        ]
        # Nor does a launch whose answer was lost, before it can be told what became of it.
        pending = [launch for tracked in self._active if tracked.job is None for launch in tracked.launches]
        settled = [launch.settles_at - now for launch in pending if launch.settles_at is not None]
        early, seconds = max([early, *settled]), max([0.0, self._rest.seconds - passed, *ends, *settled])
        planned = max(self._requests.sent, round(self._planned))
        return seconds, (min(early, seconds), max(late, seconds)), planned

    def show(self, thing: live.Shown) -> None:
        """Show an object in a notebook, and keep it up to date until the end."""
        live.show(thing, self._poller.tasks.start, self._over.is_set)

    def tell_program(self) -> None:
        """Print the progress now and then in the current cell, where a program runs a notebook."""
        if live.is_run_by_program():
            self._poller.tasks.start(live.print_lines(lambda: str(self.progress), self._over))

    # Followers and hooks

    async def follow(self, every: float) -> AsyncGenerator[Progress, None]:
        """Give the progress now, and after changes, at most once in `every` seconds, until the end."""
        while True:
            version, over = self._version, self._over.is_set()
            yield self.progress
            if over:
                return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(every):
                    await self._over.wait()
            while version == self._version:
                self._changed.clear()
                await self._changed.wait()

    def _change(self) -> None:
        self._version += 1
        self._changed.set()
        if self._timer is None and self._poller.hooks.wants(ProgressChanged.level):
            wait = self._told_at + _EVENT_INTERVAL - _now()
            self._timer = asyncio.get_running_loop().call_later(max(0.0, wait), self._tell)

    def _tell(self) -> None:
        self._timer, self._told_at, now = None, _now(), self.progress
        fields = attrs.asdict(now, filter=lambda field, _: field.name != "eta")
        self._poller.hooks(ProgressChanged(batch=self._batch, **fields))


def tracker_of(items: Iterable[Any] | AsyncIterable[Any], poller: Poller) -> Tracker:
    """Make the tracker of a fan-out over some items, which are not iterated over."""
    total = len(items) if isinstance(items, Sized) else None
    return Tracker(poller, total=total, pending=items if isinstance(items, Sequence) else ())


def _state(job: Job[Any] | None) -> ItemState:
    if job is None:
        return ItemState.LAUNCHING
    return ItemState.REVIEW if job.tracked.history.phase is Phase.REVIEW else ItemState.RUNNING


def _now() -> float:
    return asyncio.get_running_loop().time()
