"""What is sent to learn how jobs stand: the poll of one job, and the pages of a list that shows many.

As a rule a poll reads the document that has the job's state. A kind whose result takes further requests is finished
only with its result; where the service has been seen to refuse results before the end, reading the result is itself the
poll.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Sized
from typing import Any

import attrs

from cmsapi.api.model import Model
from cmsapi.errors import APIError, CMSError
from cmsapi.jobs.kinds.doubt import Doubt
from cmsapi.jobs.kinds.kind import Kind, Observation
from cmsapi.jobs.scheduling.policy import Policy
from cmsapi.jobs.scheduling.scheduler import Scheduler
from cmsapi.jobs.status import Phase
from cmsapi.jobs.timing import Listing
from cmsapi.jobs.tracked import TrackedJob
from cmsapi.ratelimit.limiter import Priority
from cmsapi.transport.call import CallOptions
from cmsapi.transport.caller import LARGEST_PAGE, OperationCaller

logger: logging.Logger = logging.getLogger("cmsapi")

# What a service may say of a result that is not there yet.
_NOT_YET = (400, 404, 409, 422, 425)
# Seconds after which a job that still runs may have its result all the same, and only its state may not say so.
_LONG = 600.0
# A job that failed never has a result: every fourth poll reads its state even where the result is refused.
_STATE_EVERY = 4
# What is due is one attempt: the next poll is the retry.
_ONE_ATTEMPT = CallOptions(priority=Priority.POLL, max_attempts=1)


async def read_job(
    job: TrackedJob, scheduler: Scheduler, priority: Priority, *, with_result: bool = True
) -> tuple[Observation, object]:
    """Poll a job once; one request, and for a finished job those that read its result.

    Args:
        job: The job.
        scheduler: The scheduler, which knows what requests are worth and learns how results come.
        priority: Of the request for the state.
        with_result: Whether a result that takes further requests is read although nothing waits for the job.

    Returns:
        What the poll means, and the result if the job is finished and it was read, or else the document.
    """
    kind, history, caller = job.kind, job.history, job.settings.caller
    refuses = scheduler.policy.refuses_early_reads
    early = with_result and kind.reads_results_early and _may_be_over(job, scheduler)
    shown: Sized | None = None
    if early and refuses.get(kind) and history.document is not None:
        shown = await _read_early(job, history.document)
        if shown and kind in scheduler.whole_results:
            return Observation(Phase.SUCCEEDED, history.word), shown
        if shown is None and (job.polls + 1) % _STATE_EVERY:
            return Observation(Phase.RUNNING, history.word), None
    options = _ONE_ATTEMPT if priority is Priority.POLL else CallOptions(priority=priority)
    document = await caller.call(kind.model, kind.operation, {kind.parameter: job.target}, options=options)
    observation = kind.interpret(document, history, job.answered_for(asyncio.get_running_loop().time()), caller.words)
    options = CallOptions(priority=Priority.RESULT)
    if not kind.result_requests:
        return observation, await kind.read_result(caller, job.target, document, history, options)
    history.document = document
    if early and observation.phase is Phase.RUNNING:
        return await _beside_result(job, observation, document, shown, refuses)
    if observation.phase is not Phase.SUCCEEDED:
        return observation, document
    # Noted although the result may not be readable; the job is finished only with it.
    history.word, history.observed_at = observation.state, asyncio.get_running_loop().time()
    if not (with_result or job.has_subscribers):
        return observation, document
    result = await kind.read_result(caller, job.target, document, history, options)
    return _with_result(job, observation, result, shown, scheduler), result


def _may_be_over(job: TrackedJob, scheduler: Scheduler) -> bool:
    """Tell whether the result of a job is worth asking for although its state has not told its end."""
    long = scheduler.policy.stretched(job) or job.elapsed > _LONG
    # Whether another doubt lasts, only the state shows.
    return long and (job.lasting is None or job.lasting.doubt is Doubt.INCOMPLETE)


def _with_result(
    job: TrackedJob, observation: Observation, result: Any, shown: Sized | None, scheduler: Scheduler
) -> Observation:
    """Say what a poll means whose result was read, and learn whether results are all there once they can be read."""
    kind, refuses, whole = job.kind, scheduler.policy.refuses_early_reads, scheduler.whole_results
    part = kind.missing(result) if observation.finished else None
    if part is None and shown and len(shown) == len(result):
        whole.add(kind)
    elif part is not None or shown:
        # Reading such a result tells no end.
        refuses[kind] = False
        whole.discard(kind)
    if part is None:
        return observation
    doubtful = Observation(Phase.RUNNING, observation.state, Doubt.INCOMPLETE, Phase.SUCCEEDED, part=part)
    grows = job.lasting is None or job.lasting.about != doubtful.about
    return observation if result and not grows and kind in scheduler.cut_results else doubtful


async def _beside_result(
    job: TrackedJob, observation: Observation, document: Model, shown: Sized | None, refuses: dict[Kind, bool]
) -> tuple[Observation, object]:
    """Say what a state means that says running, beside what is there of the result.

    That may be the part of it that was found so far, or all of it, where the state never tells the end.
    """
    if job.kind not in refuses:
        shown = await _learn_early(job, document, refuses)
    if not shown:
        return observation, document
    part = f"{len(shown)} items"
    return Observation(Phase.RUNNING, observation.state, Doubt.INCOMPLETE, Phase.SUCCEEDED, part=part), shown


async def _read_early(job: TrackedJob, document: Model) -> Sized | None:
    """Read the result of a job that may not be finished; None when the service refuses."""
    caller, history = job.settings.caller, job.history
    try:
        result: Sized = await job.kind.read_result(caller, job.target, document, history, _ONE_ATTEMPT)
    except APIError as error:
        if error.status in _NOT_YET:
            return None
        raise
    return result


async def _learn_early(job: TrackedJob, document: Model, refuses: dict[Kind, bool]) -> Sized | None:
    """Ask for the result of a running job, to learn whether the service refuses that; return what is there of it."""
    # Meanwhile no other job asks.
    refuses[job.kind] = learned = False
    shown: Sized | None = None
    try:
        # A failure says nothing about early reads, and the poll itself has succeeded.
        with contextlib.suppress(Exception):
            shown = await _read_early(job, document)
            learned = not shown
    finally:
        if not learned:
            del refuses[job.kind]
    if learned:
        refuses[job.kind] = shown is None
    return shown


async def read_list(policy: Policy, listing: Listing, caller: OperationCaller) -> None:
    """Read a page of a list, and the pages after it while they may show jobs whose pages are not known.

    The response observer shows the items to the jobs.
    """
    kind, path = listing.kind, {listing.kind.list_parameter: listing.parent}
    seen: set[object] = set()
    while True:
        try:
            page = await caller.page(
                kind.model, kind.list_operation, path, number=listing.number, limit=LARGEST_PAGE, options=_ONE_ATTEMPT
            )
        except BaseException as error:
            policy.read(listing, failed=True)
            if isinstance(error, CMSError):
                return
            if isinstance(error, Exception):
                logger.exception("a page of a list could not be read; its jobs are polled one by one")
            raise
        policy.read(listing)
        shown = {getattr(item, "id", None) for item in page}
        # A service whose `hasMore` is never false, or that does not know `page`, would be read for ever.
        if shown <= seen or not (page.has_more and policy.listings.wants_next()):
            return
        seen |= shown
        listing = attrs.evolve(listing, number=listing.number + 1)
