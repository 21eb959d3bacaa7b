"""Show HTML in a notebook, and keep it up to date while other cells run (extra `notebook`)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

# Seconds between two versions; one is drawn only when something has changed.
_REFRESH = 1.0


class LiveHtml:
    """Show HTML below the current cell.

    Args:
        render: Returns the HTML as it is now.
    """

    def __init__(self, render: Callable[[], str]) -> None:
        # Only IPython asks for live HTML, so that the import works.
        from IPython.display import HTML, display

        self._render = render
        self._html: Any = HTML
        self._shown = render()
        self._handle: Any = display(HTML(self._shown), display_id=True)  # type: ignore[no-untyped-call]  # IPython has no types

    async def follow(self, is_over: Callable[[], bool] = lambda: False) -> None:
        """Update the HTML until it is over.

        Args:
            is_over: Returns whether nothing changes any more; the default is never.
        """
        over = False
        while not over:
            await asyncio.sleep(_REFRESH)
            over, now = is_over(), self._render()
            if now != self._shown:
                self._handle.update(self._html(now))
            self._shown = now
