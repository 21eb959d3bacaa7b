"""Launch paid work, at most once.

A launch costs a credit and there is no idempotency key, so it is never repeated when it may have happened: a 5xx, a
lost answer or an unreadable one ends with `LaunchUnknownError`, which says what is known. Only what was certainly not
executed (429, or nothing sent) is repeated.

Launches for the same target join: while one is being sent, a second one waits for its answer; while the job runs, or
its article waits for a decision, it is returned instead of being paid again.

A launch belongs to the client and not to its caller: once it is handed to the transport, cancelling the caller does
not lose the job that may be paid for. While it still waits for quota, it is called back when nobody waits for it any
more.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from cmsapi.config import LaunchPolicy
from cmsapi.core import Core
from cmsapi.errors import (
    ArgumentError,
    CMSError,
    DeadlineError,
    DecodeError,
    JobError,
    LaunchUnknownError,
    OutcomeUnknownError,
)
from cmsapi.jobs.departure import Departure
from cmsapi.jobs.desk import Desk
from cmsapi.jobs.job import Job
from cmsapi.jobs.kinds import JobKind, Trail
from cmsapi.jobs.ongoing import TRACES, Key, Sending
from cmsapi.jobs.review import ReviewHook
from cmsapi.models import ContentIdeaSearch, Generation, GenerationStatus
from cmsapi.transport.pipeline import Demand, Exchange
from cmsapi.transport.ratelimit import Priority

logger: logging.Logger = logging.getLogger("cmsapi")


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

    @property
    def key(self) -> Key:
        """What launches of the same work have in common."""
        return (self.kind, self.target)


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

    async def launch(self, launch: Launch, on_review: ReviewHook | None = None) -> Job[Any]:
        """Launch a job, or join the one that is under way.

        Raises:
            ArgumentError: `on_review` is not a function; nothing was sent.
            LaunchUnknownError: It was sent and may have happened; it is not repeated.
            JobError: The policy forbids a second launch, or it has other settings than the one under way.
            APIError: The service refused it; nothing was charged.
            NotSentError: Nothing was sent.
        """
        self._core.ensure_open()
        if on_review is not None and not callable(on_review):
            raise ArgumentError(f"on_review is a function, not {on_review!r}.", parameter="on_review")
        job = await self._join(launch) if launch.joins and self._policy.dedupe != "allow" else None
        if job is None:
            job = await self._answer(self._send(launch))
        if on_review is not None:
            self._desk.order(job, on_review)
        return job

    async def _join(self, launch: Launch) -> Job[Any] | None:
        """Find the job that this launch would repeat.

        Whatever was waited for, all is looked at once more: others may have launched meanwhile.
        """
        ongoing = self._desk.ongoing
        while True:
            if (sending := ongoing.sending.get(launch.key)) is not None:
                self._check_same(launch, sending.settings)
                return await self._answer(sending)
            job = ongoing.job(launch.key)
            if job is None:
                return None
            # When nobody looks at it, it may have ended, and an ended one is not what a new launch asks for.
            if not job._wanted and not await self._goes_on(job):
                ongoing.remove(job)
            elif ongoing.job(launch.key) is job:
                self._check_same(launch, job._trail.settings, job)
                return self._desk.reopen(job) if job.done else job

    async def _goes_on(self, job: Job[Any]) -> bool:
        if not job.done:
            await job.refresh()
        elif job._undecided:
            current = await self._core.call(Generation, "get_generation", {"contentId": job.target})
            return current.id == job.id and current.status == GenerationStatus.REVIEW
        return not job.done or job._undecided

    def _check_same(self, launch: Launch, settings: Mapping[str, Any] | None, job: Job[Any] | None = None) -> None:
        same = launch.body == settings
        if self._policy.dedupe == "error" or not same:
            problem = "" if same else " with other settings" if settings else " with settings not known to this client"
            raise JobError(
                f"A {launch.kind.value} for {launch.target} is under way already{problem}; nothing was sent or "
                "charged. Wait for it, or launch with LaunchPolicy(dedupe='allow').",
                job=job,
            )

    def _send(self, launch: Launch) -> Sending:
        """Begin to send a launch. Nothing may be waited for since it was found that there is none to join."""
        sending = Sending(launch.key, launch.body, Departure())
        sending.task = self._desk.start(self._post(launch, sending))
        if (traces := TRACES.get()) is not None:
            traces.append(sending)
        if launch.joins:
            self._desk.ongoing.sending[launch.key] = sending
            sending.task.add_done_callback(lambda _: self._desk.ongoing.sent(sending))
        return sending

    async def _answer(self, sending: Sending) -> Job[Any]:
        sending.callers += 1
        try:
            return await asyncio.shield(sending.task)
        except CMSError as error:
            raise error.fresh() from error.__cause__
        except asyncio.CancelledError:
            if sending.callers == 1 and not sending.departure.departed:
                # Nobody else may join it from now on.
                self._desk.ongoing.sent(sending)
                sending.task.cancel()
            raise
        finally:
            sending.callers -= 1

    async def _post(self, launch: Launch, sending: Sending) -> Job[Any]:
        asked = self._desk.time()
        core = sending.departure.watching(self._core)
        demand = Demand(priority=Priority.LAUNCH, sent=tuple(_names(launch.body or {})))
        try:
            exchange = await core.exchange(launch.operation, launch.path, body=launch.body, demand=demand)
            launched = self._launched(launch, exchange)
            sent_at = exchange.sent_at
        except (OutcomeUnknownError, DecodeError) as error:
            if not (_was_accepted(error) and launch.kind in _NAMED_BY_TARGET):
                raise self._unknown(launch, error, asked, sending) from error
            launched, sent_at = None, asked
        except DeadlineError as error:
            if not error.sent:
                raise
            raise self._unknown(launch, error, asked, sending) from error
        except CMSError:
            raise
        except asyncio.CancelledError as error:
            # Only the end of the client cancels what has departed.
            if sending.departure.departed:
                raise self._unknown(launch, error, asked, sending) from error
            self._core.ensure_open()
            raise
        except Exception as error:
            # A transport that raises what no transport should: it may have been sent all the same.
            raise self._unknown(launch, error, asked, sending) from error
        job_id = launched.id if launched is not None else None
        trail = Trail(
            began=self._desk.time(),
            launched_at=self._core.pipeline.clock.at(sent_at),
            job_id=job_id,
            fresh=True,
            settings=launch.body,
            search=launched if isinstance(launched, ContentIdeaSearch) else None,
        )
        target = job_id if launch.kind is JobKind.IDEA_SEARCH and job_id else launch.target
        job: Job[Any] = Job(self._desk, launch.kind, target, trail)
        self._desk.launched(job)
        return job

    def _launched(self, launch: Launch, exchange: Exchange) -> ContentIdeaSearch | Generation | None:
        if launch.kind is JobKind.IDEA_SEARCH:
            return self._core.read(launch.operation, exchange, ContentIdeaSearch)
        if launch.kind is JobKind.GENERATION:
            return self._core.read(launch.operation, exchange, Generation)
        return None

    def _unknown(self, launch: Launch, error: BaseException, asked: float, sending: Sending) -> LaunchUnknownError:
        at = self._desk.datetime_at(asked)
        said = str(error.__cause__ or error) or type(error).__name__
        evidence = {"operation": launch.operation, "asked_at": at.isoformat(), "said": said}
        unknown = LaunchUnknownError(
            f"The {launch.kind.value} for {launch.target} may have been launched and charged, and there is no usable "
            f"answer; it is not repeated, because that could be paid twice. {_HOW_TO_FIND_OUT[launch.kind]}",
            kind=launch.kind.value,
            target=launch.target,
            evidence=evidence,
        )
        if not sending.callers:
            logger.error("nobody waits for this launch any more: %s", unknown)
        return unknown


_NAMED_BY_TARGET = (JobKind.KEYWORD_ANALYSIS, JobKind.PROMPT_ANALYSIS)

_HOW_TO_FIND_OUT: Mapping[JobKind, str] = {
    JobKind.KEYWORD_ANALYSIS: "client.keywords.get shows whether it runs; client.jobs.watch waits for it.",
    JobKind.PROMPT_ANALYSIS: "client.prompts.get shows whether it runs; client.jobs.watch waits for it.",
    JobKind.IDEA_SEARCH: "client.credit_usages.list('content_idea_search') shows whether it was charged.",
    JobKind.GENERATION: "client.contents.generation shows whether there is one; client.jobs.watch waits for it.",
}


def _names(body: Mapping[str, Any]) -> Iterator[str]:
    """Name the fields of a body, those of nested objects instead of the objects."""
    for name, value in body.items():
        if isinstance(value, Mapping):
            yield from _names(value)
        else:
            yield name


def _was_accepted(error: CMSError) -> bool:
    """Tell whether the service said 2xx and only the document could not be read."""
    return isinstance(error, DecodeError) or isinstance(error.__cause__, DecodeError)
