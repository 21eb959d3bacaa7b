"""The state of one process. It ends with it."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from attrs import evolve

from cmsapi.state.store import JobStatus, Row


class MemoryStore:
    """Launches in dictionaries; the clock is the event loop's, and the limits are those of this process anyway."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}
        self._open: dict[tuple[str, str], str] = {}
        self._times: dict[str, tuple[float, float]] = {}  # inserted, deadline
        self._items: dict[str, dict[str, str]] = defaultdict(dict)
        self._uses: Counter[str] = Counter()  # items of a launch

    async def insert(self, row: Row, deadline: float, item: tuple[str, str] | None = None) -> Row | None:
        """Insert a launch and its item; return the open launch in its way, if any."""
        if there := self._open.get((row.kind, row.target)):
            return self._read(there)
        now = asyncio.get_running_loop().time()
        self._rows[row.id], self._times[row.id] = row, (now, now + deadline)
        self._open[row.kind, row.target] = row.id
        if item:
            await self.add_item(*item, row.id)
        return None

    async def get(self, launch_id: str) -> Row | None:
        """Return a launch."""
        return self._read(launch_id) if launch_id in self._rows else None

    async def find(self, kind: str, target: str) -> Row | None:
        """Return the open launch for a target."""
        there = self._open.get((kind, target))
        return self._read(there) if there else None

    async def rows(self, statuses: Iterable[JobStatus]) -> list[Row]:
        """Return all launches with some statuses, the oldest first."""
        wanted = set(statuses)
        return [self._read(launch_id) for launch_id, row in self._rows.items() if row.status in wanted]

    async def update(self, row: Row, deadline: float | None = None, **changes: Any) -> bool:
        """Change a launch, and return True, if it still has the status and attempt of ``row``."""
        there = self._rows.get(row.id)
        if there is None or (there.status, there.attempt) != (row.status, row.attempt):
            return False
        changed, place = evolve(there, **changes), (there.kind, there.target)
        if changed.open and self._open.get(place, row.id) != row.id:
            return False
        self._rows[row.id] = changed
        if deadline is not None:
            self._times[row.id] = (self._times[row.id][0], asyncio.get_running_loop().time() + deadline)
        if changed.open:
            self._open[place] = row.id
        elif there.open:
            del self._open[place]
        return True

    async def finish(self, row: Row, **changes: Any) -> bool:
        """Change a launch that is over as `update` does, and delete it if no item of a batch needs it."""
        changed = await self.update(row, **changes)
        if changed and not self._uses[row.id]:
            await self.delete(row.id)
        return changed

    async def delete(self, *ids: str) -> None:
        """Delete launches with their items."""
        for launch_id in ids:
            row = self._rows.pop(launch_id, None)
            if row is not None:
                del self._times[launch_id], self._uses[launch_id]
                if self._open.get((row.kind, row.target)) == launch_id:
                    del self._open[row.kind, row.target]
        for batch in [batch for batch, items in self._items.items() if not set(ids).isdisjoint(items.values())]:
            self._items[batch] = {item: each for item, each in self._items[batch].items() if each not in ids}

    async def add_item(self, batch: str, item: str, launch_id: str) -> None:
        """Add an item of a batch for a launch that is there already."""
        self._uses.subtract([launch for name, launch in self._items[batch].items() if name == item])
        self._items[batch][item] = launch_id
        self._uses[launch_id] += 1

    async def items(self, batch: str) -> dict[str, Row]:
        """Return the launches of a batch by item."""
        return {item: self._read(launch_id) for item, launch_id in self._items.get(batch, {}).items()}

    async def drop_items(self, batch: str, items: Iterable[str]) -> None:
        """Delete items of a batch, and their launches where no other item needs them and they are over."""
        dropped = [self._items[batch].pop(item) for item in items if item in self._items[batch]]
        self._uses.subtract(dropped)
        await self.delete(*[each for each in dropped if not self._rows[each].open and not self._uses[each]])
        if not self._items[batch]:
            del self._items[batch]

    async def batches(self) -> dict[str, dict[JobStatus, int]]:
        """Return the number of items by batch and status."""
        counts: dict[str, dict[JobStatus, int]] = {}
        for batch, items in self._items.items():
            for launch_id in items.values():
                count = counts.setdefault(batch, {})
                count[self._rows[launch_id].status] = count.get(self._rows[launch_id].status, 0) + 1
        return counts

    async def durations(self) -> dict[str, str]:
        """Return nothing: the schedule of this process knows what it has learned."""
        return {}

    async def save_durations(self, kind: str, learned: str) -> None:
        """Do nothing, for the same reason."""

    async def aclose(self) -> None:
        """Do nothing."""

    def _read(self, launch_id: str) -> Row:
        began, deadline = self._times[launch_id]
        now = asyncio.get_running_loop().time()
        return evolve(self._rows[launch_id], age=now - began, remaining=deadline - now)
