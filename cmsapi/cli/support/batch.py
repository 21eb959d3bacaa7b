"""Fan-outs with a name: a rerun launches only what is missing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Annotated, Literal, TypeAlias

import attrs
from cyclopts import Parameter

import cmsapi
from cmsapi.cli.support.connecting import note_nothing_launched

BatchName: TypeAlias = Annotated[
    str | None,
    Parameter(
        name="--batch",
        show_default=False,
        help="Name the run: running it again under this name launches only what is missing.",
    ),
]
Retry: TypeAlias = Annotated[
    tuple[Literal["failed", "unknown"], ...],
    Parameter(
        name="--retry",
        negative="",
        show_default=False,
        help="With --batch, launch these again: failed items, a credit each, or unknown ones, which may be paid twice.",
    ),
]


@attrs.frozen
class BatchCounts:
    """Count what became of the items of a batch.

    Args:
        launched: Items that are launched and paid.
        doubtful: Items that may be launched and paid.
        results: Launched items that have a result.
    """

    launched: int
    uncertain: int
    results: int


@attrs.define
class BatchRun:
    """Hold a batch and what is known of it: before it runs, and again after it.

    Args:
        batch: The batch.
        key: Names an item.
        entries: Its launches that are not over; None where they could not be read after the run.
    """

    batch: cmsapi.Batch
    key: Callable[[str], str]
    entries: Sequence[cmsapi.OpenLaunch] | None

    @property
    def in_progress(self) -> frozenset[str]:
        """Keys of the items whose jobs run or wait in review."""
        return frozenset(entry.item for entry in self.entries or () if entry.item)

    def counts(self, items: Sequence[str], started: Collection[str]) -> BatchCounts | None:
        """Count the items by what became of them; None where that is not known.

        Args:
            items: The items.
            taken: Those that have a job; one that was joined is written down elsewhere.
        """
        if self.entries is None:
            return None
        asked, unknown, failed = {self.key(item) for item in items}, set(self.batch.unknown), set(self.batch.failed)
        ended = set(self.batch.ended)
        sending = {entry.item for entry in self.entries if entry.state == "sending"}
        named = {entry.item for entry in self.entries if entry.token is not None} | {self.key(item) for item in started}
        return BatchCounts(
            launched=len(asked & (named | ended) - unknown),
            uncertain=len(asked & (sending - named | unknown)),
            results=len(asked & (ended - unknown - failed)),
        )

    def missing(self, items: Sequence[str]) -> list[str]:
        """Return the items that are neither over nor under way: those that a run pays for."""
        known = self.in_progress | set(self.batch.ended)
        return [item for item in items if self.key(item) not in known]


@asynccontextmanager
async def open_batch(
    client: cmsapi.Client, name: str | None, retry: Sequence[str], key: Callable[[str], str] = str
) -> AsyncIterator[BatchRun | None]:
    """Open the batch that `--batch` names, or nothing.

    Args:
        client: Its client.
        name: The name, or None.
        retry: What `--retry` says.
        key: Names an item.

    Raises:
        ArgumentError: There is something to retry, and no batch.
    """
    if name is None:
        if retry:
            raise cmsapi.ArgumentError("--retry needs --batch. Nothing was sent.", parameter="retry")
        yield None
        return
    async with AsyncExitStack() as stack:
        with note_nothing_launched():
            batch = await stack.enter_async_context(client.jobs.batch(name))
            if "failed" in retry:
                await batch.retry_failed()
            if "unknown" in retry:
                await batch.retry_unknown()
            run = BatchRun(batch, key, await _read_entries(client, name))
        yield run
    try:
        # Anew: what ended at the last moment is only written down.
        async with client.jobs.batch(name) as batch:
            run.batch, run.entries = batch, await _read_entries(client, name)
    except cmsapi.CMSError:
        # What is known of the results is still to be shown.
        run.entries = None


async def _read_entries(client: cmsapi.Client, name: str) -> list[cmsapi.OpenLaunch]:
    return [entry for entry in await client.jobs.journal() if entry.batch == name]
