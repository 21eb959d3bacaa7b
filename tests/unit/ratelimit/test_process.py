"""Several loops of one process: in threads at once, or one after the other."""

from __future__ import annotations

import asyncio
import functools
import itertools
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

import pytest

import cmsapi
from cmsapi.ratelimit.limiter import Priority, RateLimiter
from cmsapi.ratelimit.permits import Permit
from cmsapi.runtime.accounts import of_loop
from cmsapi.sandbox import Fault, Limits, Sandbox
from tests.support.accounts import limiter_of

# Leaves requests without an answer in a loop that it closes, and goes on in another one.
LEAVE = """
import asyncio, sys
import cmsapi

def client():
    return cmsapi.Client(sys.argv[1], base_url=sys.argv[2])

async def leave():
    left = client()
    await left.me()
    tasks.extend(asyncio.ensure_future(anext(left.workspaces.list().pages())) for _ in range(19))
    await asyncio.sleep(0.3)

async def go_on():
    async with client() as other:
        await asyncio.gather(*(other.me() for _ in range(40)))

tasks = []
loop = asyncio.new_event_loop()
loop.run_until_complete(leave())
loop.close()
asyncio.run(go_on())
assert not any(task.done() for task in tasks)
"""

NAMES = (f"account {number}" for number in itertools.count())


@pytest.fixture
def account() -> str:
    """An account that no other test uses."""
    return next(NAMES)


@asynccontextmanager
async def served(*faults: Fault) -> AsyncIterator[Sandbox]:
    """Serve a strict sandbox on the loopback interface."""
    sandbox = Sandbox(limits=Limits(per_second=20, per_hour=1000), faults=list(faults))
    await sandbox.serve()
    try:
        yield sandbox
    finally:
        await sandbox.aclose()


async def in_threads(count: int, main: Callable[[], Coroutine[Any, Any, object]]) -> None:
    """Run a coroutine in so many threads at once, each in a loop of its own."""
    with ThreadPoolExecutor(count) as threads:
        loop = asyncio.get_running_loop()
        await asyncio.gather(*(loop.run_in_executor(threads, lambda: asyncio.run(main())) for _ in range(count)))


@pytest.mark.slow
@pytest.mark.enable_socket
async def test_threads_share_the_limits_of_their_key() -> None:
    """Four threads with a loop and a client each together stay inside what the key may send."""
    async with served() as sandbox:

        async def calls() -> None:
            async with cmsapi.Client(sandbox.api_key, base_url=sandbox.base_url) as client:
                await asyncio.gather(*(client.me() for _ in range(40)))

        await in_threads(4, calls)
        assert sandbox.statistics.rate_limited == 0
        assert len(sandbox.ledger) == 160


@pytest.mark.slow
@pytest.mark.enable_socket
async def test_runs_one_after_the_other_share_the_limits_of_their_key() -> None:
    """Sixty short runs of a program's main function, each with a loop of its own, draw no 429."""
    async with served() as sandbox:

        async def me() -> None:
            async with cmsapi.Client(sandbox.api_key, base_url=sandbox.base_url) as client:
                await client.me()

        def run() -> None:
            for _ in range(60):
                asyncio.run(me())

        await asyncio.to_thread(run)
        assert sandbox.statistics.rate_limited == 0
        assert len(sandbox.ledger) == 60


@pytest.mark.slow
@pytest.mark.enable_socket
async def test_what_a_closed_loop_left_without_an_answer_counts() -> None:
    """A loop that is closed in the middle of its requests leaves no room for as many more, and blocks no other loop."""
    async with served(Fault(match="GET /v1/workspaces", slow=30.0, times=None)) as sandbox:
        program = [sys.executable, "-W", "ignore", "-c", LEAVE, sandbox.api_key, sandbox.base_url]
        process = await asyncio.create_subprocess_exec(*program)
        assert await asyncio.wait_for(process.wait(), 40) == 0
        assert sandbox.statistics.rate_limited == 0
        assert len(sandbox.ledger) >= 50


async def test_a_request_of_a_closed_loop_ends_once(account: str) -> None:
    """What a closed loop left is given up; its coroutine, which is thrown away later, changes nothing more."""
    left: list[tuple[RateLimiter, Permit]] = []

    async def leave() -> None:
        limiter = limiter_of(account)
        left.append((limiter, await limiter.acquire()))

    await asyncio.to_thread(lambda: asyncio.run(leave()))
    limiter, ((closed, permit),) = limiter_of(account), left
    assert permit.stage == "lost"
    used = limiter.remaining
    closed.end(permit, "unsent")
    assert permit.stage == "lost"
    assert limiter.remaining == used


async def test_a_rest_is_for_all_loops(account: str) -> None:
    """When the service asks for a rest, a loop in another thread rests too, and so does the next loop."""
    waits: list[float] = []

    async def expect() -> None:
        waits.append(limiter_of(account).expected_wait(Priority.INTERACTIVE, asyncio.get_running_loop().time()))

    async def pause() -> None:
        limiter_of(account).pause(50.0)
        await in_threads(1, expect)

    await asyncio.to_thread(lambda: asyncio.run(pause()))
    await asyncio.to_thread(lambda: asyncio.run(expect()))
    assert [wait > 40 for wait in waits] == [True, True]


async def test_an_answer_in_one_loop_wakes_those_that_wait_in_another(account: str) -> None:
    """A loop that waits for a permit gets it as soon as another one has given one back, and does not ask for it."""

    async def hold(taken: threading.Event, give: threading.Event) -> None:
        limiter = limiter_of(account, cmsapi.RateLimits(per_second=1))
        permit = await limiter.acquire()
        taken.set()
        await asyncio.to_thread(give.wait, 20)
        limiter.end(permit, "unsent")

    async def wait(give: threading.Event) -> float:
        limiter = limiter_of(account, cmsapi.RateLimits(per_second=1))
        waiting = asyncio.create_task(limiter.acquire())
        await asyncio.sleep(0.5)
        assert not waiting.done()
        give.set()
        began = asyncio.get_running_loop().time()
        limiter.end(await waiting, "unsent")
        return asyncio.get_running_loop().time() - began

    async def once() -> float:
        taken, give = threading.Event(), threading.Event()
        holding = asyncio.create_task(in_threads(1, functools.partial(hold, taken, give)))
        await asyncio.to_thread(taken.wait, 20)
        try:
            return await asyncio.to_thread(lambda: asyncio.run(wait(give)))
        finally:
            await holding

    # A loop that asked would ask after a second; a busy machine may be late once, or twice.
    assert min([await once() for _ in range(3)]) < 0.9


async def test_who_waits_outlives_the_loop_that_has_all_permits(account: str) -> None:
    """A loop that waits for permits gets one although the loop that has them all is closed without ending any."""
    taken, close = threading.Event(), threading.Event()

    async def hold() -> None:
        await limiter_of(account, cmsapi.RateLimits(per_second=1)).acquire()
        taken.set()
        await asyncio.to_thread(close.wait, 20)

    async def wait() -> None:
        limiter = limiter_of(account, cmsapi.RateLimits(per_second=1))
        waiting = asyncio.create_task(limiter.acquire())
        await asyncio.sleep(0.5)
        close.set()
        limiter.end(await waiting, "unsent")

    holding = asyncio.create_task(in_threads(1, hold))
    await asyncio.to_thread(taken.wait, 20)
    async with asyncio.timeout(20):
        await asyncio.to_thread(lambda: asyncio.run(wait()))
    await holding


async def test_a_loop_that_stands_still_holds_up_no_other(account: str) -> None:
    """A program may block its loop until a loop in another thread is done, as notebooks do."""
    limiter = limiter_of(account)
    limiter.end(await limiter.acquire(), "answered")
    remaining: list[int | None] = []

    async def use() -> None:
        limiter = limiter_of(account)
        limiter.end(await limiter.acquire(), "answered")
        remaining.append(limiter.remaining)

    thread = threading.Thread(target=lambda: asyncio.run(use()))
    thread.start()
    thread.join(10)
    assert remaining == [998]
    assert limiter_of(account).remaining == 998


@pytest.mark.looptime
async def test_a_loop_in_virtual_time_is_alone(account: str) -> None:
    """What a loop in virtual time uses does not count for loops in real time."""
    limiter = limiter_of(account)
    limiter.end(await limiter.acquire(), "answered")
    remaining: list[int | None] = []

    async def use() -> None:
        limiter = limiter_of(account)
        limiter.end(await limiter.acquire(), "answered")
        remaining.append(limiter_of(account).remaining)

    await in_threads(1, use)
    assert remaining == [999]


def test_loops_of_other_threads_come_in_between() -> None:
    """While one thread looks for what closed loops have left, another one keeps something for its loop."""
    kept: dict[asyncio.AbstractEventLoop, object] = {}
    newcomer = asyncio.new_event_loop()

    async def use() -> object:
        return of_loop(kept, object)

    class Interrupted(asyncio.SelectorEventLoop):
        def is_closed(self) -> bool:
            kept[newcomer] = newcomer
            return super().is_closed()

    loop = Interrupted()
    first = loop.run_until_complete(use())
    asyncio.run(use())
    assert loop.run_until_complete(use()) is first
    loop.close()
    asyncio.run(use())
    assert loop not in kept
    assert kept.pop(newcomer) is newcomer
    newcomer.close()


async def test_loops_come_and_go_in_many_threads() -> None:
    """Eight threads that make and close loops all the time find the state, the limiter and the schedule of each."""

    async def use(number: int) -> None:
        async with cmsapi.Client("sk_" + "a" * 32, base_url="https://api.example.com") as client:
            assert client.rate_limit.remaining == 1000
            assert client.jobs is not None
            limiter_of(f"account {number}")

    def come_and_go() -> None:
        for number in range(60):
            asyncio.run(use(number))

    # What is imported on first use is there before the threads start.
    await use(0)
    with ThreadPoolExecutor(8) as threads:
        loop = asyncio.get_running_loop()
        await asyncio.gather(*(loop.run_in_executor(threads, come_and_go) for _ in range(8)))
