"""Servers that are killed and started again while states write: what was told to be written is there."""

from __future__ import annotations

import asyncio
import itertools
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from typing import TypeVar

import attrs
import pytest

from cmsapi.errors import StateError
from cmsapi.state.entry import Entry, Lease
from cmsapi.state.opening import open_state
from cmsapi.state.store import State
from tests.support.postgres import Postgres
from tests.support.servers import Server

pytestmark = [pytest.mark.enable_socket, pytest.mark.slow]

T = TypeVar("T")

SCOPE = "https://api.example.com org_1"
ENTRY = Entry(kind="keyword_analysis", target="kw_1", asked_at=1.0, batch="nightly")
ITEMS = 120


async def repeated(operation: Callable[[], Awaitable[T]]) -> T:
    """Repeat an operation until the state answers."""
    while True:
        try:
            return await operation()
        except StateError:
            await asyncio.sleep(0.05)


async def work(state: State, items: itertools.count[int], begun: list[int]) -> None:
    """Begin and end items one after the other, as a batch does, and count each in the limits."""

    def counted(document: str | None, clock: float) -> tuple[str, None]:
        return str(int(document or 0) + 1), None

    while (number := next(items)) < ITEMS:
        lease, entry = Lease(SCOPE, f"key {number}"), attrs.evolve(ENTRY, item=str(number))
        assert await repeated(lambda lease=lease, entry=entry: state.begin(lease, entry)) is None  # type: ignore[misc]
        begun.append(number)
        await repeated(lambda: state.update_limits("account", counted))
        ended = attrs.evolve(entry, status="succeeded", ended_at=2.0)
        assert not await repeated(lambda lease=lease, ended=ended: state.end(lease, ended))  # type: ignore[misc]


@asynccontextmanager
async def two_states(url: str) -> AsyncIterator[tuple[State, State]]:
    """Open a state as two processes would."""
    async with aclosing(open_state(url)) as one, aclosing(open_state(url)) as other:
        yield one, other


async def test_what_was_written_outlives_the_server(own_server: Server | Postgres) -> None:
    """A server is killed twice in full swing: each item has begun once and ended once, and no count is lost."""
    items, begun = itertools.count(), list[int]()
    async with two_states(own_server.url) as states, asyncio.TaskGroup() as group:
        for state in states * 2:
            group.create_task(work(state, items, begun))
        for share in (0.25, 0.5):
            while len(begun) < share * ITEMS:  # noqa: ASYNC110  states have no event
                await asyncio.sleep(0.005)
            await asyncio.to_thread(own_server.end, signal.SIGQUIT)
            await asyncio.sleep(0.3)
            await asyncio.to_thread(own_server.start)
    async with aclosing(open_state(own_server.url)) as state:
        outcomes = await state.outcomes(SCOPE, batch="nightly")
        assert sorted(int(each.item or -1) for each in outcomes) == sorted(begun) == list(range(ITEMS))
        assert await state.entries(SCOPE) == {}
        counts = await state.update_limits("account", lambda document, clock: (document or "", int(document or 0)))
        # One whose answer was lost may have been repeated.
        assert ITEMS <= counts <= ITEMS + 8
