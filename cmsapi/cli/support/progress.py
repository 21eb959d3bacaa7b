"""Progress of jobs and fan-outs in a terminal (extra `cli`).

On a terminal there are live bars; elsewhere there are plain lines, at each quarter of a task. Both go to standard
error, so that standard output stays what a program reads.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from typing import Any, Protocol

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

_REFRESH = 0.25
# Lines of the terminal that the table of jobs leaves to everything else.
_OTHER_LINES = 6


class PipeConsole(Console):
    """Tell the caller that a pipe is closed, where rich would end the program."""

    def on_broken_pipe(self) -> None:
        """Raise the error of the pipe again."""
        raise


def stderr_console() -> Console:
    """Return the console for all that is not a result: standard error, with lines as long as they are when piped."""
    return PipeConsole(stderr=True, soft_wrap=True)


class Step(Protocol):
    """Count what is done of one task."""

    def __call__(self, more: int = 1, /) -> None:
        """Note that so many more are done."""
        ...


class ProgressBars:
    """Show the progress of several tasks.

    Args:
        console: Where to.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = console.is_terminal
        self._progress = Progress(
            TextColumn("{task.description:<28}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}"),
            console=console,
            disable=not self._live,
        )

    @contextmanager
    def running(self) -> Iterator[ProgressBars]:
        """Show the bars as long as the block runs."""
        with self._progress:
            yield self

    def task(self, description: str, total: int) -> Step:
        """Begin a task and return what counts it."""
        task = self._progress.add_task(description, total=total, note="")
        if not self._live:
            self._console.print(f"{description} …")
        done = 0

        def step(more: int = 1, /) -> None:
            nonlocal done
            done += more
            self._progress.update(task, completed=done)
            quarter = done * 4 // total > (done - more) * 4 // total
            if not self._live and quarter:
                self._console.print(f"{description}: {done} of {total}")

        return step


class LiveTable:
    """Show jobs as they run: how many are over, and a row for each that is not. Only on a terminal.

    Args:
        console: Where to.
        total: How many jobs there will be.
        running: Gives the jobs that run, in the order of their launches.
        label: Says what a job is for.
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

    def ended(self, error: Exception | None) -> None:
        """Count a job that is over, or an item that was not launched."""
        if error is None:
            self._succeeded += 1
        else:
            self._failed += 1

    @asynccontextmanager
    async def live(self) -> AsyncIterator[None]:
        """Show the table as long as the block runs, and remove it then."""
        if not self._console.is_terminal:
            yield
            return
        # Not with a thread of its own: what jobs say of themselves is for the event loop.
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
            await asyncio.sleep(_REFRESH)
            live.update(self._draw(), refresh=True)

    def _draw(self) -> Constrain:
        jobs = self._running()
        over = self._succeeded + self._failed
        head = Table.grid(padding=(0, 1))
        failed = f", {self._failed} failed" if self._failed else ""
        head.add_row(
            ProgressBar(total=max(1, self._total), completed=over, width=20),
            Text(f"{over} of {self._total} over{failed}, {len(jobs)} running"),
        )
        room = max(1, self._console.height - _OTHER_LINES)
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        # Identifiers begin alike, so that of a cut one nothing is left: rather fewer columns.
        columns = {title: tell for title, (least, tell) in _COLUMNS.items() if self._console.width >= least}
        table.add_column("job", no_wrap=True, overflow="ellipsis")
        for title in columns:
            table.add_column(title, no_wrap=True, min_width=len(title))
        for job in jobs[:room]:
            status = job.status
            table.add_row(Text(self._label(job)), *(Text(tell(status)) for tell in columns.values()))
        rest = [Text(f"… and {len(jobs) - room} more", style="dim")] if len(jobs) > room else []
        # Room for the ^C that a terminal shows, which would break the last line and leave the table behind.
        return Constrain(Group(head, table, *rest), self._console.width - 3)


def _span(seconds: float) -> str:
    minutes, rest = divmod(max(0, round(seconds)), 60)
    return f"{minutes}:{rest:02}"


def _clock(moment: datetime | None) -> str:
    return "" if moment is None else moment.astimezone().strftime("%H:%M:%S")


# What is told of a job, and how wide a terminal must be for it.
_COLUMNS: Mapping[str, tuple[int, Callable[[JobStatus], str]]] = {
    "state": (0, lambda status: status.state or status.phase.value),
    "runs for": (60, lambda status: _span(status.elapsed)),
    "looks": (70, lambda status: str(status.polls)),
    "next look": (80, lambda status: _clock(status.next_poll_at)),
    "over about": (90, lambda status: _clock(status.eta)),
}
