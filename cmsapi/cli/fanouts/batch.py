"""Run a named batch: a second run launches only the items that have no job yet."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import attrs

import cmsapi
from cmsapi.cli.fanouts.options import RunOptions
from cmsapi.cli.support.connecting import note_nothing_launched


@attrs.define
class BatchRun:
    """Hold a batch with its open launches, read before the run and again after it.

    Args:
        batch: The batch.
        key: Returns the key of an item.
        entries: The open launches of the batch; None if they could not be read after the run.
        retried: Keys of the items that a dry run counts as missing, because `--retry` would launch them again.
    """

    batch: cmsapi.Batch
    key: Callable[[str], str]
    entries: Sequence[cmsapi.OpenLaunch] | None
    retried: Collection[str] = ()

    @property
    def in_progress(self) -> frozenset[str]:
        """Keys of the items whose jobs are running or wait in review."""
        return frozenset(entry.item for entry in self.entries or () if entry.item)

    def counts(self, items: Sequence[str], started: Collection[str]) -> tuple[int, int, int] | None:
        """Count the items that are launched and paid, those that may be, and those with a result.

        Args:
            items: The items.
            started: The items that have a job; the batch has no entry for a job that it joined.

        Returns:
            The three counts; None if the open launches could not be read.
        """
        if self.entries is None:
            return None
        asked, unknown, failed = {self.key(item) for item in items}, set(self.batch.unknown), set(self.batch.failed)
        ended = set(self.batch.ended)
        sending = {entry.item for entry in self.entries if entry.state == "sending"}
        with_job = {entry.item for entry in self.entries if entry.token is not None} | {
            self.key(item) for item in started
        }
        launched = asked & (with_job | ended) - unknown
        uncertain = asked & (sending - with_job | unknown)
        return len(launched), len(uncertain), len(asked & (ended - unknown - failed))

    def missing(self, items: Sequence[str]) -> list[str]:
        """Return the items that have neither ended nor a running job: those that a run pays for."""
        known = self.in_progress | set(self.batch.ended) - set(self.retried)
        return [item for item in items if self.key(item) not in known]

    def read_again(self, items: Sequence[str]) -> int:
        """Count the items with a result of an earlier run, which a run reads again."""
        with_result = set(self.batch.ended) - set(self.batch.failed) - set(self.batch.unknown) - self.in_progress
        return sum(self.key(item) in with_result for item in items)


@asynccontextmanager
async def open_batch(
    client: cmsapi.Client, options: RunOptions, key: Callable[[str], str] = str
) -> AsyncIterator[BatchRun | None]:
    """Open the batch that `--batch` names; yield None without one.

    Args:
        client: The client of the command.
        options: The options of the command; a dry run leaves the batch as it is.
        key: Returns the key of an item.

    Raises:
        ArgumentError: `--retry` was given without `--batch`.
    """
    name, retry, dry_run = options.batch, options.retry, options.dry_run
    if name is None:
        if retry:
            raise cmsapi.ArgumentError("--retry needs --batch. Nothing was sent.", parameter="retry")
        yield None
        return
    async with AsyncExitStack() as stack:
        with note_nothing_launched():
            batch = await stack.enter_async_context(client.jobs.batch(name))
            failed, unknown = ("failed" in retry and batch.failed), ("unknown" in retry and batch.unknown)
            if failed and not dry_run:
                await batch.retry_failed()
            if unknown and not dry_run:
                await batch.retry_unknown()
            run = BatchRun(batch, key, await _read_entries(client, name), (*(failed or ()), *(unknown or ())))
        yield run
    try:
        # Read the batch again: jobs that ended at the last moment are only in its state.
        async with client.jobs.batch(name) as batch:
            run.batch, run.entries = batch, await _read_entries(client, name)
    except cmsapi.CMSError:
        # The command still shows the results that it has.
        run.entries = None


async def _read_entries(client: cmsapi.Client, name: str) -> list[cmsapi.OpenLaunch]:
    return [entry for entry in await client.jobs.journal() if entry.batch == name]
