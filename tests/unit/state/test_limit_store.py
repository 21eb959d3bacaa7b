"""One document for each account, changed by many at once: in memory, on SQLite, on Redis and on Postgres."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from cmsapi.ratelimit.shared_log import AccountLimits
from cmsapi.state.entry import Entry
from cmsapi.state.redis import RedisState
from cmsapi.state.store import State
from tests.support.places import Place, emptied
from tests.support.servers import Server

pytestmark = pytest.mark.enable_socket

ACCOUNT = "0123456789abcdef"
LIMITS = AccountLimits(per_second=20, per_hour=1000)
ENTRY = Entry(kind="generation", target="cnt_1", asked_at=1.0)


def counted(document: str | None, clock: float) -> tuple[str, int]:
    """Count by one."""
    number = int(document or 0) + 1
    return str(number), number


async def test_no_change_is_lost(place: Place) -> None:
    """States that change one document at the same time do so one after another; another account is not touched."""
    states = [place.open() for _ in range(8)]
    await states[0].update_limits("another", counted)
    numbers = await asyncio.gather(*(state.update_limits(ACCOUNT, counted) for state in states * 5))
    assert sorted(numbers) == list(range(1, 41))
    assert await states[0].update_limits("another", counted) == 2


async def test_the_time_is_that_of_the_state(place: Place, state: State, other: State) -> None:
    """All see one clock, in seconds, that goes on between two changes."""
    before = await state.update_limits(ACCOUNT, lambda document, clock: ("", clock))
    await place.pass_time(0.1)
    assert 0.1 <= await other.update_limits(ACCOUNT, lambda document, clock: ("", clock)) - before < 5.0


async def test_a_change_that_fails_changes_nothing(state: State) -> None:
    """What it raises comes out, and the document stands."""

    def fail(document: str | None, clock: float) -> tuple[str, int]:
        raise ZeroDivisionError

    await state.update_limits(ACCOUNT, counted)
    with pytest.raises(ZeroDivisionError):
        await state.update_limits(ACCOUNT, fail)
    assert await state.update_limits(ACCOUNT, counted) == 2


@asynccontextmanager
async def far_from(server: Server, seconds: float) -> AsyncIterator[str]:
    """Relay to a server, with so many seconds each way, and yield the URL of the relay."""
    address = server.url.removeprefix("redis://").partition("/")[0].split(":")

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            while data := await reader.read(1 << 16):
                await asyncio.sleep(seconds)
                writer.write(data)
        writer.close()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server_writer = await asyncio.open_connection(address[0], int(address[1]))
        await asyncio.gather(relay(reader, server_writer), relay(server_reader, writer))

    listener = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield f"redis://127.0.0.1:{listener.sockets[0].getsockname()[1]}/0"
    finally:
        listener.close()


@pytest.mark.slow
async def test_a_state_far_from_the_server_is_in_time_too(server: Server) -> None:
    """Near states that never stop changing a document let a far one change it as well, again and again."""
    url = await emptied(server)
    changes: dict[State, int] = {}

    async def go_on(state: State) -> None:
        changes[state] = 0
        while True:
            await state.update_limits(ACCOUNT, counted)
            changes[state] += 1
            await asyncio.sleep(0.01)

    async with far_from(server, 0.04) as far_url, contextlib.AsyncExitStack() as stack:
        states = [
            await stack.enter_async_context(contextlib.aclosing(RedisState(each))) for each in (far_url, url, url)
        ]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(4.0):
                await asyncio.gather(*(go_on(state) for state in states))
        total = await states[1].update_limits(ACCOUNT, counted)
    far, *near = changes.values()
    assert far >= 5
    assert min(near) >= 15
    assert 0 <= total - 1 - sum(changes.values()) <= 3
