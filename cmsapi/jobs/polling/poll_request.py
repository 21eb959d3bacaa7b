"""One poll of a job: its requests, and the observation that they give.

As a rule a poll reads the document that has the job's state. A kind whose result takes further requests is finished
only with its result; where the service has been seen to refuse results before the end, reading the result is itself the
poll.
"""

from __future__ import annotations

import asyncio
from typing import Any

from cmsapi.api.model import Model
from cmsapi.errors import APIError
from cmsapi.jobs.kinds.doubt import Doubt
from cmsapi.jobs.kinds.kind import Kind, Observation
from cmsapi.jobs.scheduling.scheduler import Scheduler
from cmsapi.jobs.status import Phase
from cmsapi.jobs.tracked import TrackedJob
from cmsapi.ratelimit.limiter import Priority
from cmsapi.transport.call import CallOptions

# What a service may say of a result that is not there yet.
_NOT_YET = (400, 404, 409, 422, 425)
# A job that failed never has a result: after so many refusals its status is polled besides.
_REFUSALS = 4
_ONE_ATTEMPT = CallOptions(priority=Priority.POLL, max_attempts=1)


async def send_poll(job: TrackedJob, scheduler: Scheduler, priority: Priority) -> tuple[Observation, Any]:
    """Poll once; one request, and for a finished job those that read its result.

    Returns:
        What the poll means, and the result if the job is finished.
    """
    kind, history, settings = job.kind, job.history, job.settings
    refuses, stretched = scheduler.refuses_early_reads, scheduler.planner.stretched
    if refuses.get(kind) and history.document is not None and job.load_key in stretched:
        if result := await _read_early(job, history.document):
            return Observation(Phase.SUCCEEDED, job.word), result
        if result is None:
            job.refusals += 1
            if job.refusals % _REFUSALS:
                return Observation(Phase.RUNNING, job.word), None
    observation, document = await read_state(job, priority)
    if kind.result_requests:
        history.document = document
        if observation.phase is not Phase.SUCCEEDED:
            running = observation.phase is Phase.RUNNING
            if kind.reads_results_early and running and kind not in refuses and job.load_key in stretched:
                return await _try_early(job, refuses, observation, document)
            return observation, document
        # Noted although the result may not be readable; the job is finished only with it.
        job.word, job.observed_at = observation.state, asyncio.get_running_loop().time()
    options = CallOptions(priority=Priority.RESULT)
    result = await kind.read_result(settings.caller, job.target, document, history, options)
    if observation.finished and kind.missing(result) is not None:
        # What is not all there after the end is no result before it.
        refuses[kind] = False
        if result and kind in scheduler.cut_results:
            return observation, result
        observation = Observation(Phase.RUNNING, observation.state, Doubt.INCOMPLETE, Phase.SUCCEEDED)
    return observation, result


async def read_state(job: TrackedJob, priority: Priority) -> tuple[Observation, Model]:
    """Read the document that has the state of a job; one request. Return what it means, and the document."""
    kind, path = job.kind, {job.kind.parameter: job.target}
    # A poll that is due is one attempt: the next poll is the retry.
    options = _ONE_ATTEMPT if priority is Priority.POLL else CallOptions(priority=priority)
    document = await job.settings.caller.call(kind.model, kind.operation, path, options=options)
    now, words = asyncio.get_running_loop().time(), job.settings.caller.words
    return kind.interpret(document, job.history, now, words), document


async def _read_early(job: TrackedJob, document: Model) -> Any:
    """Read the result of a job that may not be finished; None when the service refuses."""
    try:
        return await job.kind.read_result(job.settings.caller, job.target, document, job.history, _ONE_ATTEMPT)
    except APIError as error:
        if error.status in _NOT_YET:
            return None
        raise


async def _try_early(
    job: TrackedJob, refuses: dict[Kind, bool], observation: Observation, document: Model
) -> tuple[Observation, Any]:
    """Find out whether the service refuses early reads: ask for the result of a running job."""
    # Meanwhile no other job asks.
    refuses[job.kind] = learned = False
    try:
        result = await _read_early(job, document)
        learned = not result
    except Exception:
        # That says nothing about early reads; the poll itself has succeeded.
        return observation, document
    finally:
        if not learned:
            del refuses[job.kind]
    if result:
        # It has ended in between.
        return Observation(Phase.SUCCEEDED, observation.state), result
    refuses[job.kind] = result is None
    return observation, document
