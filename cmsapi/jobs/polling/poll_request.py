"""One poll of a job: which request it takes, and what that shows.

As a rule a poll reads the document that has the job's state. A kind whose result takes further requests is over only
with its result; where the service has been seen to refuse results before the end, reading the result is itself the
poll.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cmsapi.api.model import Model
from cmsapi.errors import APIError
from cmsapi.jobs.job import Job
from cmsapi.jobs.kinds.kind import Kind
from cmsapi.jobs.kinds.observation import Observation
from cmsapi.jobs.kinds.registry import kind_of
from cmsapi.jobs.scheduling.scheduler import Scheduler
from cmsapi.jobs.status import Phase
from cmsapi.ratelimit.limiter import Priority
from cmsapi.transport.call import CallOptions

# What a service may say of a result that is not there yet.
_NOT_YET = (400, 404, 409, 422, 425)
# A job that failed never has a result: after so many refusals its status is polled besides.
_REFUSALS = 4


class PollRequest:
    """Look at jobs.

    Args:
        scheduler: The scheduler of the account.
        time: Tells the time of the loop.
    """

    def __init__(self, scheduler: Scheduler, time: Callable[[], float]) -> None:
        self._scheduler = scheduler
        self._time = time

    async def look(self, job: Job[Any], priority: Priority) -> tuple[Observation, Any]:
        """Poll once; one request, and for a finished job those that read its result.

        Returns:
            What the poll means, and the result if the job is over.
        """
        kind, watch, history = kind_of(job.kind), job._watch, job._history
        if watch is not None and history.document is not None and self._scheduler.reads_early(watch):
            if result := await self._read_early(job, kind, history.document):
                return Observation(Phase.SUCCEEDED, job._state), result
            if result is None:
                watch.refusals += 1
                if watch.refusals % _REFUSALS:
                    return Observation(Phase.RUNNING, job._state), None
        document = await self._document(job, kind, priority)
        observation = kind.observe(document, history, self._time())
        if kind.result_requests:
            history.document = document
            if observation.phase is not Phase.SUCCEEDED:
                return await self._try_early(job, kind, observation, document)
            # It shows although the result may not be readable; the job is over only with it.
            job._state, job._observed_at = observation.state, self._time()
            history.failures.found()
        options = CallOptions(priority=Priority.RESULT)
        return observation, await kind.read_result(job._poll_settings.caller, job.target, document, options)

    async def _document(self, job: Job[Any], kind: Kind, priority: Priority) -> Model:
        # Of a poll that is due, the schedule is the retry.
        options = CallOptions(priority=priority, max_attempts=1 if priority is Priority.POLL else None)
        path = {kind.parameter: job.target}
        return await job._poll_settings.caller.call(kind.model, kind.operation, path, options=options)

    async def _read_early(self, job: Job[Any], kind: Kind, document: Model) -> Any:
        """Read the result of a job that may not be over; None when the service refuses."""
        options = CallOptions(priority=Priority.POLL, max_attempts=1)
        try:
            return await kind.read_result(job._poll_settings.caller, job.target, document, options)
        except APIError as error:
            if error.status in _NOT_YET:
                return None
            raise

    async def _try_early(
        self, job: Job[Any], kind: Kind, observation: Observation, document: Model
    ) -> tuple[Observation, Any]:
        """Find out, if that pays, whether the service refuses early reads: ask for the result of a running job."""
        scheduler, watch = self._scheduler, job._watch
        tries = kind.reads_results_early and observation.phase is Phase.RUNNING
        if not tries or watch is None or not scheduler.tries_early(watch):
            return observation, document
        traits = scheduler.traits[job.kind]
        traits.trying = True
        try:
            result = await self._read_early(job, kind, document)
        except Exception:
            # That says nothing about early reads; the poll itself has succeeded.
            return observation, document
        finally:
            traits.trying = False
        if result:
            # It has ended in between.
            return Observation(Phase.SUCCEEDED, observation.state), result
        traits.refuses_early_reads = result is None
        return observation, document
