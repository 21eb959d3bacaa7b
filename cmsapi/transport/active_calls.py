"""Know the calls that are under way, so that closing the client ends them all and tells their callers."""

from __future__ import annotations

import asyncio


class ActiveCalls:
    """Keep the scopes of the calls of a client and its `with_options` copies, all of them on one loop."""

    def __init__(self) -> None:
        #: Whether the client is being closed, which ends a call like its deadline does.
        self.closing: bool = False
        self._scopes: set[asyncio.Timeout] = set()
        self._ended: asyncio.Event | None = None

    def __len__(self) -> int:
        return len(self._scopes)

    def enter(self, scope: asyncio.Timeout) -> None:
        """Note that a call has begun in a scope of its own."""
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
        self._ended, now = asyncio.Event(), asyncio.get_running_loop().time()
        for scope in self._scopes:
            # One whose deadline has just come ends by itself.
            if not scope.expired():
                scope.reschedule(now)
        await self._ended.wait()


def being_cancelled() -> bool:
    """Tell whether the current task itself is being cancelled, and not only something that it awaits."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
