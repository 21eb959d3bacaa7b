"""The calls that a client and its twins have under way, so that closing ends them and waits until they have ended."""

from __future__ import annotations

import asyncio


class UnderWay:
    """Know the calls under way of a client and its twins, so that closing ends them."""

    __slots__ = ("_ended", "_scopes", "closing")

    def __init__(self) -> None:
        self.closing: bool = False
        self._scopes: set[asyncio.Timeout] = set()
        self._ended: asyncio.Event | None = None

    def enter(self, scope: asyncio.Timeout) -> None:
        """Note that a call has begun."""
        self._scopes.add(scope)

    def leave(self, scope: asyncio.Timeout) -> None:
        """Note that a call is over."""
        self._scopes.discard(scope)
        if self._ended is not None and not self._scopes:
            self._ended.set()

    async def end(self) -> None:
        """End all calls, and return when they have told their callers."""
        self.closing = True
        if not self._scopes:
            return
        self._ended = asyncio.Event()
        now = asyncio.get_running_loop().time()
        for scope in self._scopes:
            if not scope.expired():
                scope.reschedule(now)
        await self._ended.wait()
