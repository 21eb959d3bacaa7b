"""An entry of the journal of launches, as one client knows it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import attrs

from cmsapi.state.journal import Entry, Lease

if TYPE_CHECKING:
    from cmsapi.jobs.job import Job

# What an entry says of its launch.
INTENT = "intent"
SENDING = "sending"
RUNNING = "running"
REVIEW = "review"
UNKNOWN = "unknown"


@attrs.define(eq=False)
class Record:
    """Hold an entry as this client knows it.

    Args:
        entry: What it says.
        lease: Under which it is held or wished for; None as long as it was not looked for.
        held: Whether it is held.
        free: Whether its job may be looked at although it is not held, because there is no such entry.
        job: The job that it stands for, once there is one.
        working: Set when the task that launches it, or finds out about it, is through; None when none does.
    """

    entry: Entry
    lease: Lease | None = None
    held: bool = False
    free: bool = False
    job: Job[Any] | None = None
    working: asyncio.Event | None = None

    @property
    def bound(self) -> bool:
        """Whether the service is known to have launched it."""
        return self.entry.status not in (INTENT, SENDING)

    @property
    def idle(self) -> bool:
        """Whether nobody here works on it or waits for it."""
        return self.working is None and (self.job is None or not self.job.subscribed)

    @contextlib.contextmanager
    def in_work(self) -> Iterator[None]:
        """Let nobody else of this client work on it meanwhile."""
        mine = self.working = asyncio.Event()
        try:
            yield
        finally:
            mine.set()
            self.working = None
