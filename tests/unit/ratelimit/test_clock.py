"""A clock that ticks 64 times a second, as that of Windows before Python 3.13, and loops that read it."""

from __future__ import annotations

import asyncio
import math
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

import cmsapi
from cmsapi.message import Request, Response
from cmsapi.ratelimit.clock import clock_tick
from cmsapi.ratelimit.timer import Timer
from cmsapi.sandbox import Sandbox
from cmsapi.transport.http import Transport

TICK = 1 / 64


class CoarseLoop(asyncio.SelectorEventLoop):
    """Read a clock that stands still between its ticks, and count the rounds."""

    rounds = 0

    def __init__(self) -> None:
        super().__init__()
        self._clock_resolution = TICK

    def time(self) -> float:
        """Return the time of the last tick."""
        return math.floor(super().time() / TICK) * TICK

    def _run_once(self) -> None:
        self.rounds += 1
        super()._run_once()  # type: ignore[misc]  # asyncio's own


@pytest.fixture
def coarse_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the clock say that it is coarse."""
    monkeypatch.setattr(time, "get_clock_info", lambda name: SimpleNamespace(resolution=TICK))


@pytest.mark.parametrize(("resolution", "tick"), [(1e-9, 0.0), (1e-7, 0.0), (0.015625, 0.015625)])
def test_only_a_coarse_clock_ticks(monkeypatch: pytest.MonkeyPatch, resolution: float, tick: float) -> None:
    """The clocks of Linux, of macOS and of Windows since Python 3.13 are exact enough."""
    monkeypatch.setattr(time, "get_clock_info", lambda name: SimpleNamespace(resolution=resolution))
    assert clock_tick() == tick


@pytest.mark.enable_socket
def test_a_timer_does_not_turn_the_loop_until_the_clock_ticks(coarse_clock: None) -> None:
    """A loop calls early by up to a tick; the timer then waits for the tick, and never calls before its time."""
    early: list[float] = []

    async def main() -> int:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, CoarseLoop)
        began = loop.rounds
        for part in range(1, 11):
            when = loop.time() + part / 10 * TICK
            called = loop.create_future()
            timer = Timer(called.set_result)
            timer.set(when)
            early.append(when - await called)
        return loop.rounds - began

    with asyncio.Runner(loop_factory=CoarseLoop) as runner:
        rounds = runner.run(main())
    assert max(early) <= 0
    assert rounds <= 60


class Arrivals:
    """Note when requests arrive, by an exact clock, and pass them on."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.times: list[float] = []

    async def send(self, request: Request) -> Response:
        """Send one request and return its answer."""
        self.times.append(time.perf_counter())
        return await self._transport.send(request)

    async def aclose(self) -> None:
        """Do nothing, because no connection is open."""


def spin_until(moment: float) -> None:
    """Return at a moment of the exact clock; a loop with a coarse one cannot wait for it."""
    while time.monotonic() < moment:
        pass


@pytest.mark.enable_socket
@pytest.mark.parametrize("shared", [False, True], ids=["memory", "file"])
def test_no_second_is_too_full_by_a_coarse_clock(coarse_clock: None, shared: bool, tmp_path: Path) -> None:
    """A service without a round trip, whose clock is exact, sees no request too many."""
    sandbox = Sandbox()
    arrivals = Arrivals(sandbox.transport)

    async def main() -> None:
        state = f"sqlite:///{tmp_path / 'state.db'}" if shared else "memory:"
        limits = cmsapi.RateLimits(per_second=2)
        async with cmsapi.Client(
            sandbox.api_key, base_url=sandbox.base_url, transport=arrivals, state=state, limits=limits
        ) as client:
            await client.me()
            for _ in range(3):
                # The requests leave in the middle of a tick.
                spin_until(asyncio.get_running_loop().time() + 1.5 * TICK)
                await asyncio.gather(*(client.me() for _ in range(2)))

    with asyncio.Runner(loop_factory=CoarseLoop) as runner:
        runner.run(main())
    assert len(arrivals.times) == 7
    spans = [last - first for first, last in zip(arrivals.times, arrivals.times[2:], strict=False)]
    assert min(spans) >= 1.0
