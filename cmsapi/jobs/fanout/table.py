"""Show the jobs of a client as one table, which a notebook keeps up to date."""

from __future__ import annotations

import asyncio
import weakref
from collections import Counter
from collections.abc import Sequence
from typing import Any

from cmsapi.display import live, markup
from cmsapi.jobs.fanout import drawing
from cmsapi.jobs.fanout.progress import ItemState, ItemStatus
from cmsapi.jobs.job import Job, job_of
from cmsapi.jobs.polling.poller import Poller

# The table that each client shows at present; a new one replaces it.
_shown: weakref.WeakKeyDictionary[Poller, JobTable] = weakref.WeakKeyDictionary()


class JobTable:
    """Show the jobs that a client has launched, attached or waits for; sends nothing.

    As the last line of a notebook's cell it stays up to date, also while other cells run. Elsewhere it shows the jobs
    as they are when it is printed. Finished jobs stay in the table.

    Args:
        poller: Polls the jobs.
    """

    def __init__(self, poller: Poller) -> None:
        self._poller = poller
        self._seen: dict[Job[Any], None] = {}
        self._task: asyncio.Task[None] | None = None

    @property
    def jobs(self) -> tuple[Job[Any], ...]:
        """The jobs, oldest first."""
        for job in (*self._poller.registry.jobs.values(), *self._poller.registry.subscribed):
            self._seen[job_of(job, self._poller)] = None
        return tuple(self._seen)

    def close(self) -> None:
        """Stop updating the table."""
        if self._task is not None:
            self._task.cancel()

    def __repr__(self) -> str:
        rows = drawing.in_order(map(drawing.row_of, self.jobs))
        return "\n".join([_title(rows), *drawing.lines(rows)]) if rows else "no open jobs"

    def _repr_html_(self) -> str:
        rows = drawing.in_order(map(drawing.row_of, self.jobs))
        return drawing.html(_title(rows), rows) if rows else markup.paragraphs(_title(rows), ())

    def _ipython_display_(self) -> None:
        if (before := _shown.get(self._poller)) is not None:
            before.close()
        _shown[self._poller] = self
        self._task = live.show(self, self._poller.tasks.start)


def _title(rows: Sequence[ItemStatus]) -> str:
    counts = Counter(row.state for row in rows)
    states = ", ".join(f"{counts[state]:,} {state}" for state in ItemState if counts[state])
    return f"{len(rows):,} job{'' if len(rows) == 1 else 's'}: {states}" if rows else "no open jobs"
