"""Show the progress of jobs and tasks in a terminal (extra `cli`).

A terminal gets live bars and tables; a pipe gets plain lines, one for each quarter of a task. Both go to standard
error, so that standard output holds only results for programs.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from typing import Any, TypeAlias

from cmsapi.extras import needs
from cmsapi.jobs import Job, JobStatus

with needs("cli"):
    from rich import box
    from rich.console import Console, Group
    from rich.constrain import Constrain
    from rich.live import Live
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

_REFRESH_INTERVAL = 0.25
# Lines of the terminal that the table of jobs leaves free.
_FREE_LINES = 6

#: Counts one step of a task.
Step: TypeAlias = Callable[[], None]


class PipeConsole(Console):
    """Raise an error when a pipe is closed; rich would end the program."""

    def on_broken_pipe(self) -> None:
        """Raise the error of the pipe again."""
        raise


def stderr_console() -> Console:
    """Return the console for everything but results: standard error, with unbroken lines in a pipe."""
    return PipeConsole(stderr=True, soft_wrap=True)


class ProgressBars:
    """Show the progress of several tasks.

    Args:
        console: The console to print to.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = console.is_terminal
        self._progress = Progress(
            TextColumn("{task.description:<28}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            disable=not self._live,
        )

    @contextmanager
    def running(self) -> Iterator[ProgressBars]:
        """Show the bars while the block runs."""
        with self._progress:
            yield self

    def add(self, description: str, total: int) -> Step:
        """Add a task and return a function that counts one step of it."""
        task = self._progress.add_task(description, total=total)
        if not self._live:
            self._console.print(f"{description} …")
        done = 0

        def step() -> None:
            nonlocal done
            done += 1
            self._progress.update(task, completed=done)
            is_quarter = done * 4 // total > (done - 1) * 4 // total
            if not self._live and is_quarter:
                self._console.print(f"{description}: {done} of {total}")

        return step


class LiveTable:
    """Show running jobs in a terminal: a row for each, and how many have finished.

    Args:
        console: The console to print to.
        total: The number of jobs.
        running: Returns the running jobs in the order of their launches.
        label: Returns the name of a job.
    """

    def __init__(
        self,
        console: Console,
        total: int,
        running: Callable[[], Sequence[Job[Any]]],
        label: Callable[[Job[Any]], str],
    ) -> None:
        self._console = console
        self._total = total
        self._running = running
        self._label = label
        self._succeeded = self._failed = 0

    def count(self, error: Exception | None) -> None:
        """Count an item that has finished or could not be launched."""
        if error is None:
            self._succeeded += 1
        else:
            self._failed += 1

    @asynccontextmanager
    async def live(self) -> AsyncIterator[None]:
        """Show the table while the block runs, and then remove it."""
        if not self._console.is_terminal:
            yield
            return
        # Only the event loop may read the status of jobs, so rich must not refresh from its own thread.
        with Live(self._draw(), console=self._console, auto_refresh=False, transient=True) as live:
            refreshing = asyncio.create_task(self._refresh(live))
            try:
                yield
            finally:
                refreshing.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await refreshing

    async def _refresh(self, live: Live) -> None:
        while True:
            await asyncio.sleep(_REFRESH_INTERVAL)
            live.update(self._draw(), refresh=True)

    def _draw(self) -> Constrain:
        jobs = self._running()
        finished = self._succeeded + self._failed
        head = Table.grid(padding=(0, 1))
        failed = f" ({self._failed} failed)" if self._failed else ""
        head.add_row(
            ProgressBar(total=max(1, self._total), completed=finished, width=20),
            Text(f"{finished} of {self._total} finished{failed}, {len(jobs)} running"),
        )
        room = max(1, self._console.height - _FREE_LINES)
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        # Identifiers begin alike, so a cut one is useless: a narrow terminal gets fewer columns.
        columns = {title: text_of for title, (width, text_of) in _COLUMNS.items() if self._console.width >= width}
        table.add_column("job", no_wrap=True, overflow="ellipsis")
        for title in columns:
            table.add_column(title, no_wrap=True, min_width=len(title))
        for job in jobs[:room]:
            status = job.status
            table.add_row(Text(self._label(job)), *(Text(text_of(status)) for text_of in columns.values()))
        rest = [Text(f"… and {len(jobs) - room} more", style="dim")] if len(jobs) > room else []
        # The terminal prints ^C in the last line. Without room for it the line breaks, and rich leaves the table.
        return Constrain(Group(head, table, *rest), self._console.width - 3)


def _minutes(seconds: float) -> str:
    minutes, rest = divmod(max(0, round(seconds)), 60)
    return f"{minutes}:{rest:02}"


def _clock_time(moment: datetime | None) -> str:
    return "" if moment is None else moment.astimezone().strftime("%H:%M:%S")


# Columns of the table of jobs, each with the width that a terminal needs to have it.
_COLUMNS: Mapping[str, tuple[int, Callable[[JobStatus], str]]] = {
    "state": (0, lambda status: status.state or status.phase.value),
    "elapsed": (60, lambda status: _minutes(status.elapsed)),
    "polls": (70, lambda status: str(status.polls)),
    "next poll": (80, lambda status: _clock_time(status.next_poll_at)),
    "expected end": (90, lambda status: _clock_time(status.eta)),
}
