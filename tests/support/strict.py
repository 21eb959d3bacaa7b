"""A service that only counts: both limits, exact at arrival, with any latency each way, in virtual time."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import looptime

from cmsapi import Client, RateLimits
from cmsapi.messages import Request, Response

T = TypeVar("T")


def virtual_loop() -> asyncio.AbstractEventLoop:
    """Return an event loop whose time jumps ahead when nothing is left to do."""
    return looptime.new_event_loop(start=0, noop_cycles=0, _enabled=True)


def virtually(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a virtual event loop of its own."""
    loop = virtual_loop()
    try:
        return loop.run_until_complete(main)
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


class StrictService:
    """A transport that judges each request when it arrives.

    Args:
        per_second: Requests that it accepts in any second.
        per_hour: Requests that it accepts in any hour.
        latency: Function from a request's number to the seconds that it and its response travel.
        used: Loop times of requests sent by others.
        answer: Function from a request's number to the response to return instead; None for the ordinary one.
    """

    def __init__(
        self,
        per_second: int = 20,
        per_hour: int = 1000,
        latency: Callable[[int], tuple[float, float]] = lambda number: (0.05, 0.05),
        used: tuple[float, ...] = (),
        answer: Callable[[int], Awaitable[Response | None]] | None = None,
    ) -> None:
        self.per_second, self.per_hour = per_second, per_hour
        self.latency, self.answer = latency, answer
        self.hour = deque(sorted(used))
        self.arrivals: list[float] = []
        self.accepted: list[float] = []
        self.paths: list[str] = []
        self.refused = 0

    def client(self, key: str = "sk_strict", **settings: Any) -> Client:
        """Return a client of this service that keeps to its limits."""
        settings.setdefault("limits", RateLimits(per_second=self.per_second, per_hour=self.per_hour))
        return Client(key, base_url="http://localhost:9", transport=self, **settings)

    async def send(self, request: Request) -> Response:
        """Count a request and response it, with a 429 beyond a limit."""
        there, back = self.latency(len(self.arrivals))
        self.paths.append(request.url.partition(":9")[2])
        self.arrivals.append(0.0)
        number = len(self.arrivals)
        await asyncio.sleep(there)
        now = asyncio.get_running_loop().time()
        self.arrivals[number - 1] = now
        if self.answer is not None and (given := await self.answer(number)) is not None:
            return given
        response = self.judge(now)
        await asyncio.sleep(back)
        return response

    def judge(self, now: float, *, ours: bool = True) -> Response:
        """Return the response to a request that arrives now, from us or from another program."""
        while self.hour and self.hour[0] + 3600 <= now:
            self.hour.popleft()
        second = sum(1 for at in list(self.hour)[-self.per_second :] if at + 1 > now)
        fits = len(self.hour) < self.per_hour and second < self.per_second
        if fits:
            self.hour.append(now)
            if ours:
                self.accepted.append(now)
        oldest = self.hour[0] if self.hour else now - 3600
        reset = oldest + 3600 - now
        headers = {
            "x-ratelimit-limit": str(self.per_hour),
            "x-ratelimit-remaining": str(self.per_hour - len(self.hour)),
            "x-ratelimit-reset": str(int(reset)),
        }
        if fits:
            return Response(200, headers, b'{"id": "x"}')
        self.refused += ours
        wait = reset if len(self.hour) >= self.per_hour else 1
        body = json.dumps({"error": {"code": "rate_limited", "message": "slow down"}}).encode()
        return Response(429, {**headers, "retry-after": str(int(wait) + 1)}, body)

    async def aclose(self) -> None:
        """Do nothing."""
