"""Launch paid work, at most once.

A launch costs a credit and there is no idempotency key, so it is never repeated when it may have happened: a 5xx, a
lost answer or an unreadable one ends with `LaunchUnknownError`, which says what is known. Only what was certainly not
executed (429, or nothing sent) is repeated.

Launches for the same target join: while one is being sent, a second one waits for its answer; while the job runs, it
is returned instead of being paid again. A launch belongs to the client and not to its caller, so that cancelling the
caller does not lose a job that is being paid for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import attrs

from cmsapi.config import LaunchPolicy
from cmsapi.core import Core
from cmsapi.errors import CMSError, DeadlineError, DecodeError, JobError, LaunchUnknownError, OutcomeUnknownError
from cmsapi.jobs.desk import Desk
from cmsapi.jobs.job import Job
from cmsapi.jobs.kinds import JobKind, Trail
from cmsapi.jobs.review import ReviewHook
from cmsapi.jsontext import dumps
from cmsapi.models import ContentIdeaSearch, Generation
from cmsapi.transport.pipeline import Demand, Exchange
from cmsapi.transport.ratelimit import Priority


@attrs.frozen(kw_only=True)
class Launch:
    """Describe one launch.

    Args:
        kind: Kind of job.
        target: What it works on.
        operation: The operation that launches it.
        path: Its path parameters.
        body: Its body, by wire name.
        joins: Whether launches for the same target are the same work.
    """

    kind: JobKind
    target: str
    operation: str
    path: Mapping[str, str]
    body: Mapping[str, Any] | None = None
    joins: bool = True


class Launcher:
    """Launch jobs of one client.

    Args:
        core: Calls the operations.
        desk: Looks at what was launched.
        policy: What to do when the same work is under way.
    """

    def __init__(self, core: Core, desk: Desk, policy: LaunchPolicy) -> None:
        self._core = core
        self._desk = desk
        self._policy = policy
        self._sending: dict[tuple[JobKind, str], tuple[Launch, asyncio.Task[Job[Any]]]] = {}

    async def launch(self, launch: Launch, on_review: ReviewHook | None = None) -> Job[Any]:
        """Launch a job, or join the one that is under way.

        Raises:
            LaunchUnknownError: It was sent and may have happened; it is not repeated.
            JobError: The policy forbids a second launch, or it has other settings than the one under way.
            APIError: The service refused it; nothing was charged.
            NotSentError: Nothing was sent.
        """
        self._core.ensure_open()
        job = await self._under_way(launch) if launch.joins and self._policy.dedupe != "allow" else None
        if job is None:
            job = await self._send(launch)
        if on_review is not None and not job.done:
            job._on_review = on_review
            self._desk.want(job)
        return job

    async def _under_way(self, launch: Launch) -> Job[Any] | None:
        key = (launch.kind, launch.target)
        if key in self._sending:
            first, task = self._sending[key]
            self._check_same(launch, first.body)
            try:
                return await asyncio.shield(task)
            except CMSError as error:
                raise error.fresh() from error
        job = self._desk.active.get(key)
        if job is None:
            return None
        if not job._wanted:
            # Nobody has looked at it, so it may have ended, and a finished one is not what a new launch asks for.
            await job.refresh()
        if job.done:
            return None
        self._check_same(launch, job._trail.settings, job)
        return job

    def _check_same(self, launch: Launch, settings: Mapping[str, Any] | None, job: Job[Any] | None = None) -> None:
        same = dumps(launch.body) == dumps(settings)
        if self._policy.dedupe == "error" or not same:
            problem = "" if same else " with other settings"
            raise JobError(
                f"A {launch.kind.value} for {launch.target} is under way already{problem}; nothing was sent or "
                "charged. Wait for it, or launch with LaunchPolicy(dedupe='allow').",
                job=job,
            )

    async def _send(self, launch: Launch) -> Job[Any]:
        task = self._desk.start(self._post(launch))
        key = (launch.kind, launch.target)
        if launch.joins:
            self._sending[key] = (launch, task)
            task.add_done_callback(lambda _: self._sending.pop(key, None))
        return await asyncio.shield(task)

    async def _post(self, launch: Launch) -> Job[Any]:
        demand = Demand(priority=Priority.LAUNCH, sent=tuple(launch.body or ()))
        asked = self._desk.time()
        try:
            exchange = await self._core.exchange(launch.operation, launch.path, body=launch.body, demand=demand)
            job_id = self._job_id(launch, exchange)
            sent_at = exchange.sent_at
        except (OutcomeUnknownError, DeadlineError, DecodeError) as error:
            if isinstance(error, DeadlineError) and not error.sent:
                raise
            if not (_was_accepted(error) and launch.kind in _NAMED_BY_TARGET):
                raise self._unknown(launch, error, asked) from error
            job_id, sent_at = None, asked
        trail = Trail(
            began=self._desk.time(),
            launched_at=self._core.pipeline.clock.at(sent_at),
            job_id=job_id,
            fresh=True,
            settings=launch.body,
        )
        target = job_id if launch.kind is JobKind.IDEA_SEARCH and job_id else launch.target
        job: Job[Any] = Job(self._desk, launch.kind, target, trail)
        self._desk.remember(job)
        return job

    def _job_id(self, launch: Launch, exchange: Exchange) -> str | None:
        if launch.kind is JobKind.IDEA_SEARCH:
            return self._core.read(launch.operation, exchange, ContentIdeaSearch).id
        if launch.kind is JobKind.GENERATION:
            return self._core.read(launch.operation, exchange, Generation).id
        return None

    def _unknown(self, launch: Launch, error: CMSError, asked: float) -> LaunchUnknownError:
        at = self._desk.datetime_at(asked)
        evidence = {"operation": launch.operation, "asked_at": at.isoformat(), "said": str(error.__cause__ or error)}
        return LaunchUnknownError(
            f"The {launch.kind.value} for {launch.target} may have been launched and charged, and there is no usable "
            f"answer; it is not repeated, because that could be paid twice. {_HOW_TO_FIND_OUT[launch.kind]}",
            kind=launch.kind.value,
            target=launch.target,
            evidence=evidence,
        )


_NAMED_BY_TARGET = (JobKind.KEYWORD_ANALYSIS, JobKind.PROMPT_ANALYSIS)

_HOW_TO_FIND_OUT: Mapping[JobKind, str] = {
    JobKind.KEYWORD_ANALYSIS: "client.keywords.get shows whether it runs; client.jobs.watch waits for it.",
    JobKind.PROMPT_ANALYSIS: "client.prompts.get shows whether it runs; client.jobs.watch waits for it.",
    JobKind.IDEA_SEARCH: "client.credit_usages.list('content_idea_search') shows whether it was charged.",
    JobKind.GENERATION: "client.contents.generation shows whether there is one; client.jobs.watch waits for it.",
}


def _was_accepted(error: CMSError) -> bool:
    """Tell whether the service said 2xx and only the document could not be read."""
    return isinstance(error, DecodeError) or isinstance(error.__cause__, DecodeError)
