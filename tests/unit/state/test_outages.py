"""Servers that die in the middle of operations and come back with their data."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
import traceback
from collections.abc import Iterator

import pytest

from cmsapi.errors import StateError
from cmsapi.state.store import JobStatus, Row, SharedStore
from tests.support import servers
from tests.unit.state.conftest import Stores

pytestmark = pytest.mark.slow

ENOUGH = 100
"""Launches before the server is killed."""


@pytest.fixture(params=["redis", "postgres"])
def server(request: pytest.FixtureRequest) -> Iterator[servers.Server]:
    """Run a server that this test may kill."""
    with {"redis": servers.redis_server, "postgres": servers.postgres_server}[request.param]() as server:
        yield server


async def back(store: SharedStore) -> None:
    """Wait until a store answers again."""
    for _ in range(200):
        with contextlib.suppress(StateError):
            await store.durations()
            return
        await asyncio.sleep(0.05)
    raise AssertionError("the store does not answer again")


async def test_a_killed_server_is_a_state_error_and_loses_nothing(
    server: servers.Server, caplog: pytest.LogCaptureFixture
) -> None:
    """Each call ends with its result or with `StateError`; what was written is still there after a restart."""
    caplog.set_level(logging.DEBUG)
    stores = Stores(server.url)
    opened = [stores.open() for _ in range(4)]
    for store in opened:
        await back(store)
    written: list[str] = []
    busy = asyncio.Event()
    errors: list[StateError] = []

    async def write(store: SharedStore, name: str) -> None:
        for number in range(100_000):
            row = Row("search", f"{name}-{number}", "name")
            try:
                assert await store.insert(row, 60.0, ("batch", row.target)) is None
                written.append(row.target)
                if len(written) == ENOUGH:
                    busy.set()
                await store.take(row.id, 1_000_000, 1_000_000, 30.0)
                await store.answered(row.id, departed=True, pause=0.0)
            except StateError as error:
                errors.append(error)
                return

    async def kill() -> None:
        await busy.wait()
        server.kill()

    await asyncio.wait_for(asyncio.gather(kill(), *(write(each, str(n)) for n, each in enumerate(opened))), 30.0)
    assert len(errors) == len(opened)
    with pytest.raises(StateError) as caught:
        await opened[0].durations()
    shown = "".join("".join(traceback.format_exception(error)) + repr(error) for error in [*errors, caught.value])
    assert server.password not in shown + caplog.text
    server.start()
    for store in opened:
        await back(store)
    items = await opened[0].items("batch")
    assert set(items) >= set(written)
    assert len(items) <= len(written) + len(opened), "at most the call that was interrupted was carried out, too"
    assert {row.target for row in await opened[1].rows([JobStatus.SENDING])} == set(items)
    await asyncio.gather(*(store.insert(Row("k", f"after {n}", "n"), 5.0) for n, store in enumerate(opened)))
    await stores.aclose()


async def test_a_connection_that_died_meanwhile_is_opened_again(server: servers.Server) -> None:
    """A server that restarts between two calls costs no error, and no call is carried out twice."""
    stores = Stores(server.url)
    store, other = stores.open(), stores.open()
    row = Row("search", "s", "name")
    await back(store)
    server.kill()
    server.start()
    await back(other)
    assert await store.insert(row, 60.0) is None
    assert await store.update(row, attempt=2)
    await stores.aclose()


async def test_a_server_that_was_never_there_is_a_state_error(server: servers.Server) -> None:
    """A program that starts before its server gets an error, and can continue later."""
    server.kill()
    stores = Stores(server.url)
    store, began = stores.open(), time.monotonic()
    with pytest.raises(StateError, match=r"127\.0\.0\.1"):
        await store.find("kind", "target")
    assert time.monotonic() - began < 5.0
    server.start()
    await back(store)
    await stores.aclose()


async def test_a_wrong_password_is_a_state_error(server: servers.Server) -> None:
    """A password that the server refuses is not shown."""
    stores = Stores(server.url.replace(server.password, "wrong-secret"))
    with pytest.raises(StateError) as caught:
        await stores.open().durations()
    assert "wrong-secret" not in "".join(traceback.format_exception(caught.value))
    await stores.aclose()
