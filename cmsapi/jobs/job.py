"""A job: paid work at the service, as something to await.

Any number of awaiters share one stream of looks. Each has a future of its own, registered before anything is read, so
that no end is missed and cancelling one touches neither the others nor the job. Nobody is looked at for whom nobody
waits.
"""

from __future__ import annotations

import asyncio
import copy
import inspect
from collections.abc import AsyncIterator, Callable, Generator
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Protocol, TypeVar, cast

import attrs

from cmsapi.api.arguments import function, seconds
from cmsapi.api.wire.mismatch import excerpt
from cmsapi.display import markup
from cmsapi.errors import ArgumentError, ClientClosedError, CMSError, JobDetachedError, JobWaitTimeoutError
from cmsapi.jobs.events import Finished, JobEvent
from cmsapi.jobs.journal.record import Record
from cmsapi.jobs.kinds.kind import JobKind
from cmsapi.jobs.kinds.observation import JobHistory
from cmsapi.jobs.kinds.registry import kind_of
from cmsapi.jobs.kinds.review import GenerationReview, ReviewHook
from cmsapi.jobs.polling.settings import PollSettings
from cmsapi.jobs.scheduling.queue import ScheduledPoll
from cmsapi.jobs.status import JobStatus, Phase
from cmsapi.jobs.token import Token

R = TypeVar("R")
E = TypeVar("E")


@attrs.frozen
class Outlook:
    """Say what is to be expected of a job, in times of the loop.

    Args:
        next_poll: When it is looked at next, or None.
        why: Why then.
        expected_end: When such jobs are over as a rule, or None.
    """

    next_poll: float | None = None
    why: str = "nobody waits for it"
    expected_end: float | None = None


class Keeper(Protocol):
    """Do for a job what it cannot do itself: tell the time, look, and look again."""

    base_url: str
    poll_settings: PollSettings

    def ensure_open(self) -> None:
        """Raise when the client must not be used."""
        ...

    def time(self) -> float:
        """Return the loop's time."""
        ...

    def datetime_at(self, loop_time: float) -> datetime:
        """Return a moment of the loop on the service's clock."""
        ...

    def subscribe(self, job: Job[Any]) -> None:
        """Have a job looked at from now on."""
        ...

    def join(self, job: Job[Any]) -> None:
        """Poll a job of another client with the settings of this one, if these go first."""
        ...

    def unsubscribe(self, job: Job[Any]) -> None:
        """Stop looking when nobody wants the job any more."""
        ...

    async def poll_now(self, job: Job[Any]) -> None:
        """Look once."""
        ...

    def outlook(self, job: Job[Any]) -> Outlook:
        """Say when the job will be looked at, and when it may end."""
        ...

    def guard(self, listener: Callable[[JobEvent], None], event: JobEvent) -> None:
        """Call a listener, whatever it raises."""
        ...


class Job(Generic[R]):
    """Stand for one piece of asynchronous work; made by launches, `jobs.attach` and `jobs.watch`.

    `await job` gives the result, as often and from as many tasks as wanted.
    """

    __slots__ = (
        "__weakref__",
        "_adopted",
        "_closed",
        "_error",
        "_followers",
        "_history",
        "_keeper",
        "_kind",
        "_listeners",
        "_look",
        "_observed_at",
        "_on_review",
        "_phase",
        "_poll_settings",
        "_polls",
        "_record",
        "_result",
        "_since",
        "_state",
        "_target",
        "_waiters",
        "_watch",
    )

    def __init__(self, keeper: Keeper, kind: JobKind, target: str, history: JobHistory) -> None:
        self._keeper = keeper
        self._poll_settings = keeper.poll_settings
        self._kind = kind
        self._target = target
        self._history = history
        self._phase = Phase.RUNNING
        self._state: str | None = None
        self._since = history.began
        self._observed_at: float | None = None
        self._polls = 0
        # What the journal says of it, or None when nobody wrote it down.
        self._record: Record | None = None
        self._adopted = False
        # Its place in the schedule, once somebody has waited for it.
        self._watch: ScheduledPoll | None = None
        # Each gets None when the job is over, or the error that ends its waiting.
        self._waiters: list[asyncio.Future[Exception | None]] = []
        # Most jobs have none of these, and two empty lists would be a twentieth of what a job takes.
        self._followers: tuple[asyncio.Queue[JobEvent | Exception], ...] = ()
        self._listeners: tuple[Callable[[JobEvent], None], ...] = ()
        # Wants the job's review although nobody may await it.
        self._on_review: ReviewHook | None = None
        self._look: asyncio.Task[None] | None = None
        self._closed = False
        self._result: R | None = None
        self._error: Exception | None = None

    # What it is

    @property
    def kind(self) -> JobKind:
        """The kind of work."""
        return self._kind

    @property
    def target(self) -> str:
        """Identifier of what is looked at: a keyword, prompt, search, content or knowledge document."""
        return self._target

    @property
    def id(self) -> str:
        """Identifier of the job; for kinds without one, that of what it works on."""
        return self._history.job_id or self._target

    @property
    def token(self) -> str:
        """Text that `client.jobs.attach` turns into this job again, also in another process; it holds no secret."""
        return Token(
            kind=self._kind,
            target=self._target,
            job_id=self._history.job_id,
            launched_at=self._history.launched_at,
            watched=self._history.watched,
            base_url=self._keeper.base_url,
        ).spell()

    @property
    def adopted(self) -> bool:
        """Whether it is a generation found after an answer was lost that may be a colleague's."""
        return self._adopted

    @property
    def done(self) -> bool:
        """Whether it is over, with a result or an error."""
        return self._closed

    @property
    def status(self) -> JobStatus:
        """What is known of it now; sends nothing."""
        at = self._keeper.datetime_at
        outlook = self._keeper.outlook(self)
        return JobStatus(
            state=self._state,
            phase=self._phase,
            since=at(self._since),
            observed_at=at(self._observed_at) if self._observed_at is not None else None,
            polls=self._polls,
            next_poll_at=at(outlook.next_poll) if outlook.next_poll is not None else None,
            why_next="it is over" if self._closed else outlook.why,
            elapsed=self._elapsed(),
            eta=at(outlook.expected_end) if outlook.expected_end is not None else None,
        )

    def _elapsed(self) -> float:
        end = self._since if self._closed else self._keeper.time()
        return max(0.0, end - self._history.began)

    if not TYPE_CHECKING:  # type checkers go on refusing unknown names

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(
                f"a Job has no {name!r}; what it works for is its result: result = await job", name=name, obj=self
            )

    def __repr__(self) -> str:
        state = f" ({markup.plain(self._state)})" if self._state else ""
        return f"<Job {self._kind.value} {markup.plain(self.id)}: {self._phase.value}{state}, {self._polls} looks>"

    def _repr_html_(self) -> str:
        return markup.record(self.status, ("kind", self.kind), ("id", self.id), ("token", self.token), title="Job")

    # Waiting

    def __await__(self) -> Generator[Any, None, R]:
        return self.wait().__await__()

    async def wait(self, timeout: float | None = None) -> R:  # noqa: ASYNC109  the waiter's patience is the point
        """Wait for the result.

        Args:
            timeout: Seconds this waiter waits; the job and its other waiters go on without it. None waits for ever.

        Raises:
            ArgumentError: `timeout` is no finite number.
            JobWaitTimeoutError: `timeout` is over.
            JobFailedError: The service says the job failed.
            JobSupersededError: A newer generation has taken its place.
            JobVanishedError: The service no longer knows it.
            UnknownJobStateError: Its end cannot be told from what the service shows.
            JobDetachedError: It was detached.
            UnauthorizedError: The key was refused while looking. The job goes on; so do later waiters.
            ForbiddenError: Likewise.
            ClientClosedError: The client was closed. The token lives on.
        """
        if timeout is not None:
            seconds("timeout", timeout)
        if not self._closed:
            self._ensure_open()
            waiter: asyncio.Future[Exception | None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            self._keeper.subscribe(self)
            try:
                # Most wait for ever, and a timer that never rings is a tenth of what a waiter takes.
                interruption = await (waiter if timeout is None else self._within(waiter, timeout))
            finally:
                if waiter in self._waiters:
                    self._waiters.remove(waiter)
                self._keeper.unsubscribe(self)
            if interruption is not None:
                raise _own(interruption)
        if self._error is not None:
            raise _own(self._error)
        return self._result  # type: ignore[return-value]  # closed without an error: the result is there

    async def _within(self, waiter: asyncio.Future[Exception | None], timeout: float) -> Exception | None:  # noqa: ASYNC109  as above
        try:
            async with asyncio.timeout(timeout):
                return await waiter
        except TimeoutError as error:
            if waiter.cancelled():
                raise JobWaitTimeoutError(
                    f"{self!r} was not over within {timeout:g} s. It goes on and may be paid for: "
                    "wait again, or keep job.token and attach it later.",
                    job=self,
                ) from error
            # It ended in the same moment: that counts.
            return waiter.result()

    async def review(self) -> GenerationReview:
        """Wait for the review of a generation; with `on_review=` it has been decided on by then.

        Raises:
            ArgumentError: The job is not a generation.
            JobError: As for `wait`.
        """
        if not kind_of(self._kind).has_review:
            raise ArgumentError(f"A {self._kind.value} has no review; only a generation has.", parameter="job")
        return cast("GenerationReview", await self.wait())

    async def refresh(self) -> JobStatus:
        """Look now; one request and its repeats, shared with a look that is under way.

        Raises:
            APIError: The look failed; that says nothing about the job.
            TransportError: Likewise.
        """
        self._ensure_open()
        if not self._closed:
            await self._keeper.poll_now(self)
        return self.status

    async def events(self) -> AsyncIterator[JobEvent]:
        """Follow what happens to the job, from now to its end; keeps it being looked at.

        A refused key shows as `PollFailed`, and the looks go on.

        Raises:
            JobDetachedError: It was detached.
            ClientClosedError: The client was closed. The token lives on.
        """
        if self._closed:
            yield Finished(self.status, self._error)
            return
        self._ensure_open()
        heard: asyncio.Queue[JobEvent | Exception] = asyncio.Queue()
        self._followers = (*self._followers, heard)
        self._keeper.subscribe(self)
        try:
            while True:
                event = await heard.get()
                if isinstance(event, Exception):
                    raise _own(event)
                yield event
                if isinstance(event, Finished):
                    return
        finally:
            self._followers = tuple(other for other in self._followers if other is not heard)
            self._keeper.unsubscribe(self)

    def on(self, event: type[E], call: Callable[[E], Any]) -> None:
        """Call a function on each event of a class; keeps the job being looked at until its end.

        Args:
            event: `Observed`, `PollFailed` or `Finished`.
            call: A plain function; it runs on the event loop. What it raises is logged and forgotten.

        Raises:
            ArgumentError: `event` is no class, or `call` is no plain function; use `events()` to await.
        """
        try:
            isinstance(None, event)
        except TypeError:
            raise ArgumentError(f"event is a class of events, not {excerpt(event)}.", parameter="event") from None
        function("call", call)
        if inspect.iscoroutinefunction(call):
            raise ArgumentError("job.on takes a plain function; to await, iterate over job.events().", parameter="call")

        def filtered(happened: JobEvent) -> None:
            if isinstance(happened, event):
                call(happened)

        if self._closed:
            self._keeper.guard(filtered, Finished(self.status, self._error))
            return
        self._ensure_open()
        self._listeners = (*self._listeners, filtered)
        self._keeper.subscribe(self)

    def detach(self) -> None:
        """Stop looking and wake all waiters with `JobDetachedError`; the remote job and its token live on.

        A launch of the same work joins it still, while it goes on.
        A review that `on_review` is deciding on at this moment is decided to the end.
        """
        if not self._closed:
            self._interrupt(
                JobDetachedError(
                    f"{self!r} was detached. It goes on and may be paid for: client.jobs.attach(token) waits for it "
                    "again.",
                    job=self,
                )
            )
            self._keeper.unsubscribe(self)

    def _ensure_open(self) -> None:
        try:
            self._keeper.ensure_open()
        except ClientClosedError as error:
            error.add_note(f"{self!r} goes on at the service and may be paid for: its token is {self.token!r}.")
            raise

    # For its keeper

    @property
    def subscribed(self) -> bool:
        """Whether a waiter, a follower, a listener or a review hook wants it polled."""
        return not self._closed and bool(self._waiters or self._followers or self._listeners or self._on_review)

    @property
    def _undecided(self) -> bool:
        """Whether it is over because its article waits for a decision that nobody has made."""
        result = self._result
        decided = isinstance(result, GenerationReview) and result.decision not in (None, "leave")
        return self._closed and self._phase is Phase.REVIEW and not decided

    def _tell(self, make: Callable[[], JobEvent]) -> None:
        """Tell an event to those who listen; without listeners it is not made, because its status costs a forecast."""
        if not (self._followers or self._listeners):
            return
        event = make()
        for follower in self._followers:
            follower.put_nowait(event)
        for listener in self._listeners:
            self._keeper.guard(listener, event)

    def _close(self, result: R | None, error: Exception | None) -> None:
        self._result, self._error = result, error
        self._closed = True
        self._tell(lambda: Finished(self.status, error))
        self._abandon()
        self._wake(None)

    def _order(self, hook: ReviewHook) -> None:
        """Have a hook decide on its review; of several the first one does."""
        if not self._closed and self._on_review is None:
            self._on_review = hook
            self._keeper.subscribe(self)

    def _interrupt(self, error: Exception) -> None:
        """End all interest in it, although it is not over."""
        followers = self._followers
        self._abandon()
        for follower in followers:
            follower.put_nowait(error)
        self._wake(error)

    def _abandon(self) -> None:
        self._followers = self._listeners = ()
        self._on_review = None

    def _wake(self, error: Exception | None) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(error)


def _own(error: Exception) -> Exception:
    """Give each waiter an error of its own, so that their tracebacks do not grow into each other."""
    if isinstance(error, CMSError):
        return error.fresh()
    try:
        twin = copy.copy(error)
    except Exception:  # an exception of the user's that cannot be copied is better shared than lost
        return error
    twin.__cause__ = error.__cause__
    if notes := getattr(error, "__notes__", None):
        # A list that `add_note` grows in place: copies must not grow together.
        twin.__notes__ = list(notes)
    return twin.with_traceback(error.__traceback__)
