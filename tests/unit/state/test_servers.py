"""What states on a server have in common: one that goes, comes back, stands still, or was never there."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import time
from contextlib import aclosing

import pytest

from cmsapi.errors import ConfigError, StateError
from cmsapi.state import redis, session
from cmsapi.state.entry import Entry, Lease
from cmsapi.state.opening import open_state
from tests.support.postgres import Postgres
from tests.support.servers import Server

pytestmark = pytest.mark.enable_socket

SCOPE = "scope"
ENTRY = Entry(kind="generation", target="cnt_1", asked_at=1.0)
ACCOUNT = "0123456789abcdef"

# How long operations may take that are asked for together, and three that follow one after another.
LONGEST = {
    "redis": ((redis.REPEATS + 1) * redis.TIMEOUT + 3.0, 3 * redis.SHORT_TIMEOUT + 2.0),
    "postgresql": (
        session.TIMEOUT + 3 * session.STOPPING + 2.0,
        3 * (session.SHORT_TIMEOUT + 3 * session.STOPPING) + 2.0,
    ),
}


def counted(document: str | None, clock: float) -> tuple[str, int]:
    """Count by one."""
    number = int(document or 0) + 1
    return str(number), number


async def test_an_outage_is_an_error_and_then_over(own_server: Server | Postgres) -> None:
    """A server that is gone gives errors that say so; when it is back at its place, all goes on."""
    async with aclosing(open_state(own_server.url)) as state:
        await state.begin(Lease(SCOPE, "key"), ENTRY)
        own_server.end()
        with pytest.raises(StateError, match=r"//(\*\*\*@)?127.0.0.1:\d+/\w+ cannot be used .*may have been written"):
            await state.begin(Lease(SCOPE, "another"), ENTRY)
        # A client of Postgres opens a connection first, and so is certain.
        written = "may have been" if isinstance(own_server, Server) else r"Connection refused.*Nothing was written\."
        with pytest.raises(StateError, match=rf"{written}.*See that the server runs"):
            await state.update_limits(ACCOUNT, counted)
        own_server.start()
        assert await state.begin(Lease(SCOPE, "another"), ENTRY) is None
        assert await state.update_limits(ACCOUNT, counted) == 1
        assert set(await state.entries(SCOPE)) == {"key", "another"}


async def test_a_restart_between_two_operations_is_not_noticed(own_server: Server | Postgres) -> None:
    """A connection that the server ended meanwhile is opened anew, and what was written before is there."""
    async with aclosing(open_state(own_server.url)) as state:
        lease = Lease(SCOPE, "key")
        await state.begin(lease, ENTRY)
        await state.update_limits(ACCOUNT, counted)
        own_server.end(signal.SIGQUIT)
        own_server.start()
        await state.keep(lease)
        assert await state.update_limits(ACCOUNT, counted) == 2


@pytest.mark.parametrize(
    ("url", "refusal"),
    [
        ("redis://127.0.0.1:{port}/0", "Connect call failed"),
        ("postgresql://127.0.0.1:{port}/postgres", "Connection refused"),
    ],
    ids=["redis", "postgres"],
)
async def test_a_server_that_was_never_there_has_written_nothing(url: str, refusal: str) -> None:
    """Each operation that waited for the first connection tells why there is none, and so do later ones in silence."""
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    async with aclosing(open_state(url.format(port=port))) as state:
        wanted = (state.begin(Lease(SCOPE, f"key {number}"), ENTRY) for number in range(3))
        for each in await asyncio.gather(*wanted, return_exceptions=True):
            assert isinstance(each, StateError)
            assert refusal in str(each)
            assert "Nothing was written. See that the server runs" in str(each)
        silence = rf"no answer; before that .*{refusal}"
        with socket.create_server(("127.0.0.1", port)), pytest.raises(StateError, match=silence):
            await state.entries(SCOPE)


async def test_closing_during_an_outage(own_server: Server | Postgres, caplog: pytest.LogCaptureFixture) -> None:
    """A state whose server is gone closes all the same, and says that leases were not given back."""
    state = open_state(own_server.url)
    await state.heartbeat(SCOPE)
    own_server.end()
    with caplog.at_level(logging.WARNING, "cmsapi"):
        await state.aclose()
    assert "leases were not given back" in caplog.text
    with pytest.raises(StateError, match="is closed"):
        await state.heartbeat(SCOPE)


@pytest.mark.parametrize(
    ("url", "match"),
    [
        ("redis://localhost:port", "is not the URL of a Redis server"),
        ("redis://:s3cret@[::1", "^state is 'memory:'"),
        ("redis://:s3cret@host/0?max_idle=x&db=y", "is not the URL of a Redis server"),
        ("postgresql://:s3cret@host:7/%", "is not the URL of a Postgres server"),
        ("postgres://:s3cret@host/db?no_such_option=x", "is not the URL of a Postgres server"),
    ],
)
def test_a_url_that_cannot_be_read(url: str, match: str) -> None:
    """It is refused when it is given, without a word of the password."""
    with pytest.raises(ConfigError, match=match) as caught:
        open_state(url)
    assert "s3cret" not in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("used", [True, False])
async def test_a_server_that_stands_still_is_waited_for_once(own_server: Server | Postgres, used: bool) -> None:
    """Operations that were asked for together fail together, later ones soon, and closing is not long in coming."""
    most_together, most_later = LONGEST[own_server.url.partition(":")[0]]
    async with aclosing(open_state(own_server.url)) as state:
        if used:
            await state.begin(Lease(SCOPE, "key"), ENTRY)
        with own_server.stopped():
            began = time.monotonic()
            wanted = (state.begin(Lease(SCOPE, f"key {number}"), ENTRY) for number in range(10))
            failed = await asyncio.gather(*wanted, return_exceptions=True)
            assert [type(error) for error in failed] == [StateError] * 10
            together = time.monotonic() - began
            for _ in range(3):
                with pytest.raises(StateError, match=r"not? answer"):
                    await state.entries(SCOPE)
            later = time.monotonic() - began - together
        assert together < most_together
        assert later < most_later
        assert await state.begin(Lease(SCOPE, "later"), ENTRY) is None
