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
from cmsapi.jobs.kinds.doubt import Doubt, seen_again
from cmsapi.jobs.kinds.kind import Observation
from cmsapi.jobs.kinds.review import GenerationReview, ReviewHook
from cmsapi.jobs.status import Phase
from cmsapi.jobs.tracked import DECIDING, End, Failures, TrackedJob
from cmsapi.transport.call import being_cancelled

logger: logging.Logger = logging.getLogger("cmsapi")


def end_of(job: TrackedJob, observation: Observation, result: object) -> End | None:
    """Return how a job is finished after an observation, None while it goes on.

    Args:
        job: The job.
        observation: What a poll has shown.
        result: The result, or the document that the poll has read.
    """
    phase, now, lasting = observation.phase, _now(), job.history.lasting
    if observation.doubt is not None:
        if lasting is None or not lasting.lasts(job.settings.policy, now, seen=job.history.seen):
            return None
        if observation.end is None:
            return _unknown(job, f"the service keeps showing {_shown(observation)}")
        phase = observation.end
        job.history.enter(phase, now)
        if observation.doubt is Doubt.INCOMPLETE:
            logger.warning(
                "%r has only %s, and no more have come for %.0f s: its result has `complete` False, and so have those "
                "of further jobs whose results stay as short, at once",
                job,
                job.kind.missing(result),
                now - lasting.since,
            )
    match phase:
        case Phase.SUCCEEDED:
            if isinstance(result, GenerationReview):
                result.decision = "elsewhere"
            return End(result)
        case Phase.REVIEW:
            return End(result)
        case Phase.FAILED:
            return _without_result(
                JobFailedError,
                job,
                f"The {job.kind} of {markup.plain(job.target)} failed, as the service reports. client.credit_usages "
                "shows whether its credit was given back; to try again, launch it again, which costs a credit.",
            )
        case Phase.SUPERSEDED:
            other = observation.other_id
            shown = (
                f"has a newer {job.kind} ({other}) than {job.id}"
                if job.history.seen
                else f"shows {job.kind} {other} and never showed {job.id}: it is a newer one, or {job.id} by another id"
            )
            return _without_result(
                JobSupersededError,
                job,
                f"{job.target} {shown}. client.jobs.watch({str(job.kind)!r}, {job.target!r}) follows it.",
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
    now, policy, seen = _now(), job.settings.policy, job.history.seen
    about = None if doubt is Doubt.OUTAGE else (type(error), getattr(error, "operation", None))
    lasting = failures.lasting = seen_again(failures.lasting, doubt, about, now)
    if not lasting.lasts(policy, now, seen=seen):
        return None
    lasted = f"{now - lasting.since:.0f} s"
    if doubt is not Doubt.GONE:
        why = f"its polls keep failing, for {lasted} by now; the last one with {failures.last}"
        return _unknown(job, why, cause=error)
    job.history.enter(Phase.VANISHED, now)
    return _without_result(
        JobVanishedError,
        job,
        f"The service has not known {job!r} for {lasted}: it was deleted, is not visible to this key any more, or has "
        f"never been the id of a {job.kind}. If it comes back, client.jobs.attach(token) finds it.",
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
            job.decided(review)
        return End(review)
    if isinstance(error, JobSupersededError):
        job.history.enter(Phase.SUPERSEDED, _now())
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


def _shown(observation: Observation) -> str:
    """Say what the service shows instead of an end."""
    if observation.other_id is not None:
        return f"{observation.other_id}, which is from before the launch"
    if observation.doubt is Doubt.UNLISTED and observation.state is None:
        return "no status for it"
    if observation.doubt is Doubt.UNLISTED:
        return f"{observation.state!r}, which is not listed. PollPolicy(words=...) tells what it means"
    return f"{observation.state!r} of an earlier run"


def _unknown(job: TrackedJob, why: str, cause: Exception | None = None) -> End:
    job.history.enter(Phase.UNKNOWN, _now())
    told = (
        f"The end of {job!r} cannot be told: {why}. Check it in the application; client.jobs.attach(token) waits for "
        "it again."
    )
    return _without_result(UnknownJobStateError, job, told, cause)


def _without_result(kind: type[JobError], job: TrackedJob, told: str, cause: Exception | None = None) -> End:
    error = kind(told, job=job.handle)
    error.__cause__ = cause
    return End(error=error)


def _now() -> float:
    return asyncio.get_running_loop().time()
