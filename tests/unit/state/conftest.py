"""States to test: in memory, in a file, and on servers that the tests start."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

# Imported before blocking calls of cmsapi are forbidden: drivers look for libraries when they are imported.
import psycopg  # noqa: F401
import pytest
import redis.asyncio  # noqa: F401

from cmsapi.state.store import SharedStore, Store, open_store
from tests.support import servers

SHARED = ["sqlite", *(pytest.param(name, marks=pytest.mark.slow) for name in ("redis", "postgres"))]


class Stores:
    """Stores on one state, as several processes open them.

    Args:
        url: Address of the state.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._mark = secrets.token_hex(4)  # tests share servers
        self._opened: list[Store] = []

    def open(self, scope: str = "scope", key: str = "key") -> SharedStore:
        """Return another store on the state."""
        store = open_store(self.url, f"{key}-{self._mark}")
        assert isinstance(store, SharedStore)
        store.scope = f"{scope}-{self._mark}"
        self._opened.append(store)
        return store

    async def aclose(self) -> None:
        """Close all stores."""
        for store in self._opened:
            await store.aclose()


@pytest.fixture(scope="session")
def redis_server() -> Iterator[servers.Server]:
    """Run a Redis server."""
    with servers.redis_server() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[servers.Server]:
    """Run a PostgreSQL server."""
    with servers.postgres_server() as server:
        yield server


@pytest.fixture
def url_of(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], str]:
    """Return a function that returns the address for a kind of state."""

    def url(name: str) -> str:
        if name == "sqlite":
            return f"sqlite:///{tmp_path / 'state.db'}"
        server: servers.Server = request.getfixturevalue(f"{name}_server")
        return server.url

    return url


@pytest.fixture(params=SHARED)
async def stores(request: pytest.FixtureRequest, url_of: Callable[[str], str]) -> AsyncIterator[Stores]:
    """Return stores on each kind of state that processes share."""
    stores = Stores(url_of(request.param))
    yield stores
    await stores.aclose()


@pytest.fixture(params=["memory", *SHARED])
async def store(request: pytest.FixtureRequest, url_of: Callable[[str], str]) -> AsyncIterator[Store]:
    """Return a store on each kind of state."""
    if request.param == "memory":
        yield open_store("memory:", "")
        return
    stores = Stores(url_of(request.param))
    yield stores.open()
    await stores.aclose()
