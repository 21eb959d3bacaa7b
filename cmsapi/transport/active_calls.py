"""The calls that a client and its twins have under way: each ends with its time, and all when the client closes.

`asyncio.timeout` sets a timer for each request, which costs as much as a fifth of the request itself, and next to none
of them ever rings. Here one timer serves all scopes. It is set for the earliest end there was when it was set; when it
rings, it ends whose time is over and is set for the earliest end there is then, as a rule half a minute later.
"""

from __future__ import annotations

import asyncio
import functools
import math
from types import TracebackType
from typing import Any, cast


class Scope:
    """End what a task does inside when its time is over; a context manager that does what `asyncio.timeout` does.

    Args:
        active_calls: Keeps the time.
        seconds: How long it may take, None for ever.
    """

    __slots__ = ("_active_calls", "_cancelling", "_task", "ends_at", "expired")

    def __init__(self, active_calls: ActiveCalls, seconds: float | None) -> None:
        self._active_calls = active_calls
        #: Loop time of its end, infinity without one.
        self.ends_at: float = math.inf if seconds is None else active_calls.loop.time() + seconds
        #: Whether its time was over before it was left.
        self.expired: bool = False

    def __enter__(self) -> None:
        # Asking for the running loop is a system call before Python 3.12.
        self._task = cast("asyncio.Task[Any]", asyncio.current_task(self._active_calls.loop))
        self._cancelling = self._task.cancelling()
        self._active_calls._watch(self)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._active_calls._scopes.discard(self)
        if self.expired and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def expire(self) -> None:
        """End it now."""
        if not self.expired:
            self.expired = True
            self._task.cancel()


class ActiveCalls:
    """Know the calls under way of a client and its twins, all of them on one loop."""

    def __init__(self) -> None:
        self.closing: bool = False
        self._calls: set[Scope] = set()
        self._ended: asyncio.Event | None = None
        # All scopes that have an end.
        self._scopes: set[Scope] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._rings_at = math.inf

    @functools.cached_property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop of the first call."""
        return asyncio.get_running_loop()

    def within(self, seconds: float | None) -> Scope:
        """Return a context that raises `TimeoutError` after so many seconds."""
        return Scope(self, seconds)

    def enter(self, call: Scope) -> None:
        """Note that a call has begun."""
        self._calls.add(call)

    def leave(self, call: Scope) -> None:
        """Note that a call is over."""
        self._calls.discard(call)
        if self._ended is not None and not self._calls:
            self._ended.set()

    async def end(self) -> None:
        """End all calls, and return when they have told their callers."""
        self.closing = True
        if self._calls:
            self._ended = asyncio.Event()
            for call in self._calls:
                call.expire()
            await self._ended.wait()
        if self._timer is not None:
            self._timer.cancel()

    def _watch(self, scope: Scope) -> None:
        if scope.ends_at < math.inf:
            self._scopes.add(scope)
            if scope.ends_at < self._rings_at:
                self._wind(scope.ends_at)

    def _wind(self, when: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._rings_at = when
        self._timer = self.loop.call_at(when, self._ring)

    def _ring(self) -> None:
        now, self._timer, self._rings_at = self._rings_at, None, math.inf
        for scope in self._scopes:
            if scope.ends_at <= now:
                scope.expire()
            elif scope.ends_at < self._rings_at:
                self._rings_at = scope.ends_at
        if self._rings_at < math.inf:
            self._wind(self._rings_at)
