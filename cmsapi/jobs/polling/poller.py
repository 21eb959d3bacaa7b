"""Poll the jobs of a client: one poll, what it means, and what follows from it.

A job that has subscribers is scheduled once this client holds its entry in the journal, so that one process polls each
job. When it is due it is polled (`requests`); what that shows is noted, the scheduler learns it, those who listen are
told, and it may be the end of the job (`ending`).

A refused key ends the waiters, not the job; a review hook stays set, and decides once the key works.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import math
from functools import partial

import attrs

from cmsapi.api.model import Model
from cmsapi.errors import APIError, ClientClosedError, CMSError, StateError
from cmsapi.jobs.errors import in_a_sentence
from cmsapi.jobs.journal.heartbeat import FOLLOW
from cmsapi.jobs.journal.journal import LaunchJournal
from cmsapi.jobs.kinds.doubt import Doubt, seen_again
from cmsapi.jobs.kinds.kind import JobHistory, Kind, Observation, Shown
from cmsapi.jobs.kinds.review import GenerationReview, ReviewHook
from cmsapi.jobs.polling import events
from cmsapi.jobs.polling.ending import decide, end_of, shown_by, tells_waiters
from cmsapi.jobs.polling.registry import JobRegistry
from cmsapi.jobs.polling.requests import read_job, read_list
from cmsapi.jobs.polling.tasks import BackgroundTasks
from cmsapi.jobs.polling.time_limit import end_subscriptions
from cmsapi.jobs.scheduling.scheduler import Scheduler
from cmsapi.jobs.status import Finished, JobStatus, Observed, Phase, PollFailed
from cmsapi.jobs.timing import Listing
from cmsapi.jobs.tracked import End, Failures, PollSettings, Record, TrackedJob
from cmsapi.observability.hooks import Hooks
from cmsapi.observability.job_events import JobObserved, JobReleased, JobWatched, UnlistedState
from cmsapi.ratelimit.limiter import Priority
from cmsapi.transport.call import REQUEST_COUNT

logger: logging.Logger = logging.getLogger("cmsapi")

# Why a poll comes that is not due.
_ASKED = "the program asks for it"
# Every fifth check tries to claim an entry that another process holds; the others only read it.
_CLAIM_EVERY = 5
# What is worth a line in the log: failed polls of a job in a row, and seconds in which polls failed and none succeeded.
_WORRYING_POLLS, _WORRYING_SECONDS = 5, 30.0


class Poller:
    """Poll the jobs of one client.

    Args:
        poll_settings: How to poll, and how often.
        base_url: Where the jobs run.
        scheduler: The scheduler of the account on the running loop.
        registry: The jobs in flight, and their journal; shared by clients that must not pay twice for the same work.
    """

    def __init__(self, poll_settings: PollSettings, base_url: str, scheduler: Scheduler, registry: JobRegistry) -> None:
        self.base_url = base_url
        self.poll_settings: PollSettings = poll_settings
        self.hooks: Hooks = poll_settings.caller.pipeline.hooks
        self.scheduler: Scheduler = scheduler
        self.registry: JobRegistry = registry
        self.journal: LaunchJournal = registry.journal
        #: The tasks that belong to the client and not to their callers.
        self.tasks: BackgroundTasks = BackgroundTasks(poll_settings.caller.open)
        self._closed = False
        # The words that are not listed and were reported.
        self._reported: set[tuple[Kind, str | None]] = set()
        # The kinds of which a result from before a launch was reported.
        self._older: set[Kind] = set()
        # Since when polls have failed and none has succeeded, and whether that was reported.
        self._failing_since: float | None = None
        self._failing_reported = False

    async def aclose(self) -> None:
        """Stop polling; every waiter is told so."""
        self._closed = True
        for job in tuple(self.registry.subscribed):
            job.subscribers.leave(
                ClientClosedError(
                    f"The client was closed while {job!r} was waited for. It continues and may be paid for: "
                    f"client.jobs.attach({job.token(self.base_url)!r}) waits for it again."
                )
            )
            self.unsubscribe(job)
            self.registry.remove(job)
        # Fan-outs hand on what their jobs were just told, before they are stopped.
        await asyncio.sleep(0)
        await self.tasks.aclose()

    # Jobs

    def take_over(self, record: Record) -> TrackedJob:
        """Return the job that an entry of the journal stands for."""
        job = self.registry.take_over(record, self.poll_settings)
        self.join(job)
        return job

    def created(self, kind: Kind, document: Model) -> TrackedJob:
        """Return the job of the work that the creation of a document has started, and remember it; sends nothing."""
        now = _now()
        history = JobHistory(launched_at=self.poll_settings.caller.pipeline.clock.at(now), fresh=True)
        job = TrackedJob(kind, str(getattr(document, "id", None)), history, self.poll_settings)
        self.registry.add(job)
        observation = kind.interpret(document, history, 0.0, self.poll_settings.caller.words)
        if observation.finished:
            self._on_response(job, observation, document, "its creation shows it")
        else:
            self._note(job, observation)
        return job

    def join(self, job: TrackedJob) -> None:
        """Poll a job of another client with the settings of this one, if that one was made from it by `with_options`.

        So the settings of a copy never change how its original waits. The headers stay those of the launching client.
        """
        mine, its = self.poll_settings, job.settings.caller.builder
        if mine.depth < job.settings.depth:
            if its.headers != mine.caller.builder.headers:
                mine = attrs.evolve(mine, caller=attrs.evolve(mine.caller, builder=its))
            self.scheduler.change(job, mine)

    def subscribe(self, job: TrackedJob) -> None:
        """Poll a job from now on."""
        if job not in self.registry.subscribed:
            self.registry.subscribed[job] = self.hooks
            context = job.subscribers.context = contextvars.copy_context()
            if self.hooks.wants(JobWatched.level):
                event = JobWatched(kind=job.kind.name.value, target=job.target, id=job.id, elapsed=job.elapsed)
                context.run(self.hooks, event)
        self._schedule(job)

    def unsubscribe(self, job: TrackedJob) -> None:
        """Stop polling a job that nothing waits for any more."""
        if job.has_subscribers or (hooks := self.registry.subscribed.pop(job, None)) is None:
            return
        job.subscribers.context = None
        if hooks.wants(JobReleased.level):
            hooks(events.released(job))
        self.scheduler.drop(job)

    def decide_with(self, job: TrackedJob, hook: ReviewHook) -> None:
        """Have a hook decide on the review of a job; of several hooks the first one decides."""
        if not job.closed and job.subscribers.on_review is None:
            job.subscribers.on_review = hook
            self.subscribe(job)

    async def poll_now(self, job: TrackedJob, *, with_result: bool = True) -> None:
        """Poll a job once, or join the poll under way.

        Args:
            job: The job.
            with_result: Whether a result that takes further requests is read if the job has succeeded.

        Raises:
            CMSError: The poll failed, also because the client was closed meanwhile.
        """
        poll = self._begin_poll(job, Priority.INTERACTIVE, _ASKED, with_result=with_result)
        # `asyncio.shield` does the same, but since Python 3.14 it reports an error to the loop when no caller waits.
        await asyncio.wait([poll])
        try:
            poll.result()
        except CMSError as error:
            raise error.fresh() from error
        if with_result and job.history.phase is Phase.SUCCEEDED and not job.closed:
            # The poll that it joined has not read the result.
            await self.poll_now(job)

    async def read_status(self, job: TrackedJob) -> JobStatus:
        """Return how a job stands; one request at most, and none while what is known is recent or other polls come.

        Raises:
            CMSError: The poll failed, also because the client was closed meanwhile.
        """
        launched = job.history.began if job.history.fresh else -math.inf
        observed = -math.inf if job.history.observed_at is None else job.history.observed_at
        recent = _now() - max(launched, observed) < job.settings.policy.min_interval
        known = recent or job.closed or job.has_subscribers or job.history.phase is Phase.SUCCEEDED
        if not known and not await self._polled_elsewhere(job):
            # The requests for a result are for the caller that awaits it.
            await self.poll_now(job, with_result=False)
        return events.status(job, self.scheduler)

    # Its entry in the journal

    def _schedule(self, job: TrackedJob) -> None:
        """Have a job polled once this client holds its entry in the journal."""
        if self._closed or job.deciding or job not in self.registry.subscribed:
            return
        if job.record is None or job.record.pollable:
            self.scheduler.add(job, self, at_once=job.polls == 0 and not job.history.fresh)
        elif job not in self.registry.acquiring:
            self.registry.acquiring.add(job)
            self.tasks.start(self._acquire(job, job.record)).add_done_callback(partial(self._acquired, job))

    async def _acquire(self, job: TrackedJob, record: Record) -> None:
        """Wait until no other process polls a job.

        It is polled without its entry when the state cannot be reached: two streams of polls are better than none.
        """
        rounds = 0
        try:
            await self.journal.open(job.settings.read_user)
            while job.has_subscribers and not await self.journal.acquire(record, claim=rounds % _CLAIM_EVERY == 0):
                rounds += 1
                await asyncio.sleep(FOLLOW)
        except Exception as error:
            if isinstance(error, CMSError) and not isinstance(error, StateError):
                # It cannot be told whose journal it is. Events, listeners and review hooks outlast that.
                job.subscribers.wake(error)
                self.unsubscribe(job)
                if job.has_subscribers:
                    await asyncio.sleep(job.settings.policy.max_interval)
                return
            # Perhaps a mistake, of a state or of this package: no code awaits this task, and no waiter would wake.
            tell = logger.warning if isinstance(error, StateError) else logger.exception
            tell("Journal unavailable; polling %r anyway: %s", job, error)
            record.pollable = True

    def _acquired(self, job: TrackedJob, acquiring: asyncio.Task[None]) -> None:
        self.registry.acquiring.discard(job)
        # Other code may have cancelled it, perhaps before it began. The end of the client does, too.
        asyncio.get_running_loop().call_later(FOLLOW if acquiring.cancelled() else 0.0, self._schedule, job)

    async def _polled_elsewhere(self, job: TrackedJob) -> bool:
        """Tell whether another process that shares the state polls a job; its end shows in the journal."""
        record = job.record
        if record is None or not self.journal.state.shared:
            return False
        try:
            mine = await self.journal.acquire(record)
        except StateError as error:
            logger.warning("Journal unavailable; polling %r anyway: %s", job, error)
            return False
        if record.held and record.idle:
            # This process only asks.
            self.journal.leases.release_later(record)
        return not mine

    # Polls

    def poll(self, job: TrackedJob, why: str) -> None:
        """Begin to poll a job because it is due, unless another process polls it by now."""
        if job.record is not None and not self.journal.leases.holds(job.record):
            self.scheduler.drop(job)
            self._schedule(job)
            return
        # Between the end of a client and that of its poller a timer may still fire; closing tells the waiters.
        with contextlib.suppress(ClientClosedError):
            self._begin_poll(job, Priority.POLL, why)

    def read_list(self, listing: Listing, job: TrackedJob) -> None:
        """Begin to read a page of a list on which several jobs are, with the settings of one of them."""
        # In an empty context, because it is for many jobs. The fan-out of this one counts the request.
        context, policy = contextvars.Context(), self.scheduler.policy
        if job.subscribers.context is not None:
            context.run(REQUEST_COUNT.set, job.subscribers.context.get(REQUEST_COUNT))
        try:
            self.tasks.start(read_list(policy, listing, job.settings.caller), context)
        except ClientClosedError:
            # Another client may wait for jobs on it.
            policy.read(listing, failed=True)

    def _begin_poll(
        self, job: TrackedJob, priority: Priority, why: str, *, with_result: bool = True
    ) -> asyncio.Task[None]:
        if job.poll is not None:
            return job.poll
        self.scheduler.polling(job)
        # A copy, because a listener or a hook that asks for this may run in that very context.
        context = job.subscribers.context
        context = None if context is None else context.copy()
        poll = self.tasks.start(self._poll(job, priority, why, with_result=with_result), context)
        # An eager task may have ended already.
        job.poll = None if poll.done() else poll
        poll.add_done_callback(partial(self._forget_cancelled, job))
        return poll

    def _forget_cancelled(self, job: TrackedJob, poll: asyncio.Task[None]) -> None:
        """Plan the next poll of a job after one that other code has cancelled, perhaps before it began."""
        if job.poll is poll:
            job.poll = None
            self.scheduler.failed(job, refused=False)

    async def _poll(self, job: TrackedJob, priority: Priority, why: str, *, with_result: bool) -> None:
        try:
            observation, result = await read_job(job, self.scheduler, priority, with_result=with_result)
        except Exception as error:
            job.poll = None
            if not job.closed:
                self._on_failure(job, error, why)
            raise
        job.poll = None
        if job.closed:
            # A decision that was under way has finished it meanwhile.
            return
        if observation.phase is Phase.SUCCEEDED and result is job.history.document:
            # A job whose result takes further requests is finished only with it.
            self._note(job, observation)
            return
        self._on_response(job, observation, result, why)

    def show(self, job: TrackedJob, document: Model, sent_at: float) -> None:
        """Show a job a document about it that was read for another reason."""
        if job.closed or job.deciding or sent_at < job.history.began:
            return
        words = job.settings.caller.words
        shown = job.kind.shown(document, words)
        if shown is Shown.HINT:
            self.scheduler.hasten(job, "another request shows that it may be finished")
        if shown in (Shown.HINT, Shown.NOTHING):
            return
        observation = job.kind.interpret(document, job.history, job.answered_for(_now()), words)
        if observation.finished and shown is not Shown.RESULT:
            self.scheduler.hasten(job, "another request shows that it is finished")
        elif observation.doubt is None:
            self._on_response(job, observation, document, "another request shows its state")

    # What a poll means

    def _on_response(self, job: TrackedJob, observation: Observation, result: object, why: str) -> None:
        """Take in what a poll has shown, and what follows from it."""
        job.failures = self._failing_since = None
        self._failing_reported = False
        changed = self._note(job, observation)
        if observation.finished and not job.deciding:
            self.scheduler.saw_end(job)
        elif not job.deciding:
            self.scheduler.saw_running(job, certain=observation.doubt is None)
            if observation.end is not None:
                self.scheduler.ask_again(job)
        self._tell(job, why, changed=changed)
        if isinstance(result, job.kind.model):
            parent = job.kind.list_of(result)
            if parent is not None and self.scheduler.policy.wants_list(job, parent):
                self.read_list(Listing(job.kind, parent, 1), job)
        # While a hook decides, what is seen may be the work of the decision, which finishes the job itself.
        if not job.deciding:
            hook = job.subscribers.on_review
            if observation.phase is Phase.REVIEW and hook is not None and isinstance(result, GenerationReview):
                job.deciding = True
                self.tasks.start(self._decide(job, result, hook))
            elif (end := end_of(job, observation, _now(), result=result)) is not None:
                self._finish(job, end)
        end_subscriptions(job)
        self.unsubscribe(job)

    def _note(self, job: TrackedJob, observation: Observation) -> bool:
        """Note what was observed of a job, and tell whether it is something new."""
        history, before = job.history, (job.history.phase, job.history.word)
        history.add(observation, _now())
        if observation.doubt is Doubt.UNLISTED and (job.kind, history.word) not in self._reported:
            self._reported.add((job.kind, history.word))
            ends_in = Doubt.UNLISTED.timeout(job.settings.policy, seen=history.seen)
            self.hooks(UnlistedState(kind=job.kind.name.value, state=history.word, ends_in=ends_in))
        if observation.doubt is Doubt.EARLIER_RUN and job.kind not in self._older:
            self._older.add(job.kind)
            launched = "" if history.launched_at is None else f" of {history.launched_at:%Y-%m-%d %H:%M:%S} UTC"
            logger.warning(
                "%r: this result is older than the launch%s, so it does not count, and the job is waited for on. A "
                "service may show it for a while; in a test, answer with a newer one, as "
                "cmsapi.testing.finished_keyword makes for keywords",
                job,
                launched,
            )
        return before != (history.phase, history.word)

    def _on_failure(self, job: TrackedJob, error: Exception, why: str) -> None:
        """Count a failed poll, and tell of it."""
        failures = job.failures = job.failures or Failures()
        failures.polls += 1
        failures.last = f"{type(error).__name__}: {in_a_sentence(error)}"
        observation = shown_by(job, error)
        if not job.history.seen and observation is not None and observation.doubt is Doubt.GONE:
            # A service may show a new job late, which is no failure.
            self.scheduler.saw_running(job, certain=False)
        else:
            self.scheduler.failed(job, refused=isinstance(error, APIError) and error.status < 500)
        self._tell(job, why, error)
        self._report_failures(job, failures, error)
        if not isinstance(error, CMSError):
            # No answer of the service, but a mistake, of a transport or of this package, which no caller would see.
            logger.error("a poll of %r went wrong", job, exc_info=error)
        if tells_waiters(error):
            # While the client is being closed, its end tells the waiters in better words.
            with contextlib.suppress(ClientClosedError):
                self.poll_settings.caller.open()
                if isinstance(error, CMSError):
                    error.add_note(
                        f"That is about one poll. {job!r} goes on at the service and may be paid for: "
                        f"client.jobs.attach({job.token(self.base_url)!r}) waits for it again."
                    )
                job.subscribers.wake(error)
        elif not job.deciding and observation is not None and observation.doubt is not None:
            about = None if observation.doubt is Doubt.OUTAGE else (type(error), getattr(error, "operation", None))
            failures.lasting = seen_again(failures.lasting, observation.doubt, about, _now())
            if (end := end_of(job, observation, _now(), error=error)) is not None:
                self._finish(job, end)
        end_subscriptions(job)
        self.unsubscribe(job)

    def _report_failures(self, job: TrackedJob, failures: Failures, error: Exception) -> None:
        """Log that polls fail: once for all jobs, until one succeeds."""
        since = self._failing_since = _now() if self._failing_since is None else self._failing_since
        if self._failing_reported:
            return
        if (seconds := _now() - since) >= _WORRYING_SECONDS:
            jobs = len(self.registry.subscribed)
            those = repr(job) if jobs == 1 else f"{jobs:,} jobs"
            logger.warning("no poll has succeeded for %.0f s, and the polls of %s go on: %s", seconds, those, error)
            self._failing_reported = True
        elif failures.polls == _WORRYING_POLLS:
            logger.warning("the last %d polls of %r failed, and the polls go on: %s", failures.polls, job, error)

    def _tell(self, job: TrackedJob, why: str, error: Exception | None = None, *, changed: bool = False) -> None:
        """Count a poll, and tell the hooks and the listeners why it came and what it has shown."""
        counters = self.poll_settings.caller.pipeline.counters
        counters.polls += 1
        counters.poll_failures += error is not None
        job.polls += 1
        hooks = self.registry.subscribed.get(job, self.hooks)
        if hooks.wants(JobObserved.level):
            hooks(events.observed(job, self.scheduler, why or self.scheduler.why_interval(job), error))
        # Without listeners there is no event, because a status costs a forecast.
        if job.subscribers.listeners:
            status = events.status(job, self.scheduler)
            job.subscribers.tell(Observed(status, changed) if error is None else PollFailed(status, error))

    async def _decide(self, job: TrackedJob, review: GenerationReview, hook: ReviewHook) -> None:
        if job.record is not None:
            self.journal.record_deciding(job.record)
        try:
            self._finish(job, await decide(job, review, hook))
        finally:
            job.deciding = False
            self._schedule(job)

    def decided(self, job: TrackedJob, review: GenerationReview) -> None:
        """End a job by a decision on another review of its article; a hook that decides, too, ends it itself."""
        if not job.deciding and (job.undecided or not job.closed):
            job.decided(review)
            self._finish(job, End(review))

    def _finish(self, job: TrackedJob, end: End) -> None:
        """End a job: note how, tell those who listen, and wake those who wait."""
        job.end = end
        if (lasting := job.history.lasting) is not None and lasting.doubt is Doubt.INCOMPLETE and end.result:
            whole = job.kind.missing(end.result) is None
            (self.scheduler.whole_results if whole else self.scheduler.cut_results).add(job.kind)
        if job.subscribers.listeners:
            job.subscribers.tell(Finished(events.status(job, self.scheduler), end.error))
        job.subscribers.leave(None)
        self.unsubscribe(job)
        self.registry.finished(job)


def _now() -> float:
    return asyncio.get_running_loop().time()
