"""Rate limiters under full load for two hours of virtual time: requests accepted, requests refused, and CPU time.

The service checks its limits when a request arrives; latency is 20 to 200 ms each way. Forty callers pause only for the
limiter, and after a 429 for ``Retry-After``. Each limiter enforces both limits, set up as its documentation shows, on
the event loop's clock. The CPU time of taking a free token is measured outside virtual time.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, contextmanager
from types import SimpleNamespace
from typing import TypeAlias
from unittest.mock import patch

from aiolimiter import AsyncLimiter
from limits import RateLimitItemPerHour, RateLimitItemPerSecond
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import MovingWindowRateLimiter
from pyrate_limiter import Duration, InMemoryBucket, Limiter as PyrateLimiter, Rate

from benchmarks.table import show
from cmsapi import Client, RateLimits
from cmsapi.limits.limiter import Limiter
from cmsapi.messages import Request, Response
from tests.support.strict import virtually

Take: TypeAlias = Callable[[], Awaitable[object]]
_CALLERS = 40
_HOURS = 7200.0
_TAKES, _ROUNDS = 1000, 30
# Seconds by which timers fire late, like real ones. Virtual time is rounded: a shorter wait would never end.
_LATE = 1e-4


class Service:
    """A service with both limits of specification 8, checked when a request arrives."""

    def __init__(self) -> None:
        self.hour: deque[float] = deque()
        self.accepted: list[float] = []
        self.refused = 0
        self._random = random.Random(7)

    async def send(self, request: Request) -> Response:
        """Answer with 200 and count the request if the limits admit it; otherwise, answer with 429."""
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
        """Do nothing: there is no connection to close."""


@contextmanager
def by_aiolimiter(per_second: int, per_hour: int) -> Iterator[Take]:
    """Yield a function that waits for room in two leaky buckets, which drain at a steady rate."""
    hour, second = AsyncLimiter(per_hour, 3600), AsyncLimiter(per_second, 1)

    async def take() -> None:
        await hour.acquire()
        await second.acquire()

    yield take


@contextmanager
def by_pyrate_limiter(per_second: int, per_hour: int) -> Iterator[Take]:
    """Yield a function that takes a token from a log with both rates and the default buffer of 50 ms."""
    loop = asyncio.get_running_loop()

    class Bucket(InMemoryBucket):
        def now(self) -> int:
            return int(loop.time() * 1000)

    with PyrateLimiter(Bucket([Rate(per_second, Duration.SECOND), Rate(per_hour, Duration.HOUR)])) as limiter:
        yield lambda: limiter.try_acquire_async("key")


@contextmanager
def by_limits(per_second: int, per_hour: int) -> Iterator[Take]:
    """Yield a function that takes a token from each of two moving windows; if refused, it sleeps until the reset."""
    loop = asyncio.get_running_loop()
    window = MovingWindowRateLimiter(MemoryStorage())
    items = RateLimitItemPerHour(per_hour), RateLimitItemPerSecond(per_second)

    async def take() -> None:
        for item in items:
            while not await window.hit(item, "key"):
                stats = await window.get_window_stats(item, "key")
                await asyncio.sleep(max(_LATE, stats.reset_time - loop.time()))

    with patch("limits.aio.storage.memory.time", SimpleNamespace(time=loop.time)):
        yield take


@contextmanager
def by_cmsapi(per_second: int, per_hour: int) -> Iterator[Take]:
    """Yield a function that takes a token from cmsapi's limiter."""
    limiter = Limiter(RateLimits(per_second, per_hour))

    async def take() -> None:
        async with limiter.acquire():
            pass

    yield take


PEERS: dict[str, Callable[[int, int], AbstractContextManager[Take]]] = {
    "aiolimiter": by_aiolimiter,
    "pyrate-limiter": by_pyrate_limiter,
    "limits": by_limits,
}


@asynccontextmanager
async def client(service: Service) -> AsyncIterator[Take]:
    """Yield a function that sends a request to ``service`` with a cmsapi client."""
    async with Client("sk_x", base_url="http://localhost:9", transport=service) as client:
        yield lambda: client.request("GET", "/v1/me")


def calling(peer: str) -> Callable[[Service], AbstractAsyncContextManager[Take]]:
    """Return a counterpart of `client` that waits for the limiter ``peer`` before sending and obeys ``Retry-After``."""

    @asynccontextmanager
    async def make(service: Service) -> AsyncIterator[Take]:
        with PEERS[peer](20, 1000) as take:

            async def call() -> None:
                await take()
                answer = await service.send(Request("GET", "http://localhost:9/v1/me"))
                if answer.status == 429:
                    await asyncio.sleep(float(answer.headers["retry-after"]))

            yield call

    return make


async def saturate(make: Callable[[Service], AbstractAsyncContextManager[Take]]) -> Service:
    """Let forty callers send requests to a new service for almost two hours, and return the service."""
    service, loop = Service(), asyncio.get_running_loop()
    call_at = loop.call_at
    async with make(service) as call:

        async def caller() -> None:
            while True:
                await call()

        with patch.object(loop, "call_at", lambda when, *rest, **named: call_at(when + _LATE, *rest, **named)):
            callers = [asyncio.create_task(caller()) for _ in range(_CALLERS)]
            await asyncio.sleep(_HOURS - 1)
        for task in callers:
            task.cancel()
        await asyncio.gather(*callers, return_exceptions=True)
    return service


async def cost(peer: Callable[[int, int], AbstractContextManager[Take]]) -> float:
    """Return the CPU time per token in microseconds, for a new limiter that never has to wait."""
    with peer(_TAKES + 1, 2 * _TAKES) as take:
        began = time.process_time()
        for _ in range(_TAKES):
            await take()
        return (time.process_time() - began) / _TAKES * 1e6


def main() -> None:
    """Measure each limiter, and print a table of requests and one of CPU times."""
    print(f"{'':24}{'429s':>8}{'accepted of 2,000':>20}{'seconds until the 1,000th':>28}")
    for name, make in {"cmsapi": client, **{peer: calling(peer) for peer in PEERS}}.items():
        service = virtually(saturate(make))
        thousandth = f"{service.accepted[999]:.0f}" if len(service.accepted) > 999 else "never"
        print(f"{name:24}{service.refused:8}{len(service.accepted):20,}{thousandth:>28}")
    figures: dict[str, list[float]] = {"cmsapi": [], **{peer: [] for peer in PEERS}}
    for _ in range(_ROUNDS):
        for name, peer in {"cmsapi": by_cmsapi, **PEERS}.items():
            figures[name].append(asyncio.run(cost(peer)))
    show("A token of both limits that is free", "µs of CPU", figures)


if __name__ == "__main__":
    main()
