"""Offer `client.jobs`: fan-outs, batches, waiting for many jobs, and jobs of other processes."""

from __future__ import annotations

import inspect
import math
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable
from typing import Any, Literal, TypeVar, cast, overload

from cmsapi.api.arguments import one_of, optional_seconds, several, within, wrong
from cmsapi.api.models.keyword import Keyword, Prompt
from cmsapi.api.models.knowledge_document import KnowledgeDocument
from cmsapi.api.wire.mismatch import excerpt
from cmsapi.errors import ArgumentError
from cmsapi.guesses import MAP_PARAMETERS, Hinting, guided
from cmsapi.jobs.fanout.as_completed import AsCompleted, gather
from cmsapi.jobs.fanout.batch import Batch
from cmsapi.jobs.fanout.batch_status import BatchStatus, read_batches
from cmsapi.jobs.fanout.fan_out import Fanout
from cmsapi.jobs.fanout.forecast import Forecast, plan_jobs
from cmsapi.jobs.fanout.table import JobTable
from cmsapi.jobs.job import Job, job_of
from cmsapi.jobs.journal.view import OpenLaunch, read_journal
from cmsapi.jobs.kinds.idea_search import ContentIdeas
from cmsapi.jobs.kinds.kind import JobHistory, JobKind, Kind
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.jobs.kinds.review import GenerationReview
from cmsapi.jobs.launching.launcher import Launcher
from cmsapi.jobs.launching.recovery import Resumed, read_reviews, resume
from cmsapi.jobs.overview import Overview, read_overview
from cmsapi.jobs.polling.poller import Poller
from cmsapi.jobs.statistics import JobStatistics, summary
from cmsapi.jobs.status import JobStatus
from cmsapi.jobs.token import read_token
from cmsapi.jobs.tracked import TrackedJob
from cmsapi.unpicklable import Unpicklable

# The most jobs of one plan: times overflow above it.
_MOST = 1_000_000_000

I = TypeVar("I")  # noqa: E741  an item
R = TypeVar("R")


class Jobs(Hinting, Unpicklable):
    """Launch and await many jobs, and find jobs again.

    Args:
        open_launcher: Returns the client's launcher, which has its poller; raises when the client must not be used.
    """

    def __init__(self, open_launcher: Callable[[], Launcher]) -> None:
        self._open_launcher = open_launcher

    @property
    def _poller(self) -> Poller:
        return self._open_launcher().poller

    @guided(MAP_PARAMETERS)
    def map(
        self,
        launch: Callable[[I], Awaitable[Job[R]]],
        items: Iterable[I] | AsyncIterable[I],
        *,
        in_flight: int | Literal["auto"] = "auto",
        errors: Literal["collect", "raise"] = "collect",
        max_credits: int | None = None,
        timeout: float | None = None,
        ordered: bool = False,
    ) -> Fanout[I, R]:
        """Launch a job for each item and give the outcomes in the order in which the jobs finish.

        Each item takes the requests and the credit of its launch, and one request a poll. Use `async with` around the
        loop when it may be left early::

            async with client.jobs.map(client.keywords.analyze, keyword_ids) as outcomes:
                async for outcome in outcomes:
                    ...

        Args:
            launch: Launches the job of one item, such as `client.keywords.analyze`.
            items: The items, also from an async iterable.
            in_flight: The most jobs that are launched and not finished. `"auto"` launches a job when all its requests,
                from its launch to its result, fit into the request limit, and at most a thousand at a time.
            errors: `"collect"` puts an item's error into its outcome; `"raise"` stops launching and raises it.
            max_credits: The most credits to spend, one a launch. The next item then has an `OutOfCreditsError`, and no
                more are taken. The same happens when the service refuses a launch and the balance is empty; reading
                the balance takes one request.
            timeout: Seconds from the launch of each job after which it is waited for no more. Its outcome then has a
                `JobWaitTimeoutError`, and the job goes on at the service. None takes `PollPolicy(job_timeout=)`.
            ordered: Whether outcomes come in the order of the items, not in the order in which the jobs finish. At most
                twice `in_flight`, or a thousand, items are ahead of a slow one.

        Returns:
            An async iterator of `Succeeded` and `Failed` outcomes; its `progress` tells how far it is.

        Raises:
            ArgumentError: An argument is of the wrong kind; nothing was sent.
        """
        return Fanout(
            launch,
            items,
            self._poller,
            in_flight=in_flight,
            errors=errors,
            max_credits=max_credits,
            timeout=timeout,
            ordered=ordered,
        )

    def as_completed(self, jobs: Iterable[Job[R]], *, timeout: float | None = None) -> AsCompleted[R]:
        """Give the outcomes of jobs in the order in which they finish; `.add()` takes more meanwhile.

        It takes one request a poll, and no credit. Use `async with` around the loop when it may be left early, so that
        the polls of the other jobs end.

        Args:
            jobs: The jobs.
            timeout: Seconds from the launch of each job after which it is waited for no more, as for `map`.

        Raises:
            ArgumentError: One of them is not a job, for example a launch that was not awaited.
        """
        return AsCompleted(several("jobs", jobs), self._poller, timeout=timeout)

    async def gather(self, *jobs: Job[R], timeout: float | None = None) -> list[R]:  # noqa: ASYNC109  as for `wait`
        """Wait for all jobs and return their results in order; one request a poll, no credit.

        Args:
            *jobs: The jobs.
            timeout: Seconds from the launch of each job after which it is waited for no more, as for `map`.

        Raises:
            ArgumentError: One of them is not a job, for example a launch that was not awaited.
            JobError: A job has no result; raised when no other one is waited for, with a note on the others.
        """
        return await gather(jobs, timeout)

    def batch(self, name: str) -> Batch:
        """Name a fan-out, so that running it again launches only what is missing; sends nothing by itself.

        Any process that shares the state may ask how far it is: `await client.jobs.batch("nightly").refresh()`. The
        client's `state` keeps the ends of the jobs, so that a rerun after a crash needs a shared one::

            async with client.jobs.batch("nightly") as batch:
                async for outcome in batch.map(client.keywords.analyze, keyword_ids):
                    ...

        Args:
            name: The name, the same in each run.

        Raises:
            ArgumentError: The name is not a text, is empty, or has more than 500 characters.
        """
        return Batch(name, self._poller)

    async def batches(self) -> list[BatchStatus]:
        """Return how far all batches of this state are, of all processes, the one that was worked on last first.

        It costs no credit. With a shared state that no process with this key has worked with yet, the first call takes
        one request, to read whose state it is; else it takes none, and tells while the service is away. It reads what
        the state has of each item of the batches that are not done. A batch is listed from its first run on, until
        `Batch.forget`.

        Raises:
            StateError: The state cannot be reached.
        """
        journal = self._poller.journal
        scope = await journal.find() or await journal.open(self._poller.poll_settings.read_user)
        await journal.flush()
        return await read_batches(journal, scope)

    async def overview(self) -> Overview:
        """Read what all processes of this state do with the key: limits, batches, running jobs, what needs a person.

        It takes no credit and no request, launches and recovers nothing. So with a shared state it knows only of the
        work that a client with this key has found in it, or launched, before.

        Raises:
            StateError: The state cannot be reached.
        """
        return await read_overview(self._poller)

    async def journal(self) -> list[OpenLaunch]:
        """Return the open launches of this state, of all processes, the oldest first.

        It recovers nothing and costs no credit. With a shared state the first call takes one request, to read whose
        journal it is.

        Raises:
            StateError: The state cannot be reached.
        """
        poller = self._poller
        await poller.journal.open(poller.poll_settings.read_user)
        return await read_journal(poller.journal, poller.base_url)

    async def resume(self) -> Resumed:
        """Recover the launches of this state whose processes are dead.

        It takes no credit. With a shared state the first call takes one request, to read whose journal it is. Beyond
        that only launches whose answers were lost take requests, and it waits until such a launch can no longer arrive.

        Raises:
            StateError: The state cannot be reached.
            CMSError: The service cannot be read; launches that are not recovered stay in the journal.
        """
        launcher = self._open_launcher()
        return await resume(launcher.poller, launcher.reconciler)

    async def reviews(self) -> list[GenerationReview]:
        """Return the generated articles that wait for a decision, of all processes.

        It takes no credit, and one request for each generation of this state without a decision, two for one that was
        decided elsewhere. Deciding on a review ends its job.

        Raises:
            StateError: The state cannot be reached.
        """
        return await read_reviews(self._open_launcher().poller)

    async def run(self, launch: Awaitable[Job[R]], *, timeout: float | None = None) -> R:  # noqa: ASYNC109  as for `wait`
        """Launch a job and wait for its result; the requests and credit of the launch, and one request a poll.

        One line does it: `keyword = await client.jobs.run(client.keywords.analyze(keyword_id))`. When the wait is
        cancelled, the job goes on; launching the same work again joins it while it runs.

        Args:
            launch: A launch that was not awaited, such as `client.keywords.analyze(keyword_id)`.
            timeout: Seconds from the launch for which the result is waited for; the job goes on. None takes
                `PollPolicy(job_timeout=)`.

        Raises:
            ArgumentError: `launch` is not a launch; nothing was sent.
            CMSError: As for the launch, and for `Job.wait`. A `JobError` carries the job and its token.
        """
        try:
            optional_seconds("timeout", timeout)
        except ArgumentError:
            if inspect.iscoroutine(launch):
                launch.close()
            raise
        if not inspect.isawaitable(launch):
            raise wrong("launch", "be a launch that was not awaited", excerpt(launch))
        job: Any = launch if isinstance(launch, Job) else await launch
        if not isinstance(job, Job):
            raise ArgumentError(f"`launch` must give a job when it is awaited, got {excerpt(job)}.", parameter="launch")
        return cast("R", await job.wait(timeout, since_launch=True))

    async def status(self, token: str) -> JobStatus:
        """Tell how the job of a token stands, without waiting for it; one request at most, no credit.

        It is what a service needs that answers a browser "still running": `status.done` tells whether
        `await client.jobs.attach(token)` gives the result at once. It sends nothing while this client, or another
        process that shares the state, polls the job anyway, not sooner than `PollPolicy(min_interval=)` after the last
        poll, and for the last hundred jobs whose ends this client has seen. A token of a job from `watch` is read anew
        each time. With a shared state the first call takes one more request, to read whose journal it is.

        Raises:
            ArgumentError: The text is not a token, was changed, or names a job of another service.
            APIError: The service refused the poll; a `NotFoundError` may mean that the job was deleted.
            TransportError: There was no usable answer; that says nothing about the job.
        """
        return await self._poller.read_status(self.attach(token).tracked)

    @overload
    def attach(self, token: str, kind: JobKind | None = None) -> Job[Any]: ...
    @overload
    def attach(self, token: str, kind: Literal["keyword_analysis"]) -> Job[Keyword]: ...
    @overload
    def attach(self, token: str, kind: Literal["prompt_analysis"]) -> Job[Prompt]: ...
    @overload
    def attach(self, token: str, kind: Literal["idea_search"]) -> Job[ContentIdeas]: ...
    @overload
    def attach(self, token: str, kind: Literal["generation"]) -> Job[GenerationReview]: ...
    @overload
    def attach(self, token: str, kind: Literal["knowledge_document"]) -> Job[KnowledgeDocument]: ...
    def attach(self, token: str, kind: str | None = None) -> Job[Any]:
        """Turn a token into its job again, also in another process; sends nothing.

        This client polls the job once it is awaited, unless another process that shares the state polls it already.

        While this client knows the job, it returns the same object, and launches of the same work join the job. It
        knows the jobs that run, and the last hundred that are finished.

        Args:
            token: Text of `job.token`.
            kind: The kind of job that you expect, with which a type checker knows the result: `"keyword_analysis"`,
                `"prompt_analysis"`, `"idea_search"`, `"generation"` or `"knowledge_document"`.

        Raises:
            ArgumentError: The text is not a token, was changed, or names a job of another service or kind.
        """
        poller = self._poller
        found, target, history = read_token(token, poller.base_url)
        if kind is not None and _kind(kind) is not found:
            raise wrong("kind", f"be {found.name.value!r}, the kind of the token's job", excerpt(kind))
        job = TrackedJob(found, target, history, poller.poll_settings)
        if not history.watched:
            job = poller.registry.attach(job)
            poller.join(job)
        return job_of(job, poller)

    @overload
    def watch(self, kind: JobKind, id: str) -> Job[Any]: ...
    @overload
    def watch(self, kind: Literal["keyword_analysis"], id: str) -> Job[Keyword]: ...
    @overload
    def watch(self, kind: Literal["prompt_analysis"], id: str) -> Job[Prompt]: ...
    @overload
    def watch(self, kind: Literal["idea_search"], id: str) -> Job[ContentIdeas]: ...
    @overload
    def watch(self, kind: Literal["generation"], id: str) -> Job[GenerationReview]: ...
    @overload
    def watch(self, kind: Literal["knowledge_document"], id: str) -> Job[KnowledgeDocument]: ...
    def watch(self, kind: str, id: str) -> Job[Any]:  # noqa: A002  the word that users know
        """Follow a job that another program launched; sends nothing by itself and costs no credit.

        Args:
            kind: `"keyword_analysis"`, `"prompt_analysis"`, `"idea_search"`, `"generation"` or
                `"knowledge_document"`.
            id: Identifier of the keyword, prompt, search, content or knowledge document.

        Raises:
            ArgumentError: There is no such kind, or `id` cannot be an identifier.
        """
        poller, known = self._poller, _kind(kind)
        known.check(id)
        return job_of(TrackedJob(known, id, JobHistory(watched=True), poller.poll_settings), poller)

    async def plan(
        self, kind: str, count: int, *, in_flight: int | Literal["auto"] = "auto", earlier: int = 0
    ) -> Forecast:
        """Estimate the credits, requests and time of a fan-out. It launches nothing and costs no credit.

        It takes one request, which reads the balances; the answer also shows how many requests the hour has left. The
        state has what the rest needs: the durations that this process, and others that share the state, have seen, and
        the jobs that run. When no answer comes within ten seconds, the plan is made without it, and `guesses` names
        what it does not know.

        Args:
            kind: `"keyword_analysis"`, `"prompt_analysis"`, `"idea_search"`, `"generation"` or
                `"knowledge_document"`.
            count: How many jobs are launched. Leave out the items of a batch that ended or run already.
            in_flight: As for `map`.
            earlier: Items of a batch that have ended, whose results the next run reads again.

        Raises:
            ArgumentError: There is no such kind, or `count` is not a number of jobs; nothing was sent.
            StateError: The state cannot be reached, so that the durations in it are not known; nothing was sent.
            APIError: The service refuses the key.
        """
        poller, known = self._poller, _kind(kind)
        within("count", count, 0, _MOST)
        within("earlier", earlier, 0, _MOST)
        slots = math.inf if in_flight == "auto" else within("in_flight", in_flight, 1)
        return await plan_jobs(poller, known, count, in_flight=slots, earlier=earlier)

    def show(self) -> JobTable:
        """Show the jobs that this client has launched, attached or waits for, as one table; sends nothing.

        As the last line of a notebook's cell the table stays up to date, also while other cells run.
        """
        return JobTable(self._poller)

    @property
    def statistics(self) -> JobStatistics:
        """How the jobs of this account were polled on this event loop, in all and `by_kind`; sends nothing."""
        return summary(self._poller.scheduler.tallies, KINDS.values())


def _kind(word: str) -> Kind:
    one_of("kind", word, KINDS)
    return KINDS[word]
