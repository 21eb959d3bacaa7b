"""Iterators of outcomes: what a fan-out, a batch and `as_completed` have in common."""

from __future__ import annotations

import abc
import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable
from types import TracebackType
from typing import Self, TypeVar

from cmsapi.api.arguments import seconds, within
from cmsapi.display.frames import DataFrame
from cmsapi.jobs.fanout import drawing
from cmsapi.jobs.fanout.frames import collected
from cmsapi.jobs.fanout.outcome import Outcome
from cmsapi.jobs.fanout.progress import ItemStatus, Progress, html_of
from cmsapi.jobs.fanout.tracking import TrackedItem, Tracker
from cmsapi.unpicklable import Unpicklable

I = TypeVar("I")  # noqa: E741  an item
R = TypeVar("R")

# Rows that a notebook shows.
_SHOWN = 20


class Outcomes(Unpicklable, AsyncIterator[Outcome[I, R]]):
    """Give outcomes, collect them in a frame, and show how far they are."""

    def __init__(self, tracker: Tracker) -> None:
        self._tracker = tracker
        # Those that were taken for a frame.
        self._given_back: deque[Outcome[I, R]] = deque()

    async def __anext__(self) -> Outcome[I, R]:
        if self._given_back:
            return self._given_back.popleft()
        self._tracker.wanted.set()
        return await self._take()

    @abc.abstractmethod
    async def _take(self) -> Outcome[I, R]:
        """Wait for the next outcome."""

    async def to_pandas(self) -> DataFrame:
        """Wait for all further outcomes, and return them as `cmsapi.to_pandas` does; needs the extra `notebook`.

        When it is interrupted, no more launches are sent, and what was sent continues. Called again, it goes on, and
        returns the same outcomes, too; an iteration gives them as well.
        """
        return await collected(self, self._give_back)

    def _give_back(self, taken: Iterable[Outcome[I, R]]) -> None:
        self._given_back.extend(taken)
        self._tracker.wanted.clear()

    @property
    def progress(self) -> Progress:
        """How far it is now: counts, an estimate of the end, credits and requests; sends nothing."""
        return self._tracker.progress

    def rows(self, limit: int = 100) -> list[ItemStatus]:
        """Return a row for each item, for a table; sends nothing.

        The rows come in the order of `ItemState`. When there are more items than rows, those that are being launched
        or run go first, then the newest of the finished ones, of which a hundred are kept, then the next ones that
        wait, as far as they are known.
        """
        return self._tracker.rows(within("limit", limit, 0))

    def __repr__(self) -> str:
        tracker = self._tracker
        of = "" if tracker.total is None else f" of {tracker.total:,}"
        return f"<{type(self).__name__}: {tracker.finished:,}{of} finished, {tracker.failed:,} failed>"

    def _repr_html_(self) -> str:
        progress, rows = self.progress, drawing.in_order(self._tracker.urgent(_SHOWN))
        return html_of(progress) + drawing.html("", rows, progress)

    def _ipython_display_(self) -> None:
        self._tracker.show(self)

    async def follow(self, every: float = 1.0) -> AsyncIterator[Progress]:
        r"""Give the progress now, after changes, and at the end, which ends the iteration; sends nothing.

        Another task takes the outcomes meanwhile. Any number of tasks may follow::

            async for progress in outcomes.follow():
                yield f"data: {json.dumps(progress.to_dict())}\n\n"

        Args:
            every: Seconds between two of them at the least, but for the last one.
        """
        seconds("every", every)
        async for progress in self._tracker.follow(every):
            yield progress


class OutcomeStream(Outcomes[I, R]):
    """Give outcomes as they come, or in the order of their items; an async iterator and context manager."""

    def __init__(self, tracker: Tracker, *, ordered: bool = False) -> None:
        super().__init__(tracker)
        self._outcomes: deque[Outcome[I, R]] = deque()
        # Where outcomes come in order: those that wait for the outcomes of earlier items, and whose turn it is.
        self._ordered = ordered
        self._early: dict[int, Outcome[I, R]] = {}
        self._turn = 0
        self._ended = False
        # Why the stream ends early; raised after its last outcome.
        self._failure: Exception | None = None
        self._changed = asyncio.Event()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    @abc.abstractmethod
    async def aclose(self) -> None:
        """End the stream; launched jobs continue."""

    async def _take(self) -> Outcome[I, R]:
        # Several iterations may wait at once, so that each checks again after a change.
        while not self._outcomes:
            if self._ended:
                raise self._failure or StopAsyncIteration
            self._changed.clear()
            await self._changed.wait()
        return self._outcomes.popleft()

    def _put(self, outcome: Outcome[I, R], tracked: TrackedItem | None = None, place: int = 0) -> None:
        """Give an outcome, at once or when it is the turn of its place."""
        self._tracker.end(outcome, tracked)
        if self._ordered:
            self._early[place] = outcome
            while self._turn in self._early:
                self._outcomes.append(self._early.pop(self._turn))
                self._turn += 1
        else:
            self._outcomes.append(outcome)
        self._changed.set()

    def _end(self) -> None:
        """End the iteration after the outcomes that are already there."""
        # Those of an item that was left do not come, and no other one waits for them.
        self._outcomes.extend(self._early.pop(place) for place in sorted(self._early))
        self._ended = True
        self._changed.set()
