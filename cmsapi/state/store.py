"""The state that processes share: in memory, in a file, in a Postgres database or on a Redis server.

A state is shared by the processes that are given the same URL, and holds five things:

- the *journal* of launches that are open, one entry for a key, each held under a lease;
- the *owners*: the processes that use it, each alive until its last heartbeat is `LEASE_TTL` seconds old;
- the *outcomes* of the items of batches, so that a rerun launches only what is missing;
- small *documents* by name: learned durations, observed habits of the service, the salt of the digests;
- one document for the request limits of each account, whose meaning the state does not know.

Every operation is atomic, also against other processes, and may be repeated: a second time it finds what the first one
did. A cancelled operation may have taken effect. A scope names whose journal, owners, outcomes and documents these are:
base URL and organisation, so that a rotated key keeps its jobs. An account is the digest of base URL and key.

Each operation on an entry is a heartbeat of this process, too. An entry may be claimed when it is not held, when its
owner has sent no heartbeat for `LEASE_TTL` seconds, or when its owner was evicted because the process is gone.
"""

from __future__ import annotations

import abc
import asyncio
from collections.abc import Callable, Collection, Sequence
from enum import StrEnum
from typing import Any, ClassVar, TypeAlias, TypeVar

from cmsapi.errors import LeaseLostError
from cmsapi.state.entry import Entry, Lease
from cmsapi.state.process import Owner
from cmsapi.state.text import read_text, write_text

# Seconds without a heartbeat after which a process loses its leases to the next process that asks for them.
LEASE_TTL = 30.0


T = TypeVar("T")
#: Makes a new document of the old one, or of None where there is none, and of the store's time in seconds; and returns
#: what its caller wants to know besides.
Change: TypeAlias = Callable[[str | None, float], tuple[str, T]]


class Standing(StrEnum):
    """Say how an entry stands to a lease."""

    ABSENT = "absent"
    #: There is no entry, but its item of its batch has an outcome.
    ENDED = "ended"
    #: The entry is held under this lease.
    MINE = "mine"
    #: The entry is not held, or by a process that is not alive.
    FREE = "free"
    #: The entry is held under another lease.
    HELD = "held"


class Action(StrEnum):
    """Say what to do with an entry."""

    HOLD = "hold"
    RELEASE = "release"
    END = "end"


class State(abc.ABC):
    """Share launches, their owners and outcomes, small documents, and the limits.

    Every method raises `StateError` when the state cannot be reached, read or written.
    """

    #: Whether other processes may use the state too.
    shared: ClassVar[bool] = True

    # The journal

    async def begin(self, lease: Lease, entry: Entry) -> Entry | None:
        """Write an entry and hold it, unless something stands in the way; it is flushed before this returns.

        Returns:
            None when the entry is written and held under this lease. Otherwise what stands in the way: the open entry
            of the same key, or, once that is over, the outcome of the same item of the same batch.
        """
        stood, found = await self.change(lease, Standing.ABSENT, Action.HOLD, entry)
        return found if stood not in (Standing.ABSENT, Standing.MINE) else None

    async def claim(self, lease: Lease) -> Entry | None:
        """Hold an open entry under this lease, unless a live process holds it.

        Returns:
            The entry, or None when a live process holds it or there is none.
        """
        stood, found = await self.change(lease, Standing.FREE, Action.HOLD)
        return found if stood in (Standing.FREE, Standing.MINE) else None

    async def keep(self, lease: Lease) -> None:
        """Make sure that the entry is still held under this lease, and will be for another `LEASE_TTL` seconds.

        Raises:
            LeaseLostError: Another process has taken over, or the entry has ended.
        """
        if (await self.change(lease, Standing.MINE, Action.HOLD))[0] is not Standing.MINE:
            raise _lost(lease)

    async def update(self, lease: Lease, entry: Entry) -> None:
        """Write the entry anew; it is flushed before this returns.

        Raises:
            LeaseLostError: Another process has taken over, or the entry has ended; nothing was written.
        """
        if (await self.change(lease, Standing.MINE, Action.HOLD, entry))[0] is not Standing.MINE:
            raise _lost(lease)

    async def release(self, lease: Lease) -> None:
        """Let others claim the entry; one that is not held under this lease is left alone."""
        await self.change(lease, Standing.MINE, Action.RELEASE)

    async def end(self, lease: Lease, outcome: Entry | None = None) -> bool:
        """Delete the entry, and keep the outcome of its item if it has one; both are flushed, or neither.

        Deleting an entry that is deleted already changes nothing.

        Args:
            lease: Under which it is held.
            outcome: How it ended, with `batch`, `item` and `ended_at`; None to keep nothing.

        Returns:
            Whether the state had lost the entry: there was neither that nor an outcome, which is kept all the same.

        Raises:
            LeaseLostError: Another process has taken over; nothing was written.
        """
        stood, _ = await self.change(lease, Standing.MINE, Action.END, outcome)
        if stood in (Standing.FREE, Standing.HELD):
            raise _lost(lease)
        lost = stood is Standing.ABSENT and outcome is not None
        if outcome is not None and lost:
            await self.note(lease, outcome)
        return lost

    async def note(self, lease: Lease, outcome: Entry) -> None:
        """Keep the outcome of an item that has no entry, unless it has one; it is flushed before this returns."""
        await self.change(lease, Standing.ABSENT, Action.END, outcome)

    async def note_anew(self, lease: Lease, outcome: Entry) -> None:
        """Keep an outcome in the place of the one that the item has; it is flushed before this returns."""
        await self.change(lease, Standing.ENDED, Action.END, outcome)

    @abc.abstractmethod
    async def change(
        self, lease: Lease, expected: Standing, action: Action, entry: Entry | None = None
    ) -> tuple[Standing, Entry | None]:
        """Change an entry if it stands as it must, and send a heartbeat; all of it at once.

        Args:
            lease: Names the entry, and under what it is or will be held.
            expected: How the entry must stand; otherwise nothing is done.
            action: What to do.
            entry: What to write instead of the entry, or as the outcome when the entry ends; None to write nothing.
                It is flushed before this returns, and so is an end.

        Returns:
            How the entry stood, and what was found: the entry, or the outcome of the item of `entry`, or None. A
            caller that must hold the entry already knows it: what was found is not read for it.
        """

    @abc.abstractmethod
    async def entries(self, scope: str) -> dict[str, Entry]:
        """Return all open entries by key."""

    # The owners

    @abc.abstractmethod
    async def heartbeat(self, scope: str) -> Sequence[Owner]:
        """Send a heartbeat, and return the other processes that are alive as far as the state knows."""

    @abc.abstractmethod
    async def others(self, scope: str) -> Sequence[Owner]:
        """Return the other processes that are alive as far as the state knows, without a heartbeat of this one."""

    @abc.abstractmethod
    async def evict(self, scope: str, owner: Owner) -> None:
        """Let others claim what an owner holds: its process is gone."""

    async def evict_dead_owners(self, scope: str) -> bool:
        """Send a heartbeat, and evict the owners whose processes are gone from this machine.

        Returns:
            Whether there was one to evict.
        """
        others = await self.heartbeat(scope)
        dead = await asyncio.to_thread(lambda: [owner for owner in others if owner.dead])
        for owner in dead:
            await self.evict(scope, owner)
        return bool(dead)

    # The outcomes of batches

    @abc.abstractmethod
    async def outcomes(self, scope: str, *, batch: str | None = None, since: float = 0.0) -> list[Entry]:
        """Return how the items of a batch, or of all batches, ended.

        Args:
            scope: Whose outcomes.
            batch: Which batch; None for all of them, which may read all outcomes.
            since: Leave out what was asked for before this time.
        """

    @abc.abstractmethod
    async def forget(self, scope: str, batch: str, items: Collection[str]) -> None:
        """Forget how some items ended, so that they may be launched again."""

    # Small documents

    async def get_document(self, scope: str, name: str) -> Any:
        """Return a document, or None when there is none."""
        text = await self.get_text(scope, name)
        return None if text is None else read_text(text)

    async def compare_and_set(self, scope: str, name: str, old: Any, new: Any) -> Any:
        """Put a document in the place of another one, unless another process was faster.

        Args:
            scope: Whose document.
            name: Which one.
            old: What was read; None for nothing, so that the first writer wins.
            new: What to write, a JSON value; None for nothing.

        Returns:
            The document that stands: `new`, or what another process has written.
        """
        before, after = (None if value is None else write_text(value) for value in (old, new))
        stands = await self.replace_text(scope, name, before, after)
        if stands not in (None, after) and old is not None and read_text(stands) == old:
            # Another writer of JSON has spelled the same value in another way.
            stands = await self.replace_text(scope, name, stands, after)
        return None if stands is None else read_text(stands)

    @abc.abstractmethod
    async def get_text(self, scope: str, name: str) -> str | None:
        """Return the text of a document."""

    @abc.abstractmethod
    async def replace_text(self, scope: str, name: str, old: str | None, new: str | None) -> str | None:
        """Put a text, or None for none, in the place of the old one if that stands; return the text that stands."""

    # The limits

    @abc.abstractmethod
    async def update_limits(self, account: str, change: Change[T]) -> T:
        """Put a new document in the place of an account's old one, in one step.

        Args:
            account: Whose document: a digest of base URL and key.
            change: Makes the new document. It may be called several times, and on another thread.

        Returns:
            What `change` returned besides the document that was written.

        Raises:
            StateError: The state cannot be reached or written, or too many others change the document.
        """

    @abc.abstractmethod
    async def aclose(self) -> None:
        """Let others claim what this process holds, and let go of files and connections. May be called twice."""


def _lost(lease: Lease) -> LeaseLostError:
    return LeaseLostError(
        f"{lease.key} is no longer held by this process: its heartbeat came too late, and another process has "
        "taken over, or has ended it. Nothing was written; what this process has sent may have taken effect."
    )
