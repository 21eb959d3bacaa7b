"""Run a named fan-out; running it again launches only the items that have no job yet.

Each item of a batch has a key. The client's state keeps the end of its job under the name of the batch and that key.
So a rerun, in this process or in another one after a crash, knows the jobs that are finished, waits for the jobs that
still run, and launches the other items. An item whose launch may have happened is *unknown*: the batch reports it, and
does not launch it again before `retry_unknown`.

The state also has how far a batch is, so that any process can tell, whether it runs the batch or not.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

import attrs

from cmsapi.api.arguments import function, one_of, optional_seconds, seconds, several, text
from cmsapi.api.model import Model
from cmsapi.errors import ArgumentError
from cmsapi.jobs.fanout.batch_ends import BatchEnds
from cmsapi.jobs.fanout.batch_records import BatchRecord, change_record, list_name
from cmsapi.jobs.fanout.batch_run import BatchRun
from cmsapi.jobs.fanout.batch_status import BatchStatus, paid, read_batch
from cmsapi.jobs.fanout.fan_out import Fanout, each
from cmsapi.jobs.fanout.outcome import Outcome
from cmsapi.jobs.fanout.progress import Progress
from cmsapi.jobs.fanout.stream import Outcomes
from cmsapi.jobs.fanout.tracking import Tracker, tracker_of
from cmsapi.jobs.job import Job
from cmsapi.jobs.journal.journal import LaunchJournal
from cmsapi.jobs.polling.poller import Poller
from cmsapi.state.entry import EntryStatus
from cmsapi.unpicklable import Unpicklable

I = TypeVar("I")  # noqa: E741  an item
R = TypeVar("R")

logger: logging.Logger = logging.getLogger("cmsapi")

_LONGEST_KEY = 500


class BatchOutcomes(Outcomes[I, R]):
    """Give the outcomes of a batch; an async iterator, made by `Batch.map`."""

    def __init__(
        self,
        read: Callable[[], asyncio.Task[dict[str, I]]],
        begin: Callable[[Mapping[str, I]], Awaitable[Fanout[str, R]]],
        end: Callable[[], Awaitable[None]],
        stop: Callable[[], Awaitable[None]],
        tracker: Tracker,
    ) -> None:
        super().__init__(tracker)
        self._read = read
        self._begin = begin
        self._end = end
        self._stop = stop
        # Reads the items, in a task of its own: an iterator that was cancelled half-way would give no more of them.
        self._reading: asyncio.Task[dict[str, I]] | None = None
        self._items: Mapping[str, I] = {}
        # The outcomes of their keys; None before the run has begun.
        self._fan_out: Fanout[str, R] | None = None
        self._over = False
        # One task at a time begins or ends the run.
        self._turning = asyncio.Lock()

    async def _take(self) -> Outcome[I, R]:
        async with self._turning:
            if self._fan_out is None:
                if self._over:
                    raise StopAsyncIteration
                self._reading = self._reading or self._read()
                await asyncio.wait([self._reading])
                self._items = self._reading.result()
                self._fan_out = await self._begin(self._items)
        try:
            made: Any = await anext(self._fan_out)
        except StopAsyncIteration:
            async with self._turning:
                if not self._over:
                    await self._end()
                    self._over = True
            raise
        except Exception:
            await self.aclose()
            raise
        outcome: Outcome[I, R] = attrs.evolve(made, item=self._items[made.item])
        return outcome

    async def aclose(self) -> None:
        """End the iteration; launched jobs continue."""
        self._over = True
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait([self._reading])
        if self._fan_out is not None:
            await self._fan_out.aclose()
        self._tracker.close()
        await self._stop()


class Batch(Unpicklable):
    """Run a named batch, or see how far it is; an async context manager, made by `client.jobs.batch`.

    Any process that shares the state sees how far it is, with `refresh` and `follow`, whether it runs the batch or not.

    Args:
        name: Its name in the client's state.
        poller: Polls the jobs.
    """

    def __init__(self, name: str, poller: Poller) -> None:
        self.name: str = text("name", name, at_most=_LONGEST_KEY)
        self._poller = poller
        self._journal: LaunchJournal = poller.journal
        self._ends = BatchEnds(self.name, poller)
        self._keys: tuple[str, ...] = ()
        self._open: list[BatchOutcomes[Any, Any]] = []
        self._tracker: Tracker | None = None
        # What the state had of it when it was last asked.
        self._read_progress = Progress()

    def __repr__(self) -> str:
        return f"<Batch {self.name!r}: {len(self.ended)} items have ended>"

    async def __aenter__(self) -> Self:
        # What an earlier use of this object knew counts no more.
        self._tracker = None
        await self.refresh()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop launching; launched jobs continue, and the next run waits for them."""
        for outcomes in self._open:
            await outcomes.aclose()
        self._open.clear()
        await self._journal.flush()
        await self._ends.restore_lost()

    # What is known

    @property
    def progress(self) -> Progress:
        """How far the last `map` of this object is, without one how far the batch was when it was read; sends nothing.

        `refresh` reads how far it is in all processes.
        """
        return self._read_progress if self._tracker is None else self._tracker.progress

    async def refresh(self) -> BatchStatus:
        """Read how far the batch is in all processes, and without a `map` of this object the keys of what has ended.

        It costs no credit. With a shared state the first call of a client takes one request, to read whose state it is.
        An item whose job another batch has launched counts as waiting until its job has ended. A name that no run has
        had gives zeros, with `began_at` None: ask your own table whether a batch is about to begin or the name is
        misspelt.

        Raises:
            StateError: The state cannot be reached.
        """
        if self._tracker is None:
            # Without a run of its own it knows nothing that the state has lost: another run may have forgotten it.
            ends = BatchEnds(self.name, self._poller)
            await ends.read()
            self._ends = ends
        else:
            await self._journal.open(self._poller.poll_settings.read_user)
            await self._journal.flush()
        found = await read_batch(self._journal, self._journal.scope, self.name)
        self._read_progress = found.progress
        return found

    async def follow(self, every: float = 1.0) -> AsyncIterator[BatchStatus]:
        r"""Give how far the batch is in all processes, now, after changes, and when it is done; then it ends.

        It takes the requests of `refresh`, and no credit. It does not end before the batch is done, also while no
        process works on it::

            async for status in client.jobs.batch("nightly").follow():
                yield f"data: {json.dumps(status.to_dict())}\n\n"

        Args:
            every: Seconds between two reads of the state.

        Raises:
            StateError: The state cannot be reached.
        """
        seconds("every", every)
        shown = None
        while True:
            status = await self.refresh()
            if status != shown:
                yield status
            if status.done:
                return
            shown = status
            await asyncio.sleep(every)

    @property
    def unfinished(self) -> tuple[str, ...]:
        """Keys of the items of the last `map` that have not ended, in their order."""
        return tuple(key for key in self._keys if key not in self._ends.entries)

    @property
    def ended(self) -> tuple[str, ...]:
        """Keys of the items that have ended, in this run or an earlier one, with or without a result."""
        return tuple(self._ends.entries)

    @property
    def failed(self) -> tuple[str, ...]:
        """Keys of the items whose jobs ended without a result."""
        others = (EntryStatus.SUCCEEDED, EntryStatus.UNKNOWN)
        return tuple(key for key, entry in self._ends.entries.items() if entry.status not in others)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Keys of the items that may have been launched and paid for, but have no known job."""
        return tuple(key for key, entry in self._ends.entries.items() if entry.status == EntryStatus.UNKNOWN)

    async def retry_failed(self) -> tuple[str, ...]:
        """Let the next `map` launch the failed items again, each for another credit; return their keys."""
        return await self._forget(self.failed)

    async def retry_unknown(self) -> tuple[str, ...]:
        """Let the next `map` launch the unknown items again, which may pay for them twice; return their keys."""
        return await self._forget(self.unknown)

    async def forget(self) -> tuple[str, ...]:
        """Forget how all items have ended, and return their keys; jobs that run continue.

        A finished batch stays in the state, one row an item, until this is called. A later run under its name launches
        every item anew, each for another credit.

        Raises:
            StateError: The state cannot be reached.
        """
        keys, state, scope = self.ended, self._journal.state, self._journal.scope
        await self._ends.forget(keys)

        def clear(current: BatchRecord | None) -> BatchRecord | None:
            # The runs that work on it know these outcomes.
            if current is None or not current.working(self._journal.wall()):
                return None
            return attrs.evolve(current.without_ends(), credits=0, requests=0)

        await change_record(state, scope, self.name, clear)
        await list_name(state, scope, self.name, there=False)
        return keys

    async def _forget(self, keys: tuple[str, ...]) -> tuple[str, ...]:
        """Forget how some items have ended, but not what they have cost."""
        cost = paid(self._ends.entries[key] for key in keys)
        await self._ends.forget(keys)

        def reopen(current: BatchRecord | None) -> BatchRecord | None:
            return None if current is None else attrs.evolve(current.without_ends(), credits=current.credits + cost)

        if keys:
            await change_record(self._journal.state, self._journal.scope, self.name, reopen)
        return keys

    # Running it

    def map(
        self,
        launch: Callable[[I], Awaitable[Job[R]]],
        items: Iterable[I] | AsyncIterable[I],
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
                the `BatchStatus`, sync or async. Of all processes that run the batch with an `on_done`, one calls it,
                once. If that process dies meanwhile, or the call fails, the next run calls it again. A run that
                launches something after the end makes for another end.

        Raises:
            ArgumentError: An argument is of the wrong kind; nothing was sent.
        """
        if on_done is not None:
            function("on_done", on_done, "a function of the batch's status")
        one_of("earlier", earlier, ("read", "skip"))
        function("key", key, "a function of an item, such as `lambda item: item.id`")
        optional_seconds("timeout", timeout)
        if not isinstance(items, AsyncIterable):
            several("items", items)
        tracker = self._tracker = tracker_of(items, self._poller)
        work = BatchRun(self.name, self._journal, tracker)

        def read() -> asyncio.Task[dict[str, I]]:
            self._open.append(outcomes)
            return asyncio.create_task(_keyed(items, text_of_item if key is str else key))

        async def begin(keyed: Mapping[str, I]) -> Fanout[str, R]:
            ends = self._ends
            await ends.read()
            await work.begin(keyed, ends.entries.values(), self._poller.tasks)
            self._keys, ends.checked = tuple(keyed), False
            known = {name for name in keyed if name in ends.entries}
            to_read, skipped = (known, set[str]()) if earlier == "read" else (set[str](), known)
            order = [name for name in keyed if name not in skipped]
            if not ordered:
                order.sort(key=lambda name: name not in to_read)
            tracker.open_batch(self.name, keyed, order)
            tracker.to_read, tracker.finished, tracker.earlier = len(to_read), len(skipped), len(skipped)
            tracker.failed = len(skipped.intersection(self.failed + self.unknown))
            tracker.unknown = len(skipped.intersection(self.unknown))

            async def launch_or_read(name: str) -> Job[R]:
                return ends.job(name) if name in to_read else await launch(keyed[name])

            async def keep(outcome: Outcome[str, R]) -> None:
                work.note(outcome)
                await ends.keep(outcome)

            return Fanout(
                launch_or_read,
                order,
                self._poller,
                in_flight=in_flight,
                errors=errors,
                max_credits=max_credits,
                timeout=timeout,
                ordered=ordered,
                batch=self.name,
                keep=keep,
                tracker=tracker,
                earlier=to_read,
            )

        async def end() -> None:
            tracker.close()
            if self.unfinished:
                # Another process that runs the same batch may have ended them.
                await self._ends.read()
            else:
                await self._ends.restore_lost()
            await work.end(on_done)

        outcomes = BatchOutcomes(read, begin, end, work.stop, tracker)
        return outcomes


def text_of_item(item: object) -> str:
    """Return the text of an item as its key.

    Raises:
        ArgumentError: The item has another text in each run, so that a rerun would pay for it again.
    """
    kind = type(item)
    if isinstance(item, Model) or (kind.__str__, kind.__repr__) == (object.__str__, object.__repr__):
        raise ArgumentError(
            f"`key` must be given for items of the class {kind.__name__}: their text changes between runs, so that the "
            "next run would launch them again and pay again. Write for example key=lambda item: item.id. "
            "Nothing was sent.",
            parameter="key",
        )
    return str(item)


async def _keyed(items: Iterable[I] | AsyncIterable[I], key: Callable[[I], str]) -> dict[str, I]:
    keyed: dict[str, I] = {}
    async for item in each(items):
        name = text("key", key(item), at_most=_LONGEST_KEY)
        if name in keyed:
            raise ArgumentError(
                f"`key` must return another key for each item, got {name!r} for two of them; the second one would "
                "never be launched. Nothing was sent.",
                parameter="key",
            )
        keyed[name] = item
    return keyed
