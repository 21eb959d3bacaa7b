"""Jobs to await. Cancelling one wait for a job does not affect other waits or the job at the service."""

from __future__ import annotations

import asyncio
import copy
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator
from datetime import timedelta
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from cmsapi.errors import ArgumentError, JobDetachedError, JobWaitTimeoutError
from cmsapi.jobs.kinds import JobKind
from cmsapi.jobs.poller import Poller
from cmsapi.jobs.review import GenerationReview
from cmsapi.jobs.tracked import Tracked
from cmsapi.jobs.words import Phase
from cmsapi.models import ContentIdeas
from cmsapi.observe.events import JobObserved
from cmsapi.state.store import JobStatus
from cmsapi.wire.arguments import check_seconds, check_word

T = TypeVar("T")


class Job(Generic[T]):
    """A job, which runs at the service. ``await job`` waits for it to finish and returns its result, like `wait`."""

    __slots__ = ("__weakref__", "_poller", "_tracked")

    def __init__(self, tracked: Tracked, poller: Poller) -> None:
        self._tracked = tracked
        self._poller = poller

    def __repr__(self) -> str:
        return f"<Job: {self._tracked}, {self.status}>"

    @property
    def kind(self) -> JobKind:
        """Kind of the job, such as ``analysis`` or ``search``."""
        return self._tracked.kind.name

    @property
    def id(self) -> str:
        """Identifier of the job at the service; `target` if there is none (as for an analysis) or it is not known."""
        return self._tracked.token.own or self._tracked.token.id

    @property
    def target(self) -> str:
        """Identifier of the keyword, prompt or content that the job works on; for other jobs, the same as `id`."""
        return self._tracked.token.id

    @property
    def name(self) -> str:
        """Readable name of the job: the keyword of a search or the name of a document, if known; otherwise `target`."""
        return self._tracked.token.name

    @property
    def status(self) -> JobStatus:
        """Latest known status: ``running``, ``review``, ``succeeded`` or ``failed``; unclear polls do not change it."""
        value = self._tracked.value
        decided = isinstance(value, GenerationReview) and value.decision is not None
        return JobStatus.SUCCEEDED if decided else JobStatus(self._tracked.phase.value)

    @property
    def token(self) -> str:
        """Short string that any process can pass to `jobs.attach` to wait for the job. It contains no secret."""
        return str(self._tracked.token)

    def done(self) -> bool:
        """Return True if the job has succeeded or failed, or its article waits for a decision."""
        return self._tracked.done

    def exception(self) -> Exception | None:
        """Return the error of a job that failed; None if the job has succeeded, is in review or is still running."""
        return self._tracked.error

    def result(self) -> T:
        """Return the result; raise `JobFailedError` if the job failed, or `asyncio.InvalidStateError` while it runs."""
        if not self.done():
            raise asyncio.InvalidStateError(f"{self._tracked} still runs: await the job")
        if self._tracked.error is not None:
            raise copy.copy(self._tracked.error)
        return self._tracked.value  # type: ignore[no-any-return]  # the kind determines T

    def __await__(self) -> Generator[Any, None, T]:
        return self.wait().__await__()

    async def wait(self, timeout: float | timedelta | None = None) -> T:  # noqa: ASYNC109  raises an error of its own
        """Wait until the job has ended or its article awaits a decision, and return the result.

        Costs polls, which all waits for the job share, but no credit. Errors that ``on_review`` raises are passed on.

        Args:
            timeout: Seconds to wait, or a timedelta. `PollPolicy.job_timeout` is the default and the maximum.

        Raises:
            JobFailedError: The service reports a failure.
            JobWaitTimeoutError: The timeout has passed. The job continues, and can be waited for again.
            UnclearJobError: The service's responses could not be understood for `PollPolicy.unclear_timeout`.
            JobDetachedError: `detach` was called.
            CMSError: Polls failed for `PollPolicy.outage_timeout`, the API key was refused, or the client was closed.
        """
        wait = self.begin_wait(check_seconds("timeout", timeout))
        try:
            await wait.ended
        finally:
            wait.close()
        return self.result()

    def begin_wait(self, seconds: float) -> Wait:
        """Start and return a wait for the job's end. It lasts at most ``seconds`` seconds. The caller must close it."""
        return Wait(self._tracked, self._poller, min(seconds, self._poller.job_timeout))

    async def refresh(self) -> JobStatus:
        """Poll the job unless it has ended, and return its status; raise the error of a failed poll. Costs one request.

        A job in review and a search with an incomplete list of ideas are polled too. Reading ideas costs more requests.
        """
        value = self._tracked.value
        incomplete = isinstance(value, ContentIdeas) and not value.complete
        if not self.done() or incomplete or self.status is JobStatus.REVIEW:
            await self._poller.poll(self._tracked)
        return self.status

    async def review(self) -> GenerationReview:
        """Wait like ``await job``, and return the review of a generation; raise `ArgumentError` for other kinds."""
        if self.kind is not JobKind.GENERATION:
            raise ArgumentError("job", f"must be a generation to be reviewed, got {self._tracked}")
        return await self.wait()  # type: ignore[return-value]  # the result of this kind

    def on(self, phase: Phase | str, listener: Callable[[JobObserved], object]) -> None:
        """Call ``listener`` with the event of each poll that shows ``phase``, such as ``running`` or ``unclear``.

        A listener by itself causes no polls. Exceptions that it raises are only logged.
        """
        check_word("phase", phase, Phase)
        self._tracked.listeners += ((phase, listener),)

    def events(self) -> JobEvents:
        """Return a stream of poll events, which ends when the job ends. The job is polled while an event is awaited."""
        return JobEvents(self._tracked, self._poller)

    def detach(self) -> None:
        """End the job's waits and event streams in this program with `JobDetachedError`. The job itself continues."""
        problem = f"{self._tracked} was detached; it continues at the service"
        self._tracked.interrupt(JobDetachedError(problem, token=self.token))


class Wait:
    """One wait for a job, ended by the job's end, an error or a timeout. The job is polled until the wait is closed."""

    __slots__ = ("_poller", "_seconds", "_timer", "_tracked", "ended")

    def __init__(self, tracked: Tracked, poller: Poller, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._tracked = tracked
        self._poller = poller
        self.ended: asyncio.Future[None] = loop.create_future()
        tracked.waiters.append(self.ended)
        poller.watch(tracked)
        self._seconds = seconds
        self._timer = loop.call_later(seconds, self._expire)
        if tracked.done:
            self.ended.set_result(None)

    def _expire(self) -> None:
        if not self.ended.done():
            problem = f"{self._tracked} still runs after {self._seconds:g} s; waiting again costs no credit"
            self.ended.set_exception(JobWaitTimeoutError(problem, token=str(self._tracked.token)))

    def close(self) -> None:
        """Close the wait, so that the job is no longer polled for it. Call once."""
        self._timer.cancel()
        if self.ended.done() and not self.ended.cancelled():
            self.ended.exception()  # marks the exception as retrieved
        self._tracked.waiters.remove(self.ended)
        self._poller.unwatch(self._tracked)


class JobEvents(AsyncIterator[JobObserved]):
    """Stream of the events from a job's polls. No event is lost if ``anext`` is cancelled."""

    def __init__(self, tracked: Tracked, poller: Poller) -> None:
        self._tracked = tracked
        self._poller = poller
        self._shown: deque[JobObserved | BaseException | None] = deque([None] if tracked.done else [])
        self._arrived = asyncio.Event()
        tracked.streams = tracked.streams or WeakSet()
        tracked.streams.add(self)

    def put(self, shown: JobObserved | BaseException | None) -> None:
        """Add the event of a poll, None to end the stream, or an exception for the stream to raise."""
        self._shown.append(shown)
        self._arrived.set()

    async def __anext__(self) -> JobObserved:
        while not self._shown:
            self._arrived.clear()
            self._poller.watch(self._tracked)
            try:
                await self._arrived.wait()
            finally:
                self._poller.unwatch(self._tracked)
        shown = self._shown[0]
        if shown is None:  # stays in the queue, so that the stream stays ended
            raise StopAsyncIteration
        self._shown.popleft()
        if isinstance(shown, BaseException):
            raise shown
        return shown
