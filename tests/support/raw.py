"""A server on loopback that answers each request with scripted bytes, to do what no well-behaved server does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

HANG_UP = b""
"""A reply that closes the connection without a byte."""


def http(body: bytes = b"{}", status: str = "200 OK", *headers: str) -> bytes:
    """Return a well-formed response with a JSON body."""
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


class RawServer:
    """A server that records the bytes of each request and sends the next scripted reply.

    Attributes:
        script: The replies in order, possibly including `HANG_UP`; for None it never answers. The last one is repeated.
        requests: The bytes of each request: head and body.
        connections: How many connections were accepted.
        close_after_reply: Hang up after each reply, as does a server that truncates responses or keeps no connections.
        url: Address of the server.
    """

    def __init__(self, port: int) -> None:
        self.script: list[bytes | None] = [http()]
        self.requests: list[bytes] = []
        self.connections = 0
        self.writers: list[asyncio.StreamWriter] = []
        self.close_after_reply = False
        self.url = f"http://127.0.0.1:{port}"

    async def exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request and return True if the connection stays open."""
        head = await reader.readuntil(b"\r\n\r\n")
        length = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        self.requests.append(head + await reader.readexactly(int(length[0]) if length else 0))
        reply = self.script[min(len(self.requests), len(self.script)) - 1]
        if reply is None:
            await asyncio.Event().wait()
        elif reply != HANG_UP:
            writer.write(reply)
            await writer.drain()
        return reply != HANG_UP and not self.close_after_reply


@pytest.fixture
async def raw_server() -> AsyncIterator[RawServer]:
    """Return a running raw server on a free port."""
    tasks: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.connections += 1
        server.writers.append(writer)
        try:
            while await server.exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def start(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(accept(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    listener = await asyncio.start_server(start, "127.0.0.1", 0)
    server = RawServer(listener.sockets[0].getsockname()[1])
    yield server
    listener.close()
    for task in tuple(tasks):
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await listener.wait_closed()
