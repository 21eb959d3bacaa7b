"""Decide when a job is finished, and with which result or error.

A poll that fails means nothing as a rule. A 404 about the job counts as its end only when it has lasted for a minute
and three polls. Polls that fail for half an hour in a way that repeating does not mend, and states that decide nothing
for as long, end the job as one whose end cannot be told.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import attrs

from cmsapi.config import PollPolicy
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
    RateLimitWaitError,
    TransportError,
    UnauthorizedError,
    UnknownJobStateError,
)
from cmsapi.jobs.kinds.kind import Observation
from cmsapi.jobs.kinds.review import GenerationReview, ReviewHook
from cmsapi.jobs.status import Phase
from cmsapi.jobs.tracked import Failures, TrackedJob
from cmsapi.transport.call import being_cancelled

logger: logging.Logger = logging.getLogger("cmsapi")

# A job whose state decides nothing is given up after this long, unless the policy says otherwise. An unlisted word most
# likely means that it runs; an old word or none most likely means that it has ended.
_LONGEST_DOUBT = 1800.0
_LONGEST_DOUBT_OF_A_WORD = 6 * 3600.0
# So often in a row an undecided state or a failure has to be seen before it can end a job.
_LASTING_POLLS = 3
# How long the service answers 404 about a job before it counts as gone, in seconds.
_VANISHED_AFTER = 60.0
# Refusals that repeating does not mend.
_REFUSALS = (400, 404, 422)


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
    match observation.phase:
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
                    f"{job.target} has a newer {job.kind} ({observation.newer_id}) than {job.id}. "
                    f"client.jobs.watch({str(job.kind)!r}, {job.target!r}) follows the newer one.",
                    job=job.handle,
                )
            )
    if observation.decided or job.history.undecided_polls < _LASTING_POLLS:
        return None
    unlisted_word = observation.phase is Phase.UNKNOWN and observation.state is not None
    longest = _LONGEST_DOUBT_OF_A_WORD if unlisted_word else _LONGEST_DOUBT
    if asyncio.get_running_loop().time() - job.history.began < _patience(job.settings.policy, longest):
        return None
    return _unknown_end(
        job,
        f"the service keeps showing {job.word!r}, which is either a word that this version does not know or the end "
        "of an earlier run",
    )


def tells_waiters(error: Exception) -> bool:
    """Tell whether a failed poll is for the waiters: the key was refused, or this side made a mistake.

    No answer of the service mends that. The job goes on.
    """
    if isinstance(error, UnauthorizedError | ForbiddenError):
        return True
    return not isinstance(error, APIError | TransportError | RateLimitWaitError | DeadlineError)


def end_after_failure(job: TrackedJob, failures: Failures, error: Exception) -> End | None:
    """Return how a job is finished after one more failed poll, None while it goes on."""
    if (failure := _lasting(error)) is None:
        return None
    now = asyncio.get_running_loop().time()
    if failures.lasting != failure:
        failures.lasting, failures.lasting_since, failures.lasting_polls = failure, now, 0
    failures.lasting_polls += 1
    gone = failure == (404, job.kind.operation)
    patience = _VANISHED_AFTER if gone else _patience(job.settings.policy, _LONGEST_DOUBT)
    if failures.lasting_polls < _LASTING_POLLS or now - failures.lasting_since < patience:
        return None
    if not gone:
        return _unknown_end(
            job, f"its polls keep failing in the same way ({type(error).__name__}: {error})", cause=error
        )
    job.enter(Phase.VANISHED, now)
    return End(
        error=JobVanishedError(
            f"The service has not known {job!r} for at least {_VANISHED_AFTER:g} s: it was deleted, is not visible to "
            f"this key any more, or has never been the id of a {job.kind}. If it comes back, "
            "client.jobs.attach(token) finds it.",
            job=job.handle,
        )
    )


async def decide(job: TrackedJob, review: GenerationReview, hook: ReviewHook) -> End:
    """Have a hook decide on the review of a generation, and return how the job is finished."""
    error: Exception
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


def _patience(policy: PollPolicy, default: float) -> float:
    return default if policy.give_up_after is None else policy.give_up_after


def _lasting(error: Exception) -> tuple[object, str | None] | None:
    """Return what tells such a failure from another one, or None when repeating may mend it."""
    if isinstance(error, DecodeError):
        return DecodeError, error.operation
    if isinstance(error, APIError) and error.status in _REFUSALS:
        return error.status, error.operation
    return None


def _unknown_end(job: TrackedJob, why: str, cause: Exception | None = None) -> End:
    job.enter(Phase.UNKNOWN, asyncio.get_running_loop().time())
    error = UnknownJobStateError(
        f"The end of {job!r} cannot be told: {why}. Check it in the application; client.jobs.attach(token) waits for "
        "it again.",
        job=job.handle,
    )
    error.__cause__ = cause
    return End(error=error)
