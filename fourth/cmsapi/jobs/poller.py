"""The poller: one timer for all jobs of an account, and what follows from a poll.

Any number of tasks may wait for a job; they share one stream of polls, and without a waiter there are none. A poll that
fails (429, 5xx, no answer, an unreadable one) says nothing of its job. After one, the account sends one poll at a time,
after pauses that double, until a poll succeeds.
"""

from __future__ import annotations

import asyncio
import copy
import math
from typing import Any
from weakref import WeakSet, WeakValueDictionary

from cmsapi.config import PollPolicy
from cmsapi.errors import (
    CMSError,
    DecodeError,
    JobFailedError,
    NotFoundError,
    RateLimitedError,
    ServerError,
    TransportError,
    UnclearJobError,
)
from cmsapi.jobs.kinds import JobKind, Kind, Launch, Observation, Phase
from cmsapi.jobs.schedule import Schedule
from cmsapi.limits.limiter import Limiter, Priority
from cmsapi.models import ContentIdea, ContentIdeas
from cmsapi.observe.events import JobObserved
from cmsapi.transport.account import Account
from cmsapi.transport.pipeline import Pipeline
from cmsapi.wire.paging import Page

_UNCLEAR_POLLS = 3
"""Polls in a row with the same reason, at least, before a wait ends as unclear."""
_FIRST_PAUSE = 2.0
"""Seconds without polls after the first that failed."""
_LONGEST_PAUSE = 60.0
"""Seconds without polls during an outage, at most."""
_LOOK = 1.0
"""Seconds until the schedule is looked at again while the hour is crowded."""


class Tracked:
    """What is known of a job, for all who wait for it. Times are those of the event loop.

    Attributes:
        kind: Its kind.
        target: Identifier that it is polled by.
        pipeline: The calls of the client that asked first.
        own: Identifier that the service gave the job, if its kind has one.
        launched: When it was launched, or first watched.
        polled: When its last poll ended.
        seen: Age at which it was last seen running.
        moved: True if a poll has shown it at work.
        phase: What the newest clear poll has shown.
        value: Its result.
        error: Its failure.
        watchers: Number of waits.
        waiters: Futures of those who await its end.
        streams: Streams of events, which get what polls show, None at the end, and the exception that ends the waits.
    """

    def __init__(self, kind: Kind, target: str, pipeline: Pipeline, own: str | None = None) -> None:
        self.kind: Kind = kind
        self.target: str = target
        self.pipeline: Pipeline = pipeline
        self.own: str | None = own
        self.launched: float = asyncio.get_running_loop().time()
        self.polled: float = self.launched
        self.seen: float = 0.0
        self.moved: bool = False
        self.phase: Phase = Phase.RUNNING
        self.value: Any = None
        self.error: CMSError | None = None
        self.watchers: int = 0
        self.waiters: set[asyncio.Future[None]] = set()
        self.streams: WeakSet[Any] = WeakSet()
        self.reason: str | None = None  # why polls are unclear, since when, and how many
        self.unclear_since: float = math.inf
        self.unclear_polls: int = 0
        self.failing_since: float = math.inf

    @property
    def done(self) -> bool:
        """True if the job has succeeded or failed."""
        return self.phase in (Phase.SUCCEEDED, Phase.FAILED)

    def __str__(self) -> str:
        return f"the {self.kind.name} of {self.target}"

    def settle(self, phase: Phase, value: Any, error: CMSError | None) -> None:
        """End the job for all who wait."""
        self.phase, self.value, self.error = phase, value, error
        for waiter in self.waiters:
            if not waiter.done():
                waiter.set_result(None)
        for stream in self.streams:
            stream.put(None)

    def interrupt(self, error: BaseException) -> None:
        """End all waits with an exception; the job goes on at the service."""
        for waiter in self.waiters:
            if not waiter.done():
                waiter.set_exception(copy.copy(error) if isinstance(error, CMSError) else error)
        for stream in self.streams:
            stream.put(error)


class Poller:
    """Polls all watched jobs of an account."""

    def __init__(self, limiter: Limiter, policy: PollPolicy) -> None:
        self._limiter = limiter
        self._policy = policy
        self.job_timeout: float = policy.job_timeout
        # Requests that a result takes besides the poll that finds it, until it was seen.
        results = {str(kind): 1.0 if kind is JobKind.SEARCH else 0.0 for kind in JobKind}
        self._schedule: Schedule[Tracked] = Schedule(results, policy.min_interval, policy.max_interval)
        self._polls: dict[Tracked, asyncio.Task[BaseException | None]] = {}
        self._known: WeakValueDictionary[tuple[str, str], Tracked] = WeakValueDictionary()
        self._timer: asyncio.TimerHandle | None = None
        self._pause = 0.0  # seconds between polls after the newest one failed; 0 if it succeeded
        self._quiet_until = -math.inf  # infinity while a poll that goes alone is under way
        self._changed = True  # whether something happened since the newest plan
        self._crowded = False  # whether that plan could not keep the advised intervals
        self._planned = -math.inf  # when it was made

    def track(self, kind: Kind, target: str, pipeline: Pipeline) -> Tracked:
        """Return what is known of a job, the same for all who ask while it runs."""
        known = self._known.get((kind.name, target))
        if known is None or known.done:
            known = self._known[kind.name, target] = Tracked(kind, target, pipeline)
        return known

    def watch(self, job: Tracked) -> None:
        """Poll a job for one more wait."""
        job.watchers += 1
        if job not in self._schedule.jobs:
            self._schedule.add(job, job.kind.name, job.launched, job.polled, seen=job.seen)
            self._look_again()

    def unwatch(self, job: Tracked) -> None:
        """Poll a job for one wait less."""
        job.watchers -= 1
        if not job.watchers:
            self._schedule.forget(job)

    async def poll(self, job: Tracked) -> None:
        """Poll a job once, now, or wait for the poll that is under way; raise what it met."""
        if error := await asyncio.shield(self._polls.get(job) or self._start(job)):
            raise error

    def _start(self, job: Tracked) -> asyncio.Task[BaseException | None]:
        task = self._polls[job] = asyncio.get_running_loop().create_task(self._poll(job))
        return task

    def _look_again(self) -> None:
        self._changed = True
        self._set_timer(asyncio.get_running_loop().time())

    def _set_timer(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(at, self._tick, at)

    def _tick(self, at: float) -> None:
        try:
            # A timer may fire a resolution of the clock early; it must not find its own time still to come.
            self._poll_due(max(at, asyncio.get_running_loop().time()))
        except BaseException as error:  # those who wait must not be left without an end
            for job in list(self._schedule.jobs):
                job.interrupt(error)
            raise

    def _poll_due(self, now: float) -> None:
        hour = self._limiter.forecast()
        if (self._changed and not self._crowded) or (self._crowded and now >= self._planned + _LOOK):
            crowded = self._schedule.plan(now, hour, {})
            self._crowded, self._changed, self._planned = crowded, False, now
        following = now + _LOOK if self._crowded else math.inf
        for job in [job for job in self._schedule.jobs if job not in self._polls]:
            due = max(self._schedule.due(job), self._quiet_until)
            if due > now:
                following = min(following, due)
            elif self._schedule.may_poll(job, now, hour.free):
                self._start(job)
                if self._pause:  # after a failed poll the next one goes alone
                    self._quiet_until = math.inf
            else:
                following = min(following, now + _LOOK)
        if following < math.inf:
            self._set_timer(following)

    async def _poll(self, job: Tracked) -> BaseException | None:
        try:
            document = await job.pipeline.once(job.kind.poll, job.kind.shape, job.target, priority=Priority.POLL)
            now = asyncio.get_running_loop().time()
            self._pause, self._quiet_until = 0.0, -math.inf
            launch = Launch(job.target, None, now - job.launched, job.moved, job.own)
            await self._observe(job, job.kind.read(document, launch), document)
        except NotFoundError:
            await self._observe(job, Observation(Phase.UNCLEAR, "the service does not find it (404)"))
        except (TransportError, ServerError, RateLimitedError, DecodeError) as error:
            self._failed(job, error)
            return error
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # a refused key, a closed client, a mistake, the end of a test: no wait mends it
            job.interrupt(error)
            return error
        finally:
            job.polled = asyncio.get_running_loop().time()
            del self._polls[job]
            if self._quiet_until == math.inf:  # this was the poll that went alone, and it got an answer
                self._quiet_until = job.polled + self._pause
            self._look_again()
        return None

    async def _observe(self, job: Tracked, observation: Observation, document: Any = None) -> None:
        now = asyncio.get_running_loop().time()
        age, phase = now - job.launched, observation.phase
        if phase is Phase.SUCCEEDED and job.kind.name is JobKind.SEARCH:
            document = await self._ideas(job, document)
        job.failing_since = math.inf
        event = JobObserved(job.kind.name, job.target, phase, age, observation.reason)
        job.pipeline.emit(event)
        for stream in job.streams:
            stream.put(event)
        watched = job in self._schedule.jobs
        if phase is Phase.UNCLEAR:
            self._unclear(job, str(observation.reason), now)
            return
        job.reason, job.moved = None, job.moved or observation.moving
        if phase in (Phase.SUCCEEDED, Phase.FAILED):
            if watched:
                self._schedule.ended(job, now)
            problem = f"the service reports that {job} failed; a credit that it took stays spent"
            job.settle(phase, document, JobFailedError(problem) if phase is Phase.FAILED else None)
            return
        job.phase, job.seen = phase, age
        if watched:
            self._schedule.running(job, now)

    async def _ideas(self, job: Tracked, search: Any) -> ContentIdeas:
        pages: list[Page[ContentIdea]] = []
        listed = job.pipeline.list("list_content_ideas", ContentIdea, job.target, priority=Priority.RESULT)
        async for page in listed.pages():
            pages.append(page)  # noqa: PERF401  an iteration that may end with an error half-way
        self._schedule.results[job.kind.name] = max(1.0, (self._schedule.results[job.kind.name] + len(pages)) / 2)
        ideas = tuple(idea for page in pages for idea in page)
        announced = max(search.nb_content_ideas or 0, *(page.total or 0 for page in pages))
        return ContentIdeas(search=search, ideas=ideas, complete=len(ideas) >= announced)

    def _unclear(self, job: Tracked, reason: str, now: float) -> None:
        if job.reason != reason:
            job.reason, job.unclear_since, job.unclear_polls = reason, now, 0
        job.unclear_polls += 1
        if job in self._schedule.jobs:
            self._schedule.failed(job, now)
        if job.unclear_polls >= _UNCLEAR_POLLS and now - job.unclear_since >= self._policy.unclear_timeout:
            problem = (
                f"{job} has been unclear for {now - job.unclear_since:.0f} s: {reason}; it may go on at the service"
            )
            job.interrupt(UnclearJobError(problem, reason=reason))

    def _failed(self, job: Tracked, error: CMSError) -> None:
        now = asyncio.get_running_loop().time()
        self._pause = min(_LONGEST_PAUSE, max(_FIRST_PAUSE, 2 * self._pause))
        self._quiet_until = now + self._pause
        if job in self._schedule.jobs:
            self._schedule.failed(job, now)
        job.failing_since = min(job.failing_since, now)
        if now - job.failing_since >= self._policy.outage_timeout:
            job.interrupt(error)


def poller_of(account: Account, policy: PollPolicy) -> Poller:
    """Return the poller of an account; the policy of its first client holds."""
    if account.poller is None:
        account.poller = Poller(account.limiter, policy)
    poller: Poller = account.poller
    return poller
