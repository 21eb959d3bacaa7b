"""The record of one job, shared by everyone who waits for the job."""

from __future__ import annotations

import asyncio
import copy
import math
from collections.abc import Callable
from typing import Any
from weakref import WeakSet

from attrs import define, field

from cmsapi.errors import CMSError
from cmsapi.jobs.kinds import Kind
from cmsapi.jobs.review import OnReview
from cmsapi.jobs.token import Token
from cmsapi.jobs.words import Phase
from cmsapi.observe.events import JobObserved
from cmsapi.observe.log import logger
from cmsapi.transport.pipeline import Pipeline


@define(eq=False)
class Tracked:
    """Record of one job in this process. Times are on the event loop's clock."""

    kind: Kind
    token: Token
    pipelines: tuple[Pipeline, ...]  # of the clients that have asked for it
    places: tuple[tuple[str, str], ...] = ()  # batches and items that the job belongs to
    on_review: OnReview | None = None
    launched: float = field(factory=lambda: asyncio.get_running_loop().time())  # or first watched
    polled: float = field(factory=lambda: asyncio.get_running_loop().time())  # end of the latest poll
    seen: float = 0.0  # age at which it was last seen running
    moved: bool = False  # whether a poll has shown it running
    phase: Phase = Phase.RUNNING  # as of the latest poll that was not unclear
    value: Any = None
    error: CMSError | None = None
    watchers: int = 0
    waiters: list[asyncio.Future[None]] = field(factory=list)  # an empty set takes four times the memory
    streams: WeakSet[Any] | tuple[()] = ()  # they get events, None at the end, and errors that end the waits
    listeners: tuple[tuple[str, Callable[[JobObserved], object]], ...] = ()  # by phase
    reason: str | None = None  # why polls are unclear; the next two fields: since when, and how many
    unclear_since: float = math.inf
    unclear_polls: int = 0
    failing_since: float = math.inf

    @property
    def done(self) -> bool:
        """True if the job has succeeded or failed, or its article waits for a decision."""
        return self.phase in (Phase.SUCCEEDED, Phase.FAILED, Phase.REVIEW)

    @property
    def pipeline(self) -> Pipeline:
        """Pipeline for the job's polls: that of its first open client, or of its last client if all are closed."""
        if len(self.pipelines) == 1:
            return self.pipelines[0]
        return next((each for each in self.pipelines if each.open), self.pipelines[-1])

    def serve(self, pipeline: Pipeline) -> None:
        """Add ``pipeline``, and remove the pipelines of closed clients. Do nothing if ``pipeline`` is present."""
        if pipeline not in self.pipelines:
            self.pipelines = (*(each for each in self.pipelines if each.open), pipeline)

    def __str__(self) -> str:
        return f"the {self.kind.name} of {self.token.name}"

    def show(self, event: JobObserved) -> None:
        """Pass a poll's event to the log, the hooks, the streams, and the listeners for the event's phase."""
        self.pipeline.emit(event)
        for stream in self.streams:
            stream.put(event)
        for phase, listener in self.listeners:
            if phase == event.phase:
                try:
                    listener(event)
                except Exception:
                    logger.exception("a listener of %s failed", self)

    def settle(self, phase: Phase, value: Any, error: CMSError | None) -> None:
        """Record how the job ended (phase, result and error), and end all waits."""
        self.phase, self.value, self.error = phase, value, error
        self.interrupt(None)

    def interrupt(self, error: BaseException | None) -> None:
        """End all waits and streams, with ``error`` unless it is None; the job may continue at the service."""
        for waiter in self.waiters:
            if not waiter.done():
                if error is None:
                    waiter.set_result(None)
                else:
                    waiter.set_exception(copy.copy(error) if isinstance(error, CMSError) else error)
        for stream in self.streams:
            stream.put(error)
