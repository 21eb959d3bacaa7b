"""Fan-outs with a name: a rerun launches only what is missing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Literal, TypeAlias

import attrs
from cyclopts import Parameter

import cmsapi

BatchName: TypeAlias = Annotated[
    str | None,
    Parameter(
        name="--batch",
        show_default=False,
        help="Name the run: whoever runs it again under this name launches only what is missing.",
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
class NamedRun:
    """Hold a batch and what is known of it before it runs.

    Args:
        batch: The batch.
        key: Names an item.
        under_way: Keys of the items whose jobs run or wait in review.
    """

    batch: cmsapi.Batch
    key: Callable[[str], str]
    under_way: frozenset[str]

    def missing(self, items: Sequence[str]) -> list[str]:
        """Return the items that are neither over nor under way: those that a run pays for."""
        known = self.under_way | set(self.batch.ended)
        return [item for item in items if self.key(item) not in known]


@asynccontextmanager
async def named_run(
    client: cmsapi.Client, name: str | None, retry: Sequence[str], key: Callable[[str], str] = str
) -> AsyncIterator[NamedRun | None]:
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
    async with client.jobs.batch(name) as batch:
        if "failed" in retry:
            await batch.retry_failed()
        if "unknown" in retry:
            await batch.retry_unknown()
        journal = await client.jobs.journal()
        yield NamedRun(batch, key, frozenset(entry.item for entry in journal if entry.item and entry.batch == name))
