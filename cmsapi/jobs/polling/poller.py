"""Where the jobs of a client are looked at: one look, what it means, and what follows from it.

A refused key ends the waiters, not the job; an order to decide on a review stands, and is followed once the key works.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any, TypeVar

import attrs

from cmsapi.api.model import Model
from cmsapi.api.models import Credits
from cmsapi.config import PollPolicy
from cmsapi.errors import (
    APIError,
    ClientClosedError,
    CMSError,
    JobError,
    JobSupersededError,
    StateError,
)
from cmsapi.jobs.errors import doubt_limit, failed, superseded, undecidable, unreadable, vanished
from cmsapi.jobs.events import JobEvent, Observed, PollFailed
from cmsapi.jobs.job import Job, Outlook
from cmsapi.jobs.journal.journal import LaunchJournal
from cmsapi.jobs.journal.leases import FOLLOW
from cmsapi.jobs.journal.record import Record
from cmsapi.jobs.kinds.kind import Shown
from cmsapi.jobs.kinds.observation import JobHistory, Observation
from cmsapi.jobs.kinds.registry import kind_of
from cmsapi.jobs.kinds.review import GenerationReview, ReviewHook
from cmsapi.jobs.polling import events as telling
from cmsapi.jobs.polling.failures import Failures, Sequel
from cmsapi.jobs.polling.keeping import Kept
from cmsapi.jobs.polling.poll_request import PollRequest
from cmsapi.jobs.polling.registry import JobRegistry
from cmsapi.jobs.polling.settings import PollSettings
from cmsapi.jobs.scheduling.queue import Listing
from cmsapi.jobs.scheduling.scheduler import Scheduler
from cmsapi.jobs.status import Phase
from cmsapi.jobs.tasks import outcome_of
from cmsapi.observability.hooks import Hooks
from cmsapi.ratelimit.limiter import Priority
from cmsapi.transport.call import CallOptions
from cmsapi.transport.caller import LARGEST_PAGE

logger: logging.Logger = logging.getLogger("cmsapi")

T = TypeVar("T")

# Of the rounds in which a job that another process looks at is followed, one in so many tries to take it over.
CLAIM_EVERY = 5
# So many failed looks in a row are worth a line in the log.
WORRYING_LOOKS = 10
# An undecided state has to be seen so often before it can end a job.
STALE_POLLS = 3


class Poller:
    """Look at jobs.

    Args:
        poll_settings: Which operations are called for that, how, and how often.
        hooks: Who wants to hear of looks.
        base_url: Where the jobs run.
        scheduler: Says when to look; it belongs to the account and the running loop.
        registry: What runs already; shared by clients that must not pay twice for the same work.
        journal: What is written down of it.
    """

    def __init__(
        self,
        poll_settings: PollSettings,
        hooks: Hooks,
        base_url: str,
        scheduler: Scheduler,
        registry: JobRegistry,
        journal: LaunchJournal,
    ) -> None:
        self.base_url = base_url
        self.poll_settings: PollSettings = poll_settings
        self._caller = poll_settings.caller
        self.policy: PollPolicy = poll_settings.policy
        self.hooks: Hooks = hooks
        self.scheduler: Scheduler = scheduler
        self._poll_request = PollRequest(scheduler, self.time)
        # With the context in which each is looked at: that of who wanted it first, as hooks have changed it.
        self.subscribed: dict[Job[Any], contextvars.Context] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._deciding: set[Job[Any]] = set()
        self._shut = False
        self._taking: set[Job[Any]] = set()
        self.registry: JobRegistry = registry
        self.journal: LaunchJournal = journal
        self.kept: Kept = Kept(self, registry, journal)

    # For jobs

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

    def guard(self, listener: Callable[[JobEvent], None], event: JobEvent) -> None:
        """Call a listener; what it raises is logged and forgotten."""
        try:
            listener(event)
        except Exception:
            logger.exception("a listener failed on %s", type(event).__name__)

    def subscribe(self, job: Job[Any]) -> None:
        """Have a job looked at from now on."""
        if job not in self.subscribed:
            context = self.subscribed[job] = contextvars.copy_context()
            if self.hooks.listening:
                context.run(self.hooks, telling.watched(job))
        self._schedule(job)

    def join(self, job: Job[Any]) -> None:
        """Poll a job of another client with the settings of this one, if that one was made from it by `with_options`.

        So what a twin was asked to do never changes how the client that it was made from waits.
        """
        mine = self.poll_settings
        if mine.depth < job._poll_settings.depth:
            job._poll_settings = mine
            if job._watch is not None:
                self.scheduler.change(job._watch, mine.policy)

    def unsubscribe(self, job: Job[Any]) -> None:
        """Stop looking at a job when nobody wants it any more."""
        if job.subscribed:
            return
        if self.subscribed.pop(job, None) is not None and self.hooks.listening:
            self.hooks(telling.released(job))
        if job._watch is not None:
            self.scheduler.drop(job._watch)

    def outlook(self, job: Job[Any]) -> Outlook:
        """Say when a job will be looked at, and when it may end; before the first wait nothing is planned."""
        watch = job._watch
        if watch is None or job._closed:
            return Outlook()
        return Outlook(self.scheduler.next_poll(watch), self.scheduler.why(watch), self.scheduler.expected_end(watch))

    def forget(self, job: Job[Any]) -> None:
        """Stop looking at a job that nobody wants any more, and let nobody join it."""
        self.unsubscribe(job)
        if not job._undecided:
            self.registry.remove(job)

    async def poll_now(self, job: Job[Any]) -> None:
        """Look at a job once, or join the look that is under way.

        Raises:
            CMSError: The look failed, also because the client was closed meanwhile.
        """
        try:
            await outcome_of(self._look(job, Priority.INTERACTIVE))
        except CMSError as error:
            raise error.fresh() from error

    # For launches

    async def open_journal(self) -> None:
        """Open the journal, with the settings of this client.

        Raises:
            StateError: The state cannot be reached; nothing was sent.
        """
        await self.journal.open(self.poll_settings.read_user)

    async def read_credits(self) -> Credits:
        """Read the balances; one request."""
        return (await self.poll_settings.read_user()).organization.credits

    def start(self, coroutine: Coroutine[Any, Any, T], context: contextvars.Context | None = None) -> asyncio.Task[T]:
        """Run something that belongs to the client and not to its caller.

        Args:
            coroutine: What to run.
            context: Where; by default in a copy of the caller's context.

        Raises:
            ClientClosedError: The client is closed.
        """
        try:
            self.ensure_open()
        except ClientClosedError:
            coroutine.close()
            raise
        task = asyncio.create_task(coroutine, context=context)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def aclose(self) -> None:
        """Stop looking; every waiter is told so."""
        self._shut = True
        for job in tuple(self.subscribed):
            job._interrupt(
                ClientClosedError(
                    f"The client was closed while {job!r} was waited for. It goes on and may be paid for: "
                    f"client.jobs.attach({job.token!r}) waits for it again."
                )
            )
            self.forget(job)
        # Fan-outs hand on what their jobs were just told, before they are stopped.
        await asyncio.sleep(0)
        # A hook or a job of a fan-out may be what closes the client.
        tasks = tuple(self._tasks - {asyncio.current_task()})
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            # Retrieved here, because everybody who asked may have gone.
            task.exception()

    # Looking

    def _schedule(self, job: Job[Any]) -> None:
        if self._shut or not job.subscribed or job in self._deciding:
            return
        record = job._record
        if record is not None and not (record.held or record.free):
            if job not in self._taking:
                self._taking.add(job)
                self.start(self._take(job, record))
            return
        scheduler, history = self.scheduler, job._history
        if job._watch is None:
            since, launched = history.began, history.fresh
            if not launched and (age := self._age(history)) is not None:
                since, launched = self.time() - age, not history.watched
            subject = _Subject(self, job)
            policy = job._poll_settings.policy
            job._watch = scheduler.watch(job.kind, job.target, policy, subject, since, launched=launched)
        scheduler.add(job._watch, at_once=job._polls == 0 and not history.fresh)
        if job._look is not None:
            scheduler.looking(job._watch)

    async def _take(self, job: Job[Any], record: Record) -> None:
        """Wait until nobody else looks at a job."""
        try:
            await self.journal.open(job._poll_settings.read_user)
            rounds = 0
            while job.subscribed and not await self.journal.take(record, claim=rounds % CLAIM_EVERY == 0):
                rounds += 1
                await asyncio.sleep(FOLLOW)
        except StateError as error:
            # Two streams of looks are better than none.
            logger.warning("the journal cannot be read, and %r is looked at all the same: %s", job, error)
            record.free = True
        except CMSError as error:
            job._wake(error)
            self.unsubscribe(job)
        except Exception:
            # A mistake, of a state or of this package: no code awaits this task, and the waiters would wait for ever.
            logger.exception("the journal cannot be read, and %r is polled all the same", job)
            record.free = True
        finally:
            self._taking.discard(job)
        if record.held or record.free:
            self._schedule(job)

    def _age(self, history: JobHistory) -> float | None:
        """Return for how many seconds a job has run that this process did not launch, None when that is not known."""
        now = self._caller.pipeline.clock.at(self.time())
        if history.launched_at is None or now is None:
            return None
        return max(0.0, (now - history.launched_at).total_seconds())

    def poll(self, job: Job[Any]) -> None:
        """Begin to look at a job because it is due, unless another process does so by now."""
        if job._record is not None and not self.journal.has(job._record):
            if job._watch is not None:
                self.scheduler.drop(job._watch)
            self._schedule(job)
            return
        # Between the end of a client and that of its desks a timer may still ring; closing tells the waiters.
        with contextlib.suppress(ClientClosedError):
            self._look(job, Priority.POLL)

    def _look(self, job: Job[Any], priority: Priority) -> asyncio.Task[None]:
        if job._look is None:
            context = self.subscribed.get(job)
            if job._watch is not None:
                self.scheduler.looking(job._watch)
            # A copy, because a listener or a hook that asks for this may run in that very context.
            look = self.start(self._poll_once(job, priority), context.copy() if context is not None else None)
            # An eager task may be through already.
            job._look = None if look.done() else look
            return look
        return job._look

    async def _poll_once(self, job: Job[Any], priority: Priority) -> None:
        try:
            observation, result = await self._poll_request.look(job, priority)
        except Exception as error:
            job._look = None
            if not job._closed:
                self._note_failure(job, error)
            raise
        except asyncio.CancelledError:
            job._look = None
            raise
        job._look = None
        # A decision that was under way may have ended it meanwhile.
        if not job._closed:
            self._on_response(job, observation, result)

    def _on_response(self, job: Job[Any], observation: Observation, result: Any) -> None:
        """Take in what a look has shown, and what follows from it."""
        over = observation.decided and observation.phase is not Phase.RUNNING
        if job._watch is not None and job not in self._deciding:
            if over:
                self.scheduler.saw_end(job._watch)
            else:
                self.scheduler.saw_running(job._watch, certain=observation.decided)
        self._note(job, observation)
        self._conclude(job, observation, result)
        kind = kind_of(job.kind)
        parent = kind.list_of(result) if isinstance(result, kind.model) else None
        if job._watch is not None and parent is not None and self.scheduler.explores(job._watch, parent):
            self.read_page(Listing(kind.name, parent, 1))

    def show(self, job: Job[Any], document: Model, sent_at: float) -> None:
        """Show a job a document about it that was read for another reason."""
        watch, deaf = job._watch, job._closed or job._look is not None or job in self._deciding
        if watch is None or deaf or sent_at < job._history.began:
            return
        kind = kind_of(job.kind)
        shown = kind.shown(document)
        if shown is Shown.HINT:
            self.scheduler.hasten(watch, "another request shows that it may be over")
        if shown in (Shown.HINT, Shown.NOTHING):
            return
        observation = kind.observe(document, job._history, self.time())
        over = observation.decided and observation.phase is not Phase.RUNNING
        if observation.decided and (not over or shown is Shown.RESULT):
            self._on_response(job, observation, document)
        elif over:
            self.scheduler.hasten(watch, "another request shows that it is over")

    def read_page(self, listing: Listing) -> None:
        """Begin to read a page of a list for all jobs that it shows; in nobody's context, because it is for many."""
        try:
            self.start(self._read_page(listing), contextvars.Context())
        except ClientClosedError:
            # Another client may wait for jobs on it.
            self.scheduler.page_failed(listing)

    async def _read_page(self, listing: Listing) -> None:
        options = CallOptions(priority=Priority.POLL, max_attempts=1)
        kind = kind_of(listing.kind)
        path = {kind.list_parameter: listing.parent}
        try:
            page = await self._caller.page(
                kind.model, kind.list_operation, path, number=listing.number, limit=LARGEST_PAGE, options=options
            )
        except BaseException as error:
            self.scheduler.page_failed(listing)
            if isinstance(error, CMSError):
                return
            if isinstance(error, Exception):
                logger.exception("a page of keywords could not be read; its jobs are polled one by one")
            raise
        # What it shows was shown to the jobs when it was decoded.
        self.scheduler.page_read(listing)
        if page.has_more and self.scheduler.lost:
            self.read_page(attrs.evolve(listing, number=listing.number + 1))

    def _note(self, job: Job[Any], observation: Observation) -> None:
        now, history = self.time(), job._history
        history.failures = Failures()
        changed = (observation.phase, observation.state) != (job._phase, job._state)
        if observation.phase is not job._phase:
            job._since = now
        job._phase, job._state = observation.phase, observation.state
        job._observed_at = now
        job._polls += 1
        self.hooks(telling.observed(job))
        job._tell(lambda: Observed(job.status, changed))

    def _note_failure(self, job: Job[Any], error: Exception) -> None:
        failures, patience = job._history.failures, doubt_limit(job._poll_settings.policy, unlisted_word=False)
        job._polls += 1
        if job._watch is not None:
            self.scheduler.failed(job._watch, refused=isinstance(error, APIError) and error.status < 500)
        self.hooks(telling.observed(job, error))
        job._tell(lambda: PollFailed(job.status, error))
        sequel = failures.weigh(error, kind_of(job.kind).operation, self.time(), patience)
        if failures.looks == WORRYING_LOOKS:
            logger.warning("the last %d looks at %r failed, and the looks go on: %s", WORRYING_LOOKS, job, error)
        if not isinstance(error, CMSError):
            # No answer of the service, but a mistake, of a transport or of this package: nobody would hear of it.
            logger.error("a look at %r went wrong", job, exc_info=error)
        if sequel is Sequel.TELL:
            # Closing the client tells the waiters, in better words.
            if not self._closing():
                job._wake(error)
                self.unsubscribe(job)
        elif sequel is not Sequel.GO_ON and job not in self._deciding:
            gone = sequel is Sequel.VANISHED
            job._since, job._phase = self.time(), Phase.VANISHED if gone else Phase.UNKNOWN
            self._close(job, error=vanished(job) if gone else unreadable(job, error))

    def _closing(self) -> bool:
        try:
            self.ensure_open()
        except ClientClosedError:
            return True
        return False

    def _conclude(self, job: Job[Any], observation: Observation, result: Any) -> None:
        if job in self._deciding:
            # What is seen now may be the work of the decision under way, which ends the job itself.
            return
        match observation.phase:
            case Phase.SUCCEEDED:
                if isinstance(result, GenerationReview):
                    result.decision = "elsewhere"
                self._close(job, result)
            case Phase.FAILED:
                self._close(job, error=failed(job))
            case Phase.SUPERSEDED:
                self._close(job, error=superseded(job, observation.newer_id))
            case Phase.REVIEW if job._on_review is not None:
                self._deciding.add(job)
                if job._watch is not None:
                    self.scheduler.drop(job._watch)
                self.start(self._decide(job, result, job._on_review))
            case Phase.REVIEW:
                self._close(job, result)
            case _ if not observation.decided:
                self._doubt(job, observation)

    async def _decide(self, job: Job[Any], review: GenerationReview, hook: ReviewHook) -> None:
        try:
            await review.follow(hook)
        except asyncio.CancelledError:
            if self._shut:
                raise
            # Something that the hook waited for was cancelled, not the decision itself.
            self._left(job, review, JobError(f"The on_review hook of {job!r} was cancelled.", job=job))
        except Exception as error:
            self._left(job, review, error)
        else:
            if review.decision != "leave":
                job._since, job._phase = self.time(), Phase.SUCCEEDED
                job._state = str(review.generation.status)
            self._close(job, review)
        finally:
            self._deciding.discard(job)
            self._schedule(job)

    def _left(self, job: Job[Any], review: GenerationReview, error: Exception) -> None:
        if isinstance(error, JobSupersededError):
            job._since, job._phase = self.time(), Phase.SUPERSEDED
            error.job, error.token, error.status = job, job.token, job.status
        elif review.decision is None:
            error.add_note(
                f"Generation {review.generation.id} of content {review.content_id} is not decided by this hook: "
                f"client.contents.review({review.content_id!r}) decides on it later."
            )
        if not job._waiters and not job._followers:
            logger.error("the on_review hook of %r failed, and nobody waits for the job", job, exc_info=error)
        self._close(job, error=error)

    def _doubt(self, job: Job[Any], observation: Observation) -> None:
        unlisted_word = observation.phase is Phase.UNKNOWN and observation.state is not None
        patience = doubt_limit(job._poll_settings.policy, unlisted_word=unlisted_word)
        if job._history.undecided_polls >= STALE_POLLS and self.time() - job._history.began >= patience:
            job._since, job._phase = self.time(), Phase.UNKNOWN
            self._close(job, error=undecidable(job))

    def _close(self, job: Job[Any], result: Any = None, *, error: Exception | None = None) -> None:
        job._close(result, error)
        self.forget(job)
        if job._record is not None:
            self._write_down(job, job._record, result)

    def _write_down(self, job: Job[Any], record: Record, result: Any) -> None:
        review = result if isinstance(result, GenerationReview) else None
        if job._phase is not Phase.REVIEW:
            status = "undecided" if job._phase is Phase.UNKNOWN else job._phase.value
            self.journal.saw_end(record, status, review.decision if review is not None else None)
            return
        self.journal.record_review(record)
        if review is not None:
            review._decided = lambda decision: self.journal.saw_end(record, Phase.SUCCEEDED.value, decision)


@attrs.frozen(eq=False)
class _Subject:
    """Stand for a job in the schedule."""

    poller: Poller
    job: Job[Any]

    @property
    def hooks(self) -> Hooks:
        return self.poller.hooks

    def look(self) -> None:
        self.poller.poll(self.job)

    def show(self, document: Model, sent_at: float) -> None:
        self.poller.show(self.job, document, sent_at)

    def read_page(self, listing: Listing) -> None:
        self.poller.read_page(listing)
