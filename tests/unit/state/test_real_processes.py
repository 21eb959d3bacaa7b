"""Real processes on one state: what is held by one, what another takes over, and limits that all keep together."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from cmsapi.sandbox import Limits, Sandbox
from cmsapi.state.entry import Lease
from cmsapi.state.opening import open_state
from cmsapi.state.store import State
from tests.support.places import shared_url
from tests.support.postgres import Postgres, running_postgres
from tests.support.processes import workers
from tests.support.servers import Server, running_server
from tests.support.spoil import locked

pytestmark = [pytest.mark.enable_socket, pytest.mark.slow]

SCOPE = "https://api.example.com org_1"


@pytest.fixture(params=["sqlite", "redis", "postgres"])
async def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Name a state that processes can share."""
    return await shared_url(request.param, request, tmp_path)


@pytest.fixture
async def state(url: str) -> AsyncIterator[State]:
    """Open it in this process too."""
    state = open_state(url)
    yield state
    await state.aclose()


async def test_each_launch_is_begun_once(url: str, state: State) -> None:
    """Processes that race for the same items begin each of them exactly once between them."""
    async with workers(4, "journal", url) as fleet:
        begun = await asyncio.gather(*(worker.ask("begin 60") for worker in fleet))
        assert sorted(key for keys in begun for key in keys) == sorted(f"key {number}" for number in range(60))
        assert len(await state.entries(SCOPE)) == 60


async def test_the_dead_are_taken_over_at_once(url: str, state: State) -> None:
    """What a process held that was killed is claimed by the next one on this machine, long before its lease ends."""
    async with workers(2, "journal", url) as (killed, alive):
        await killed.ask("begin 5")
        await alive.ask("begin 10")
        killed.process.kill()
        await killed.process.wait()
        await state.evict_dead_owners(SCOPE)
        claimed = [await state.claim(Lease(SCOPE, f"key {number}")) is not None for number in range(10)]
        assert claimed == [True] * 5 + [False] * 5


async def test_a_frozen_process_finds_out(url: str, state: State) -> None:
    """One that is stopped is not taken for dead; when its lease has ended it loses it, and finds out when it wakes."""
    async with workers(1, "journal", url, 1.5) as (frozen,):
        assert await frozen.ask("begin 2") == ["key 0", "key 1"]
        frozen.process.send_signal(signal.SIGSTOP)
        await state.evict_dead_owners(SCOPE)
        assert await state.claim(Lease(SCOPE, "key 0")) is None
        await asyncio.sleep(1.6)
        assert await state.claim(Lease(SCOPE, "key 0")) is not None
        frozen.process.send_signal(signal.SIGCONT)
        assert await frozen.ask("keep") == {"key 0": False, "key 1": True}


async def saturate(sandbox: Sandbox, url: str, count: int, seconds: float, per_hour: int) -> list[dict[str, int]]:
    """Let processes call without a pause, and return what each of them says of it."""
    what = ("saturate", url, sandbox.base_url, sandbox.api_key, seconds, 30, per_hour, 5.0)
    async with workers(count, *what) as fleet:
        return [await worker.said() for worker in fleet]


async def test_four_processes_keep_the_second_together(url: str) -> None:
    """Four saturated processes draw no refusal, use the burst rate, and all get something."""
    async with Sandbox(limits=Limits(per_hour=100_000)) as sandbox:
        said = await saturate(sandbox, url, 4, 1.5, 100_000)
        arrivals = [entry.at for entry in sandbox.ledger]
        assert sandbox.statistics.rate_limited == 0
        assert len(arrivals) >= 0.8 * 20 * (arrivals[-1] - arrivals[0])
        assert min(each["answered"] for each in said) >= 5
        assert sum(each["takes"] for each in said) <= 2 * len(arrivals)


async def lock(path: Path, seconds: float) -> None:
    """Hold a file for some seconds, on another thread."""

    def hold() -> None:
        with locked(path):
            time.sleep(seconds)

    await asyncio.to_thread(hold)


@pytest.mark.parametrize(
    ("kind", "stands_still"),
    [("sqlite", True), ("redis", True), ("redis", False), ("postgres", False)],
    ids=["a locked file", "a server that stands still", "a server that starts anew", "a database that starts anew"],
)
async def test_nothing_is_refused_when_the_state_comes_back(kind: str, stands_still: bool, tmp_path: Path) -> None:
    """Three saturated processes draw no refusal when their state goes for four seconds, nor when it comes back."""
    async with Sandbox(limits=Limits(per_hour=100_000)) as sandbox, AsyncExitStack() as stack:
        away = 4.0
        server: Server | Postgres | None = None
        if kind == "redis":
            server = stack.enter_context(running_server(tmp_path, "--save", ""))
        elif kind == "postgres":
            server = stack.enter_context(running_postgres())
        url = f"sqlite:///{tmp_path / 'state.db'}" if server is None else server.url
        what = ("saturate", url, sandbox.base_url, sandbox.api_key, 15.0, 30, 100_000, 5.0)
        async with workers(3, *what) as fleet:
            await until(lambda: len(sandbox.ledger) >= 40)
            if server is None:
                await lock(tmp_path / "state.db", away)
            elif stands_still:
                with server.stopped():
                    await asyncio.sleep(away)
            else:
                await asyncio.to_thread(server.end)
                await asyncio.sleep(away)
                await asyncio.to_thread(server.start)
            back = len(sandbox.ledger)
            said = [await worker.said() for worker in fleet]
    assert sandbox.statistics.rate_limited == 0
    assert len(sandbox.ledger) - back >= 40
    assert min(each["answered"] for each in said) >= 15


async def until(true: Callable[[], bool]) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(25):
        while not true():  # noqa: ASYNC110  the sandbox's ledger has no event
            await asyncio.sleep(0.02)


async def test_the_hour_is_spent_to_the_last_and_remembered(url: str) -> None:
    """Processes spend the hour exactly, and those that come after they were all killed find it spent."""
    async with Sandbox(limits=Limits(per_hour=25)) as sandbox:
        what = ("saturate", url, sandbox.base_url, sandbox.api_key, 30.0, 30, 25, 5.0)
        async with workers(2, *what):
            await until(lambda: len(sandbox.ledger) >= 25)
        async with workers(1, *what):
            await asyncio.sleep(0.5)
        assert (len(sandbox.ledger), sandbox.statistics.rate_limited) == (25, 0)


async def test_killed_in_full_swing(url: str) -> None:
    """A worker that is killed while it sends leaves no refusal to the others, and its permits come back."""
    async with Sandbox(limits=Limits(per_hour=100_000)) as sandbox:

        def of_last_second() -> int:
            now = asyncio.get_running_loop().time()
            return sum(entry.at > now - 1.1 for entry in sandbox.ledger[-40:])

        what = (url, sandbox.base_url, sandbox.api_key, 60.0, 30, 100_000, 1.0)
        async with workers(2, "saturate", *what) as (killed, _):
            await until(lambda: of_last_second() >= 16)
            killed.process.kill()
            await killed.process.wait()
            await asyncio.sleep(1.2)
            await until(lambda: of_last_second() >= 16)
        assert sandbox.statistics.rate_limited == 0


async def test_frozen_in_full_swing(url: str) -> None:
    """A worker that stands still for longer than its rows live, and goes on, leaves no refusal to itself or others."""
    async with Sandbox(limits=Limits(per_hour=100_000)) as sandbox:
        what = ("saturate", url, sandbox.base_url, sandbox.api_key, 60.0, 30, 100_000, 1.0)
        async with workers(2, *what) as (frozen, _):
            await until(lambda: len(sandbox.ledger) >= 40)
            frozen.process.send_signal(signal.SIGSTOP)
            await asyncio.sleep(1.0 + 2.0 + 1.5)
            before = len(sandbox.ledger)
            frozen.process.send_signal(signal.SIGCONT)
            await until(lambda: len(sandbox.ledger) >= before + 60)
        assert sandbox.statistics.rate_limited == 0
