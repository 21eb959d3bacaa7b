"""Keep the launches that stayed unknown, so that they are looked at again when that is cheap.

Their entries are deleted when their callers hear of the doubt. A service that shows a launch late may show it by then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.state.entry import Entry, Lease
from cmsapi.state.store import State

_DOCUMENT = "doubts"
# An older launch is no answer to one of today.
_KEPT_FOR = 12 * 3600.0
# The newest are kept.
_MOST = 200


class Doubts:
    """Keep the launches of the last hours that stayed unknown, and that their targets may show.

    Args:
        state: Where they are kept.
        wall: Tells the time on which processes agree, in seconds since the epoch.
    """

    def __init__(self, state: State, wall: Callable[[], float]) -> None:
        self._state = state
        self._wall = wall
        self._changing = asyncio.Lock()

    async def add(self, lease: Lease, entry: Entry) -> None:
        """Keep a launch; one whose job has an identifier that only its answer tells is shown by nothing."""
        kind = KINDS.get(entry.kind)
        if kind is not None and not kind.polled_by_id:
            await self._change(lease, attrs.asdict(entry, recurse=False))

    async def take(self, lease: Lease) -> Entry | None:
        """Return the launch of a key, and keep it no more."""
        found = (await self.all(lease.scope)).get(lease.key)
        if found is not None:
            await self._change(lease, None)
        return found

    async def all(self, scope: str) -> dict[str, Entry]:
        """Return them by their keys."""
        document = await self._state.get_document(scope, _DOCUMENT)
        oldest = self._wall() - _KEPT_FOR
        entries = {key: _read(value) for key, value in (document if isinstance(document, Mapping) else {}).items()}
        return {key: entry for key, entry in entries.items() if entry is not None and entry.asked_at >= oldest}

    async def _change(self, lease: Lease, said: Mapping[str, Any] | None) -> None:
        async with self._changing:
            while True:
                stands = await self._state.get_document(lease.scope, _DOCUMENT)
                kept = {key: attrs.asdict(entry, recurse=False) for key, entry in (await self.all(lease.scope)).items()}
                kept.pop(lease.key, None)
                changed = kept if said is None else {**kept, lease.key: dict(said)}
                changed = dict([*changed.items()][-_MOST:])
                if await self._state.compare_and_set(lease.scope, _DOCUMENT, stands, changed) == changed:
                    return


def _read(value: Any) -> Entry | None:
    """Read an entry, and ignore anything else."""
    try:
        return Entry(**value)
    except (TypeError, ValueError):
        return None
