"""Where the jobs of a client are looked at: one look, what it means, and what follows from it.

A look that fails says nothing about the job. Not a 404 either, until it has been 404 for a minute and three looks. One
that fails for half an hour in a way that repeating does not mend ends the job as one whose end cannot be told. A
refused key ends the waiters, not the job; an order to decide on a review stands, and is followed once the key works.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any, TypeVar

import attrs

from cmsapi.config import PollPolicy
from cmsapi.core import LARGEST_PAGE, Core
from cmsapi.errors import (
    APIError,
    ClientClosedError,
    CMSError,
    DeadlineError,
    DecodeError,
    ForbiddenError,
    JobError,
    JobSupersededError,
    NotFoundError,
    RateLimitWaitError,
    TransportError,
    UnauthorizedError,
)
from cmsapi.instrumentation import Hooks, JobObserved
from cmsapi.jobs.endings import VANISHED_AFTER, failed, superseded, undecidable, unreadable, vanished
from cmsapi.jobs.events import JobEvent, LookFailed, Observed
from cmsapi.jobs.ideas import ContentIdeas
from cmsapi.jobs.job import Job
from cmsapi.jobs.kinds import STALE_LOOKS, STRATEGIES, Judgement
from cmsapi.jobs.ongoing import Ongoing
from cmsapi.jobs.pacing import doubt_limit, next_look
from cmsapi.jobs.poller import Poller
from cmsapi.jobs.review import GenerationReview, ReviewHook
from cmsapi.jobs.status import Phase
from cmsapi.models import ContentIdea, ContentIdeaSearch, Generation
from cmsapi.models.model import Model
from cmsapi.transport.pipeline import Demand
from cmsapi.transport.ratelimit import Priority

logger: logging.Logger = logging.getLogger("cmsapi")

T = TypeVar("T")

VANISHED_LOOKS = 3
HOPELESS_LOOKS = 3
# So many failed looks in a row are worth a line in the log.
WORRYING_LOOKS = 10


class Desk:
    """Look at jobs.

    Args:
        core: Calls the operations.
        policy: How often to look.
        hooks: Who wants to hear of looks.
        base_url: Where the jobs run.
        rng: Source of jitter.
        ongoing: What runs already; shared by clients that must not pay twice for the same work.
    """

    def __init__(
        self,
        core: Core,
        policy: PollPolicy,
        hooks: Hooks,
        base_url: str,
        rng: random.Random,
        ongoing: Ongoing | None = None,
    ) -> None:
        self.base_url = base_url
        self._core = core
        self._policy = policy
        self._hooks = hooks
        self._rng = rng
        self._poller = Poller(self._poll)
        self._wanted: set[Job[Any]] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._deciding: set[Job[Any]] = set()
        self._shut = False
        self.ongoing: Ongoing = ongoing if ongoing is not None else Ongoing()

    # For jobs

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
        self._wanted.add(job)
        if job._due is None and job._look is None:
            self._plan(job)

    def unwant(self, job: Job[Any]) -> None:
        """Stop looking at a job when nobody wants it any more."""
        if not job._wanted:
            self._wanted.discard(job)
            self._poller.drop(job)
            if not job._closed:
                job._why_next = "nobody waits for it"

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
            await asyncio.shield(self._look(job, Priority.INTERACTIVE))
        except CMSError as error:
            raise error.fresh() from error

    # For launches

    def launched(self, job: Job[Any]) -> None:
        """Keep a launched job so that another launch for the same target joins it."""
        self.ongoing.add(job, self.time())

    def attached(self, job: Job[Any]) -> Job[Any]:
        """Keep a job that a token names likewise, or return the one that is kept for it already."""
        kept = self.ongoing.job((job.kind, job.target))
        if kept is None:
            self.ongoing.add(job, self.time())
        elif not kept.done and kept.id == job.id and kept._trail.launched_at == job._trail.launched_at:
            return kept
        return job

    def order(self, job: Job[Any], hook: ReviewHook) -> None:
        """Have a hook decide on a job's review; of several the first one does."""
        if not job._closed and job._on_review is None:
            job._on_review = hook
            job._keeper.want(job)

    def reopen(self, job: Job[Any]) -> Job[Any]:
        """Return a new job for a generation that still waits for its decision."""
        trail = attrs.evolve(job._trail, fresh=False)
        again: Job[Any] = Job(self, job.kind, job.target, trail)
        self.launched(again)
        return again

    def start(self, coroutine: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run something that belongs to the client and not to its caller.

        Raises:
            ClientClosedError: The client is closed.
        """
        try:
            self.ensure_open()
        except ClientClosedError:
            coroutine.close()
            raise
        task = asyncio.create_task(coroutine)
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

    def _plan(self, job: Job[Any]) -> None:
        if self._shut or not job._wanted or job in self._deciding:
            return
        now = self.time()
        if job._polls == 0 and not job._trail.fresh:
            due, why = now, "it has not been looked at yet"
        else:
            last = job._looked_at if job._looked_at is not None else job._trail.began
            due, why = next_look(self._policy, last, self._rng)
        job._why_next = why
        self._poller.schedule(job, max(now, due))

    def _poll(self, job: Job[Any]) -> None:
        # Between the end of a client and that of its desks a timer may still ring; closing tells the waiters.
        with contextlib.suppress(ClientClosedError):
            self._look(job, Priority.POLL)

    def _look(self, job: Job[Any], priority: Priority) -> asyncio.Task[None]:
        if job._look is None:
            self._poller.drop(job)
            job._look = self.start(self._look_once(job, priority))
        return job._look

    async def _look_once(self, job: Job[Any], priority: Priority) -> None:
        strategy = STRATEGIES[job.kind]
        try:
            document = await self._core.call(
                strategy.model,
                strategy.operation,
                {strategy.parameter: job.target},
                # The schedule is the retry.
                demand=Demand(priority=priority, max_attempts=1),
            )
            judgement = strategy.judge(document, job._trail, self.time())
            result = await self._result(job, judgement, document)
        except Exception as error:
            if not job._closed:
                self._note_failure(job, error)
            raise
        else:
            # A decision that was under way may have ended it meanwhile.
            if not job._closed:
                self._note(job, judgement)
                self._conclude(job, judgement, result)
        finally:
            job._look = None
            job._looked_at = self.time()
            self._plan(job)

    async def _result(self, job: Job[Any], judgement: Judgement, document: Model) -> Any:
        if isinstance(document, Generation):
            return GenerationReview(self._core, job.target, document)
        if isinstance(document, ContentIdeaSearch) and judgement.phase is Phase.SUCCEEDED:
            # It shows although the ideas may not be readable; it is over only with them.
            job._state, job._observed_at = judgement.state, self.time()
            job._trail.missing_since, job._trail.missing_looks = None, 0
            ideas = self._core.paginate(
                ContentIdea,
                "list_content_ideas",
                {"contentIdeaSearchId": document.id},
                limit=LARGEST_PAGE,
                demand=Demand(priority=Priority.RESULT),
            )
            return ContentIdeas(document, tuple([idea async for idea in ideas]))
        return document

    def _note(self, job: Job[Any], judgement: Judgement) -> None:
        now, trail = self.time(), job._trail
        trail.missing_since, trail.missing_looks = None, 0
        trail.failed_looks, trail.hopeless, trail.hopeless_looks = 0, None, 0
        changed = (judgement.phase, judgement.state) != (job._phase, job._state)
        if judgement.phase is not job._phase:
            job._since = now
        job._phase, job._state = judgement.phase, judgement.state
        job._observed_at = now
        job._polls += 1
        self._tell(job)
        job._tell(Observed(job.status, changed))

    def _note_failure(self, job: Job[Any], error: Exception) -> None:
        now, trail = self.time(), job._trail
        job._polls += 1
        self._tell(job, error)
        job._tell(LookFailed(job.status, error))
        trail.failed_looks += 1
        if trail.failed_looks == WORRYING_LOOKS:
            logger.warning("the last %d looks at %r failed, and the looks go on: %s", WORRYING_LOOKS, job, error)
        if not isinstance(error, CMSError):
            # No answer of the service, but a mistake, of a transport or of this package: nobody would hear of it.
            logger.error("a look at %r went wrong", job, exc_info=error)
            job._wake(error)
            self.unwant(job)
        elif isinstance(error, UnauthorizedError | ForbiddenError):
            job._wake(error)
            self.unwant(job)
        elif isinstance(error, NotFoundError) and error.operation == STRATEGIES[job.kind].operation:
            trail.missing_since = now if trail.missing_since is None else trail.missing_since
            trail.missing_looks += 1
            long_enough = now - trail.missing_since >= VANISHED_AFTER
            if trail.missing_looks >= VANISHED_LOOKS and long_enough and job not in self._deciding:
                job._since, job._phase = now, Phase.VANISHED
                self._close(job, error=vanished(job))
        elif not isinstance(error, APIError | TransportError | RateLimitWaitError | DeadlineError):
            # Something of this side, which no answer of the service will mend.
            self._note_local(job, error)
        elif (failure := _hopeless(error)) is not None:
            self._note_hopeless(job, error, failure)

    def _note_local(self, job: Job[Any], error: CMSError) -> None:
        try:
            self.ensure_open()
        except ClientClosedError:
            # Closing the client tells the waiters, in better words.
            return
        job._wake(error)
        self.unwant(job)

    def _note_hopeless(self, job: Job[Any], error: CMSError, failure: object) -> None:
        now, trail = self.time(), job._trail
        if trail.hopeless != failure:
            trail.hopeless, trail.hopeless_since, trail.hopeless_looks = failure, now, 0
        trail.hopeless_looks += 1
        long_enough = now - trail.hopeless_since >= doubt_limit(self._policy, unlisted_word=False)
        if trail.hopeless_looks >= HOPELESS_LOOKS and long_enough and job not in self._deciding:
            job._since, job._phase = now, Phase.UNKNOWN
            self._close(job, error=unreadable(job, error))

    def _tell(self, job: Job[Any], error: Exception | None = None) -> None:
        self._hooks(
            JobObserved(
                kind=job.kind.value,
                target=job.target,
                phase=job._phase.value,
                state=job._state,
                polls=job._polls,
                error=type(error).__name__ if error else None,
            )
        )

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
        long_enough = self.time() - job._trail.began >= doubt_limit(self._policy, unlisted_word=unlisted_word)
        if job._trail.undecided_looks >= STALE_LOOKS and long_enough:
            job._since, job._phase = self.time(), Phase.UNKNOWN
            self._close(job, error=undecidable(job))

    def _close(self, job: Job[Any], result: Any = None, *, error: Exception | None = None) -> None:
        job._close(result, error)
        self.forget(job)


def _hopeless(error: CMSError) -> object:
    """Return what tells a failure that repeating does not mend from another such one, or None when it may be mended."""
    if isinstance(error, DecodeError):
        return DecodeError, error.operation
    if isinstance(error, APIError) and error.status in _REFUSALS:
        return error.status, error.operation
    return None


# 404 about the job itself is told apart from this: that job has vanished.
_REFUSALS = (400, 404, 422)
