"""One look at a job: which request it takes, and what that shows.

As a rule a look reads the document that has the job's state. A search of ideas is over only with its ideas, which takes
one request more; where the service has been seen to refuse ideas before the end, reading them is itself the look.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cmsapi.api.model import Model
from cmsapi.api.models import ContentIdea, ContentIdeaSearch, Generation
from cmsapi.errors import APIError
from cmsapi.jobs.job import Job
from cmsapi.jobs.kinds.ideas import ContentIdeas
from cmsapi.jobs.kinds.registry import STRATEGIES, Observation
from cmsapi.jobs.kinds.review import GenerationReview
from cmsapi.jobs.scheduling.scheduler import Scheduler
from cmsapi.jobs.status import Phase
from cmsapi.ratelimit.limiter import Priority
from cmsapi.transport.caller import LARGEST_PAGE
from cmsapi.transport.pipeline import CallOptions

# What a service may say of ideas that are not there yet.
_NOT_YET = (400, 404, 409, 422, 425)
# A search that failed never has ideas: after so many refusals its status is looked at besides.
_REFUSALS = 4


class PollRequest:
    """Look at jobs.

    Args:
        find_scheduler: Finds the pacer of the account.
        time: Tells the time of the loop.
    """

    def __init__(self, find_scheduler: Callable[[], Scheduler], time: Callable[[], float]) -> None:
        self._find_scheduler = find_scheduler
        self._time = time

    async def look(self, job: Job[Any], priority: Priority) -> tuple[Observation, Any]:
        """Look once; one request, and for a finished search those that read its ideas.

        Returns:
            What the look means, and the result if the job is over.
        """
        watch, scheduler, history = job._watch, self._find_scheduler(), job._history
        if watch is not None and history.search is not None and scheduler.reads_early(watch):
            if ideas := await self._early(job):
                return Observation(Phase.SUCCEEDED, job._state), ContentIdeas(history.search, ideas)
            if ideas is None:
                watch.refusals += 1
                if watch.refusals % _REFUSALS:
                    return Observation(Phase.RUNNING, job._state), None
        document = await self._document(job, priority)
        observation = STRATEGIES[job.kind].judge(document, history, self._time())
        if not isinstance(document, ContentIdeaSearch):
            return observation, self._result(job, document)
        history.search = document
        if observation.phase is Phase.SUCCEEDED:
            # It shows although the ideas may not be readable; it is over only with them.
            job._state, job._observed_at = observation.state, self._time()
            history.failures.found()
            ideas = await self._ideas(job, document.id, CallOptions(priority=Priority.RESULT))
            return observation, ContentIdeas(document, ideas)
        if watch is not None and observation.phase is Phase.RUNNING and scheduler.tries_early(watch):
            return await self._try(job, observation, document)
        return observation, document

    def _result(self, job: Job[Any], document: Model) -> Any:
        if not isinstance(document, Generation):
            return document
        return GenerationReview(job._poll_settings.caller, job.target, document)

    async def _document(self, job: Job[Any], priority: Priority) -> Model:
        strategy = STRATEGIES[job.kind]
        # Of a look that is due, the schedule is the retry.
        options = CallOptions(priority=priority, max_attempts=1 if priority is Priority.POLL else None)
        path = {strategy.parameter: job.target}
        return await job._poll_settings.caller.call(strategy.model, strategy.operation, path, options=options)

    async def _ideas(self, job: Job[Any], search_id: str, options: CallOptions) -> tuple[ContentIdea, ...]:
        ideas = job._poll_settings.caller.paginate(
            ContentIdea,
            "list_content_ideas",
            {"contentIdeaSearchId": search_id},
            limit=LARGEST_PAGE,
            options=options,
        )
        return tuple([idea async for idea in ideas])

    async def _early(self, job: Job[Any]) -> tuple[ContentIdea, ...] | None:
        """Read the ideas of a search that may not be over; None when the service refuses."""
        try:
            return await self._ideas(job, job.target, CallOptions(priority=Priority.POLL, max_attempts=1))
        except APIError as error:
            if error.status in _NOT_YET:
                return None
            raise

    async def _try(self, job: Job[Any], observation: Observation, search: ContentIdeaSearch) -> tuple[Observation, Any]:
        """Find out whether the service refuses early reads: ask for the ideas of a search that was just running."""
        traits = self._find_scheduler().traits
        traits.trying = True
        try:
            ideas = await self._early(job)
        except Exception:
            # That says nothing about early reads; the look itself has succeeded.
            return observation, search
        finally:
            traits.trying = False
        if ideas:
            # It has ended in between.
            return Observation(Phase.SUCCEEDED, observation.state), ContentIdeas(search, ideas)
        traits.refuses_early_reads = ideas is None
        return observation, search
