"""The limiter for processes that share a store. The store counts the requests of all of them, by its own clock.

Like the limiter for one process, it orders and counts the requests of its own process, and pauses after a 429. Each
request that these local rules admit also needs the store's permission; the store is asked for one request at a time.
If the store does not respond, launches are refused, and other requests continue with a quarter of the hourly limit.
"""

from __future__ import annotations

import asyncio
import heapq
import math
import secrets
from collections.abc import Mapping
from typing import ClassVar

from cmsapi.config import SECOND, RateLimits
from cmsapi.errors import StateError
from cmsapi.limits.limiter import Forecast, Limiter, Permit, Priority
from cmsapi.observe.log import logger
from cmsapi.state.store import SharedStore, Taken

_ALONE = 0.25  # part of the hourly limit that a process uses while the store does not answer


class SharedLimiter(Limiter):
    """Limiter that keeps several processes within both limits of one key. ``seconds`` is the timeout of one request."""

    shared: ClassVar[bool] = True

    def __init__(self, limits: RateLimits, store: SharedStore, seconds: float) -> None:
        super().__init__(limits)
        self._store = store
        self._seconds = seconds
        self._asking: asyncio.Task[None] | None = None
        self._reports: set[asyncio.Task[None]] = set()
        self._names: dict[int, str] = {}  # names of requests in the store, by their numbers in this process
        self._used = 0  # requests of all processes in the last hour, when the store was last asked
        self._open_jobs: Mapping[str, int] = {}
        self._refused = (Priority.CALL, -math.inf)  # the latest priority that had to wait, and until when
        self._seen = 0.0  # when the store was last asked
        self._looks: set[asyncio.Task[None]] = set()
        self._silent = False  # whether the store did not answer when it was last asked

    def forecast(self) -> Forecast:
        """Return a forecast for all processes, from the latest counts; a background task renews old counts."""
        own, now = super().forecast(), asyncio.get_running_loop().time()
        if now > self._seen + SECOND and not self._looks:
            self._looks.add(task := asyncio.create_task(self._look()))
            task.add_done_callback(self._looks.discard)
        local = self._hour.limit - self._hour.free(now)
        used = max(self._used, local)
        own.free = max(0, own.free - (used - local))
        more, returning = used / max(1, local), own.returning
        own.returning = lambda ahead: int(returning(ahead) * more)
        own.open_jobs = self._open_jobs
        return own

    def release(self, permit: Permit) -> None:
        """Record the end of a request, in this process at once and in the store by a background task."""
        super().release(permit)
        if name := self._names.pop(permit.number, None):
            task = asyncio.create_task(self._report(name, permit))
            self._reports.add(task)
            task.add_done_callback(self._reports.discard)

    async def aclose(self) -> None:
        """Refuse waiting requests, and wait until all earlier responses have been reported to the store."""
        await super().aclose()
        await asyncio.gather(*self._reports, *self._looks, return_exceptions=True)

    async def _look(self) -> None:
        """Update the counts of all processes from the store, without asking for permission to send a request."""
        try:
            self._saw(await self._store.take("", self.limits.per_second, 0, self._seconds))
        except StateError as error:
            logger.warning("the state does not say how much of the hour is used: %s", error)
            self._seen = asyncio.get_running_loop().time()

    def _saw(self, taken: Taken) -> None:
        self._silent, self._used, self._open_jobs = False, taken.used, taken.open_jobs
        self._seen = asyncio.get_running_loop().time()

    async def _report(self, name: str, permit: Permit) -> None:
        try:
            answered = await self._store.answered(name, departed=permit.departed, pause=permit.retry_after or 0.0)
        except StateError as error:
            logger.warning("the state was not told of a response, and counts its request for longer: %s", error)
            return
        if permit.rate is not None and permit.number == self._newest:
            self._others = max(0, self._hour.limit - permit.rate.remaining - answered)
            self._refused = (Priority.CALL, -math.inf)
            if self.waiters:
                self._grant()

    def _grant(self, at: float = 0.0) -> None:
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask(at))

    async def _ask(self, at: float) -> None:
        try:
            while (first := self._first()) is not None:
                now = max(at, asyncio.get_running_loop().time())
                look = self.earliest(now, first.priority)
                if look <= now:
                    look = await self._ask_store(first, now)
                if look > now:
                    self._ask_again(first, now, look)
                    return
        except Exception as error:  # waiters must not wait forever
            self._refuse(error)
            raise

    async def _ask_store(self, first: Permit, now: float) -> float:
        """Ask the store to permit one request; return ``now`` if it does, else the time to ask again."""
        if first.priority >= self._refused[0] and now < self._refused[1]:
            return self._refused[1]
        reserve = self._reserve if first.priority is Priority.POLL else 0
        limits, name = self.limits, secrets.token_hex(8)
        most = limits.per_hour - reserve - self._others
        if self._used >= most and now >= self._ask_at and not self._hour.in_flight:
            most += self._others  # others' requests may have expired, so one request asks
        try:
            taken = await self._store.take(name, limits.per_second, max(1, most), self._seconds)
        except StateError as error:
            return self._without_store(error, now)
        self._saw(taken)
        if taken.wait:
            again = max(self._ask_at, now + SECOND) if self._others else math.inf
            self._refused = (first.priority, min(now + taken.wait, again))
            return self._refused[1]
        number = self._grant_first()
        if number is None:  # all waiters have gone in the meantime
            await self._store.answered(name, departed=False, pause=0.0)
        else:
            self._names[number] = name
        return now

    def _without_store(self, error: StateError, now: float) -> float:
        if not self._silent:
            self._silent = True
            logger.warning("requests continue with a quarter of the hourly limit, launches are refused: %s", error)
        self._refuse(StateError(f"{error}; nothing was launched, and no credit was spent"), Priority.LAUNCH)
        used = self._hour.limit - self._hour.free(now)
        if used >= _ALONE * self._hour.limit:
            return self._hour.free_at(self._hour.limit - int(_ALONE * self._hour.limit) + 1, now)
        self._grant_first()
        return now

    def _first(self) -> Permit | None:
        while self.waiters and self.waiters[0][2].done():
            heapq.heappop(self.waiters)
        return self.waiters[0][3] if self.waiters else None

    def _grant_first(self) -> int | None:
        if self._first() is None:
            return None
        _, _, waiter, _ = heapq.heappop(self.waiters)
        waiter.set_result(number := self.take())
        return number
