"""Jobs, fan-outs and batches for code without an event loop."""
# Written by `make blocking` from the async classes; do not edit.
# mypy: disable-error-code=no-any-return

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, Literal, NoReturn, TypeAlias, TypeVar, overload

import attrs

from cmsapi.api.models.content import Content
from cmsapi.api.models.generation import Generation
from cmsapi.api.models.keyword import Keyword, Prompt
from cmsapi.api.models.knowledge_document import KnowledgeDocument
from cmsapi.blocking.mirror import Context, Iteration, Mirror, copies, in_worker, keyed, whole
from cmsapi.display import markup
from cmsapi.display.frames import DataFrame
from cmsapi.errors import LaunchUnknownError
from cmsapi.guesses import MAP_PARAMETERS, RESULT_PARAMETERS, guided
from cmsapi.jobs.fanout.as_completed import AsCompleted as AsyncAsCompleted
from cmsapi.jobs.fanout.batch import Batch as AsyncBatch, BatchOutcomes as AsyncBatchOutcomes
from cmsapi.jobs.fanout.batch_status import BatchStatus
from cmsapi.jobs.fanout.fan_out import Fanout as AsyncFanout
from cmsapi.jobs.fanout.forecast import Forecast
from cmsapi.jobs.fanout.outcome import Failed as AsyncFailed, Succeeded as AsyncSucceeded
from cmsapi.jobs.fanout.progress import ItemStatus, Progress
from cmsapi.jobs.job import Job as AsyncJob
from cmsapi.jobs.journal.view import OpenLaunch
from cmsapi.jobs.kinds.idea_search import ContentIdeas
from cmsapi.jobs.kinds.kind import JobKind
from cmsapi.jobs.kinds.review import Decision, GenerationReview as AsyncGenerationReview, ReviewChoice
from cmsapi.jobs.launching.recovery import Resumed as AsyncResumed
from cmsapi.jobs.namespace import Jobs as AsyncJobs
from cmsapi.jobs.overview import Overview
from cmsapi.jobs.statistics import JobStatistics
from cmsapi.jobs.status import JobEvent, JobStatus, Phase

I = TypeVar("I")  # noqa: E741  an item
R = TypeVar("R")
E = TypeVar("E")


class Job(Mirror, Generic[R], of=AsyncJob):
    """Stand for one piece of asynchronous work; made by launches, `jobs.attach` and `jobs.watch`.

    `wait()` gives the result, as often and from as many threads as wanted.
    """

    __slots__ = ()

    @property
    def kind(self) -> JobKind:
        """The kind of work."""
        return self._read("kind")

    @property
    def target(self) -> str:
        """Identifier of what is polled: a keyword, prompt, search, content or knowledge document."""
        return self._read("target")

    @property
    def name(self) -> str | None:
        """What its target is called: the keyword, the prompt, or the title of the content; sends nothing.

        None while this client has read no document that tells it: the first poll names most jobs of tokens. A long
        prompt is cut.
        """
        return self._read("name")

    @property
    def id(self) -> str:
        """Identifier of the job; for kinds without one, that of what it works on."""
        return self._read("id")

    @property
    def token(self) -> str:
        """Text that `client.jobs.attach` turns into this job again, also in another process; it holds no secret."""
        return self._read("token")

    @property
    def adopted(self) -> bool:
        """Whether it is a generation found after a lost answer that a colleague may have launched."""
        return self._read("adopted")

    @property
    def status(self) -> JobStatus:
        """What is known of it now; sends nothing."""
        return self._read("status")

    def done(self) -> bool:
        """Return whether the job is finished, with a result or an error; sends nothing."""
        return self._ask("done")

    @guided(RESULT_PARAMETERS)
    def result(self) -> R:
        """Return the result of a finished job; sends nothing.

        Raises:
            JobError: The job is not finished, or it finished without a result; then the error is that of `wait`.
        """
        return self._ask("result")

    def exception(self) -> Exception | None:
        """Return the error with which the job finished, or None when it has a result; sends nothing.

        Raises:
            JobError: The job is not finished.
        """
        return self._ask("exception")

    def wait(self, timeout: float | None = None, *, since_launch: bool = False) -> R:
        """Wait for the result; one request a poll, shared with all other waiters, and no credit.

        Args:
            timeout: Seconds this waiter waits; the job and its other waiters continue. None waits until
                `PollPolicy(job_timeout=)` after the launch, which is a day unless it was set.
            since_launch: Whether `timeout` counts from the launch, as that of `jobs.run` and of fan-outs does, and not
                from now. A job that is older by now is polled once more before the wait ends.

        Raises:
            ArgumentError: `timeout` is not a finite number.
            JobWaitTimeoutError: The time is over.
            JobFailedError: The service reports that the job failed.
            JobSupersededError: A newer generation has taken its place.
            JobVanishedError: The service no longer knows the job.
            UnknownJobStateError: What the service shows does not tell how the job ended.
            JobDetachedError: The job was detached.
            UnauthorizedError: A poll was refused because of the key. The job continues, and can be waited for again.
            ForbiddenError: Likewise.
            ClientClosedError: The client was closed. The token stays valid.
            JobError: The `on_review` hook of the job waits for it, or a task that the hook began.
        """
        return self._call("wait", timeout, since_launch=since_launch)

    def review(self) -> GenerationReview:
        """Wait for the review of a generation; with `on_review=` it has been decided on by then.

        It takes the requests of `wait`, and no credit.

        Raises:
            ArgumentError: The job is not a generation.
            JobError: As for `wait`.
        """
        return self._call("review")

    def refresh(self) -> JobStatus:
        """Poll now; one request and its retries, shared with a poll under way; no credit.

        Raises:
            APIError: The poll failed; that says nothing about the job.
            TransportError: Likewise.
        """
        return self._call("refresh")

    def events(self) -> Iterator[JobEvent]:
        """Follow what happens to the job, from now to its end; one request a poll, no credit.

        A refused key shows as `PollFailed`, and the polls go on.

        Raises:
            JobDetachedError: The job was detached.
            ClientClosedError: The client was closed. The token stays valid.
        """
        return self._iterate("events")

    def on(self, event: type[E], call: Callable[[E], Any]) -> None:
        """Call a function on each event of a class; until the job ends, one request a poll, no credit.

        Args:
            event: `Observed`, `PollFailed` or `Finished`.
            call: A function that does not call the client; it runs in the client's thread. What it raises is logged.

        Raises:
            ArgumentError: `event` is not a class, or `call` is not a plain function.
        """
        self._call("on", event, call)

    def detach(self) -> None:
        """Stop polling and wake all waiters with `JobDetachedError`; the remote job goes on and its token stays valid.

        It sends nothing.

        A launch of the same work still joins the job while it runs.
        A review that `on_review` is deciding on at this moment is decided to the end.
        """
        self._call("detach")


@copies(AsyncSucceeded)
@attrs.frozen
class Succeeded(Generic[I, R]):
    """Hold the result of one item of a fan-out.

    Args:
        item: The item.
        job: Its job.
        value: The job's result.
        earlier: Whether the item ended in an earlier run of a batch.
    """

    item: I
    job: Job[R]
    value: R
    earlier: bool = False
    ok: Literal[True] = attrs.field(default=True, init=False, repr=False, eq=False)
    "True, which tells it from `Failed`; type checkers prefer `outcome.error is None`."
    error: None = attrs.field(default=None, init=False, repr=False, eq=False)
    "None, because there is a result: `if outcome.error is None:` tells every type checker that `value` is there."

    def result(self) -> R:
        """Return the job's result."""
        return self.value

    def _repr_html_(self) -> str:
        return markup.record(self)


@copies(AsyncFailed)
@attrs.frozen
class Failed(Generic[I, R]):
    """Say why one item of a fan-out has no result.

    Args:
        item: The item.
        job: Its job, or None when it was not launched.
        error: Why there is no result.
        earlier: Whether the item ended in an earlier run of a batch.
    """

    item: I
    job: Job[R] | None
    error: Exception
    earlier: bool = False
    ok: Literal[False] = attrs.field(default=False, init=False, repr=False, eq=False)
    "False, which tells it from `Succeeded`; type checkers prefer `outcome.error is None`."
    value: None = attrs.field(default=None, init=False, repr=False, eq=False)
    "None, because there is no result."

    def result(self) -> NoReturn:
        """Raise `error`."""
        raise self.error

    def _repr_html_(self) -> str:
        return markup.record(self)


#: How one item of a fan-out ended; `error` is None on the first only.
Outcome: TypeAlias = Succeeded[I, R] | Failed[I, R]


class GenerationReview(Mirror, of=AsyncGenerationReview):
    """Hold a generation in review, and decide on it."""

    __slots__ = ()

    @property
    def content_id(self) -> str:
        return self._read("content_id")

    @property
    def generation(self) -> Generation:
        return self._read("generation")

    @property
    def decision(self) -> Decision | None:
        return self._read("decision")

    @property
    def content(self) -> Content | None:
        return self._read("content")

    @property
    def phase(self) -> Phase:
        """What the status of the generation means: `REVIEW` while it waits for its decision; sends nothing."""
        return self._read("phase")

    def confirm(self) -> Content:
        """Apply the generated article to the draft; three requests, no credit.

        Returns:
            The content with the article.

        Raises:
            ConflictError: It was discarded, or is not in review.
            JobSupersededError: A newer generation has taken its place.
            OutcomeUnknownError: No answer came, and the generation does not tell what was decided.
            ServerError: The service failed, and the generation does not tell what was decided.
        """
        return self._call("confirm")

    def cancel(self) -> None:
        """Discard the generated article; two requests, no credit.

        Raises:
            ConflictError: It was applied, or is not in review.
            JobSupersededError: A newer generation has taken its place.
            OutcomeUnknownError: No answer came, and the generation does not tell what was decided.
            ServerError: The service failed, and the generation does not tell what was decided.
        """
        self._call("cancel")


ReviewHook: TypeAlias = Callable[[GenerationReview], ReviewChoice]


class Fanout(Context, Iteration[Outcome[I, R]], Generic[I, R], of=AsyncFanout):
    """Launch a job for each item and give the outcomes as they come; an iterator and context manager.

    Made by `client.jobs.map`, whose arguments it takes. No more items are taken than can be in flight.

    Leaving the context early stops launching: it cancels launches that wait for permits, and waits for the answers of
    those in flight, five seconds at most. Launched jobs continue: `launched` has those that are not finished. Without
    the context, launching stops after twice `in_flight`, or after a thousand, outcomes that the caller has not taken.
    """

    __slots__ = ()

    @property
    def launched(self) -> list[Job[R]]:
        """The jobs that were launched and are not finished, in the order of their launches."""
        return self._read("launched")

    def to_pandas(self) -> DataFrame:
        """Wait for all further outcomes, and return them as `cmsapi.to_pandas` does; needs the extra `notebook`.

        When it is interrupted, no more launches are sent, and what was sent continues. Called again, it goes on, and
        returns the same outcomes, too; an iteration gives them as well.
        """
        return self._call("to_pandas")

    @property
    def progress(self) -> Progress:
        """How far it is now: counts, an estimate of the end, credits and requests; sends nothing."""
        return self._read("progress")

    def rows(self, limit: int = 100) -> list[ItemStatus]:
        """Return a row for each item, for a table; sends nothing.

        The rows come in the order of `ItemState`. When there are more items than rows, those that are being launched
        or run go first, then the newest of the finished ones, of which a hundred are kept, then the next ones that
        wait, as far as they are known.
        """
        return self._ask("rows", limit)

    def follow(self, every: float = 1.0) -> Iterator[Progress]:
        r"""Give the progress now, after changes, and at the end, which ends the iteration; sends nothing.

        Another thread takes the outcomes meanwhile. Any number of threads may follow::

            for progress in outcomes.follow():
                yield f"data: {json.dumps(progress.to_dict())}\n\n"

        Args:
            every: Seconds between two of them at the least, but for the last one.
        """
        return self._iterate("follow", every)


class AsCompleted(Context, Iteration[Outcome[str, R]], Generic[R], of=AsyncAsCompleted):
    """Give the outcomes of jobs as they finish; an iterator and context manager. `add` takes more jobs meanwhile.

    Made by `client.jobs.as_completed`. Leaving the context early stops waiting; the jobs continue.
    """

    __slots__ = ()

    def add(self, *jobs: Job[R]) -> None:
        """Wait for more jobs.

        Raises:
            ArgumentError: One of the jobs is not a job; none is added.
        """
        self._call("add", *jobs)

    def to_pandas(self) -> DataFrame:
        """Wait for all further outcomes, and return them as `cmsapi.to_pandas` does; needs the extra `notebook`.

        When it is interrupted, no more launches are sent, and what was sent continues. Called again, it goes on, and
        returns the same outcomes, too; an iteration gives them as well.
        """
        return self._call("to_pandas")

    @property
    def progress(self) -> Progress:
        """How far it is now: counts, an estimate of the end, credits and requests; sends nothing."""
        return self._read("progress")

    def rows(self, limit: int = 100) -> list[ItemStatus]:
        """Return a row for each item, for a table; sends nothing.

        The rows come in the order of `ItemState`. When there are more items than rows, those that are being launched
        or run go first, then the newest of the finished ones, of which a hundred are kept, then the next ones that
        wait, as far as they are known.
        """
        return self._ask("rows", limit)

    def follow(self, every: float = 1.0) -> Iterator[Progress]:
        r"""Give the progress now, after changes, and at the end, which ends the iteration; sends nothing.

        Another thread takes the outcomes meanwhile. Any number of threads may follow::

            for progress in outcomes.follow():
                yield f"data: {json.dumps(progress.to_dict())}\n\n"

        Args:
            every: Seconds between two of them at the least, but for the last one.
        """
        return self._iterate("follow", every)


class BatchOutcomes(Iteration[Outcome[I, R]], Generic[I, R], of=AsyncBatchOutcomes):
    """Give the outcomes of a batch; an iterator, made by `Batch.map`."""

    __slots__ = ()

    def to_pandas(self) -> DataFrame:
        """Wait for all further outcomes, and return them as `cmsapi.to_pandas` does; needs the extra `notebook`.

        When it is interrupted, no more launches are sent, and what was sent continues. Called again, it goes on, and
        returns the same outcomes, too; an iteration gives them as well.
        """
        return self._call("to_pandas")

    @property
    def progress(self) -> Progress:
        """How far it is now: counts, an estimate of the end, credits and requests; sends nothing."""
        return self._read("progress")

    def rows(self, limit: int = 100) -> list[ItemStatus]:
        """Return a row for each item, for a table; sends nothing.

        The rows come in the order of `ItemState`. When there are more items than rows, those that are being launched
        or run go first, then the newest of the finished ones, of which a hundred are kept, then the next ones that
        wait, as far as they are known.
        """
        return self._ask("rows", limit)

    def follow(self, every: float = 1.0) -> Iterator[Progress]:
        r"""Give the progress now, after changes, and at the end, which ends the iteration; sends nothing.

        Another thread takes the outcomes meanwhile. Any number of threads may follow::

            for progress in outcomes.follow():
                yield f"data: {json.dumps(progress.to_dict())}\n\n"

        Args:
            every: Seconds between two of them at the least, but for the last one.
        """
        return self._iterate("follow", every)


class Batch(Context, of=AsyncBatch):
    """Run a named batch; a context manager, made by `client.jobs.batch`."""

    __slots__ = ()

    @property
    def name(self) -> str:
        return self._read("name")

    @property
    def progress(self) -> Progress:
        """How far the last `map` of this object is, without one how far the batch was when it was read; sends nothing.

        `refresh` reads how far it is in all processes.
        """
        return self._read("progress")

    def refresh(self) -> BatchStatus:
        """Read how far the batch is in all processes, and without a `map` of this object the keys of what has ended.

        It costs no credit. With a shared state the first call of a client takes one request, to read whose state it is.
        An item whose job another batch has launched counts as waiting until its job has ended. A name that no run has
        had gives zeros, with `began_at` None: ask your own table whether a batch is about to begin or the name is
        misspelt.

        Raises:
            StateError: The state cannot be reached.
        """
        return self._call("refresh")

    def follow(self, every: float = 1.0) -> Iterator[BatchStatus]:
        r"""Give how far the batch is in all processes, now, after changes, and when it is done; then it ends.

        It takes the requests of `refresh`, and no credit. It does not end before the batch is done, also while no
        process works on it::

            for status in client.jobs.batch("nightly").follow():
                yield f"data: {json.dumps(status.to_dict())}\n\n"

        Args:
            every: Seconds between two reads of the state.

        Raises:
            StateError: The state cannot be reached.
        """
        return self._iterate("follow", every)

    @property
    def unfinished(self) -> tuple[str, ...]:
        """Keys of the items of the last `map` that have not ended, in their order."""
        return self._read("unfinished")

    @property
    def ended(self) -> tuple[str, ...]:
        """Keys of the items that have ended, in this run or an earlier one, with or without a result."""
        return self._read("ended")

    @property
    def failed(self) -> tuple[str, ...]:
        """Keys of the items whose jobs ended without a result."""
        return self._read("failed")

    @property
    def unknown(self) -> tuple[str, ...]:
        """Keys of the items that may have been launched and paid for, but have no known job."""
        return self._read("unknown")

    def retry_failed(self) -> tuple[str, ...]:
        """Let the next `map` launch the failed items again, each for another credit; return their keys."""
        return self._call("retry_failed")

    def retry_unknown(self) -> tuple[str, ...]:
        """Let the next `map` launch the unknown items again, which may pay for them twice; return their keys."""
        return self._call("retry_unknown")

    def forget(self) -> tuple[str, ...]:
        """Forget how all items have ended, and return their keys; jobs that run continue.

        A finished batch stays in the state, one row an item, until this is called. A later run under its name launches
        every item anew, each for another credit.

        Raises:
            StateError: The state cannot be reached.
        """
        return self._call("forget")

    def map(
        self,
        launch: Callable[[I], Job[R]],
        items: Iterable[I],
        *,
        key: Callable[[I], str] = str,
        in_flight: int | Literal["auto"] = "auto",
        errors: Literal["collect", "raise"] = "collect",
        max_credits: int | None = None,
        earlier: Literal["read", "skip"] = "read",
        timeout: float | None = None,
        ordered: bool = False,
        on_done: Callable[[BatchStatus], Any] | None = None,
    ) -> BatchOutcomes[I, R]:
        """Give the outcome of each item, and launch those that have none yet.

        Args:
            launch: Launches the one job of an item, such as `client.keywords.analyze`. Knowledge documents that are
                still being processed when a run ends are created again by the next one.
            items: The items; all of them are read before the first is launched.
            key: Returns the key of an item: the same in each run, and another one for each item. A model needs one,
                such as `lambda keyword: keyword.id`, because its text changes with the model.
            in_flight: As for `client.jobs.map`.
            errors: As for `client.jobs.map`.
            max_credits: As for `client.jobs.map`, for this run.
            earlier: `"read"` also gives the outcomes of items that ended in an earlier run, and reads each result
                again, which takes one request and no credit; `"skip"` leaves these items out.
            timeout: As for `client.jobs.map`, for the items that have not ended. The batch keeps no end of an item that
                ran out of time: the next run waits for its job again, and does not pay again.
            ordered: As for `client.jobs.map`.
            on_done: Called when the batch is done: when a run, in any process, had an outcome for each item. It takes
                the `BatchStatus`, in a worker thread. Of all processes that run the batch with an `on_done`, one calls
                it,
                once. If that process dies meanwhile, or the call fails, the next run calls it again. A run that
                launches something after the end makes for another end.

        Raises:
            ArgumentError: An argument is of the wrong kind; nothing was sent.
        """
        items = whole(items)
        return self._call(
            "map",
            in_worker("launch", launch, self.thread),
            items,
            key=keyed(key, items),
            in_flight=in_flight,
            errors=errors,
            max_credits=max_credits,
            earlier=earlier,
            timeout=timeout,
            ordered=ordered,
            on_done=in_worker("on_done", on_done, self.thread),
        )


@copies(AsyncResumed)
@attrs.frozen
class Resumed:
    """Hold what was recovered.

    Args:
        jobs: The running jobs, in the order of their launches; `wait()` gives their results.
        unknown: Launches that may have happened and have no job. They are no longer in the journal.
    """

    jobs: tuple[Job[Any], ...]
    unknown: tuple[LaunchUnknownError, ...]


class Jobs(Mirror, of=AsyncJobs):
    """Launch many jobs, and find jobs again."""

    __slots__ = ()

    @guided(MAP_PARAMETERS)
    def map(
        self,
        launch: Callable[[I], Job[R]],
        items: Iterable[I],
        *,
        in_flight: int | Literal["auto"] = "auto",
        errors: Literal["collect", "raise"] = "collect",
        max_credits: int | None = None,
        timeout: float | None = None,
        ordered: bool = False,
    ) -> Fanout[I, R]:
        """Launch a job for each item and give the outcomes in the order in which the jobs finish.

        Each item takes the requests and the credit of its launch, and one request a poll. Use `with` around the
        loop when it may be left early::

            with client.jobs.map(client.keywords.analyze, keyword_ids) as outcomes:
                for outcome in outcomes:
                    ...

        Args:
            launch: Launches the job of one item, such as `client.keywords.analyze`.
            items: The items, which are read before the first launch.
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
            An iterator of `Succeeded` and `Failed` outcomes; its `progress` tells how far it is.

        Raises:
            ArgumentError: An argument is of the wrong kind; nothing was sent.
        """
        items = whole(items)
        return self._call(
            "map",
            in_worker("launch", launch, self.thread),
            items,
            in_flight=in_flight,
            errors=errors,
            max_credits=max_credits,
            timeout=timeout,
            ordered=ordered,
        )

    def as_completed(self, jobs: Iterable[Job[R]], *, timeout: float | None = None) -> AsCompleted[R]:
        """Give the outcomes of jobs in the order in which they finish; `.add()` takes more meanwhile.

        It takes one request a poll, and no credit. Use `with` around the loop when it may be left early, so that
        the polls of the other jobs end.

        Args:
            jobs: The jobs.
            timeout: Seconds from the launch of each job after which it is waited for no more, as for `map`.

        Raises:
            ArgumentError: One of them is not a job, for example its token.
        """
        return self._call("as_completed", whole(jobs), timeout=timeout)

    def gather(self, *jobs: Job[R], timeout: float | None = None) -> list[R]:
        """Wait for all jobs and return their results in order; one request a poll, no credit.

        Args:
            *jobs: The jobs.
            timeout: Seconds from the launch of each job after which it is waited for no more, as for `map`.

        Raises:
            ArgumentError: One of them is not a job, for example its token.
            JobError: A job has no result; raised when no other one is waited for, with a note on the others.
        """
        return self._call("gather", *jobs, timeout=timeout)

    def batch(self, name: str) -> Batch:
        """Name a fan-out, so that running it again launches only what is missing; sends nothing by itself.

        Any process that shares the state may ask how far it is: `client.jobs.batch("nightly").refresh()`. The
        client's `state` keeps the ends of the jobs, so that a rerun after a crash needs a shared one::

            with client.jobs.batch("nightly") as batch:
                for outcome in batch.map(client.keywords.analyze, keyword_ids):
                    ...

        Args:
            name: The name, the same in each run.

        Raises:
            ArgumentError: The name is not a text, is empty, or has more than 500 characters.
        """
        return self._call("batch", name)

    def batches(self) -> list[BatchStatus]:
        """Return how far all batches of this state are, of all processes, the one that was worked on last first.

        It costs no credit. With a shared state that no process with this key has worked with yet, the first call takes
        one request, to read whose state it is; else it takes none, and tells while the service is away. It reads what
        the state has of each item of the batches that are not done. A batch is listed from its first run on, until
        `Batch.forget`.

        Raises:
            StateError: The state cannot be reached.
        """
        return self._call("batches")

    def overview(self) -> Overview:
        """Read what all processes of this state do with the key: limits, batches, running jobs, what needs a person.

        It takes no credit and no request, launches and recovers nothing. So with a shared state it knows only of the
        work that a client with this key has found in it, or launched, before.

        Raises:
            StateError: The state cannot be reached.
        """
        return self._call("overview")

    def journal(self) -> list[OpenLaunch]:
        """Return the open launches of this state, of all processes, the oldest first.

        It recovers nothing and costs no credit. With a shared state the first call takes one request, to read whose
        journal it is.

        Raises:
            StateError: The state cannot be reached.
        """
        return self._call("journal")

    def resume(self) -> Resumed:
        """Recover the launches of this state whose processes are dead.

        It takes no credit. With a shared state the first call takes one request, to read whose journal it is. Beyond
        that only launches whose answers were lost take requests, and it waits until such a launch can no longer arrive.

        Raises:
            StateError: The state cannot be reached.
            CMSError: The service cannot be read; launches that are not recovered stay in the journal.
        """
        return self._call("resume")

    def reviews(self) -> list[GenerationReview]:
        """Return the generated articles that wait for a decision, of all processes.

        It takes no credit, and one request for each generation of this state without a decision, two for one that was
        decided elsewhere. Deciding on a review ends its job.

        Raises:
            StateError: The state cannot be reached.
        """
        return self._call("reviews")

    def status(self, token: str) -> JobStatus:
        """Tell how the job of a token stands, without waiting for it; one request at most, no credit.

        It is what a service needs that answers a browser "still running": `status.done` tells whether
        `client.jobs.attach(token).wait()` gives the result at once. It sends nothing while this client, or another
        process that shares the state, polls the job anyway, not sooner than `PollPolicy(min_interval=)` after the last
        poll, and for the last hundred jobs whose ends this client has seen. A token of a job from `watch` is read anew
        each time. With a shared state the first call takes one more request, to read whose journal it is.

        Raises:
            ArgumentError: The text is not a token, was changed, or names a job of another service.
            APIError: The service refused the poll; a `NotFoundError` may mean that the job was deleted.
            TransportError: There was no usable answer; that says nothing about the job.
        """
        return self._call("status", token)

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

        This client polls the job once it is waited for, unless another process that shares the state polls it already.

        While this client knows the job, it returns the same object, and launches of the same work join the job. It
        knows the jobs that run, and the last hundred that are finished.

        Args:
            token: Text of `job.token`.
            kind: The kind of job that you expect, with which a type checker knows the result: `"keyword_analysis"`,
                `"prompt_analysis"`, `"idea_search"`, `"generation"` or `"knowledge_document"`.

        Raises:
            ArgumentError: The text is not a token, was changed, or names a job of another service or kind.
        """
        return self._call("attach", token, kind)

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

    def watch(self, kind: str, id: str) -> Job[Any]:
        """Follow a job that another program launched; sends nothing by itself and costs no credit.

        Args:
            kind: `"keyword_analysis"`, `"prompt_analysis"`, `"idea_search"`, `"generation"` or
                `"knowledge_document"`.
            id: Identifier of the keyword, prompt, search, content or knowledge document.

        Raises:
            ArgumentError: There is no such kind, or `id` cannot be an identifier.
        """
        return self._call("watch", kind, id)

    def plan(self, kind: str, count: int, *, in_flight: int | Literal["auto"] = "auto", earlier: int = 0) -> Forecast:
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
        return self._call("plan", kind, count, in_flight=in_flight, earlier=earlier)

    @property
    def statistics(self) -> JobStatistics:
        """How the jobs of this account were polled by this client, in all and `by_kind`; sends nothing."""
        return self._read("statistics")
