"""Progress of jobs and fan-outs in a terminal (extra `cli`).

On a terminal there are live bars; elsewhere there are plain lines, at each quarter of a task. Both go to standard
error, so that standard output stays what a program reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


class Step(Protocol):
    """Count what is done of one task."""

    def __call__(self, more: int = 1, /) -> None:
        """Note that so many more are done."""
        ...


class Tracker:
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
    def running(self) -> Iterator[Tracker]:
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
