"""A crowd of callers, a network and the strict service: the sandbox itself, in the same process.

Each caller takes its turn, sends a request, waits for the answer and starts over. One that is refused (429) is counted
and goes on. No client pauses because of a 429, so that the figures show the limiters alone.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Callable
from typing import Literal

import attrs

from benchmarks.limiter import peers
from benchmarks.limiter.contestants import Acquire, Contestant
from benchmarks.virtual import in_virtual_time
from cmsapi.message import Request, Response
from cmsapi.ratelimit.limiter import RateLimiter
from cmsapi.ratelimit.permits import Permit
from cmsapi.sandbox import Behaviour, Faults, Limits, Sandbox
from cmsapi.transport.answers import read_quota

HOUR = 3600.0
NEAR = (0.02, 0.2)


def heavy_tail(rng: random.Random) -> float:
    """Draw a one-way delay of which one in fifty is 1 to 6 s."""
    return rng.uniform(1.0, 6.0) if rng.random() < 0.02 else rng.uniform(*NEAR)


def slow_now_and_then(rng: random.Random) -> float:
    """Draw a time of handling of which one in fifty is 1 to 6 s and the others are nothing."""
    return rng.uniform(1.0, 6.0) if rng.random() < 0.02 else 0.0


def slow_always(rng: random.Random) -> float:
    """Take 5 s to handle a request."""
    return 5.0


def stuck_now_and_then(rng: random.Random) -> float:
    """Draw a time of handling of which one in fifty is 25 s and the others are nothing."""
    return 25.0 if rng.random() < 0.02 else 0.0


def silence(begin: float, end: float) -> Callable[[random.Random], float]:
    """Hold everything that would arrive during a silence, and deliver it when the network is back."""
    start: float | None = None

    def delay(rng: random.Random) -> float:
        nonlocal start
        now = asyncio.get_running_loop().time()
        start = now if start is None else start
        arrival = now - start + rng.uniform(*NEAR)
        if begin <= arrival < end:
            arrival = end + rng.uniform(*NEAR)
        return start + arrival - now

    return delay


@attrs.frozen(kw_only=True)
class Scenario:
    """Describe a run.

    Args:
        seconds: How long it lasts.
        callers: How many there are.
        delay: One-way delay in seconds: a range or a function of a random number generator.
        handling: Draws the seconds that the service works on a request after it has counted it, or None.
        patience: Seconds after which a caller gives up a request, or None.
        given_up: Whether a request that was given up `dies` with its connection or `arrives` all the same.
        rejected_count: Whether the service counts what it refuses.
        seed: Seed of the delays.
    """

    seconds: float = 2 * HOUR
    callers: int = 500
    delay: tuple[float, float] | Callable[[random.Random], float] = NEAR
    handling: Callable[[random.Random], float] | None = None
    patience: float | None = None
    given_up: Literal["dies", "arrives"] = "dies"
    rejected_count: bool = False
    seed: int = 0


@attrs.frozen
class Outcome:
    """Hold what a run came to.

    Args:
        accepted: Requests that the service accepted.
        refused: Requests that it answered with 429.
        t20: Seconds until the 20th accepted request arrived, None if it never did.
        t1000: The same of the 1,000th.
        inversions: Turns of a caller who had asked before the one who was served just before.
        longest_gap: Longest time in seconds without an accepted request.
    """

    accepted: int
    refused: int
    t20: float | None
    t1000: float | None
    inversions: int
    longest_gap: float


class Crowd:
    """Send requests to a sandbox through a limiter.

    Args:
        acquire: Waits for a turn.
        scenario: The run.
    """

    def __init__(self, acquire: Acquire, scenario: Scenario) -> None:
        self.sandbox = Sandbox(
            seed=scenario.seed,
            limits=Limits(),
            faults=Faults(latency=scenario.delay),
            behaviour=Behaviour(count_rejected=scenario.rejected_count),
        )
        self.granted = 0
        self.inversions = 0
        self._limiter = acquire if isinstance(acquire, RateLimiter) else None
        self._acquire = acquire.acquire if isinstance(acquire, RateLimiter) else acquire
        self._scenario = scenario
        self._rng = random.Random(scenario.seed)
        self._request = Request(
            "GET", f"{self.sandbox.base_url}/v1/me", {"Authorization": f"Bearer {self.sandbox.api_key}"}, None
        )
        self._asked = 0
        self._served_last = 0
        self._under_way: set[asyncio.Task[Response]] = set()

    async def call(self) -> None:
        """Take a turn and make one request."""
        await self.send(await self.turn())

    async def turn(self) -> Permit | None:
        """Take a turn."""
        self._asked += 1
        number = self._asked
        permit = await self._acquire()
        self.granted += 1
        # Steps back only: counting everybody who was passed would make hundreds of one newcomer who slipped in.
        if number < self._served_last:
            self.inversions += 1
        self._served_last = number
        return permit

    async def send(self, permit: Permit | None) -> None:
        """Make one request, and end the permit as the pipeline does."""
        if permit is not None:
            permit.stage = "departed"
        response = await self._exchange()
        if permit is None or self._limiter is None:
            return
        if response is None:
            self._limiter.end(permit, "lost")
        else:
            self._limiter.end(permit, "answered", read_quota(response.headers))

    async def _exchange(self) -> Response | None:
        scenario = self._scenario
        if scenario.patience is None:
            return await self._answered()
        task = asyncio.create_task(self._answered())
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        await asyncio.wait({task}, timeout=scenario.patience)
        if task.done():
            return task.result()
        if scenario.given_up == "dies":
            task.cancel()
        return None

    async def _answered(self) -> Response:
        response = await self.sandbox.transport.send(self._request)
        if self._scenario.handling is not None:
            # Counted on arrival, answered later: that the way back comes before the work makes no difference.
            await asyncio.sleep(self._scenario.handling(self._rng))
        return response

    async def keep_calling(self) -> None:
        """Make one request after the other."""
        while True:
            await self.call()

    async def work(self) -> None:
        """Let all callers call until the run is over."""
        callers = [asyncio.create_task(self.keep_calling()) for _ in range(self._scenario.callers)]
        await asyncio.wait(callers, timeout=self._scenario.seconds)
        for task in (*callers, *self._under_way):
            task.cancel()
        for result in await asyncio.gather(*callers, *self._under_way, return_exceptions=True):
            if isinstance(result, Exception):
                raise result


async def play(contestant: Contestant, scenario: Scenario) -> Outcome:
    """Run a scenario on the running loop."""
    loop = asyncio.get_running_loop()
    start = loop.time()
    limits = Limits()
    with peers.clocks(loop.time), contestant.open(limits.per_second, limits.per_hour) as acquire:
        crowd = Crowd(acquire, scenario)
        await crowd.work()
    ledger = crowd.sandbox.ledger
    times = [entry.at - start for entry in ledger if entry.status == 200]
    return Outcome(
        accepted=len(times),
        refused=ledger.count(status=429),
        t20=times[19] if len(times) >= 20 else None,
        t1000=times[999] if len(times) >= 1000 else None,
        inversions=crowd.inversions,
        longest_gap=max((later - earlier for earlier, later in itertools.pairwise(times)), default=0.0),
    )


def run(contestant: Contestant, scenario: Scenario) -> Outcome:
    """Run a scenario in virtual time."""
    return in_virtual_time(play(contestant, scenario))
