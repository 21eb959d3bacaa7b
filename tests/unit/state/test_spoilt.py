"""A shared state that something else has spoilt, under shared limits: no process hangs, nothing is refused."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest
from blockbuster import BlockBuster

import cmsapi
from cmsapi.message import Request, Response
from cmsapi.ratelimit.limiter import Priority, RateLimiter
from cmsapi.ratelimit.shared_log import AccountLimits, Take, Taken
from cmsapi.ratelimit.shared_windows import SharedWindows
from cmsapi.sandbox import Limits, Sandbox
from cmsapi.state.redis import RedisState
from cmsapi.state.sqlite import SqliteState
from cmsapi.state.store import State
from cmsapi.transport.answers import ServerClock
from cmsapi.transport.call import CallOptions
from cmsapi.transport.pipeline import Pipeline
from tests.support.inline import WALL, in_virtual_time_with_threads
from tests.support.places import emptied
from tests.support.servers import Server
from tests.support.spoil import FLUSHED, KEYS, ROWS, spoil_file, spoil_server
from tests.support.taking import taken

ACCOUNT = "0123456789abcdef"
# No document is left that could contradict itself.
LOST = ("the key is evicted", "the key is of another type", "the document is gone", "the document is bytes", FLUSHED)


@attrs.frozen
class Mute:
    """Leave the headers about the limits out of every answer."""

    inner: Any

    async def send(self, request: Request) -> Response:
        """Send a request."""
        answer: Response = await self.inner.send(request)
        kept = {name: value for name, value in answer.headers.items() if not name.startswith("x-ratelimit")}
        return Response(answer.status, kept, answer.body)


@attrs.define
class Process:
    """Play a process that asks the service for as long as it is let, and count its answers."""

    windows: SharedWindows
    limiter: RateLimiter
    answered: int = 0

    async def saturate(self, sandbox: Sandbox, transport: Any, until: Callable[[], bool]) -> None:
        """Call from ten callers until something is so."""
        pipeline = Pipeline(
            transport=transport,
            clock=ServerClock(),
            retry=cmsapi.RetryPolicy(max_attempts=1),
            timeouts=cmsapi.Timeouts(),
        )
        request = Request("GET", f"{sandbox.base_url}/v1/me", {"authorization": f"Bearer {sandbox.api_key}"}, None)

        async def call() -> None:
            while True:
                options = CallOptions(priority=Priority.LAUNCH)
                await pipeline.send(cmsapi.OPERATIONS["get_me"], request, options, self.limiter)
                self.answered += 1

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(call()) for _ in range(10)]
            while not until():  # noqa: ASYNC110  the sandbox's ledger has no event
                await asyncio.sleep(0.02)
            for task in tasks:
                task.cancel()


@asynccontextmanager
async def processes(
    count: int, state: Callable[[], State], per_hour: int, process_timeout: float
) -> AsyncIterator[list[Process]]:
    """Start processes, each with a state of its own at the same place, and end them in order."""
    async with contextlib.AsyncExitStack() as stack:
        fleet = []
        for _ in range(count):
            place = state()
            stack.push_async_callback(place.aclose)
            limits = AccountLimits(per_second=20, per_hour=per_hour, process_timeout=process_timeout)
            windows = SharedWindows(place, ACCOUNT, limits, alone=5)
            stack.push_async_callback(windows.aclose)
            limiter = RateLimiter(windows)
            windows.connect(limiter.waiting, limiter.serve)
            fleet.append(Process(windows, limiter))
        yield fleet


async def spoilt_in_full_swing(
    state: Callable[[], State],
    spoil: Callable[[], Awaitable[object]],
    *,
    process_timeout: float,
    mute: bool = False,
    count: int = 2,
) -> Sandbox:
    """Let processes spend half of the hour, spoil their state, and let them spend the rest of it."""
    sandbox, loop = Sandbox(limits=Limits(per_hour=80)), asyncio.get_running_loop()
    transport = Mute(sandbox.transport) if mute else sandbox.transport
    async with processes(count, state, 80, process_timeout) as fleet:
        halves: tuple[Callable[[], bool], ...] = (
            lambda: len(sandbox.ledger) >= 45,
            lambda: len(sandbox.ledger) >= 80 or loop.time() > give_up,
        )
        for half in halves:
            give_up = loop.time() + process_timeout + 12.0
            await asyncio.gather(*(each.saturate(sandbox, transport, half) for each in fleet))
            if half is halves[0]:
                await spoil()
        # A request for more now waits for the hour.
        over = loop.time() + 2.0
        await asyncio.gather(*(each.saturate(sandbox, transport, lambda: loop.time() > over) for each in fleet))
    return sandbox


@pytest.mark.parametrize("how", ROWS)
def test_rows_that_something_else_wrote(
    how: str, tmp_path: Path, blocking_calls: BlockBuster, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever becomes of the rows, two processes go on after a rest, and the hour is spent exactly once."""
    blocking_calls.deactivate()
    path = tmp_path / "state.db"

    async def main() -> Sandbox:
        loop = asyncio.get_running_loop()

        async def spoil() -> None:
            spoil_file(path, how)

        return await spoilt_in_full_swing(
            lambda: SqliteState(path, clock=lambda: WALL + loop.time()), spoil, process_timeout=5.0
        )

    with caplog.at_level(logging.WARNING, "cmsapi"):
        sandbox = in_virtual_time_with_threads(how, main())
    assert (len(sandbox.ledger), sandbox.statistics.rate_limited) == (80, 0)
    assert "is counted anew" in caplog.text


@pytest.mark.parametrize("how", ROWS)
def test_rows_that_something_else_wrote_while_all_were_idle(
    how: str, tmp_path: Path, blocking_calls: BlockBuster
) -> None:
    """Where no answer is on its way that would put it right, a call waits for a rest at the most, not for an hour."""
    blocking_calls.deactivate()
    path = tmp_path / "state.db"

    async def main() -> None:
        sandbox, loop = Sandbox(), asyncio.get_running_loop()
        state = SqliteState(path, clock=lambda: WALL + loop.time())
        headers = {"authorization": f"Bearer {sandbox.api_key}"}
        async with processes(1, lambda: state, 1000, 5.0) as (process,):
            for _ in range(5):
                # Another program with the same key, so that foreign requests are counted.
                await sandbox.transport.send(Request("GET", f"{sandbox.base_url}/v1/me", headers, None))
            await asyncio.sleep(2.0)
            await process.saturate(sandbox, sandbox.transport, lambda: len(sandbox.ledger) >= 35)
            await asyncio.sleep(60.0)
            spoil_file(path, how)
            over = loop.time() + 15.0
            await process.saturate(sandbox, sandbox.transport, lambda: len(sandbox.ledger) >= 65 or loop.time() > over)
        assert len(sandbox.ledger) >= 65
        assert sandbox.statistics.rate_limited == 0

    in_virtual_time_with_threads(how, main())


@pytest.mark.enable_socket
@pytest.mark.parametrize("how", KEYS)
async def test_keys_that_something_else_wrote(how: str, server: Server) -> None:
    """Whatever becomes of a server's keys, the next take begins a new log, with all rows of its process."""
    url = await emptied(server)
    limits = AccountLimits(per_second=20, per_hour=80, process_timeout=0.2)
    async with contextlib.aclosing(RedisState(url)) as state:

        async def ask(log: int, **said: Any) -> Taken:
            return await taken(state, ACCOUNT, limits, Take(process="a", log=log, **said))

        before = await ask(0, landed=(0.3, 0.2), answered=True, want=3)
        assert (before.granted, before.log.windows.used) == (3, 5)
        assert await spoil_server(url, how) == 1
        after = await ask(before.log.began, open=1, landed=(0.4, 0.3, 0.0, 0.0), answered=True, want=9)
        assert (after.granted, after.log.windows.used, after.log.windows.outstanding) == (0, 5, 1)
        assert after.log.began != before.log.began
        assert after.loss == ("lost" if how in LOST else "spoilt")
        await asyncio.sleep(after.wait + 0.01)
        alone = await ask(after.log.began, landed=(0.6, 0.5, 0.2, 0.2, 0.0), want=9)
        assert (alone.granted, alone.log.windows.used, alone.loss) == (1, 6, None)


@pytest.mark.slow
@pytest.mark.enable_socket
@pytest.mark.parametrize("how", ["the key is evicted", "the document is no JSON", "processes is {}", FLUSHED])
async def test_keys_that_are_lost_in_full_swing(how: str, server: Server, caplog: pytest.LogCaptureFixture) -> None:
    """Two processes go on after a rest when keys are evicted or flushed, and the hour is spent exactly once."""
    url = await emptied(server)
    sandbox = await spoilt_in_full_swing(lambda: RedisState(url), lambda: spoil_server(url, how), process_timeout=1.0)
    assert (len(sandbox.ledger), sandbox.statistics.rate_limited) == (80, 0)
    assert "is counted anew" in caplog.text


@pytest.mark.slow
@pytest.mark.enable_socket
async def test_a_process_remembers_what_the_server_forgot(server: Server) -> None:
    """Where answers say nothing of the limits, what a process remembers of the hour still counts after a flush."""
    url = await emptied(server)

    async def flush() -> int:
        return await spoil_server(url, FLUSHED)

    sandbox = await spoilt_in_full_swing(lambda: RedisState(url), flush, process_timeout=1.0, mute=True, count=1)
    assert (len(sandbox.ledger), sandbox.statistics.rate_limited) == (80, 0)
