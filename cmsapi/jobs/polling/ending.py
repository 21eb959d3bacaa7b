"""When a job is finished, and with which result or error."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import attrs

from cmsapi.config import PollPolicy
from cmsapi.errors import JobError, JobFailedError, JobSupersededError, JobVanishedError, UnknownJobStateError
from cmsapi.jobs.kinds.observation import Observation
from cmsapi.jobs.kinds.review import GenerationReview, ReviewHook
from cmsapi.jobs.polling.failures import VANISHED_AFTER
from cmsapi.jobs.status import Phase
from cmsapi.jobs.tracked import TrackedJob

logger: logging.Logger = logging.getLogger("cmsapi")

# A job whose state decides nothing is given up after this long, unless the policy says otherwise. An unlisted word most
# likely means that it runs; an old word or none most likely means that it has ended.
LONGEST_DOUBT = 1800.0
LONGEST_DOUBT_OF_A_WORD = 6 * 3600.0
# So often an undecided state has to be seen before it can end a job.
_STALE_POLLS = 3


@attrs.frozen
class End:
    """Say how a job is finished: with a result or an error."""

    result: Any = None
    error: Exception | None = None


def doubt_limit(policy: PollPolicy, *, unlisted_word: bool) -> float:
    """Return after how many seconds a job whose state decides nothing is given up."""
    if policy.give_up_after is not None:
        return policy.give_up_after
    return LONGEST_DOUBT_OF_A_WORD if unlisted_word else LONGEST_DOUBT


def end_of(job: TrackedJob, observation: Observation, result: Any, now: float) -> End | None:
    """Return how a job is finished after an observation, None while it goes on.

    Args:
        job: The job.
        observation: What a poll has shown.
        result: The result, or the document that the poll has read.
        now: Time of the loop.
    """
    match observation.phase:
        case Phase.SUCCEEDED:
            if isinstance(result, GenerationReview):
                result.decision = "elsewhere"
            return End(result)
        case Phase.REVIEW:
            return End(result)
        case Phase.FAILED:
            return End(error=_failed(job))
        case Phase.SUPERSEDED:
            return End(error=_superseded(job, observation.newer_id))
    if observation.decided or job.history.undecided_polls < _STALE_POLLS:
        return None
    unlisted_word = observation.phase is Phase.UNKNOWN and observation.state is not None
    if now - job.history.began < doubt_limit(job.settings.policy, unlisted_word=unlisted_word):
        return None
    job.enter(Phase.UNKNOWN, now)
    return End(error=_undecidable(job))


def vanished(job: TrackedJob, now: float) -> End:
    """Finish a job that the service no longer knows."""
    job.enter(Phase.VANISHED, now)
    return End(
        error=JobVanishedError(
            f"The service has not known {job!r} for at least {VANISHED_AFTER:g} s: it was deleted, is not visible to "
            f"this key any more, or has never been the id of a {job.kind}. If it comes back, "
            "client.jobs.attach(token) finds it.",
            job=job.handle,
        )
    )


def unreadable(job: TrackedJob, error: Exception, now: float) -> End:
    """Finish a job whose polls keep failing in the same way."""
    job.enter(Phase.UNKNOWN, now)
    ending = UnknownJobStateError(
        f"The end of {job!r} cannot be told: its polls keep failing in the same way ({type(error).__name__}: {error}). "
        "Check it in the application; client.jobs.attach(token) waits for it again.",
        job=job.handle,
    )
    ending.__cause__ = error
    return End(error=ending)


async def decide(job: TrackedJob, review: GenerationReview, hook: ReviewHook, is_shut: Callable[[], bool]) -> End:
    """Have a hook decide on the review of a generation, and return how the job is finished.

    Args:
        job: The job.
        review: Its review.
        hook: Decides.
        is_shut: Tells whether the client is being closed, which cancels the decision.
    """
    try:
        await review.follow(hook)
    except asyncio.CancelledError:
        if is_shut():
            raise
        # The hook awaited something that was cancelled; the decision itself was not.
        return _undecided(job, review, JobError(f"The on_review hook of {job!r} was cancelled.", job=job.handle))
    except Exception as error:
        return _undecided(job, review, error)
    if review.decision != "leave":
        job.enter(Phase.SUCCEEDED, asyncio.get_running_loop().time())
        job.word = str(review.generation.status)
    return End(review)


def _undecided(job: TrackedJob, review: GenerationReview, error: Exception) -> End:
    if isinstance(error, JobSupersededError):
        job.enter(Phase.SUPERSEDED, asyncio.get_running_loop().time())
        error.job, error.token, error.status = job.handle, job.handle.token, job.handle.status
    elif review.decision is None:
        error.add_note(
            f"Generation {review.generation.id} of content {review.content_id} is not decided by this hook: "
            f"client.contents.review({review.content_id!r}) decides on it later."
        )
    if not job.waiters and not job.followers:
        logger.error("the on_review hook of %r failed, and the job has no waiters", job, exc_info=error)
    return End(error=error)


def _failed(job: TrackedJob) -> JobError:
    """Report that the service says so."""
    return JobFailedError(
        f"The {job.kind} of {job.target} failed, as the service reports. client.credit_usages shows whether its "
        "credit was given back; to try again, launch it again, which costs a credit.",
        job=job.handle,
    )


def _superseded(job: TrackedJob, newer_id: str | None) -> JobError:
    """Report that a newer job has taken its place."""
    return JobSupersededError(
        f"{job.target} has a newer {job.kind} ({newer_id}) than {job.id}. "
        f"client.jobs.watch({str(job.kind)!r}, {job.target!r}) follows the newer one.",
        job=job.handle,
    )


def _undecidable(job: TrackedJob) -> JobError:
    """Report that the end cannot be told."""
    return UnknownJobStateError(
        f"The end of {job!r} cannot be told: the service keeps showing {job.word!r}, which is either a word that this "
        "version does not know or the end of an earlier run. Check it in the application; client.jobs.attach(token) "
        "waits for it again.",
        job=job.handle,
    )
