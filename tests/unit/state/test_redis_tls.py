"""A Redis server behind TLS is who it says it is, before a password or an entry goes there."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from cmsapi.errors import StateError
from cmsapi.state.redis import RedisState
from tests.support.certificates import certificate

pytestmark = [
    pytest.mark.enable_socket,
    pytest.mark.skipif(shutil.which("openssl") is None, reason="NOT TESTED: no openssl"),
]


@pytest.mark.parametrize(
    ("name", "trusted", "trusting"),
    [("localhost", True, True), ("localhost", False, False), ("elsewhere.example", True, False)],
    ids=["its own", "of an unknown authority", "of another host"],
)
async def test_its_certificate_is_checked(name: str, trusted: bool, trusting: bool, tmp_path: Path) -> None:
    """Nothing is sent to a server whose certificate is of another host or of an unknown authority."""
    heard = bytearray()

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.extend(await reader.read(1000))
        writer.close()

    server = await asyncio.start_server(hear, "127.0.0.1", 0, ssl=await certificate(tmp_path, name))
    port = server.sockets[0].getsockname()[1]
    authority = f"?ssl_ca_certs={tmp_path / 'certificate.pem'}" if trusted else ""
    state = RedisState(f"rediss://:swordfish@localhost:{port}/0{authority}")
    with pytest.raises(StateError):
        await state.entries("scope")
    await state.aclose()
    server.close()
    assert bool(heard) is trusting
    assert (b"swordfish" in heard) is trusting
