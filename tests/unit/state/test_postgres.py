"""What is particular to PostgreSQL."""

from __future__ import annotations

import os
import socket
import traceback

import psycopg
import pytest

from cmsapi.errors import ConfigError, StateError
from cmsapi.state.postgres import postgres
from cmsapi.state.store import PATIENCE, open_store
from tests.support import servers
from tests.unit.state.conftest import Stores


@pytest.mark.slow
async def test_a_state_of_a_newer_version_is_refused(postgres_server: servers.Server) -> None:
    """What a newer version wrote is not touched."""
    stores = Stores(postgres_server.url)
    store = stores.open()
    await store.durations()
    with psycopg.connect(postgres_server.url, autocommit=True) as direct:
        direct.execute("UPDATE cmsapi_meta SET value = '99'")
        try:
            with pytest.raises(StateError, match="newer"):
                await stores.open().durations()
        finally:
            direct.execute("UPDATE cmsapi_meta SET value = '1'")
    await stores.aclose()


@pytest.mark.parametrize("url", ["postgresql://u:p@ss@host/db", "postgresql://u:p%zz@host/db"])
def test_a_wrong_address_does_not_show_the_password(url: str) -> None:
    """The driver's own message has parts of the address, so that it is not passed on."""
    with pytest.raises(ConfigError, match="PostgreSQL") as caught:
        open_store(url, "")
    shown = "".join(traceback.format_exception(caught.value))
    assert not [part for part in ("p@ss", "ss@host", "%zz") if part in shown]


def test_a_host_that_has_vanished_is_given_up_soon(postgres_server: servers.Server) -> None:
    """A connection whose other end is silent ends after half a minute, not after TCP's quarter of an hour."""
    connection = postgres(postgres_server.url).connect()
    with socket.socket(fileno=os.dup(connection.fileno())) as opened:
        assert opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 1000 * PATIENCE
    connection.close()
