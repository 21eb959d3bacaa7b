"""Decide when a job is finished, and with which result or error.

What a poll shows for certain ends a job at once. Anything else is a doubt, a failed poll included: it ends the job when
it lasts (`kinds/doubt.py`).
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import attrs

from cmsapi.display import markup
from cmsapi.errors import (
    APIError,
    DeadlineError,
    DecodeError,
    ForbiddenError,
    JobError,
    JobFailedError,
    JobSupersededError,
    JobVanishedError,
    RateLimitedError,
    RateLimitWaitError,
    TransportError,
    UnauthorizedError,
    UnknownJobStateError,
)
from cmsapi.jobs.kinds.doubt import Doubt, seen_again
from cmsapi.jobs.kinds.kind import Observation
from cmsapi.jobs.kinds.review import GenerationReview, ReviewHook
from cmsapi.jobs.status import Phase
from cmsapi.jobs.tracked import DECIDING, Failures, TrackedJob
from cmsapi.transport.call import being_cancelled

logger: logging.Logger = logging.getLogger("cmsapi")


@attrs.frozen
class End:
    """Say how a job is finished: with a result or an error."""

    result: Any = None
    error: Exception | None = None


def end_of(job: TrackedJob, observation: Observation, result: Any) -> End | None:
    """Return how a job is finished after an observation, None while it goes on.

    Args:
        job: The job.
        observation: What a poll has shown.
        result: The result, or the document that the poll has read.
    """
    phase, doubt, history = observation.phase, observation.doubt, job.history
    if doubt is not None:
        now = asyncio.get_running_loop().time()
        if history.lasting is None or not history.lasting.lasts(job.settings.policy, now, seen=history.seen):
            return None
        if observation.end is None:
            return _unknown_end(job, _told(observation, doubt))
        phase = observation.end
        job.enter(phase, now)
        if doubt is Doubt.INCOMPLETE:
            logger.warning(
                "%r has only %s, and no more have come for %.0f s: its result has `complete` False, and so have those "
                "of further jobs whose results stay as short, at once",
                job,
                job.kind.missing(result),
                now - history.lasting.since,
            )
    match phase:
        case Phase.SUCCEEDED:
            if isinstance(result, GenerationReview):
                result.decision = "elsewhere"
            return End(result)
        case Phase.REVIEW:
            return End(result)
        case Phase.FAILED:
            return End(
                error=JobFailedError(
                    f"The {job.kind} of {markup.plain(job.target)} failed, as the service reports. "
                    "client.credit_usages shows whether its credit was given back; to try again, launch it again, "
                    "which costs a credit.",
                    job=job.handle,
                )
            )
        case Phase.SUPERSEDED:
            return End(
                error=JobSupersededError(
                    f"{job.target} has a newer {job.kind} ({observation.other_id}) than {job.id}. "
                    f"client.jobs.watch({str(job.kind)!r}, {job.target!r}) follows the newer one.",
                    job=job.handle,
                )
            )
    return None


def tells_waiters(error: Exception) -> bool:
    """Tell whether a failed poll is for the waiters: the key was refused, or this side made a mistake.

    No answer of the service mends that. The job goes on.
    """
    if isinstance(error, UnauthorizedError | ForbiddenError):
        return True
    return not isinstance(error, APIError | TransportError | RateLimitWaitError | DeadlineError)


def end_after_failure(job: TrackedJob, failures: Failures, error: Exception) -> End | None:
    """Return how a job is finished after one more failed poll, None while it goes on."""
    if (doubt := doubt_of(job, error)) is None:
        return None
    now = asyncio.get_running_loop().time()
    about = None if doubt is Doubt.OUTAGE else (type(error), getattr(error, "operation", None))
    failures.lasting = seen_again(failures.lasting, doubt, about, now)
    if not failures.lasting.lasts(job.settings.policy, now, seen=job.history.seen):
        return None
    lasted = now - failures.lasting.since
    if doubt is not Doubt.GONE:
        said = str(error).partition("\n")[0]
        why = f"its polls keep failing, for {lasted:.0f} s by now; the last one with {type(error).__name__}: {said}"
        return _unknown_end(job, why, cause=error)
    job.enter(Phase.VANISHED, now)
    return End(
        error=JobVanishedError(
            f"The service has not known {job!r} for {lasted:.0f} s: it was deleted, is not "
            f"visible to this key any more, or has never been the id of a {job.kind}. If it comes back, "
            "client.jobs.attach(token) finds it.",
            job=job.handle,
        )
    )


def doubt_of(job: TrackedJob, error: Exception) -> Doubt | None:
    """Return what a failed poll makes doubtful, None when it tells nothing but to poll later."""
    match error:
        case RateLimitedError() | RateLimitWaitError() | DeadlineError():
            return None
        case DecodeError():
            return Doubt.UNREADABLE
        case APIError() if error.status < 500 and error.status != 408:
            if error.operation != job.kind.operation:
                return Doubt.NO_RESULT
            return Doubt.GONE if error.status in (404, 410) else Doubt.REFUSED
    return Doubt.OUTAGE


async def decide(job: TrackedJob, review: GenerationReview, hook: ReviewHook) -> End:
    """Have a hook decide on the review of a generation, and return how the job is finished."""
    error: Exception
    # Tasks that the hook begins have it, too.
    DECIDING.set((*DECIDING.get(), job))
    try:
        await review.follow(hook)
    except asyncio.CancelledError:
        if being_cancelled():
            raise
        # The hook awaited something that was cancelled; the decision itself was not.
        error = JobError(f"The on_review hook of {job!r} was cancelled.", job=job.handle)
    except Exception as raised:
        error = raised
    else:
        if review.decision != "leave":
            job.enter(Phase.SUCCEEDED, asyncio.get_running_loop().time())
            job.word = str(review.generation.status)
        return End(review)
    if isinstance(error, JobSupersededError):
        job.enter(Phase.SUPERSEDED, asyncio.get_running_loop().time())
        error.job, error.token, error.status = job.handle, job.handle.token, job.handle.status
    elif review.decision is None:
        error.add_note(
            f"Generation {review.generation.id} of content {review.content_id} is not decided by this hook: "
            f"client.contents.review({review.content_id!r}) decides on it later."
        )
    if not job.waiters:
        logger.error("the on_review hook of %r failed, and the job has no waiters", job, exc_info=error)
    return End(error=error)


def _told(observation: Observation, doubt: Doubt) -> str:
    """Say what the service shows instead of an end."""
    match doubt:
        case Doubt.UNLISTED:
            return (
                f"the service keeps showing {observation.state!r}, which is not listed. "
                "PollPolicy(words=...) tells what it means"
            )
        case _ if observation.other_id is not None:
            return f"the service keeps showing {observation.other_id}, which is from before the launch"
    return f"the service keeps showing {observation.state!r} of an earlier run"


def _unknown_end(job: TrackedJob, why: str, cause: Exception | None = None) -> End:
    job.enter(Phase.UNKNOWN, asyncio.get_running_loop().time())
    error = UnknownJobStateError(
        f"The end of {job!r} cannot be told: {why}. Check it in the application; client.jobs.attach(token) waits for "
        "it again.",
        job=job.handle,
    )
    error.__cause__ = cause
    return End(error=error)
