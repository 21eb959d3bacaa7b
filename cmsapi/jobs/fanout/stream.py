"""Hold the outcome of an item, and give outcomes as they come."""

from __future__ import annotations

import abc
import asyncio
from collections import deque
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Generic, Self, TypeVar, cast

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
        earlier: Whether the item ended in an earlier run of a batch.
    """

    item: I
    job: Job[R] | None
    value: R | None
    error: Exception | None
    earlier: bool = False

    def result(self) -> R:
        """Return the job's result, or raise `error`."""
        if self.error is not None:
            raise self.error
        return cast("R", self.value)


class OutcomeStream(abc.ABC, Generic[I, R]):
    """Give outcomes as they come; an async iterator and context manager."""

    def __init__(self) -> None:
        self._outcomes: deque[Outcome[I, R]] = deque()
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

    def __aiter__(self) -> AsyncIterator[Outcome[I, R]]:
        return self

    async def __anext__(self) -> Outcome[I, R]:
        # Several iterations may wait at once, so that each checks again after a change.
        while not self._outcomes:
            if self._ended:
                raise self._failure or StopAsyncIteration
            self._changed.clear()
            await self._changed.wait()
        return self._outcomes.popleft()

    def _put(self, outcome: Outcome[I, R]) -> None:
        self._outcomes.append(outcome)
        self._changed.set()

    def _end(self) -> None:
        """End the iteration after the outcomes that are already in the stream."""
        self._ended = True
        self._changed.set()
