"""What processes must agree on, as two protocols: a store for launches and a store for limits.

A state is both. It is shared by the processes that are given the same URL, and holds five things:

- the *journal* of launches that are open, one entry for a key, each held under a lease;
- the *owners*: the processes that use it, each alive until its last word is `LEASE_TTL` seconds old;
- the *outcomes* of the items of batches, so that a rerun launches only what is missing;
- small *documents* by name: learned durations, observed habits of the service, the salt of the digests;
- one document for the request limits of each account, whose meaning the state does not know.

Every operation is atomic, also against other processes, and may be repeated: a second time it finds what the first one
did. A cancelled operation may have taken effect. A scope names whose journal, owners, outcomes and documents these are:
base URL and organisation, so that a rotated key keeps its jobs. An account is the digest of base URL and key.

Writing, claiming and `heartbeat` say that this process lives. An entry may be claimed when it is not held, when its
owner has not been heard of for `LEASE_TTL` seconds, or when its owner was evicted because the process is gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from cmsapi.state.journal import Entry, Lease
from cmsapi.state.process import Owner

# A process that was not heard of for so many seconds loses its leases to the next process that asks for them.
LEASE_TTL = 30.0


T = TypeVar("T")
#: Makes a new document of the old one, or of None where there is none, and of the store's time in seconds; and returns
#: what its caller wants to know besides.
Change: TypeAlias = Callable[[str | None, float], tuple[str, T]]


class JournalStore(Protocol):
    """Share launches, their owners and outcomes, and small documents.

    Every method raises `StateError` when the state cannot be reached, read or written.
    """

    # The journal

    async def begin(self, lease: Lease, entry: Entry) -> Entry | None:
        """Write an entry and hold it, unless something stands in the way; it is flushed before this returns.

        Returns:
            None when the entry is written and held under this lease. Otherwise what stands in the way: the open entry
            of the same key, or, once that is over, the outcome of the same item of the same batch.
        """
        ...

    async def keep(self, lease: Lease) -> None:
        """Make sure that the entry is still held under this lease, and will be for another `LEASE_TTL` seconds.

        Raises:
            LeaseLostError: Another process has taken over, or the entry has ended.
        """
        ...

    async def update(self, lease: Lease, entry: Entry) -> None:
        """Write the entry anew; it is flushed before this returns.

        Raises:
            LeaseLostError: Another process has taken over, or the entry has ended; nothing was written.
        """
        ...

    async def end(self, lease: Lease, outcome: Entry | None = None) -> None:
        """Delete the entry, and keep the outcome of its item if it has one; both are flushed, or neither.

        Deleting an entry that is deleted already changes nothing.

        Args:
            lease: Under which it is held.
            outcome: How it ended, with `batch`, `item` and `ended_at`; None to keep nothing.

        Raises:
            LeaseLostError: Another process has taken over; nothing was written.
        """
        ...

    async def release(self, lease: Lease) -> None:
        """Let others claim the entry; one that is not held under this lease is left alone."""
        ...

    async def claim(self, lease: Lease) -> Entry | None:
        """Hold an open entry under this lease, unless a live process holds it.

        Returns:
            The entry, or None when a live process holds it or there is none.
        """
        ...

    async def entries(self, scope: str) -> dict[str, Entry]:
        """Return all open entries by key."""
        ...

    # The owners

    async def heartbeat(self, scope: str) -> Sequence[Owner]:
        """Say that this process lives, and return the others that are alive as far as the state knows."""
        ...

    async def evict(self, scope: str, owner: Owner) -> None:
        """Let others claim what an owner holds: its process is gone."""
        ...

    # The outcomes of batches

    async def outcomes(self, scope: str, batch: str) -> dict[str, Entry]:
        """Return how the items of a batch ended, by item."""
        ...

    async def recent_outcomes(self, scope: str, since: float) -> list[Entry]:
        """Return how the items of all batches ended that were asked for after a time; it may read all outcomes."""
        ...

    async def forget(self, scope: str, batch: str, items: Collection[str]) -> None:
        """Forget how some items ended, so that they may be launched again."""
        ...

    # Small documents

    async def get_document(self, scope: str, name: str) -> Any:
        """Return a document, or None when there is none."""
        ...

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
        ...


class LimitStore(Protocol):
    """Share one document for each account."""

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
        ...


class State(JournalStore, LimitStore, Protocol):
    """Share what processes must agree on."""

    async def aclose(self) -> None:
        """Let others claim what this process holds, and let go of files and connections. May be called twice."""
        ...


async def evict_dead_owners(state: State, scope: str) -> bool:
    """Say that this process lives, and evict the owners whose processes are gone from this machine.

    Called on opening, three times in `LEASE_TTL` as long as something is held, and while this process waits for an
    entry that another process holds.

    Returns:
        Whether there was one to evict.
    """
    others = await state.heartbeat(scope)
    dead = await asyncio.to_thread(_dead, others)
    for owner in dead:
        await state.evict(scope, owner)
    return bool(dead)


def _dead(owners: Sequence[Owner]) -> list[Owner]:
    return [owner for owner in owners if owner.dead]
