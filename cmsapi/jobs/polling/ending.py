"""Decide when a job is finished, and with which result or error.

What a poll shows for certain ends a job at once. Anything else is a doubt, a failed poll included: it ends the job when
it lasts (`kinds/doubt.py`).
"""

from __future__ import annotations

import asyncio
import logging

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
from cmsapi.jobs.kinds.doubt import Doubt
from cmsapi.jobs.kinds.kind import Observation
from cmsapi.jobs.kinds.review import GenerationReview, ReviewHook
from cmsapi.jobs.status import Phase
from cmsapi.jobs.tracked import DECIDING, End, TrackedJob
from cmsapi.transport.call import being_cancelled

logger: logging.Logger = logging.getLogger("cmsapi")


def end_of(
    job: TrackedJob, observation: Observation, now: float, *, result: object = None, error: Exception | None = None
) -> End | None:
    """Return how a job is finished after a poll, None while it goes on.

    Args:
        job: The job, which has taken in what the poll has shown.
        observation: What the poll has shown.
        now: Time of the loop.
        result: The result, or the document that the poll has read.
        error: With what the poll has failed.
    """
    phase, lasted = observation.phase, 0.0
    if observation.doubt is not None:
        lasting = job.lasting
        if lasting is None or not lasting.lasts(job.settings.policy, now, seen=job.history.seen):
            return None
        phase, lasted = observation.end or Phase.UNKNOWN, now - lasting.since
        job.history.enter(phase, now)
        if observation.doubt is Doubt.INCOMPLETE and job.kind.missing(result) is not None:
            logger.warning(
                "%r has only %s, and no more have come for %.0f s: its result has `complete` False, and so have those "
                "of further jobs whose results stay as short, at once",
                job,
                observation.part,
                lasted,
            )
    if phase is Phase.RUNNING:
        return None
    if phase in (Phase.SUCCEEDED, Phase.REVIEW):
        if phase is Phase.SUCCEEDED and isinstance(result, GenerationReview):
            result.decision = "elsewhere"
        return End(result)
    kind, told = _without_result(job, phase, observation, lasted)
    problem = kind(told, job=job.handle)
    problem.__cause__ = error
    return End(error=problem)


def _without_result(
    job: TrackedJob, phase: Phase, observation: Observation, lasted: float
) -> tuple[type[JobError], str]:
    """Say how a job is finished that has no result, as a class of errors and in words."""
    match phase:
        case Phase.FAILED:
            return JobFailedError, (
                f"The {job.kind} of {markup.plain(job.target)} failed, as the service reports. client.credit_usages "
                "shows whether its credit was given back; to try again, launch it again, which costs a credit."
            )
        case Phase.SUPERSEDED:
            other = observation.other_id
            shown = (
                f"has a newer {job.kind} ({other}) than {job.id}"
                if job.history.seen
                else f"shows {job.kind} {other} and never showed {job.id}: it is a newer one, or {job.id} by another id"
            )
            return JobSupersededError, (
                f"{job.target} {shown}. client.jobs.watch({str(job.kind)!r}, {job.target!r}) follows it."
            )
        case Phase.VANISHED:
            return JobVanishedError, (
                f"The service has not known {job!r} for {lasted:.0f} s: it was deleted, is not visible to this key any "
                f"more, or has never been the id of a {job.kind}. If it comes back, client.jobs.attach(token) finds it."
            )
    why = f"the service keeps showing {_shown(observation)}"
    if job.failures is not None:
        why = f"its polls keep failing, for {lasted:.0f} s by now; the last one with {job.failures.last}"
    return UnknownJobStateError, (
        f"The end of {job!r} cannot be told: {why}. Check it in the application; client.jobs.attach(token) waits for "
        "it again."
    )


def _shown(observation: Observation) -> str:
    """Say what the service shows instead of an end."""
    if observation.other_id is not None:
        return f"{observation.other_id}, which is from before the launch"
    if observation.doubt is Doubt.UNLISTED and observation.state is None:
        return "no status for it"
    if observation.doubt is Doubt.UNLISTED:
        return f"{observation.state!r}, which is not listed. PollPolicy(words=...) tells what it means"
    return f"{observation.state!r} of an earlier run"


def tells_waiters(error: Exception) -> bool:
    """Tell whether a failed poll is for the waiters: the key was refused, or this side made a mistake.

    No answer of the service mends that. The job goes on.
    """
    if isinstance(error, UnauthorizedError | ForbiddenError):
        return True
    return not isinstance(error, APIError | TransportError | RateLimitWaitError | DeadlineError)


def shown_by(job: TrackedJob, error: Exception) -> Observation | None:
    """Return what a failed poll shows of a job, None when it tells nothing but to poll later."""
    phase, word = job.history.phase, job.history.word
    match error:
        case RateLimitedError() | RateLimitWaitError() | DeadlineError():
            return None
        case DecodeError():
            return Observation(phase, word, Doubt.UNREADABLE)
        case APIError() if error.status < 500 and error.status != 408:
            if error.operation != job.kind.operation:
                return Observation(phase, word, Doubt.NO_RESULT)
            if error.status in (404, 410):
                return Observation(phase, word, Doubt.GONE, Phase.VANISHED)
            return Observation(phase, word, Doubt.REFUSED)
    return Observation(phase, word, Doubt.OUTAGE)


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
            job.decided(review)
        return End(review)
    if isinstance(error, JobSupersededError):
        job.history.enter(Phase.SUPERSEDED, asyncio.get_running_loop().time())
        if (handle := job.handle) is not None:
            error.job, error.token, error.status = handle, handle.token, handle.status
    elif review.decision is None:
        error.add_note(
            f"Generation {review.generation.id} of content {review.content_id} is not decided by this hook: "
            f"client.contents.review({review.content_id!r}) decides on it later."
        )
    if not job.subscribers.waiters:
        logger.error("the on_review hook of %r failed, and the job has no waiters", job, exc_info=error)
    return End(error=error)
