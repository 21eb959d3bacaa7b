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

from cmsapi.api.models import Content, Credits, Keyword, KnowledgeDocument, Prompt
from cmsapi.api.models.model import Model
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
from cmsapi.jobs.events import JobEvent, LookFailed, Observed
from cmsapi.jobs.job import Job, Outlook
from cmsapi.jobs.journal.journal import Journal
from cmsapi.jobs.journal.leases import FOLLOW
from cmsapi.jobs.journal.record import Record
from cmsapi.jobs.kinds.registry import STALE_LOOKS, STRATEGIES, Judgement, Trail
from cmsapi.jobs.kinds.review import GenerationReview, ReviewHook
from cmsapi.jobs.polling import events as telling
from cmsapi.jobs.polling.failures import Failures, Sequel
from cmsapi.jobs.polling.keeping import Kept
from cmsapi.jobs.polling.poll_request import Looker
from cmsapi.jobs.polling.registry import Ongoing
from cmsapi.jobs.polling.settings import PollSettings
from cmsapi.jobs.scheduling.queue import Listing
from cmsapi.jobs.scheduling.scheduler import Pacer
from cmsapi.jobs.status import Phase
from cmsapi.jobs.tasks import outcome_of
from cmsapi.observability import Hooks
from cmsapi.ratelimit.limiter import Priority
from cmsapi.transport.caller import LARGEST_PAGE
from cmsapi.transport.pipeline import Demand

logger: logging.Logger = logging.getLogger("cmsapi")

T = TypeVar("T")

# Of the rounds in which a job that another process looks at is followed, one in so many tries to take it over.
CLAIM_EVERY = 5
# So many failed looks in a row are worth a line in the log.
WORRYING_LOOKS = 10


class Desk:
    """Look at jobs.

    Args:
        poll_settings: Which operations are called for that, how, and how often.
        hooks: Who wants to hear of looks.
        base_url: Where the jobs run.
        find_pacer: Finds what says when to look; it belongs to the account and the running loop.
        ongoing: What runs already; shared by clients that must not pay twice for the same work.
        journal: What is written down of it.
    """

    def __init__(
        self,
        poll_settings: PollSettings,
        hooks: Hooks,
        base_url: str,
        find_pacer: Callable[[], Pacer],
        ongoing: Ongoing,
        journal: Journal,
    ) -> None:
        self.base_url = base_url
        self.poll_settings: PollSettings = poll_settings
        self._core = poll_settings.core
        self.policy: PollPolicy = poll_settings.policy
        self.hooks: Hooks = hooks
        self._find_pacer = find_pacer
        self._looker = Looker(find_pacer, self.time)
        # With the context in which each is looked at: that of who wanted it first, as hooks have changed it.
        self._wanted: dict[Job[Any], contextvars.Context] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._deciding: set[Job[Any]] = set()
        self._shut = False
        self._taking: set[Job[Any]] = set()
        self.ongoing: Ongoing = ongoing
        self.journal: Journal = journal
        self.kept: Kept = Kept(self, ongoing, journal)

    # For jobs

    @property
    def pacer(self) -> Pacer:
        """What says when to look."""
        return self._find_pacer()

    def ensure_open(self) -> None:
        """Raise when the client is closed or belongs to another loop."""
        self._core.ensure_open()

    def time(self) -> float:
        """Return the loop's time."""
        return asyncio.get_running_loop().time()

    def datetime_at(self, loop_time: float) -> datetime:
        """Return a moment of the loop on the service's clock, or on this machine's before that is known."""
        known = self._core.pipeline.clock.at(loop_time)
        return known or datetime.fromtimestamp(datetime.now(UTC).timestamp() + loop_time - self.time(), UTC)

    def guard(self, listener: Callable[[JobEvent], None], event: JobEvent) -> None:
        """Call a listener; what it raises is logged and forgotten."""
        try:
            listener(event)
        except Exception:
            logger.exception("a listener failed on %s", type(event).__name__)

    def want(self, job: Job[Any]) -> None:
        """Have a job looked at from now on."""
        if job not in self._wanted:
            context = self._wanted[job] = contextvars.copy_context()
            if self.hooks.listening:
                context.run(self.hooks, telling.watched(job))
        self._take_up(job)

    def join(self, job: Job[Any]) -> None:
        """Poll a job of another client with the settings of this one, if that one was made from it by `with_options`.

        So what a twin was asked to do never changes how the client that it was made from waits.
        """
        mine = self.poll_settings
        if mine.depth < job._poll_settings.depth:
            job._poll_settings = mine
            if job._watch is not None:
                self.pacer.change(job._watch, mine.policy)

    def unwant(self, job: Job[Any]) -> None:
        """Stop looking at a job when nobody wants it any more."""
        if job._wanted:
            return
        if self._wanted.pop(job, None) is not None and self.hooks.listening:
            self.hooks(telling.released(job))
        if job._watch is not None:
            self.pacer.drop(job._watch)

    def outlook(self, job: Job[Any]) -> Outlook:
        """Say when a job will be looked at, and when it may end; before the first wait nothing is planned."""
        watch = job._watch
        if watch is None or job._closed:
            return Outlook()
        return Outlook(self.pacer.next_look(watch), self.pacer.why(watch), self.pacer.expected_end(watch))

    def forget(self, job: Job[Any]) -> None:
        """Stop looking at a job that nobody wants any more, and let nobody join it."""
        self.unwant(job)
        if not job._undecided:
            self.ongoing.remove(job)

    async def look_now(self, job: Job[Any]) -> None:
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
        for job in tuple(self._wanted):
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

    def _take_up(self, job: Job[Any]) -> None:
        if self._shut or not job._wanted or job in self._deciding:
            return
        record = job._record
        if record is not None and not (record.held or record.free):
            if job not in self._taking:
                self._taking.add(job)
                self.start(self._take(job, record))
            return
        pacer, trail = self.pacer, job._trail
        if job._watch is None:
            since, launched = trail.began, trail.fresh
            if not launched and (age := self._age(trail)) is not None:
                since, launched = self.time() - age, not trail.watched
            subject = _Subject(self, job)
            policy = job._poll_settings.policy
            job._watch = pacer.watch(job.kind, job.target, policy, subject, since, launched=launched)
        pacer.add(job._watch, at_once=job._polls == 0 and not trail.fresh)
        if job._look is not None:
            pacer.looking(job._watch)

    async def _take(self, job: Job[Any], record: Record) -> None:
        """Wait until nobody else looks at a job."""
        try:
            await self.journal.open(job._poll_settings.read_user)
            rounds = 0
            while job._wanted and not await self.journal.take(record, claim=rounds % CLAIM_EVERY == 0):
                rounds += 1
                await asyncio.sleep(FOLLOW)
        except StateError as error:
            # Two streams of looks are better than none.
            logger.warning("the journal cannot be read, and %r is looked at all the same: %s", job, error)
            record.free = True
        except CMSError as error:
            job._wake(error)
            self.unwant(job)
        except Exception:
            # A mistake, of a state or of this package: no code awaits this task, and the waiters would wait for ever.
            logger.exception("the journal cannot be read, and %r is polled all the same", job)
            record.free = True
        finally:
            self._taking.discard(job)
        if record.held or record.free:
            self._take_up(job)

    def _age(self, trail: Trail) -> float | None:
        """Return for how many seconds a job has run that this process did not launch, None when that is not known."""
        now = self._core.pipeline.clock.at(self.time())
        if trail.launched_at is None or now is None:
            return None
        return max(0.0, (now - trail.launched_at).total_seconds())

    def poll(self, job: Job[Any]) -> None:
        """Begin to look at a job because it is due, unless another process does so by now."""
        if job._record is not None and not self.journal.has(job._record):
            if job._watch is not None:
                self.pacer.drop(job._watch)
            self._take_up(job)
            return
        # Between the end of a client and that of its desks a timer may still ring; closing tells the waiters.
        with contextlib.suppress(ClientClosedError):
            self._look(job, Priority.POLL)

    def _look(self, job: Job[Any], priority: Priority) -> asyncio.Task[None]:
        if job._look is None:
            context = self._wanted.get(job)
            if job._watch is not None:
                self.pacer.looking(job._watch)
            # A copy, because a listener or a hook that asks for this may run in that very context.
            look = self.start(self._look_once(job, priority), context.copy() if context is not None else None)
            # An eager task may be through already.
            job._look = None if look.done() else look
            return look
        return job._look

    async def _look_once(self, job: Job[Any], priority: Priority) -> None:
        try:
            judgement, result = await self._looker.look(job, priority)
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
            self._saw(job, judgement, result)

    def _saw(self, job: Job[Any], judgement: Judgement, result: Any) -> None:
        """Take in what a look has shown, and what follows from it."""
        over = judgement.decided and judgement.phase is not Phase.RUNNING
        if job._watch is not None and job not in self._deciding:
            if over:
                self.pacer.saw_end(job._watch)
            else:
                self.pacer.saw_running(job._watch, certain=judgement.decided)
        self._note(job, judgement)
        self._conclude(job, judgement, result)
        page_id = result.page_id if isinstance(result, Keyword) else None
        if job._watch is not None and page_id is not None and self.pacer.explores(job._watch, page_id):
            self.read_page(Listing(page_id, 1))

    def show(self, job: Job[Any], document: Model, sent_at: float) -> None:
        """Show a job a document about it that was read for another reason."""
        watch, deaf = job._watch, job._closed or job._look is not None or job in self._deciding
        if watch is None or deaf or sent_at < job._trail.began:
            return
        if isinstance(document, Content):
            self.pacer.hasten(watch, "its content shows that it may be over")
            return
        if isinstance(document, Keyword | Prompt) and "analysisStatus" in (document._absent or ()):
            return
        judgement = STRATEGIES[job.kind].judge(document, job._trail, self.time())
        over = judgement.decided and judgement.phase is not Phase.RUNNING
        if judgement.decided and (not over or _is_result(document)):
            self._saw(job, judgement, document)
        elif over:
            self.pacer.hasten(watch, "another request shows that it is over")

    def read_page(self, listing: Listing) -> None:
        """Begin to read a page of a list for all jobs that it shows; in nobody's context, because it is for many."""
        try:
            self.start(self._read_page(listing), contextvars.Context())
        except ClientClosedError:
            # Another client may wait for jobs on it.
            self.pacer.page_failed(listing)

    async def _read_page(self, listing: Listing) -> None:
        demand = Demand(priority=Priority.POLL, max_attempts=1)
        path = {"pageId": listing.page_id}
        try:
            page = await self._core.page(
                Keyword, "list_keywords", path, number=listing.number, limit=LARGEST_PAGE, demand=demand
            )
        except BaseException as error:
            self.pacer.page_failed(listing)
            if isinstance(error, CMSError):
                return
            if isinstance(error, Exception):
                logger.exception("a page of keywords could not be read; its jobs are polled one by one")
            raise
        # What it shows was shown to the jobs when it was decoded.
        self.pacer.page_read(listing)
        if page.has_more and self.pacer.lost:
            self.read_page(Listing(listing.page_id, listing.number + 1))

    def _note(self, job: Job[Any], judgement: Judgement) -> None:
        now, trail = self.time(), job._trail
        trail.failures = Failures()
        changed = (judgement.phase, judgement.state) != (job._phase, job._state)
        if judgement.phase is not job._phase:
            job._since = now
        job._phase, job._state = judgement.phase, judgement.state
        job._observed_at = now
        job._polls += 1
        self.hooks(telling.observed(job))
        job._tell(lambda: Observed(job.status, changed))

    def _note_failure(self, job: Job[Any], error: Exception) -> None:
        failures, patience = job._trail.failures, doubt_limit(job._poll_settings.policy, unlisted_word=False)
        job._polls += 1
        if job._watch is not None:
            self.pacer.failed(job._watch, refused=isinstance(error, APIError) and error.status < 500)
        self.hooks(telling.observed(job, error))
        job._tell(lambda: LookFailed(job.status, error))
        sequel = failures.weigh(error, STRATEGIES[job.kind].operation, self.time(), patience)
        if failures.looks == WORRYING_LOOKS:
            logger.warning("the last %d looks at %r failed, and the looks go on: %s", WORRYING_LOOKS, job, error)
        if not isinstance(error, CMSError):
            # No answer of the service, but a mistake, of a transport or of this package: nobody would hear of it.
            logger.error("a look at %r went wrong", job, exc_info=error)
        if sequel is Sequel.TELL:
            # Closing the client tells the waiters, in better words.
            if not self._closing():
                job._wake(error)
                self.unwant(job)
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

    def _conclude(self, job: Job[Any], judgement: Judgement, result: Any) -> None:
        if job in self._deciding:
            # What is seen now may be the work of the decision under way, which ends the job itself.
            return
        match judgement.phase:
            case Phase.SUCCEEDED:
                if isinstance(result, GenerationReview):
                    result.decision = "elsewhere"
                self._close(job, result)
            case Phase.FAILED:
                self._close(job, error=failed(job))
            case Phase.SUPERSEDED:
                self._close(job, error=superseded(job, result))
            case Phase.REVIEW if job._on_review is not None:
                self._deciding.add(job)
                if job._watch is not None:
                    self.pacer.drop(job._watch)
                self.start(self._decide(job, result, job._on_review))
            case Phase.REVIEW:
                self._close(job, result)
            case _ if not judgement.decided:
                self._doubt(job, judgement)

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
            self._take_up(job)

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

    def _doubt(self, job: Job[Any], judgement: Judgement) -> None:
        unlisted_word = judgement.phase is Phase.UNKNOWN and judgement.state is not None
        patience = doubt_limit(job._poll_settings.policy, unlisted_word=unlisted_word)
        if job._trail.undecided_looks >= STALE_LOOKS and self.time() - job._trail.began >= patience:
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
        self.journal.saw_review(record)
        if review is not None:
            review._decided = lambda decision: self.journal.saw_end(record, Phase.SUCCEEDED.value, decision)


@attrs.frozen(eq=False)
class _Subject:
    """Stand for a job in the schedule."""

    desk: Desk
    job: Job[Any]

    @property
    def hooks(self) -> Hooks:
        return self.desk.hooks

    def look(self) -> None:
        self.desk.poll(self.job)

    def show(self, document: Model, sent_at: float) -> None:
        self.desk.show(self.job, document, sent_at)

    def read_page(self, listing: Listing) -> None:
        self.desk.read_page(listing)


def _is_result(document: Model) -> bool:
    """Tell whether a document is all that its job works for; items of lists may show less."""
    if isinstance(document, Keyword | Prompt):
        return "lastAnalyzedAt" not in (document._absent or ())
    return isinstance(document, KnowledgeDocument)
