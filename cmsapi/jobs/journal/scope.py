"""Whose journal it is: that of an organisation, so that a rotated key keeps its jobs."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Awaitable, Callable
from typing import TypeAlias
from weakref import WeakValueDictionary

from cmsapi.api.models import User
from cmsapi.state.store import State

ReadUser: TypeAlias = Callable[[], Awaitable[User]]


def scope_of(base_url: str, organization_id: str) -> str:
    """Name the journal of an organisation."""
    return hashlib.blake2b(f"{base_url}\n{organization_id}".encode(), digest_size=16).hexdigest()


class JournalScope:
    """Find out the scope of a journal, once for all clients that share it.

    Args:
        state: Where the journal is kept.
        account: Digest of base URL and key.
        base_url: Where the jobs run.
        shared: Whether other processes may read it.
    """

    def __init__(self, state: State, account: str, base_url: str, *, shared: bool) -> None:
        self._state = state
        self._account = account
        self._base_url = base_url
        self._shared = shared
        # One for each client that opens it, because each waits as long as its own settings say. They go when unused.
        self._opening: WeakValueDictionary[ReadUser | None, asyncio.Lock] = WeakValueDictionary()
        self._name: str | None = None
        #: What digests of settings are salted with.
        self.salt: str = ""

    @property
    def name(self) -> str:
        """The scope, once the journal was opened."""
        if self._name is None:
            raise RuntimeError("the journal was not opened")
        return self._name

    async def open(self, read_user: ReadUser | None) -> str:
        """Find out the scope, and that the state can be written; one request the first time, none in memory.

        Args:
            read_user: Reads whose key it is, with the settings of the client that asks; None takes the key itself.

        Raises:
            StateError: The state cannot be reached, or is another version's; nothing was sent.
        """
        if self._name is None:
            async with self._opening.setdefault(read_user, asyncio.Lock()):
                if self._name is None:
                    self._name = await self._find_out(read_user)
        return self._name

    async def _find_out(self, read_user: ReadUser | None) -> str:
        state, name = self._state, self._account
        if self._shared and read_user is not None:
            # Before the request, so that a state that does not work is found first.
            await state.get_document(name, "salt")
            name = scope_of(self._base_url, (await read_user()).organization.id)
            await state.evict_dead_owners(name)
        self.salt = await state.compare_and_set(name, "salt", None, secrets.token_hex(16))
        return name
