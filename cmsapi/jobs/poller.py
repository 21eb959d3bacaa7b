"""The poller: one timer that polls all watched jobs of an account, and the handling of what each poll finds.

Any number of tasks may wait for a job; they share its polls. The timer polls a job only while a task waits for it. A
poll that fails (429, 5xx, no response, or an unreadable response) says nothing about its job. After a failed poll, the
timer sends one poll at a time, with pauses that double up to a minute, until a poll succeeds.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import zlib
from collections import Counter, deque
from collections.abc import Mapping
from contextvars import Context
from typing import Any
from weakref import WeakValueDictionary

import anyio

from cmsapi.config import PollPolicy, RateLimits
from cmsapi.errors import (
    CMSError,
    ConflictError,
    DecodeError,
    JobFailedError,
    NotFoundError,
    RateLimitedError,
    ServerError,
    StateError,
    TransportError,
    UnclearJobError,
)
from cmsapi.jobs.balance import Balance
from cmsapi.jobs.kinds import JobKind, Kind, LaunchContext, kinds_of
from cmsapi.jobs.review import GenerationReview, OnReview, decision_of
from cmsapi.jobs.schedule import MISSES, Schedule
from cmsapi.jobs.token import Token
from cmsapi.jobs.tracked import Tracked
from cmsapi.jobs.words import Observation, Phase
from cmsapi.limits.limiter import Forecast, Limiter, Priority
from cmsapi.models import ContentIdea, ContentIdeas
from cmsapi.observe.events import JobObserved
from cmsapi.observe.log import logger
from cmsapi.state.store import OPEN, JobStatus, Row, SharedStore, Store
from cmsapi.transport.account import Account
from cmsapi.transport.pipeline import Pipeline
from cmsapi.wire.converter import dump
from cmsapi.wire.paging import Page

_UNCLEAR_POLLS = 3  # minimum number of polls in a row with the same reason before a wait ends as unclear
_FIRST_PAUSE = 2.0  # seconds without polls after the first failed poll
_LONGEST_PAUSE = 60.0  # maximum seconds without polls during an outage
LOOK = 1.0  # seconds between two checks for free requests, or for the outcome of a launch by another process
_LARGEST = 262_144  # maximum bytes of a compressed result in the state; a larger one is read again from the service


class Poller:
    """Poller of the watched jobs of an account; it also holds the data that the account's launches share."""

    def __init__(self, account: Account, policy: PollPolicy) -> None:
        self.store: Store = account.store
        self.balance: Balance = Balance(kinds_of()[JobKind.SEARCH])
        self.pending: dict[Any, Any] = {}  # launches that have no job yet, by client, kind and target
        self.waiting: dict[Any, tuple[JobKind | None, int]] = {}  # by fan-out: kind, if known; number of waiting items
        self.admitted: float = 0.0  # requests reserved for launches of fan-outs that have no job yet
        self.job_timeout: float = policy.job_timeout
        self.limiter: Limiter = account.limiter
        self._policy = policy
        # Requests that a result takes, besides the poll that finds the job ended; a guess until a result has been read.
        results = {str(kind): 1.0 if kind is JobKind.SEARCH else 0.0 for kind in JobKind}
        self.schedule: Schedule[Tracked] = Schedule(results, policy.min_interval, policy.max_interval)
        self._polls: dict[Tracked, asyncio.Task[BaseException | None]] = {}
        self.remembered: deque[Tracked] = deque(maxlen=RateLimits().per_hour)  # jobs that `Jobs.status` was asked about
        self._known: WeakValueDictionary[tuple[str, str], Tracked] = WeakValueDictionary()
        self._timer: asyncio.TimerHandle | None = None
        self._failing_since = math.inf  # when the first poll since the last success failed
        self._quiet_until = -math.inf  # earliest time of the next poll after a failure; infinity during that poll
        self._changed = True  # whether something has happened since the latest plan
        self._crowded = False  # whether the latest plan exceeds the advised intervals
        self._planned = -math.inf  # when the latest plan was made
        self._opening = asyncio.Lock()
        self._room = asyncio.Event()  # set when something has changed that a launch may wait for

    def track(self, kind: Kind, id: str, pipeline: Pipeline) -> Tracked:  # noqa: A002  the service's word
        """Return the tracked job with identifier ``id``; while the job runs, all callers get the same object."""
        known = self._known.get((kind.name, id))
        if known is None or known.done:
            known = self._known[kind.name, id] = Tracked(kind, Token(kind.name, id, id), (pipeline,))
        known.serve(pipeline)
        return known

    def trace(self, kind: Kind, token: Token, pipeline: Pipeline, *, new: bool = False) -> Tracked:
        """Return the tracked job of ``token``. While the job runs, callers share one object, unless ``new`` is true."""
        known = self._known.get((kind.name, token.id))
        same = known is not None and not new and (known.token.own, known.token.at) == (token.own, token.at)
        if known is not None and same and (not known.done or (token.at and known.phase is not Phase.REVIEW)):
            known.serve(pipeline)
            return known
        job = Tracked(kind, token, (pipeline,))
        if new or known is None or known.done:  # else the known job is of a later launch
            self._known[kind.name, token.id] = job
        return job

    async def adopt(
        self, row: Row, kind: Kind, token: Token, began: float, pipeline: Pipeline, on_review: OnReview | None
    ) -> Tracked:
        """Record that the service accepted a launch, which was sent at loop time ``began``, and return its job."""
        known: dict[str, Any] = {"status": JobStatus.RUNNING, "token": str(token)}
        try:
            if not await self.store.update(row, **known):
                # Another process has settled the launch, taking this process for dead, but the response came here.
                row = await self.store.get(row.id) or row
                await self.store.update(row, **known)
        except StateError as error:
            logger.warning("the %s of %s runs, but the state does not know it: %s", row.kind, row.name, error)
        job = self.trace(kind, token, pipeline, new=True)
        job.launched = job.polled = began
        job.on_review = on_review
        return job

    def watch(self, job: Tracked) -> None:
        """Register a wait for a job, and have the timer poll the job until it ends or all its waits are removed."""
        job.watchers += 1
        if job not in self.schedule.jobs and not job.done:
            self.schedule.add(job, job.kind.name, job.launched, job.polled, seen=job.seen)
            self.changed()

    def unwatch(self, job: Tracked) -> None:
        """Remove a wait for a job, and stop the timer's polls of the job if that was its last wait."""
        job.watchers -= 1
        if not job.watchers:
            self.schedule.forget(job)
            self._room.set()

    async def poll(self, job: Tracked) -> None:
        """Poll a job now, or wait for the poll that is already under way; if the poll fails, raise its error."""
        if error := await asyncio.shield(self._polls.get(job) or self._start(job)):
            raise error

    def seconds_left(self, kind: JobKind, held: int, in_flight: int | None) -> float | None:
        """Estimate the seconds until all running jobs of ``kind`` and ``held`` unlaunched ones end; None if unknown."""
        now, hour = asyncio.get_running_loop().time(), self.limiter.forecast()
        hour.free = self._free_beside_others()
        return self.schedule.seconds_left(kind, now, hour, held, in_flight)

    def life(self, kind: JobKind | None) -> float:
        """Return how many requests a job of ``kind`` needs at least; for None, the largest number of all kinds."""
        results = self.schedule.results
        return 2 + (max(results.values()) if kind is None else results[kind])

    async def room(self, kind: JobKind | None) -> float:
        """Wait until enough requests are free for another job, add them to ``admitted``, and return their number."""
        while not self.schedule.may_launch(self.life(kind), self._free_beside_others()):
            self._room.clear()
            with anyio.move_on_after(LOOK):
                await self._room.wait()
        life = self.life(kind) + MISSES
        self.admitted += life
        return life

    def changed(self) -> None:
        """Wake the timer and the waiting launches, so that they check again how many requests are free."""
        self._changed = True
        self._room.set()
        self._set_timer(asyncio.get_running_loop().time())

    def _free_beside_others(self) -> int:
        """Return the free requests minus those reserved for admitted launches and for the jobs of other processes."""
        hour = self.limiter.forecast()
        others = sum(count * (self.life(JobKind(kind)) - 1) for kind, count in (hour.open_jobs or {}).items())
        return int(hour.free - self.admitted - max(0.0, others - self.schedule.owed()))

    async def open(self, pipeline: Pipeline) -> None:
        """On the first use of a shared store, set its scope and load its durations, which costs one request."""
        store = self.store
        if not isinstance(store, SharedStore) or store.scope:
            return
        async with self._opening:
            if store.scope:
                return
            user = await self.balance.read(pipeline)
            organization = user.organization.id if user.organization else None
            scope = f"{pipeline.base_url} {organization or pipeline.headers['Authorization']}"
            store.scope = hashlib.sha256(scope.encode()).hexdigest()[:32]
            for kind, learned in (await store.durations()).items():
                self.schedule.models[kind].load(learned)

    def _forecast(self) -> Forecast:
        hour = self.limiter.forecast()
        hour.free = max(0, hour.free - math.ceil(self.admitted))
        if hour.open_jobs is not None:
            self._share(hour, hour.open_jobs)
        return hour

    def _share(self, hour: Forecast, open_jobs: Mapping[str, int]) -> None:
        """Subtract from ``hour`` what other processes need for their open jobs, and their share of the rest."""
        own = self.schedule.owed()
        needed = sum(count * (self.life(JobKind(kind)) - 1) for kind, count in open_jobs.items())
        if needed > own:
            share, returning = own / needed, hour.returning
            hour.free = int(own + (hour.free - needed) * share) if hour.free > needed else int(hour.free * share)
            hour.returning = lambda ahead: int(returning(ahead) * share)

    def _start(self, job: Tracked) -> asyncio.Task[BaseException | None]:
        task = asyncio.get_running_loop().create_task(self._poll(job))
        if not task.done():  # an eager task may have ended
            self._polls[job] = task
        return task

    def _set_timer(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_at(at, self._tick, at, context=Context())  # not a caller's

    def _tick(self, at: float) -> None:
        try:
            # A timer may fire early, by the clock's resolution: its time then counts as the present.
            self._poll_due(max(at, asyncio.get_running_loop().time()))
        except BaseException as error:  # waiters must not wait forever
            for job in list(self.schedule.jobs):
                job.interrupt(error)
            raise

    def _poll_due(self, now: float) -> None:
        hour = self._forecast()
        outdated = now >= self._planned + LOOK if self._crowded else self._changed
        if outdated:
            held = Counter[str]()
            for kind, count in self.waiting.values():
                held[kind or JobKind.SEARCH] += count
            self._crowded, self._changed, self._planned = self.schedule.plan(now, hour, held), False, now
        following = now + LOOK if self._crowded else math.inf
        for job in [job for job in self.schedule.jobs if job not in self._polls]:
            due = max(self.schedule.due(job), self._quiet_until)
            if due > now:
                following = min(following, due)
            elif self.schedule.may_poll(job, now, hour.free):
                self._start(job)
                if self._failing_since < math.inf:  # after a failed poll, the next one is sent alone
                    self._quiet_until = math.inf
            else:
                following = min(following, now + LOOK)
        if following < math.inf:
            self._set_timer(following)

    async def _poll(self, job: Tracked) -> BaseException | None:
        try:
            document: Any = None
            try:
                document = await job.pipeline.once(job.kind.poll, job.kind.shape, job.token.id, priority=Priority.POLL)
                age = asyncio.get_running_loop().time() - job.launched
                observation = job.kind.read(document, LaunchContext(job.token.at, age, job.moved, job.token.own))
                if observation.phase is Phase.SUCCEEDED and job.kind.name is JobKind.SEARCH:
                    document = await self._ideas(job, document)
            except (NotFoundError, ConflictError) as error:  # a read may not show a recent write yet
                observation = Observation(Phase.UNCLEAR, f"the service does not show it ({error.status})")
            self._quiet_until, self._failing_since = -math.inf, math.inf
            await self._observe(job, observation, document)
        except (TransportError, ServerError, RateLimitedError, DecodeError) as error:
            self._failed(job, error)
            return error
        except BaseException as error:  # a refused key, a closed client, a bug, the end of a test: waiting cannot help
            job.interrupt(error)
            return error
        finally:
            job.polled = asyncio.get_running_loop().time()
            self._polls.pop(job, None)
            if self._quiet_until == math.inf:  # this was the one poll after a pause, and another kind of error ended it
                self._quiet_until = job.polled + _FIRST_PAUSE
            self.changed()
        return None

    async def _observe(self, job: Tracked, observation: Observation, document: Any) -> None:
        now = asyncio.get_running_loop().time()
        age, phase = now - job.launched, observation.phase
        job.failing_since = math.inf
        job.show(JobObserved(job.kind.name, job.token.id, phase, age, observation.reason))
        if phase is Phase.UNCLEAR:
            self._unclear(job, str(observation.reason), now)
            return
        job.reason, job.moved = None, job.moved or observation.moving
        if phase is Phase.RUNNING:
            job.phase, job.seen = phase, age
            if job in self.schedule.jobs:
                self.schedule.running(job, now)
            return
        await self._end(job, phase, document)
        if job in self.schedule.jobs:  # last, so that after a failure above the job is polled again
            self.schedule.ended(job, now)

    async def _end(self, job: Tracked, phase: Phase, value: Any) -> None:
        """End a job: let its ``on_review`` decide on the article, record the end in the state, and end all waits."""
        error = None
        if phase is Phase.REVIEW:
            await self._write_down(job, status=JobStatus.REVIEW)
            value = GenerationReview(job.pipeline, self.store, job.token.launch, job.token.id, value)
            if job.on_review is not None:
                try:
                    await value.ask(job.on_review)
                except CMSError:
                    if value.decision is None:  # else only reading the content afterwards failed
                        raise
            job.settle(Phase.SUCCEEDED if value.decision else Phase.REVIEW, value, None)
            return
        if phase is Phase.FAILED:
            problem = f"the service reports that {job} failed; a credit that was charged stays spent"
            error = JobFailedError(problem, token=str(job.token))
            await self._write_down(job, status=JobStatus.FAILED, error=problem)
        else:
            packed = zlib.compress(dump(job.kind.pack(value)))
            result = packed if len(packed) <= _LARGEST else None
            row = await self._write_down(job, status=JobStatus.SUCCEEDED, result=result)
            if job.kind.name is JobKind.GENERATION:
                decision = decision_of(row.decision if row else None, value.status)
                value = GenerationReview(job.pipeline, self.store, None, job.token.id, value, decision)
        job.settle(phase, value, error)

    async def _write_down(self, job: Tracked, **changes: Any) -> Row | None:
        """Update a job's row if it is open, save durations, and return the old row. A `StateError` is only logged."""
        try:
            row = await self.store.get(job.token.launch) if job.token.launch else None
            if row is not None and row.status in OPEN:
                await self.store.update(row, **changes)
            model = self.schedule.models[job.kind.name]
            if isinstance(self.store, SharedStore) and model.ends & (model.ends - 1) == 0:  # a power of two
                await self.store.save_durations(job.kind.name, model.dump())
        except StateError as error:
            logger.warning("%s has ended, but the state does not know it: %s", job, error)
            return None
        return row

    async def _ideas(self, job: Tracked, search: Any) -> ContentIdeas:
        pages: list[Page[ContentIdea]] = []
        listed = job.pipeline.list("list_content_ideas", ContentIdea, job.token.id, priority=Priority.RESULT)
        async for page in listed.pages():
            pages.append(page)  # noqa: PERF401  the iteration may fail half-way
        self.schedule.results[job.kind.name] = max(1.0, (self.schedule.results[job.kind.name] + len(pages)) / 2)
        ideas = tuple(idea for page in pages for idea in page)
        announced = max(search.nb_content_ideas or 0, *(page.total or 0 for page in pages))
        if len(ideas) < announced:
            logger.warning("%s announces %d ideas and lists %d; refresh() reads them again", job, announced, len(ideas))
        return ContentIdeas(search=search, ideas=ideas, complete=len(ideas) >= announced)

    def _unclear(self, job: Tracked, reason: str, now: float) -> None:
        if job.reason != reason:
            job.reason, job.unclear_since, job.unclear_polls = reason, now, 0
        job.unclear_polls += 1
        if job in self.schedule.jobs:
            self.schedule.running(job, now)
        if job.unclear_polls >= _UNCLEAR_POLLS and now - job.unclear_since >= self._policy.unclear_timeout:
            problem = f"{job} is unclear, for {now - job.unclear_since:.0f} s: {reason}; it may continue at the service"
            job.interrupt(UnclearJobError(problem, reason=reason, token=str(job.token)))

    def _failed(self, job: Tracked, error: CMSError) -> None:
        now = asyncio.get_running_loop().time()
        self._failing_since = min(self._failing_since, now)
        # The pause is as long as polls have been failing, so pauses double however many polls fail at once.
        self._quiet_until = now + min(_LONGEST_PAUSE, max(_FIRST_PAUSE, now - self._failing_since))
        if job in self.schedule.jobs:
            self.schedule.failed(job, now)
        job.failing_since = min(job.failing_since, now)
        for each in {job, *self.schedule.jobs}:
            if now - min(self._failing_since, each.failing_since) >= self._policy.outage_timeout:
                each.interrupt(error)


def poller_of(account: Account, policy: PollPolicy) -> Poller:
    """Return the poller of an account; the first call creates it with ``policy``, later calls ignore ``policy``."""
    if account.poller is None:
        account.poller = Poller(account, policy)
    poller: Poller = account.poller
    return poller
