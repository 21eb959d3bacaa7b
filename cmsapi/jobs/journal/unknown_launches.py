"""Remember which launches became unknown, for the clients that follow them.

The entry of such a launch is deleted when its caller hears of the doubt. A client that follows the entry finds it gone,
as if the job were finished, and must not launch again as if nothing had happened.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from cmsapi.state.entry import Lease
from cmsapi.state.store import State

# One document has when they were asked for, by key, for so many seconds.
_DOCUMENT = "unknown"
_KEPT_FOR = 86_400.0


class UnknownLaunches:
    """Keep the launches of the last day that became unknown.

    Args:
        state: Where they are kept.
        wall: Tells the time on which processes agree, in seconds since the epoch.
    """

    def __init__(self, state: State, wall: Callable[[], float]) -> None:
        self._state = state
        self._wall = wall
        self._adding = asyncio.Lock()
        # Those that this client has added: the state may lose them.
        self._added: dict[str, float] = {}

    async def add(self, lease: Lease, asked_at: float) -> None:
        """Note that a launch became unknown, before its entry is deleted."""
        async with self._adding:
            self._added[lease.key] = asked_at
            while True:
                found = await self._state.get_document(lease.scope, _DOCUMENT)
                oldest = self._wall() - _KEPT_FOR
                self._added = {key: at for key, at in self._added.items() if at >= oldest} | {lease.key: asked_at}
                changed = {key: at for key, at in _times(found).items() if at >= oldest} | self._added
                if await self._state.compare_and_set(lease.scope, _DOCUMENT, found, changed) == changed:
                    return

    async def has(self, lease: Lease, asked_at: float) -> bool:
        """Tell whether the launch that was asked for at a time became unknown."""
        found = _times(await self._state.get_document(lease.scope, _DOCUMENT)) | self._added
        return found.get(lease.key) == asked_at


def _times(document: Any) -> dict[str, float]:
    """Read the document, and ignore anything else."""
    if not isinstance(document, Mapping):
        return {}
    return {key: at for key, at in document.items() if isinstance(at, int | float) and not isinstance(at, bool)}
