"""A job: work at the service, as something to await.

Any number of waiters share one stream of polls. Each has a future of its own, registered before anything is read, so
that no end is missed and cancelling one affects neither the others nor the job. A job without waiters is not polled.

`Job` is the public handle: the state is in its `TrackedJob`, and the `Poller` changes it.
"""

from __future__ import annotations

import asyncio
import copy
import inspect
import math
from collections.abc import AsyncIterator, Callable, Generator
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, TypeVar, cast

import anyio

from cmsapi.api.arguments import function, optional_seconds, wrong
from cmsapi.api.wire.mismatch import excerpt
from cmsapi.display import live, markup
from cmsapi.errors import ClientClosedError, CMSError, JobDetachedError, JobError
from cmsapi.guesses import RESULT_PARAMETERS, Hinting, guided
from cmsapi.jobs.kinds.kind import JobKind
from cmsapi.jobs.kinds.review import GenerationReview
from cmsapi.jobs.polling import events
from cmsapi.jobs.polling.poller import Poller
from cmsapi.jobs.polling.time_limit import limit_wait
from cmsapi.jobs.status import Finished, JobEvent, JobStatus, described
from cmsapi.jobs.tracked import DECIDING, End, TrackedJob
from cmsapi.unpicklable import Unpicklable

R = TypeVar("R")
E = TypeVar("E")


class Job(Hinting, Unpicklable, Generic[R]):
    """Stand for one piece of asynchronous work; made by launches, `jobs.attach` and `jobs.watch`.

    `await job` gives the result, as often and from as many tasks as wanted.
    """

    __slots__ = ("__weakref__", "_poller", "tracked")

    _instead: ClassVar[str] = (
        "Pass `job.token`, and use client.jobs.attach(token) of a client there; of an outcome pass `item` and `value`."
    )

    def __init__(self, tracked: TrackedJob, poller: Poller) -> None:
        self.tracked: TrackedJob = tracked
        """The state of the job, for the SDK itself; its attributes may change with any version."""
        self._poller = poller

    # What it is

    @property
    def kind(self) -> JobKind:
        """The kind of work."""
        return self.tracked.kind.name

    @property
    def target(self) -> str:
        """Identifier of what is polled: a keyword, prompt, search, content or knowledge document."""
        return self.tracked.target

    @property
    def name(self) -> str | None:
        """What its target is called: the keyword, the prompt, or the title of the content; sends nothing.

        None while this client has read no document that tells it: the first poll names most jobs of tokens. A long
        prompt is cut.
        """
        return self._poller.registry.name(self.tracked)

    @property
    def id(self) -> str:
        """Identifier of the job; for kinds without one, that of what it works on."""
        return self.tracked.id

    @property
    def token(self) -> str:
        """Text that `client.jobs.attach` turns into this job again, also in another process; it holds no secret."""
        return self.tracked.token(self._poller.base_url)

    @property
    def adopted(self) -> bool:
        """Whether it is a generation found after a lost answer that a colleague may have launched."""
        return self.tracked.adopted

    @property
    def status(self) -> JobStatus:
        """What is known of it now; sends nothing."""
        return events.status(self.tracked, self._poller.scheduler)

    if not TYPE_CHECKING:  # type checkers go on refusing unknown names

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(
                f"a Job has no {name!r}; its result comes from: result = await job", name=name, obj=self
            )

    def __repr__(self) -> str:
        return repr(self.tracked)

    def _repr_html_(self) -> str:
        job = self.tracked
        kind = f"{job.kind}".replace("_", " ")
        rows = described(self.status)
        if (end := job.end) is not None:
            rows.append(("result", end.result) if end.error is None else ("error", str(end.error)))
        title = f"{kind[:1].upper()}{kind[1:]}: {self.name or self.target}"
        return markup.facts(title, [*rows, ("id", self.id), ("token", self.token)])

    def _ipython_display_(self) -> None:
        live.show(self, self._poller.tasks.start, self.done)

    # As on asyncio.Future

    def done(self) -> bool:
        """Return whether the job is finished, with a result or an error; sends nothing."""
        return self.tracked.closed

    @guided(RESULT_PARAMETERS)
    def result(self) -> R:
        """Return the result of a finished job; sends nothing.

        Raises:
            JobError: The job is not finished, or it finished without a result; then the error is that of `wait`.
        """
        end = self._end()
        if end.error is not None:
            raise _own(end.error)
        return cast("R", end.result)

    def exception(self) -> Exception | None:
        """Return the error with which the job finished, or None when it has a result; sends nothing.

        Raises:
            JobError: The job is not finished.
        """
        error = self._end().error
        return None if error is None else _own(error)

    def _end(self) -> End:
        if (end := self.tracked.end) is None:
            raise JobError(
                f"{self!r} is not finished, as far as its last poll tells. It continues and may be paid for: "
                "`job.wait()` waits for it, and `job.refresh()` polls it now.",
                job=self,
            )
        return end

    # Waiting

    def __await__(self) -> Generator[Any, None, R]:
        return self.wait().__await__()

    async def wait(self, timeout: float | None = None, *, since_launch: bool = False) -> R:  # noqa: ASYNC109  the waiter's own limit is the point
        """Wait for the result; one request a poll, shared with all other waiters, and no credit.

        Args:
            timeout: Seconds this waiter waits; the job and its other waiters continue. None waits until
                `PollPolicy(job_timeout=)` after the launch, which is a day unless it was set.
            since_launch: Whether `timeout` counts from the launch, as that of `jobs.run` and of fan-outs does, and not
                from now. A job that is older by now is polled once more before the wait ends.

        Raises:
            ArgumentError: `timeout` is not a finite number.
            JobWaitTimeoutError: The time is over.
            JobFailedError: The service reports that the job failed.
            JobSupersededError: A newer generation has taken its place.
            JobVanishedError: The service no longer knows the job.
            UnknownJobStateError: What the service shows does not tell how the job ended.
            JobDetachedError: The job was detached.
            UnauthorizedError: A poll was refused because of the key. The job continues, and can be awaited again.
            ForbiddenError: Likewise.
            ClientClosedError: The client was closed. The token stays valid.
            JobError: The `on_review` hook of the job waits for it, or a task that the hook began.
        """
        optional_seconds("timeout", timeout)
        job = self.tracked
        if not job.closed:
            self._ensure_open()
            self._ensure_outside_of_hook()
            waiter: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
            job.subscribers.waiters = (*job.subscribers.waiters, waiter)
            self._poller.subscribe(job)
            timer = limit_wait(job, waiter, timeout, since_launch=since_launch)
            try:
                interruption = await waiter
            finally:
                if timer is not None:
                    timer.cancel()
                job.subscribers.waiters = tuple(other for other in job.subscribers.waiters if other is not waiter)
                self._poller.unsubscribe(job)
            if interruption is not None:
                raise _own(interruption)
        return self.result()

    async def review(self) -> GenerationReview:
        """Wait for the review of a generation; with `on_review=` it has been decided on by then.

        It takes the requests of `wait`, and no credit.

        Raises:
            ArgumentError: The job is not a generation.
            JobError: As for `wait`.
        """
        if not self.tracked.kind.in_review:
            raise wrong("job", "be a generation, because only a generation has a review", f"a {self.kind.value}")
        return cast("GenerationReview", await self.wait())

    async def refresh(self) -> JobStatus:
        """Poll now; one request and its retries, shared with a poll under way; no credit.

        Raises:
            APIError: The poll failed; that says nothing about the job.
            TransportError: Likewise.
        """
        self._ensure_open()
        if not self.tracked.closed:
            await self._poller.poll_now(self.tracked)
        return self.status

    async def events(self) -> AsyncIterator[JobEvent]:
        """Follow what happens to the job, from now to its end; one request a poll, no credit.

        A refused key shows as `PollFailed`, and the polls go on.

        Raises:
            JobDetachedError: The job was detached.
            ClientClosedError: The client was closed. The token stays valid.
        """
        job, subscribers = self.tracked, self.tracked.subscribers
        if (end := job.end) is not None:
            yield Finished(self.status, end.error)
            return
        self._ensure_open()
        self._ensure_outside_of_hook()
        happening, happened = anyio.create_memory_object_stream[JobEvent | Exception](math.inf)
        subscribers.listeners = (*subscribers.listeners, happening.send_nowait)
        self._poller.subscribe(job)
        try:
            with happening, happened:
                async for event in happened:
                    if isinstance(event, Exception):
                        raise _own(event)
                    yield event
                    if isinstance(event, Finished):
                        return
        finally:
            subscribers.listeners = tuple(other for other in subscribers.listeners if other != happening.send_nowait)
            self._poller.unsubscribe(job)

    def on(self, event: type[E], call: Callable[[E], Any]) -> None:
        """Call a function on each event of a class; until the job ends, one request a poll, no credit.

        Args:
            event: `Observed`, `PollFailed` or `Finished`.
            call: A plain function; it runs on the event loop. What it raises is logged.

        Raises:
            ArgumentError: `event` is not a class, or `call` is not a plain function; use `events()` to await.
        """
        try:
            isinstance(None, event)
        except TypeError:
            raise wrong("event", "be a class", excerpt(event)) from None
        function("call", call)
        if inspect.iscoroutinefunction(call):
            raise wrong("call", "be a plain function", "a coroutine function", " To await, iterate over job.events().")

        def filtered(happened: JobEvent | Exception) -> None:
            if isinstance(happened, event) and not isinstance(happened, Exception):
                self._poller.hooks.call(call, happened)

        job = self.tracked
        if (end := job.end) is not None:
            filtered(Finished(self.status, end.error))
            return
        self._ensure_open()
        job.subscribers.listeners = (*job.subscribers.listeners, filtered)
        self._poller.subscribe(job)

    def detach(self) -> None:
        """Stop polling and wake all waiters with `JobDetachedError`; the remote job goes on and its token stays valid.

        It sends nothing.

        A launch of the same work still joins the job while it runs.
        A review that `on_review` is deciding on at this moment is decided to the end.
        """
        job = self.tracked
        if not job.closed:
            job.subscribers.leave(
                JobDetachedError(
                    f"{self!r} was detached. It continues and may be paid for: client.jobs.attach(token) waits for it "
                    "again.",
                    job=self,
                )
            )
            self._poller.unsubscribe(job)

    def _ensure_outside_of_hook(self) -> None:
        """Refuse a wait that waits for itself: the job ends only when its hook has returned."""
        if self.tracked.deciding and self.tracked in DECIDING.get():
            raise JobError(
                f"The on_review hook of {self!r} waits for its own job, which ends only when the hook has returned. "
                "Nothing is decided. Decide on the review that the hook was called with: return 'confirm', 'cancel' or "
                "'leave'.",
                job=self,
            )

    def _ensure_open(self) -> None:
        try:
            self._poller.poll_settings.caller.open()
        except ClientClosedError as error:
            error.add_note(f"{self!r} continues at the service and may be paid for: its token is {self.token!r}.")
            raise


def job_of(tracked: TrackedJob, poller: Poller) -> Job[Any]:
    """Return the handle of a job: one object for as long as this client tracks the job."""
    if tracked.handle is None:
        tracked.handle = Job(tracked, poller)
    return cast("Job[Any]", tracked.handle)


def _own(error: Exception) -> Exception:
    """Copy an error for one waiter, so that the tracebacks of waiters do not grow into each other."""
    if isinstance(error, CMSError):
        return error.fresh()
    try:
        copied = copy.copy(error)
    except Exception:  # an exception of the user that cannot be copied is better shared than lost
        return error
    copied.__cause__ = error.__cause__
    if notes := getattr(error, "__notes__", None):
        # A list that `add_note` grows in place: copies must not grow together.
        copied.__notes__ = list(notes)
    return copied.with_traceback(error.__traceback__)
