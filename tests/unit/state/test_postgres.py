"""What is particular to PostgreSQL."""

from __future__ import annotations

import os
import socket
import traceback

import pytest

from cmsapi.errors import ConfigError
from cmsapi.state.postgres import postgres
from cmsapi.state.store import PATIENCE, open_store
from tests.support import servers


@pytest.mark.parametrize("url", ["postgresql://u:p@ss@host/db", "postgresql://u:p%zz@host/db"])
def test_a_wrong_address_does_not_show_the_password(url: str) -> None:
    """The driver's own message contains parts of the address, so it is not passed on."""
    with pytest.raises(ConfigError, match="PostgreSQL") as caught:
        open_store(url, "")
    shown = "".join(traceback.format_exception(caught.value))
    assert not [part for part in ("p@ss", "ss@host", "%zz") if part in shown]


@pytest.mark.slow
def test_a_host_that_has_vanished_is_given_up_soon(postgres_server: servers.Server) -> None:
    """A connection whose peer is silent ends after half a minute, not after TCP's quarter of an hour."""
    connection = postgres(postgres_server.url).connect()
    with socket.socket(fileno=os.dup(connection.fileno())) as opened:
        assert opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 1000 * PATIENCE
    connection.close()
