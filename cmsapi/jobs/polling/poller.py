"""Poll the jobs of a client: one poll, what it means, and what follows from it.

A refused key ends the waiters, not the job; a review hook stays set, and decides once the key works.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Any, TypeVar

from cmsapi.api.model import Model
from cmsapi.errors import APIError, ClientClosedError, CMSError, OutcomeUnknownError
from cmsapi.jobs.journal.journal import LaunchJournal
from cmsapi.jobs.kinds.kind import Kind, Shown
from cmsapi.jobs.kinds.observation import JobHistory, Observation
from cmsapi.jobs.kinds.review import GenerationReview, ReviewHook
from cmsapi.jobs.polling import events
from cmsapi.jobs.polling.acquiring import acquire
from cmsapi.jobs.polling.ending import End, decide, doubt_limit, end_of, unreadable, vanished
from cmsapi.jobs.polling.failures import Consequence, count_failure
from cmsapi.jobs.polling.list_reader import ListReader
from cmsapi.jobs.polling.poll_request import PollRequest
from cmsapi.jobs.polling.registry import JobRegistry
from cmsapi.jobs.polling.tasks import BackgroundTasks, outcome_of
from cmsapi.jobs.scheduling.list_reads import Listing
from cmsapi.jobs.scheduling.scheduler import PollCallbacks, Scheduler
from cmsapi.jobs.status import Finished, JobStatus, Observed, Phase, PollFailed
from cmsapi.jobs.tracked import Failures, PollSettings, Record, TrackedJob
from cmsapi.observability.hooks import Hooks
from cmsapi.ratelimit.limiter import Priority

logger: logging.Logger = logging.getLogger("cmsapi")

T = TypeVar("T")

# So many failed polls in a row are worth a line in the log.
WORRYING_POLLS = 10


class Poller:
    """Poll the jobs of one client.

    Args:
        poll_settings: How to poll, and how often.
        hooks: Hear of polls.
        base_url: Where the jobs run.
        scheduler: The scheduler of the account on the running loop.
        registry: The jobs in flight, and their journal; shared by clients that must not pay twice for the same work.
    """

    def __init__(
        self, poll_settings: PollSettings, hooks: Hooks, base_url: str, scheduler: Scheduler, registry: JobRegistry
    ) -> None:
        self.base_url = base_url
        self.poll_settings: PollSettings = poll_settings
        self.hooks: Hooks = hooks
        self.scheduler: Scheduler = scheduler
        self.registry: JobRegistry = registry
        self.journal: LaunchJournal = registry.journal
        self._caller = poll_settings.caller
        self._poll_request = PollRequest(scheduler)
        self._tasks = BackgroundTasks(self._caller.open)
        self._list_reader = ListReader(self._tasks, scheduler.list_reads)
        self._callbacks = PollCallbacks(hooks, self.poll, self.show, self._list_reader.start)
        self._shut = False

    def ensure_open(self) -> None:
        """Raise when the client is closed or belongs to another loop."""
        self._caller.open()

    def time(self) -> float:
        """Return the loop's time."""
        return asyncio.get_running_loop().time()

    def datetime_at(self, loop_time: float) -> datetime:
        """Return a moment of the loop on the service's clock, or on this machine's before that is known."""
        known = self._caller.pipeline.clock.at(loop_time)
        return known or datetime.fromtimestamp(datetime.now(UTC).timestamp() + loop_time - self.time(), UTC)

    def start(self, coroutine: Coroutine[Any, Any, T], context: contextvars.Context | None = None) -> asyncio.Task[T]:
        """Run a coroutine as a task that belongs to the client and not to its caller.

        Raises:
            ClientClosedError: The client is closed.
        """
        return self._tasks.start(coroutine, context)

    async def open_journal(self) -> None:
        """Open the journal, with the settings of this client.

        Raises:
            StateError: The state cannot be reached; nothing was sent.
        """
        await self.journal.open(self.poll_settings.read_user)

    async def aclose(self) -> None:
        """Stop polling; every waiter is told so."""
        self._shut = True
        for job in tuple(self.registry.subscribed):
            job.interrupt(
                ClientClosedError(
                    f"The client was closed while {job!r} was waited for. It continues and may be paid for: "
                    f"client.jobs.attach({job.token(self.base_url)!r}) waits for it again."
                )
            )
            self.unsubscribe(job)
            self.registry.remove(job)
        # Fan-outs hand on what their jobs were just told, before they are stopped.
        await asyncio.sleep(0)
        await self._tasks.aclose()

    # Jobs

    def track(self, kind: Kind, target: str, history: JobHistory) -> TrackedJob:
        """Make a job that is polled with the settings of this client."""
        return TrackedJob(kind, target, history, self.poll_settings)

    def take_over(self, record: Record) -> TrackedJob:
        """Return the job that an entry of the journal stands for."""
        job = self.registry.take_over(record, self.poll_settings)
        self.join(job)
        return job

    def join(self, job: TrackedJob) -> None:
        """Poll a job of another client with the settings of this one, if that one was made from it by `with_options`.

        So the settings of a copy never change how its original waits.
        """
        mine = self.poll_settings
        if mine.depth < job.settings.depth:
            self.scheduler.change(job, mine)

    def status(self, job: TrackedJob) -> JobStatus:
        """Return what is known of a job now; before the first subscription no poll is planned."""
        return events.status(job, self.scheduler, self.datetime_at)

    def subscribe(self, job: TrackedJob) -> None:
        """Poll a job from now on."""
        if job not in self.registry.subscribed:
            self.registry.subscribed[job] = None
            context = job.context = contextvars.copy_context()
            if self.hooks.listening:
                context.run(self.hooks, events.watched(job))
        self._schedule(job)

    def unsubscribe(self, job: TrackedJob) -> None:
        """Stop polling a job if nothing waits for it any more."""
        if job not in self.registry.subscribed or job.subscribed:
            return
        del self.registry.subscribed[job]
        job.context = None
        if self.hooks.listening:
            self.hooks(events.released(job))
        self.scheduler.drop(job)

    def decide_with(self, job: TrackedJob, hook: ReviewHook) -> None:
        """Have a hook decide on the review of a job; of several hooks the first one decides."""
        if not job.closed and job.on_review is None:
            job.on_review = hook
            self.subscribe(job)

    async def poll_now(self, job: TrackedJob) -> None:
        """Poll a job once, or join the poll under way.

        Raises:
            CMSError: The poll failed, also because the client was closed meanwhile.
        """
        try:
            await outcome_of(self._begin_poll(job, Priority.INTERACTIVE))
        except CMSError as error:
            raise error.fresh() from error

    def _schedule(self, job: TrackedJob) -> None:
        if self._shut or not job.subscribed or job.deciding:
            return
        record = job.record
        if record is not None and not (record.held or record.free):
            if not job.acquiring:
                job.acquiring = True
                self.start(self._acquire(job, record))
            return
        if not job.scheduled:
            self._note_start(job)
        self.scheduler.add(job, self._callbacks, at_once=job.polls == 0 and not job.history.fresh)

    def _note_start(self, job: TrackedJob) -> None:
        started_at, age_known = job.history.began, job.history.fresh
        if not age_known and (age := self._age(job.history)) is not None:
            started_at, age_known = self.time() - age, not job.history.watched
        job.started_at = job.polled_at = started_at
        job.age_known = age_known

    def _age(self, history: JobHistory) -> float | None:
        """Return for how many seconds a job has run that this process did not launch, None when that is not known."""
        if history.launched_at is None or (now := self._caller.pipeline.clock.at(self.time())) is None:
            return None
        return max(0.0, (now - history.launched_at).total_seconds())

    async def _acquire(self, job: TrackedJob, record: Record) -> None:
        try:
            await self._unless_closed(acquire(job, record, self.journal))
        except CMSError as error:
            job.wake(error)
            self.unsubscribe(job)
            if job.subscribed:
                # Events, listeners and review hooks outlast a request that failed.
                await asyncio.sleep(job.settings.policy.max_interval)
        finally:
            job.acquiring = False
        if job.subscribed:
            self._schedule(job)

    # Polls

    def poll(self, job: TrackedJob) -> None:
        """Begin to poll a job because it is due, unless another process polls it by now."""
        if job.record is not None and not self.journal.holds(job.record):
            self.scheduler.drop(job)
            self._schedule(job)
            return
        # Between the end of a client and that of its poller a timer may still fire; closing tells the waiters.
        with contextlib.suppress(ClientClosedError):
            self._begin_poll(job, Priority.POLL)

    def _begin_poll(self, job: TrackedJob, priority: Priority) -> asyncio.Task[None]:
        if job.poll is None:
            self.scheduler.polling(job)
            # A copy, because a listener or a hook that asks for this may run in that very context.
            context = job.context.copy() if job.context is not None else None
            poll = self.start(self._poll_once(job, priority), context)
            # An eager task may have ended already.
            job.poll = None if poll.done() else poll
            return poll
        return job.poll

    async def _poll_once(self, job: TrackedJob, priority: Priority) -> None:
        try:
            observation, result = await self._unless_closed(self._poll_request.send(job, priority))
        except Exception as error:
            job.poll = None
            if not job.closed:
                self._on_failure(job, error)
            raise
        job.poll = None
        # A decision that was under way may have finished it meanwhile.
        if not job.closed:
            self._on_response(job, observation, result)

    async def _unless_closed(self, requests: Coroutine[Any, Any, T]) -> T:
        """Make requests; a cancellation that comes out of them while the client is open is an error of a transport."""
        try:
            return await requests
        except asyncio.CancelledError as error:
            if self._shut:
                raise
            raise OutcomeUnknownError("The transport cancelled the request, and there is no answer.") from error

    def show(self, job: TrackedJob, document: Model, sent_at: float) -> None:
        """Show a job a document about it that was read for another reason."""
        if job.closed or job.poll is not None or job.deciding or sent_at < job.history.began:
            return
        kind = job.kind
        shown = kind.shown(document)
        if shown is Shown.HINT:
            self.scheduler.hasten(job, "another request shows that it may be finished")
        if shown in (Shown.HINT, Shown.NOTHING):
            return
        observation = kind.observe(document, job.history, self.time())
        finished = observation.decided and observation.phase is not Phase.RUNNING
        if observation.decided and (not finished or shown is Shown.RESULT):
            self._on_response(job, observation, document)
        elif finished:
            self.scheduler.hasten(job, "another request shows that it is finished")

    # What a poll means

    def _on_response(self, job: TrackedJob, observation: Observation, result: Any) -> None:
        """Take in what a poll has shown, and what follows from it."""
        finished = observation.decided and observation.phase is not Phase.RUNNING
        now, job.failures = self.time(), None
        if not job.deciding:
            if finished:
                self.scheduler.saw_end(job)
            else:
                self.scheduler.saw_running(job, certain=observation.decided)
        changed = (observation.phase, observation.state) != (job.phase, job.word)
        if observation.phase is not job.phase:
            job.enter(observation.phase, now)
        job.word, job.observed_at = observation.state, now
        job.polls += 1
        self.hooks(events.observed(job))
        job.tell(lambda: Observed(self.status(job), changed))
        self._conclude(job, observation, result)
        parent = job.kind.list_of(result) if isinstance(result, job.kind.model) else None
        if parent is not None and self.scheduler.list_reads.wants(job, parent):
            self._list_reader.start(Listing(job.kind, parent, 1), job.settings.caller)

    def _on_failure(self, job: TrackedJob, error: Exception) -> None:
        failures = job.failures = job.failures or Failures()
        patience = doubt_limit(job.settings.policy, unlisted_word=False)
        consequence = count_failure(failures, error, job.kind.operation, self.time(), patience)
        job.polls += 1
        self.scheduler.failed(job, refused=isinstance(error, APIError) and error.status < 500)
        self.hooks(events.observed(job, error))
        job.tell(lambda: PollFailed(self.status(job), error))
        if failures.polls == WORRYING_POLLS:
            logger.warning("the last %d polls of %r failed, and the polls go on: %s", WORRYING_POLLS, job, error)
        if not isinstance(error, CMSError):
            # No answer of the service, but a mistake, of a transport or of this package, which no caller would see.
            logger.error("a poll of %r went wrong", job, exc_info=error)
        if consequence is Consequence.TELL:
            # Closing the client tells the waiters, in better words.
            if not self._closing():
                job.wake(error)
                self.unsubscribe(job)
        elif consequence is not Consequence.GO_ON and not job.deciding:
            gone = consequence is Consequence.VANISHED
            self._close(job, vanished(job, self.time()) if gone else unreadable(job, error, self.time()))

    def _closing(self) -> bool:
        try:
            self.ensure_open()
        except ClientClosedError:
            return True
        return False

    def _conclude(self, job: TrackedJob, observation: Observation, result: Any) -> None:
        if job.deciding:
            # What is seen now may be the work of the decision under way, which finishes the job itself.
            return
        if observation.phase is Phase.REVIEW and job.on_review is not None:
            job.deciding = True
            self.scheduler.drop(job)
            self.start(self._decide(job, result, job.on_review))
        elif (end := end_of(job, observation, result, self.time())) is not None:
            self._close(job, end)

    async def _decide(self, job: TrackedJob, review: GenerationReview, hook: ReviewHook) -> None:
        try:
            self._close(job, await decide(job, review, hook, lambda: self._shut))
        finally:
            job.deciding = False
            self._schedule(job)

    def _close(self, job: TrackedJob, end: End) -> None:
        job.close(end.result, end.error, lambda: Finished(self.status(job), end.error))
        self.unsubscribe(job)
        self.registry.finished(job)
