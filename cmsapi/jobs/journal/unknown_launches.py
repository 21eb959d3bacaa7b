"""Remember the launches that became unknown: whether they happened could not be told.

The entry of such a launch is deleted when its caller hears of the doubt. A client that follows the entry finds it gone,
as if the job were finished, and must not launch again as if nothing had happened. The next launch of the same looks
once more whether the service shows it by now.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.state.entry import Entry, Lease
from cmsapi.state.store import State

_DOCUMENT = "unknown"
# Seconds for which they are remembered.
_KEPT_FOR = 86_400.0
# Seconds after which a launch is no answer to one of today.
_STALE_AFTER = 43_200.0
# The newest are remembered.
_MOST = 500


class UnknownLaunches:
    """Keep the launches of the last day that became unknown, in one document.

    One that was found since, or that another launch of the same has followed, has a time of its end.

    Args:
        state: Where they are kept.
        wall: Tells the time on which processes agree, in seconds since the epoch.
    """

    def __init__(self, state: State, wall: Callable[[], float]) -> None:
        self._state = state
        self._wall = wall
        # What this client has written: the state may lose it.
        self._written: dict[str, Entry] = {}

    async def add(self, lease: Lease, entry: Entry) -> None:
        """Remember a launch, before its entry is deleted."""
        await self._write(lease, entry)

    async def of(self, lease: Lease, asked_at: float) -> Entry | None:
        """Return the launch that was asked for at a time, if it became unknown."""
        found = (await self._read(lease.scope)).get(lease.key)
        return found if found is not None and not found.over and found.asked_at == asked_at else None

    async def open(self, scope: str) -> dict[str, Entry]:
        """Return by their keys those that the service may show by now.

        What has an identifier that only the answer to its launch tells is shown by nothing.
        """
        oldest, found = self._wall() - _STALE_AFTER, await self._read(scope)
        recent = {key: entry for key, entry in found.items() if not entry.over and entry.asked_at >= oldest}
        shown = {kind.name for kind in KINDS.values() if not kind.polled_by_id}
        return {key: entry for key, entry in recent.items() if entry.kind in shown}

    async def find(self, lease: Lease) -> Entry | None:
        """Return the launch of a key that the service may show by now."""
        return (await self.open(lease.scope)).get(lease.key)

    async def recent(self, scope: str) -> list[Entry]:
        """Return those of the last day that were neither found nor followed, the oldest first."""
        return [entry for entry in self._newest(await self._read(scope)).values() if not entry.over]

    async def close(self, lease: Lease) -> None:
        """Note that the launch of a key was found, or that another one has followed it."""
        if (found := (await self._read(lease.scope)).get(lease.key)) is not None:
            await self._write(lease, attrs.evolve(found, ended_at=self._wall()))

    async def _read(self, scope: str) -> dict[str, Entry]:
        document = await self._state.get_document(scope, _DOCUMENT)
        return self._written | _entries(document)

    async def _write(self, lease: Lease, entry: Entry) -> None:
        while True:
            stands = await self._state.get_document(lease.scope, _DOCUMENT)
            kept = self._newest(self._written | _entries(stands)) | {lease.key: entry}
            self._written = self._newest(self._written) | {lease.key: entry}
            changed = {key: attrs.asdict(each, recurse=False) for key, each in kept.items()}
            if await self._state.compare_and_set(lease.scope, _DOCUMENT, stands, changed) == changed:
                return

    def _newest(self, entries: Mapping[str, Entry]) -> dict[str, Entry]:
        """Return those that are remembered, the oldest first."""
        oldest = self._wall() - _KEPT_FOR
        kept = sorted((entry.asked_at, key) for key, entry in entries.items() if entry.asked_at >= oldest)
        return {key: entries[key] for _, key in kept[-_MOST:]}


def _entries(document: Any) -> dict[str, Entry]:
    """Read the document, and ignore anything else."""
    found = {}
    for key, said in document.items() if isinstance(document, Mapping) else ():
        try:
            found[key] = Entry(**said)
        except (TypeError, ValueError):
            continue
    return found
