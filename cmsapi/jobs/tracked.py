"""One job as this client knows it: the only place where its state is kept.

The handle, the poller, the scheduler, the journal and the registry all work on the same `TrackedJob`. An entry of the
journal and its job refer to each other, so `Record` is defined here, too.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from collections.abc import Callable, Iterator
from typing import Protocol, TypeAlias

import attrs

from cmsapi.api.models.user import User
from cmsapi.config import PollPolicy
from cmsapi.display import markup
from cmsapi.jobs.kinds.doubt import Lasting
from cmsapi.jobs.kinds.kind import JobHistory, Kind
from cmsapi.jobs.kinds.review import GenerationReview, ReviewHook
from cmsapi.jobs.status import JobEvent, JobStatus, Phase
from cmsapi.jobs.timing import Timing
from cmsapi.jobs.token import write_token
from cmsapi.state.entry import Entry, EntryStatus, Lease
from cmsapi.transport.caller import OperationCaller

# Seconds within which a launch that was sent is answered.
_LONGEST_LAUNCH = 60.0

#: Work that one job stands for: its kind and its target.
JobKey: TypeAlias = tuple[Kind, str]
#: Jobs that are planned alike: a kind, under one policy.
LoadKey: TypeAlias = tuple[Kind, PollPolicy]

#: The jobs on whose reviews a hook decides, in whose context the current task runs.
DECIDING: contextvars.ContextVar[tuple[TrackedJob, ...]] = contextvars.ContextVar("cmsapi_deciding", default=())


@attrs.frozen(eq=False)
class PollSettings:
    """Hold the settings with which one client polls its jobs.

    A job that several clients wait for has one stream of polls, made with the settings of one of them.

    Args:
        caller: Calls the operations, with the client's timeouts, retries and routes.
        policy: How often to poll.
        depth: How many times `with_options` was called to make the client.
    """

    caller: OperationCaller
    policy: PollPolicy
    depth: int = 0

    async def read_user(self) -> User:
        """Read whose key it is; one request."""
        return await self.caller.call(User, "get_me")


def _lease_of_no_scope(record: Record) -> Lease:
    return Lease("", f"{record.entry.kind} {record.entry.target}")


@attrs.define(eq=False)
class Record:
    """Hold an entry of the launch journal as this client knows it.

    Args:
        entry: What it says.
        lease: The lease under which this client holds it or asks for it; without a scope before it was found.
        held: Whether this client holds it.
        pollable: Whether this client may poll its job: it holds the entry, there is no such entry, or the journal
            cannot be reached.
        job: The job that it stands for, once there is one.
        working: Set when the task that launches or reconciles it has ended; None when no task does.
    """

    entry: Entry
    lease: Lease = attrs.field(default=attrs.Factory(_lease_of_no_scope, takes_self=True))
    held: bool = False
    pollable: bool = False
    job: TrackedJob | None = None
    working: asyncio.Event | None = None

    @property
    def bound(self) -> bool:
        """Whether the service is known to have launched it."""
        return self.entry.status not in (EntryStatus.INTENT, EntryStatus.SENDING)

    @property
    def idle(self) -> bool:
        """Whether this client neither works on it nor waits for its job."""
        return self.working is None and (self.job is None or not self.job.has_subscribers)

    @contextlib.contextmanager
    def in_work(self) -> Iterator[None]:
        """Keep other tasks of this client from working on it meanwhile."""
        mine = self.working = asyncio.Event()
        try:
            yield
        finally:
            mine.set()
            self.working = None

    def bind(self, job: TrackedJob) -> None:
        """Have the entry stand for a job."""
        self.job, job.record = job, self


@attrs.define(eq=False)
class Failures:
    """Count the failed polls of one job since the last one that succeeded.

    Args:
        polls: Failed polls in a row.
        last: How the last of them has failed, in words.
        lasting: The doubt that the last of them have shown, or None.
    """

    polls: int = 0
    last: str = ""
    lasting: Lasting | None = None


class Handle(Protocol):
    """The public `Job`, as far as the modules below it know it."""

    @property
    def token(self) -> str:
        """Text that attaches the job again."""
        ...

    @property
    def status(self) -> JobStatus:
        """What is known of it."""
        ...


@attrs.frozen
class End:
    """Say how a job is finished: with a result or an error."""

    result: object = None
    error: Exception | None = None


@attrs.define(eq=False, weakref_slot=False)
class Subscribers:
    """Hold what waits for the end of one job, or hears of its polls.

    Args:
        waiters: One future for each waiter. It gets None when the job is finished, or the error that ends the wait.
        listeners: Functions called with each event, and with the error that ends subscriptions early.
        on_review: Decides on the review of a generation.
        context: The context variables of the polls: those of the first subscriber, as hooks have changed them.
    """

    # Most jobs have one and none, and lists would take memory for each of them.
    waiters: tuple[asyncio.Future[Exception | None], ...] = ()
    listeners: tuple[Callable[[JobEvent | Exception], None], ...] = ()
    on_review: ReviewHook | None = None
    context: contextvars.Context | None = None

    def tell(self, event: JobEvent | Exception) -> None:
        """Tell the listeners an event, or the error that ends their subscriptions."""
        for listener in self.listeners:
            listener(event)

    def wake(self, error: Exception | None) -> None:
        """Wake the waiters: without an error the job is finished, with one they raise that."""
        waiters, self.waiters = self.waiters, ()
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(error)

    def leave(self, error: Exception | None) -> None:
        """Give up all subscriptions: without an error the job is finished, with one they end although it goes on."""
        if error is not None:
            self.tell(error)
        self.listeners, self.on_review = (), None
        self.wake(error)


def _key(job: TrackedJob) -> JobKey:
    return (job.kind, job.target)


def _began(job: TrackedJob) -> float:
    return job.history.began


# A weak reference would take eight bytes more of each job that waits.
@attrs.define(eq=False, repr=False, weakref_slot=False)
class TrackedJob:
    """Hold the state of one job.

    Args:
        kind: The kind of work.
        target: Identifier of what is polled: a keyword, prompt, search, content or knowledge document.
        history: What the service has shown of it: where it stands, and what decides about later polls.
        settings: How it is polled.
        key: Its kind and target, which are those of other launches of the same work, too.
        handle: The public `Job`, which errors carry.
        record: Its entry in the launch journal, or None without one.
        adopted: Whether it is a generation found after a lost answer that a colleague may have launched.
        end: How it is finished, None while it is not.
        subscribers: What has it polled.
        polls: Polls so far.
        failures: The polls that have failed since the last one that succeeded; None without any.
        poll: The poll under way.
        deciding: Whether `on_review` is deciding.
        timing: When it is polled; None before the scheduler had it for the first time.
    """

    kind: Kind
    target: str
    history: JobHistory
    settings: PollSettings
    key: JobKey = attrs.field(init=False, default=attrs.Factory(_key, takes_self=True))
    handle: Handle | None = None
    record: Record | None = None
    adopted: bool = False
    end: End | None = None

    # What polls it
    subscribers: Subscribers = attrs.field(factory=Subscribers)
    polls: int = 0
    failures: Failures | None = None
    poll: asyncio.Task[None] | None = None
    deciding: bool = False

    # When it is polled
    timing: Timing | None = None

    def __repr__(self) -> str:
        phase, word = self.history.phase.value, self.history.word
        said = f" ({markup.plain(word)})" if word else ""
        return f"<Job {self.kind} {markup.plain(self.id)}: {phase}{said}, {self.polls} polls>"

    @property
    def id(self) -> str:
        """Identifier of the job; for kinds without one, that of what it works on."""
        return self.history.job_id or self.target

    @property
    def load_key(self) -> LoadKey:
        """What it has in common with the jobs that are planned alike."""
        return (self.kind, self.settings.policy)

    @property
    def closed(self) -> bool:
        """Whether it is finished."""
        return self.end is not None

    @property
    def lasting(self) -> Lasting | None:
        """The doubt that its last poll has shown, or None."""
        return self.history.lasting if self.failures is None else self.failures.lasting

    @property
    def result(self) -> object:
        """Its result, once it is finished with one."""
        return None if self.end is None else self.end.result

    @property
    def has_subscribers(self) -> bool:
        """Whether a waiter, a listener or a review hook wants it polled."""
        wanted = self.subscribers
        return self.end is None and bool(wanted.waiters or wanted.listeners or wanted.on_review)

    @property
    def final_status(self) -> EntryStatus:
        """How the journal and batches call its end; their *unknown* is a launch that may have happened."""
        phase = self.history.phase
        return EntryStatus.UNDECIDED if phase is Phase.UNKNOWN else EntryStatus(phase.value)

    @property
    def undecided(self) -> bool:
        """Whether it is finished because its article waits for a decision, which was not made yet."""
        return self.closed and self.history.phase is Phase.REVIEW

    def decided(self, review: GenerationReview) -> None:
        """Note that its article was decided on."""
        self.history.enter(Phase.SUCCEEDED, asyncio.get_running_loop().time())
        self.history.word = str(review.generation.status)

    def token(self, base_url: str) -> str:
        """Spell the token that attaches it again."""
        return write_token(self.kind.name, self.target, self.history, base_url)

    @property
    def elapsed(self) -> float:
        """Seconds since its launch, or since it was first known, until now or its end."""
        history = self.history
        end = history.since if self.closed else asyncio.get_running_loop().time()
        launched = None if history.watched else self.launch_time(end)
        return max(0.0, end - (history.began if launched is None else launched))

    def answered_for(self, now: float) -> float:
        """Return the seconds for which its launch has certainly been answered, at a loop time."""
        launched = self.launch_time(now)
        sure = 0.0 if launched is None else now - launched - _LONGEST_LAUNCH
        return max(now - self.history.began, sure)

    def launch_time(self, now: float) -> float | None:
        """Return the loop time of its launch; the service's clock tells that of a job that was not launched just now.

        It is None while that clock is not known, and where the time of the launch is not.
        """
        history = self.history
        if history.fresh:
            return history.began
        served = None if history.launched_at is None else self.settings.caller.pipeline.clock.at(now)
        if served is None or history.launched_at is None:
            return None
        return now - max(0.0, (served - history.launched_at).total_seconds())
