"""A fan-out with a memory: running it again launches only what is missing.

Each item of a batch has a key. How its job ended is kept in the client's state under the name of the batch and that
key. So a rerun, in this process or in another one after a crash, knows what is done, waits for what still runs, and
launches the rest. An item whose launch may have happened is *unknown*: it is reported, and not launched again unless
`retry_unknown` says so.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

import attrs

from cmsapi.api.arguments import text
from cmsapi.api.wire.mismatch import excerpt
from cmsapi.errors import ArgumentError, LaunchUnknownError
from cmsapi.jobs.errors import without_result
from cmsapi.jobs.fanout.fan_out import Fanout
from cmsapi.jobs.fanout.outcomes import Outcome
from cmsapi.jobs.job import Job, job_of
from cmsapi.jobs.journal.journal import LaunchJournal
from cmsapi.jobs.kinds.evidence import name_of
from cmsapi.jobs.kinds.review import GenerationReview
from cmsapi.jobs.launching.pending import ITEM
from cmsapi.jobs.polling.poller import Poller
from cmsapi.jobs.status import Phase
from cmsapi.jobs.tracked import UNKNOWN, Record
from cmsapi.state.journal import Entry

I = TypeVar("I")  # noqa: E741  an item
R = TypeVar("R")

_LONGEST_KEY = 500


class Batch:
    """Hold a named batch; an async context manager, made by `client.jobs.batch`.

    Args:
        name: Its name in the client's state.
        poller: Polls the jobs.
    """

    def __init__(self, name: str, poller: Poller) -> None:
        self.name: str = text("name", name, at_most=_LONGEST_KEY)
        self._poller = poller
        self._journal: LaunchJournal = poller.journal
        self._outcomes: dict[str, Entry] = {}
        self._keys: tuple[str, ...] = ()
        self._open: list[Fanout[Any, Any]] = []
        self._runs: list[AsyncGenerator[Any, None]] = []

    def __repr__(self) -> str:
        return f"<Batch {self.name!r}: {len(self._outcomes)} items have ended>"

    async def __aenter__(self) -> Self:
        await self._read()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop launching; launched jobs continue, and the next run takes them up."""
        for fan_out in self._open:
            await fan_out.aclose()
        for run in self._runs:
            # A run that is waited for at this moment ends by itself.
            with contextlib.suppress(RuntimeError):
                await run.aclose()
        self._open.clear()
        self._runs.clear()
        await self._journal.flush()

    async def _read(self) -> None:
        await self._poller.open_journal()
        await self._journal.flush()
        self._outcomes = await self._journal.state.outcomes(self._journal.scope, self.name)

    # What is known

    @property
    def unfinished(self) -> tuple[str, ...]:
        """Keys of the items of the last `map` that have not ended, in their order."""
        return tuple(key for key in self._keys if key not in self._outcomes)

    @property
    def ended(self) -> tuple[str, ...]:
        """Keys of the items that have ended, in this run or an earlier one, with or without a result."""
        return tuple(self._outcomes)

    @property
    def failed(self) -> tuple[str, ...]:
        """Keys of the items whose jobs ended without a result."""
        return tuple(key for key, entry in self._outcomes.items() if entry.status not in (Phase.SUCCEEDED, UNKNOWN))

    @property
    def unknown(self) -> tuple[str, ...]:
        """Keys of the items that may have been launched and paid for, without a job to show for it."""
        return tuple(key for key, entry in self._outcomes.items() if entry.status == UNKNOWN)

    async def retry_failed(self) -> tuple[str, ...]:
        """Let the next `map` launch the failed items again, each for another credit; return their keys."""
        return await self._forget(self.failed)

    async def retry_unknown(self) -> tuple[str, ...]:
        """Let the next `map` launch the unknown items again, which may pay for them twice; return their keys."""
        return await self._forget(self.unknown)

    async def forget(self) -> tuple[str, ...]:
        """Forget how all items have ended, and return their keys; jobs that run continue.

        A batch that is through stays in the state, one line an item, until this is called. A later run under its name
        launches every item anew, each for another credit.

        Raises:
            StateError: The state cannot be reached.
        """
        return await self._forget(self.ended)

    async def _forget(self, keys: tuple[str, ...]) -> tuple[str, ...]:
        await self._journal.flush()
        await self._journal.state.forget(self._journal.scope, self.name, keys)
        for key in keys:
            del self._outcomes[key]
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
        ordered: bool = False,
    ) -> AsyncIterator[Outcome[I, R]]:
        """Give the outcome of each item, and launch those that have none yet.

        Args:
            launch: Launches the one job of an item, such as `client.keywords.analyze`.
            items: The items; all of them are taken before the first is launched.
            key: Names an item, always by the same name; no two items have the same one.
            in_flight: As for `client.jobs.map`.
            errors: Likewise.
            max_credits: Likewise, for this run.
            earlier: What to do about items that ended in an earlier run. `"read"` gives their outcomes too, and reads
                each result again, which takes one request and no credit; `"skip"` leaves them out.
            ordered: Whether outcomes come in the order of the items, not in that in which the jobs end.

        Raises:
            ArgumentError: Something is of the wrong type; nothing was sent.
        """
        if earlier not in ("read", "skip"):
            raise ArgumentError(f"earlier is 'read' or 'skip', not {excerpt(earlier)}.", parameter="earlier")
        if not callable(key):
            raise ArgumentError("key is a function that names an item.", parameter="key")

        async def run() -> AsyncGenerator[Outcome[I, R], None]:
            keyed = await _keyed(items, key)
            await self._read()
            self._keys = tuple(keyed)
            ended = {name: item for name, item in keyed.items() if name in self._outcomes and earlier == "read"}
            missing = {name: item for name, item in keyed.items() if name not in self._outcomes}
            reading = Fanout(_by_key(self._read_again), list(ended.items()), self._poller, errors=errors)
            launching = Fanout(
                _by_key(self._launching(launch)),
                list(missing.items()),
                self._poller,
                in_flight=in_flight,
                errors=errors,
                max_credits=max_credits,
            )
            self._open += [reading, launching]
            order = list(keyed) if ordered else []
            waiting: dict[str, Outcome[I, R]] = {}
            async for name, outcome in self._outcomes_of(reading, launching):
                if not ordered:
                    yield attrs.evolve(outcome, item=keyed[name])
                    continue
                waiting[name] = attrs.evolve(outcome, item=keyed[name])
                while order and (order[0] in waiting or order[0] not in {**ended, **missing}):
                    if (first := order.pop(0)) in waiting:
                        yield waiting.pop(first)
            if self.unfinished:
                # Others that run the same batch may have ended them.
                await self._read()
            for rest in waiting.values():
                yield rest

        running = run()
        self._runs.append(running)
        return running

    async def _outcomes_of(
        self, reading: Fanout[tuple[str, Any], Any], launching: Fanout[tuple[str, Any], Any]
    ) -> AsyncIterator[tuple[str, Outcome[Any, Any]]]:
        async for outcome in reading:
            name = outcome.item[0]
            if isinstance(outcome.value, GenerationReview):
                decision: Any = self._outcomes[name].decision
                outcome.value.decision = decision or outcome.value.decision
            yield name, attrs.evolve(outcome, earlier=True)
        async for outcome in launching:
            await self._note(outcome.item[0], outcome)
            yield outcome.item[0], outcome

    def _launching(self, launch: Callable[[I], Awaitable[Job[R]]]) -> Callable[[str, I], Awaitable[Job[R]]]:
        async def launch_one(name: str, item: I) -> Job[R]:
            token = ITEM.set((self.name, name))
            try:
                return await launch(item)
            finally:
                ITEM.reset(token)

        return launch_one

    async def _read_again(self, name: str, item: object) -> Job[Any]:
        """Return the ended job of an item, so that awaiting it reads its result again."""
        entry = self._outcomes[name]
        if (problem := without_result(entry)) is not None:
            raise problem
        return job_of(self._poller.take_over(Record(entry)), self._poller)

    async def _note(self, name: str, outcome: Outcome[Any, Any]) -> None:
        job, now = None if outcome.job is None else outcome.job.tracked, self._journal.wall()
        if job is None or not job.closed or job.phase is Phase.REVIEW:
            if isinstance(outcome.error, LaunchUnknownError) and "open" not in outcome.error.evidence:
                await self._note_unknown(name, outcome.error)
            return
        record = job.record
        status = "undecided" if job.phase is Phase.UNKNOWN else job.phase.value
        said = record.entry if record is not None else Entry(kind=job.kind.name.value, target=job.target, asked_at=now)
        review = outcome.value if isinstance(outcome.value, GenerationReview) else None
        entry = attrs.evolve(
            said,
            batch=self.name,
            item=name,
            status=status,
            job_id=job.history.job_id,
            decision=review.decision if review is not None else None,
            ended_at=now,
        )
        if (said.batch, said.item) != (self.name, name):
            # It joined a job that was launched for something else.
            await self._journal.note_outcome(entry)
        self._outcomes[name] = entry

    async def _note_unknown(self, name: str, error: LaunchUnknownError) -> None:
        facts = {word: value for word, value in error.evidence.items() if isinstance(value, str) and len(value) <= 500}
        now = self._journal.wall()
        entry = Entry(
            kind=error.kind,
            target=name_of(error.target),
            asked_at=now,
            batch=self.name,
            item=name,
            status=UNKNOWN,
            facts=facts,
            ended_at=now,
        )
        await self._journal.note_outcome(entry)
        self._outcomes[name] = entry


async def _keyed(items: Iterable[I] | AsyncIterable[I], key: Callable[[I], str]) -> dict[str, I]:
    taken = [item async for item in items] if isinstance(items, AsyncIterable) else list(items)
    keyed: dict[str, I] = {}
    for item in taken:
        name = text("key", key(item), at_most=_LONGEST_KEY)
        if name in keyed:
            raise ArgumentError(
                f"Two items of the batch have the key {name!r}; give each its own, or the second would never be "
                "launched. Nothing was sent.",
                parameter="key",
            )
        keyed[name] = item
    return keyed


def _by_key(launch: Callable[[str, I], Awaitable[Job[R]]]) -> Callable[[tuple[str, I]], Awaitable[Job[R]]]:
    return lambda pair: launch(*pair)
