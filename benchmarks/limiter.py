"""Two saturated hours in virtual time: how much of both limits each limiter uses, and how often it breaks them.

The service counts exactly at arrival; each request takes 20 to 200 ms each way; forty callers never rest. After a 429
they wait for ``Retry-After``. The dripping bucket is the only
peer so far; libraries that read the wall clock need theirs replaced to run in virtual time.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import looptime

from cmsapi import Client, RateLimits
from cmsapi.messages import Request, Response

_CALLERS = 40
_HOURS = 7200.0


class Service:
    """Both limits of specification 8, judged at arrival."""

    def __init__(self) -> None:
        self.hour: deque[float] = deque()
        self.accepted: list[float] = []
        self.refused = 0
        self._random = random.Random(7)

    async def send(self, request: Request) -> Response:
        """Count one request and answer it."""
        await asyncio.sleep(self._random.uniform(0.02, 0.2))
        now = asyncio.get_running_loop().time()
        while self.hour and self.hour[0] + 3600 <= now:
            self.hour.popleft()
        fits = len(self.hour) < 1000 and not (len(self.hour) >= 20 and self.hour[-20] + 1 > now)
        if fits:
            self.hour.append(now)
            self.accepted.append(now)
        self.refused += not fits
        full = len(self.hour) >= 1000
        reset = int(self.hour[0] + 3600 - now)
        headers = {
            "x-ratelimit-limit": "1000",
            "x-ratelimit-remaining": str(1000 - len(self.hour)),
            "x-ratelimit-reset": str(reset),
            **({} if fits else {"retry-after": str(reset + 1 if full else 1)}),
        }
        await asyncio.sleep(self._random.uniform(0.02, 0.2))
        body = b'{"id": "x"}' if fits else b'{"error": {"code": "rate_limited", "message": ""}}'
        return Response(200 if fits else 429, headers, body)

    async def aclose(self) -> None:
        """Do nothing."""


class Dripping:
    """A bucket whose tokens come back at a steady rate, as most limiters have it."""

    def __init__(self, tokens: int, seconds: float) -> None:
        self.tokens, self.size, self.rate, self.at = float(tokens), tokens, tokens / seconds, 0.0

    async def take(self) -> None:
        """Wait for a token and take it."""
        loop = asyncio.get_running_loop()
        while True:
            self.tokens = min(self.size, self.tokens + (loop.time() - self.at) * self.rate)
            self.at = loop.time()
            if self.tokens >= 1:
                self.tokens -= 1
                return
            await asyncio.sleep((1 - self.tokens) / self.rate + 1e-4)  # more than the resolution of virtual time


@asynccontextmanager
async def by_cmsapi(service: Service) -> AsyncIterator[Callable[[], Any]]:
    """The client itself."""
    limits = RateLimits()
    async with Client("sk_x", base_url="http://localhost:9", transport=service, limits=limits) as client:
        yield lambda: client.request("GET", "/v1/me")


async def patiently(service: Service, take: Callable[[], Any]) -> None:
    """Send one request when a limiter lets it go, and wait after a 429."""
    await take()
    answer = await service.send(Request("GET", "http://localhost:9/v1/me"))
    if answer.status == 429:
        await asyncio.sleep(float(answer.headers["retry-after"]))


@asynccontextmanager
async def by_dripping(service: Service) -> AsyncIterator[Callable[[], Any]]:
    """Two dripping buckets."""
    second, hour = Dripping(20, 1), Dripping(1000, 3600)

    async def take() -> None:
        await hour.take()
        await second.take()

    yield lambda: patiently(service, take)


async def saturate(make: Callable[[Service], AbstractAsyncContextManager[Callable[[], Any]]]) -> Service:
    """Return the service after two hours of callers that never rest."""
    service = Service()
    async with make(service) as call:

        async def caller() -> None:
            while True:
                await call()

        callers = [asyncio.create_task(caller()) for _ in range(_CALLERS)]
        await asyncio.sleep(_HOURS - 1)
        for task in callers:
            task.cancel()
        await asyncio.gather(*callers, return_exceptions=True)
    return service


def main() -> None:
    """Run each limiter and print what came of it."""
    print(f"{'':24}{'429s':>8}{'accepted of 2,000':>20}{'seconds until the 1,000th':>28}")
    for name, make in (("cmsapi", by_cmsapi), ("dripping buckets", by_dripping)):
        loop = looptime.new_event_loop(start=0, noop_cycles=0, _enabled=True)
        service = loop.run_until_complete(saturate(make))
        loop.close()
        thousandth = f"{service.accepted[999]:.0f}" if len(service.accepted) > 999 else "never"
        print(f"{name:24}{service.refused:8}{len(service.accepted):20}{thousandth:>28}")


if __name__ == "__main__":
    main()
