"""Show the jobs of a client as one table, which a notebook keeps up to date."""

from __future__ import annotations

import asyncio
import weakref
from typing import Any

from cmsapi.display import markup
from cmsapi.jobs.job import Job, job_of
from cmsapi.jobs.polling.poller import Poller

# Seconds between two versions of the table; it is drawn again only when something has changed.
_REFRESH = 1.0
_COLUMNS = ("kind", "id", "phase", "state", "polls", "runs for, s", "next poll", "expected end")

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
        return "\n".join(map(repr, self.jobs)) or "no jobs"

    def _repr_html_(self) -> str:
        rows: list[list[object]] = []
        for job in self.jobs:
            now = job.status
            seconds = round(now.elapsed)
            rows.append([job.kind, job.id, now.phase, now.state, now.polls, seconds, now.next_poll_at, now.eta])
        running = sum(not job.done() for job in self._seen)
        return markup.table(f"{len(rows)} jobs, {running} not finished", _COLUMNS, rows)

    def _ipython_display_(self) -> None:
        # Only IPython calls this method, so that the import works.
        from IPython.display import HTML, display

        handle = display(HTML(self._repr_html_()), display_id=True)  # type: ignore[no-untyped-call]  # IPython has no types
        if (before := _shown.get(self._poller)) is not None:
            before.close()
        _shown[self._poller] = self
        try:
            self._task = self._poller.tasks.start(self._follow(handle, HTML))
        except RuntimeError:
            # The client is closed, or no loop runs: the jobs will not change.
            self._task = None

    async def _follow(self, handle: Any, html: Any) -> None:
        before = ""
        while True:
            now = self._repr_html_()
            if now != before:
                handle.update(html(now))
            before = now
            await asyncio.sleep(_REFRESH)
