"""Show the progress of jobs and tasks in a terminal (extra `cli`).

A terminal gets a live bar for each task, one line of totals and a row for each running job. A pipe gets a plain line
now and then, more rarely the longer it takes. Both go to standard error, so that standard output holds only results
for programs.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol

import attrs

from cmsapi.cli.terminal.totals import counts, elapsed, fitting, headline, totals
from cmsapi.extras import needs
from cmsapi.jobs.fanout.drawing import cells
from cmsapi.jobs.fanout.progress import ItemState, ItemStatus, Progress

with needs("cli"):
    from rich import box
    from rich.console import Console, Group, RenderableType
    from rich.constrain import Constrain
    from rich.live import Live
    from rich.table import Table
    from rich.text import Text

_REFRESH_INTERVAL = 0.25
# Until which second of a run lines follow each other in a pipe, and after how many seconds: 25 lines for an hour. They
# come without news, too: build servers end silent programs, and people take them for dead.
_LINE_INTERVALS = ((60.0, 10.0), (600.0, 60.0), (math.inf, 300.0))
# Lines of the terminal that stay free, and those of the table around its rows.
_FREE_LINES, _TABLE_LINES = 2, 4
# The width that a terminal needs to show a column. The columns of a row that is named by its identifier fit into 50.
_WIDTHS: Mapping[str, int] = {
    "name": 0,
    "state": 0,
    "elapsed": 66,
    "expected end": 80,
    "next poll": 95,
    "id": 127,
    "polls": 137,
}
# A narrower terminal gets the state without the word of the service.
_WIDTH_OF_WORD = 60
# The usual widths of an identifier, and of a state with such a word.
_NAME, _STATE = 30, 17
# Colours of the terminal's own palette, which show on a light and on a dark background.
_STYLES: Mapping[ItemState, str] = {
    ItemState.WAITING: "dim",
    ItemState.LAUNCHING: "dim",
    ItemState.REVIEW: "magenta",
    ItemState.FINISHED: "green",
    ItemState.FAILED: "red",
}


class PipeConsole(Console):
    """Raise an error when a pipe is closed; rich would end the program."""

    def on_broken_pipe(self) -> None:
        """Raise the error of the pipe again."""
        raise


def stderr_console() -> Console:
    """Return the console for everything but results: standard error, with unbroken lines in a pipe."""
    return PipeConsole(stderr=True, soft_wrap=True)


class Task(Protocol):
    """Anything that has a progress: a fan-out, a batch's run, several jobs, or an item count."""

    @property
    def progress(self) -> Progress:
        """How far it is."""
        ...

    def rows(self, limit: int) -> Sequence[ItemStatus]:
        """Return at most `limit` of its items, in the order of their states."""
        ...


@attrs.define
class ItemCount:
    """Count what a task without jobs has done.

    Args:
        total: The number of items to do.
        done: The number of items that are done.
    """

    total: int
    done: int = 0

    @property
    def progress(self) -> Progress:
        """How far it is."""
        return Progress(finished=self.done, waiting=self.total - self.done, total=self.total)

    def rows(self, limit: int) -> Sequence[ItemStatus]:
        """Return nothing: only jobs have rows."""
        return ()


class LiveProgress:
    """Show tasks while they run.

    Args:
        console: The console to print to.
        hindrance: Says what all tasks wait for at present, in a few words; empty for nothing.
    """

    def __init__(self, console: Console, *, hindrance: Callable[[], str] = str) -> None:
        self._console = console
        self._hindrance = hindrance
        self._tasks: dict[str, Task] = {}
        self._began = 0.0
        # The last line of each task in a pipe.
        self._printed: dict[str, str] = {}

    def add(self, title: str, task: Task) -> None:
        """Show one more task.

        Args:
            title: Its title, empty if it is the only task.
            task: The task.
        """
        self._tasks[title] = task

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Show the tasks while the block runs; print the totals of jobs at its end."""
        self._began = _now()
        if self._console.is_terminal:
            # Only the event loop may read the status of jobs, so rich must not refresh from its own thread.
            with Live(self._draw(), console=self._console, auto_refresh=False, transient=True) as live:
                async with _meanwhile(self._refresh(live)):
                    yield
        else:
            async with _meanwhile(self._print_now_and_then()):
                yield
        # A short run without jobs is not worth a line.
        if self._printed or any(task.progress.requests for task in self._tasks.values()):
            self._print_lines()

    # Lines

    async def _print_now_and_then(self) -> None:
        while True:
            passed = _now() - self._began
            await asyncio.sleep(next(every for until, every in _LINE_INTERVALS if passed < until))
            self._print_lines()

    def _print_lines(self) -> None:
        for title, task in self._tasks.items():
            progress = task.progress
            if progress.total == 0:
                continue
            hindrance = "" if progress.done else self._hindrance()
            line = ", ".join(filter(None, [headline(progress), hindrance]))
            # The end of a task is told once.
            if not (progress.done and line == self._printed.get(title)):
                self._printed[title] = line
                self._print_line(f"{title}: {line}" if title else line)

    def _print_line(self, line: str) -> None:
        # If standard error cannot be written, the command continues without the line.
        with contextlib.suppress(OSError):
            self._console.print(f"{elapsed(_now() - self._began)}  {line}", markup=False, highlight=False)

    # In a terminal

    async def _refresh(self, live: Live) -> None:
        while True:
            await asyncio.sleep(_REFRESH_INTERVAL)
            live.update(self._draw(), refresh=True)

    def _draw(self) -> Constrain:
        # The terminal prints ^C in the last line. Without room for it the line breaks, and rich leaves the table.
        width = max(20, self._console.width - 3)
        progresses = {title: task.progress for title, task in self._tasks.items()}
        parts: list[RenderableType] = [_bars(progresses, width, self._console)]
        hindrance = self._hindrance()
        facts = [totals(list(progresses.values()), _now() - self._began, width), hindrance[:1].upper() + hindrance[1:]]
        lines = [Text(fact, no_wrap=True, overflow="ellipsis") for fact in facts if fact]
        room = self._console.height - len(progresses) - len(lines) - _FREE_LINES - _TABLE_LINES
        parts += [*lines, *(self._rows(progresses, room) if room > 0 else [])]
        return Constrain(Group(*parts), width)

    def _rows(self, progresses: Mapping[str, Progress], room: int) -> list[RenderableType]:
        unfinished = [self._tasks[title] for title, progress in progresses.items() if not progress.done]
        share = room // max(1, sum(progress.running > 0 for progress in progresses.values()))
        rows = [row for task in unfinished for row in task.rows(share)][:room]
        if not rows:
            return []
        running = sum(progress.running for progress in progresses.values())
        hidden = running - sum(row.state in (ItemState.RUNNING, ItemState.REVIEW) for row in rows)
        more = [Text(f"… and {hidden} more running", style="dim")] if hidden > 0 else []
        return [self._table(rows), *more]

    def _table(self, rows: Sequence[ItemStatus]) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        columns = [title for title, width in _WIDTHS.items() if self._console.width >= width]
        with_word = self._console.width >= _WIDTH_OF_WORD
        # Columns keep their places while names become known and states change.
        widths = {"name": _NAME if with_word else None, "state": _STATE if with_word else None}
        for title in columns:
            table.add_column(title, no_wrap=True, overflow="ellipsis", min_width=widths.get(title, len(title)))
        for row in rows:
            texts = {**cells(row)}
            if not with_word:
                texts["state"] = row.state.value
            style = _STYLES.get(row.state, "")
            table.add_row(*(Text(texts[title], style=style if title == "state" else "") for title in columns))
        return table


def _bars(progresses: Mapping[str, Progress], width: int, console: Console) -> Table:
    grid = Table.grid(padding=(0, 1))
    titles = max(map(len, progresses), default=0)
    bar = 20 if width >= 60 else 5
    room = width - bar - 1 - (titles + 1 if titles else 0)
    for title, progress in progresses.items():
        total = progress.finished + progress.running + progress.waiting if progress.total is None else progress.total
        line = Text(fitting(counts(progress), room), no_wrap=True, overflow="ellipsis")
        shown = _bar(progress.finished, max(1, total), bar, console)
        grid.add_row(*([title] if titles else []), shown, line)
    return grid


def _bar(completed: int, total: int, width: int, console: Console) -> Text:
    # What is left has a sign of its own, because a terminal may have no colours. These are of its own palette.
    full, empty = ("━", "╌") if console.encoding.startswith("utf") else ("=", "-")
    done = width * min(completed, total) // total
    return Text(full * done, "green" if completed >= total else "cyan").append(empty * (width - done), "bright_black")


def _now() -> float:
    return asyncio.get_running_loop().time()


@asynccontextmanager
async def _meanwhile(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run a coroutine while the block runs."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
