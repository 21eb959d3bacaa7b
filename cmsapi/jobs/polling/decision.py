"""Let a hook decide on the review of a generation."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from cmsapi.errors import JobError, JobSupersededError
from cmsapi.jobs.kinds.review import GenerationReview, ReviewHook
from cmsapi.jobs.status import Phase
from cmsapi.jobs.tracked import TrackedJob

logger: logging.Logger = logging.getLogger("cmsapi")


async def decide(
    job: TrackedJob, review: GenerationReview, hook: ReviewHook, is_shut: Callable[[], bool]
) -> Exception | None:
    """Have a hook decide, and note what became of the job.

    Args:
        job: The job.
        review: Its review.
        hook: Decides.
        is_shut: Tells whether the client is being closed, which cancels the decision.

    Returns:
        The error with which the job ends, or None when it ends with its review.
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
    return None


def _undecided(job: TrackedJob, review: GenerationReview, error: Exception) -> Exception:
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
    return error
