"""A store in memory, for the clients of one event loop; nothing is kept on disk."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from attrs import evolve

from cmsapi.state.store import ENDED, OPEN, JobStatus, Row


class MemoryStore:
    """Store of launches and batch items in dictionaries, with the event loop's clock; not a `SharedStore`."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}
        self._open: dict[tuple[str, str], str] = {}
        self._times: dict[str, tuple[float, float]] = {}  # inserted, deadline
        self._items: dict[str, dict[str, str]] = defaultdict(dict)
        self._uses: Counter[str] = Counter()  # number of items by launch

    async def insert(self, row: Row, deadline: float, item: tuple[str, str] | None = None) -> Row | None:
        of_item = self._items.get(item[0], {}).get(item[1]) if item else None
        if there := of_item or self._open.get((row.kind, row.target)):
            return self._read(there)
        now = asyncio.get_running_loop().time()
        self._rows[row.id], self._times[row.id] = row, (now, now + deadline)
        self._open[row.kind, row.target] = row.id
        if item:
            await self.add_item(*item, row.id)
        return None

    async def get(self, launch_id: str) -> Row | None:
        return self._read(launch_id) if launch_id in self._rows else None

    async def find(self, kind: str, target: str) -> Row | None:
        there = self._open.get((kind, target))
        return self._read(there) if there else None

    async def rows(self, statuses: Iterable[JobStatus]) -> list[Row]:
        wanted = set(statuses)
        return [self._read(launch_id) for launch_id, row in self._rows.items() if row.status in wanted]

    async def update(self, row: Row, deadline: float | None = None, **changes: Any) -> bool:
        there = self._rows.get(row.id)
        if there is None or (there.status, there.attempt) != (row.status, row.attempt):
            return False
        changed, place = evolve(there, **changes), (there.kind, there.target)
        if changed.status in OPEN and self._open.get(place, row.id) != row.id:
            return False
        self._rows[row.id] = changed
        if deadline is not None:
            self._times[row.id] = (self._times[row.id][0], asyncio.get_running_loop().time() + deadline)
        if changed.status in OPEN:
            self._open[place] = row.id
        elif there.status in OPEN:
            del self._open[place]
        if changes.get("status") in ENDED and not self._uses[row.id]:
            await self.delete(row.id)
        return True

    async def delete(self, *ids: str) -> None:
        for launch_id in ids:
            row = self._rows.pop(launch_id, None)
            if row is not None:
                del self._times[launch_id], self._uses[launch_id]
                if self._open.get((row.kind, row.target)) == launch_id:
                    del self._open[row.kind, row.target]
        for batch in [batch for batch, items in self._items.items() if not set(ids).isdisjoint(items.values())]:
            self._items[batch] = {item: each for item, each in self._items[batch].items() if each not in ids}

    async def add_item(self, batch: str, item: str, launch_id: str) -> None:
        self._uses[self._items[batch].get(item, launch_id)] -= item in self._items[batch]
        self._items[batch][item] = launch_id
        self._uses[launch_id] += 1

    async def items(self, batch: str) -> dict[str, Row]:
        return {item: self._read(launch_id) for item, launch_id in self._items.get(batch, {}).items()}

    async def drop_items(self, batch: str, items: Iterable[str]) -> None:
        dropped = [self._items[batch].pop(item) for item in items if item in self._items[batch]]
        self._uses.subtract(dropped)
        await self.delete(*[each for each in dropped if self._rows[each].status not in OPEN and not self._uses[each]])
        if not self._items[batch]:
            del self._items[batch]

    async def batches(self) -> dict[str, dict[JobStatus, int]]:
        counts: dict[str, dict[JobStatus, int]] = {}
        for batch, items in self._items.items():
            for launch_id in items.values():
                count = counts.setdefault(batch, {})
                count[self._rows[launch_id].status] = count.get(self._rows[launch_id].status, 0) + 1
        return counts

    async def aclose(self) -> None:
        pass

    def _read(self, launch_id: str) -> Row:
        began, deadline = self._times[launch_id]
        now = asyncio.get_running_loop().time()
        return evolve(self._rows[launch_id], age=now - began, remaining=deadline - now)
