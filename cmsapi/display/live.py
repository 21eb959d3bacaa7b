"""Show an object in a notebook, and keep it up to date while other cells run (extra `notebook`)."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

# Seconds between two versions; one is drawn only when something has changed.
_REFRESH = 1.0
# Seconds until the first line for a program, and between two lines at most; in between they double.
_FIRST_LINE, _RAREST_LINE = 10.0, 300.0


class Shown(Protocol):
    """Have a text as HTML; `repr` is the text of a terminal."""

    def _repr_html_(self) -> str: ...


class _LiveOutput:
    """Hold what a cell shows of an object."""

    def __init__(self, thing: Shown) -> None:
        # Only IPython asks for live outputs, so that the import works.
        from IPython.core.getipython import get_ipython
        from IPython.display import display

        self._thing = thing
        self._over = False
        # Whether a version was sent since the end of the last cell.
        self._sent_between = False
        self._shell: Any = get_ipython()
        terminal = sys.modules.get("IPython.terminal.interactiveshell")
        #: Whether the output can be replaced; a terminal would print each version below the last one.
        self.can_change: bool = terminal is None or not isinstance(self._shell, terminal.TerminalInteractiveShell)
        self._shown = self._draw()
        self._handle: Any = display(self._shown, raw=True, display_id=True)  # type: ignore[no-untyped-call]  # untyped

    def _draw(self) -> dict[str, str]:
        # GitHub and other readers of saved notebooks show the HTML, terminals the text.
        pages = {"text/html": self._thing._repr_html_()} if self.can_change else {}
        return {**pages, "text/plain": repr(self._thing)}

    def _send(self, *, anyway: bool = False) -> bool:
        """Draw the object again; send that if it has changed, or anyway; return whether it has changed."""
        now = self._draw()
        changed = now != self._shown
        if changed or anyway:
            self._handle.update(now, raw=True)
        self._shown = now
        return changed

    async def follow(self, is_over: Callable[[], bool]) -> None:
        """Refresh the output until it is over, and at the end of each cell, so that a saved notebook is up to date."""
        # Without a shell there are no cells.
        events = getattr(self._shell, "events", None)
        if events is not None:
            events.register("post_execute", self._end_cell)
        try:
            while not is_over():
                await asyncio.sleep(_REFRESH)
                self._sent_between |= self._send()
        finally:
            self._sent_between |= self._send()
            self._over = True

    def _end_cell(self) -> None:
        # A program that executes notebooks reads what the current cell sends, not what the task of an earlier one does.
        self._send(anyway=self._sent_between)
        self._sent_between = False
        if self._over:
            self._shell.events.unregister("post_execute", self._end_cell)


def show(
    thing: Shown,
    start: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
    is_over: Callable[[], bool] = lambda: False,
) -> asyncio.Task[None] | None:
    """Show an object below the current cell, and return the task that keeps it up to date.

    Args:
        thing: The object.
        start: Starts the task.
        is_over: Returns whether nothing changes any more; the default is never.

    Returns:
        The task; None where the output stays as it is.
    """
    output = _LiveOutput(thing)
    if is_over() or not output.can_change:
        return None
    following = output.follow(is_over)
    try:
        return start(following)
    except RuntimeError:
        # The client is closed, or no loop runs: nothing changes any more.
        following.close()
        return None


def is_run_by_program() -> bool:
    """Tell whether a program without a page runs this notebook, as papermill does: a page would answer `input()`."""
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    parent = getattr(shell, "parent_header", None) or {}
    return parent.get("content", {}).get("allow_stdin") is False


async def print_lines(text: Callable[[], str], over: asyncio.Event) -> None:
    """Print a text until it is over, more rarely the longer that takes; a program shows no live outputs."""
    interval = _FIRST_LINE
    while True:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(interval):
                await over.wait()
                return
        sys.stdout.write(f"{text()}\n")
        interval = min(2 * interval, _RAREST_LINE)
