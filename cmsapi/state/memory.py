"""Share a state within one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from typing import ClassVar

import attrs

from cmsapi.state.entry import Entry, Lease
from cmsapi.state.process import Owner
from cmsapi.state.store import Action, Change, Standing, State, T


@attrs.define
class Row:
    """Hold an open entry, and the lease under which it is held."""

    entry: Entry
    lease: str | None


class MemoryState(State):
    """Share a state within one event loop; it is gone with the process.

    All leases are those of this process, which is alive: an entry stays held until it is released.
    """

    shared: ClassVar[bool] = False

    def __init__(self) -> None:
        # Each thing by its scope and its name.
        self.rows: dict[tuple[str, str], Row] = {}
        self.ended: dict[tuple[str, str | None, str | None], Entry] = {}
        self.documents: dict[tuple[str, str], str] = {}
        self.limits: dict[str, str] = {}

    async def change(
        self, lease: Lease, expected: Standing, action: Action, entry: Entry | None = None
    ) -> tuple[Standing, Entry | None]:
        """Change an entry if it stands as it must."""
        scope, key = lease.scope, (lease.scope, lease.key)
        row = self.rows.get(key)
        if row is None:
            found = None if entry is None else self.ended.get((scope, entry.batch, entry.item))
            stood = Standing.ABSENT if found is None else Standing.ENDED
        elif row.lease is None:
            found, stood = row.entry, Standing.FREE
        else:
            found, stood = row.entry, Standing.MINE if row.lease == lease.id else Standing.HELD
        if stood is expected:
            written = entry if entry is not None else found
            if action is Action.END:
                self.rows.pop(key, None)
                if entry is not None and entry.batch is not None:
                    self.ended[scope, entry.batch, entry.item] = entry
            elif written is not None:
                self.rows[key] = Row(written, lease.id if action is Action.HOLD else None)
        return stood, found

    async def entries(self, scope: str) -> dict[str, Entry]:
        """Return all open entries by key."""
        return {key: row.entry for (of, key), row in self.rows.items() if of == scope}

    async def heartbeat(self, scope: str) -> Sequence[Owner]:
        """Return nothing: there are no other owners."""
        return ()

    async def others(self, scope: str) -> Sequence[Owner]:
        """Return nothing: there are no other owners."""
        return ()

    async def evict(self, scope: str, owner: Owner) -> None:
        """Do nothing: there are no other owners."""

    async def outcomes(self, scope: str, *, batch: str | None = None, since: float = 0.0) -> list[Entry]:
        """Return how the items of a batch, or of all batches, ended."""
        return [
            entry
            for (of, name, _), entry in self.ended.items()
            if of == scope and batch in (None, name) and entry.asked_at >= since
        ]

    async def forget(self, scope: str, batch: str, items: Collection[str]) -> None:
        """Forget how some items ended."""
        for item in items:
            self.ended.pop((scope, batch, item), None)

    async def get_text(self, scope: str, name: str) -> str | None:
        """Return the text of a document."""
        return self.documents.get((scope, name))

    async def replace_text(self, scope: str, name: str, old: str | None, new: str | None) -> str | None:
        """Put a text in the place of the old one if that stands."""
        if self.documents.get((scope, name)) == old:
            self.documents.pop((scope, name), None)
            if new is not None:
                self.documents[scope, name] = new
        return self.documents.get((scope, name))

    async def update_limits(self, account: str, change: Change[T]) -> T:
        """Put a new document in the place of an account's old one."""
        self.limits[account], result = change(self.limits.get(account), asyncio.get_running_loop().time())
        return result

    async def aclose(self) -> None:
        """Do nothing: a client releases its entries, and the loop may go on."""
