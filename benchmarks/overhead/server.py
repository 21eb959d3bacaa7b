"""A server in a process of its own that does next to nothing: the same answer to everybody, kept alive.

`/cpu` answers with the seconds of CPU that it has used, so that the table can show that it is not what limits.
"""

from __future__ import annotations

import asyncio
import time

from benchmarks.decode.documents import CONTENT, compact


def _answer(body: bytes) -> bytes:
    head = (
        "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nDate: Mon, 09 Mar 2026 17:45:01 GMT\r\n"
        "X-RateLimit-Limit: 1000000\r\nX-RateLimit-Remaining: 999999\r\nX-RateLimit-Reset: 3600\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


_CONTENT = _answer(compact(CONTENT))


class Canned(asyncio.Protocol):
    """Answer each request as soon as its head is there."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note the connection."""
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport
        self._received = b""

    def data_received(self, data: bytes) -> None:
        """Answer as many requests as have come."""
        *heads, self._received = (self._received + data).split(b"\r\n\r\n")
        for head in heads:
            used = b"GET /cpu " in head
            self._transport.write(_answer(str(time.process_time()).encode()) if used else _CONTENT)


async def serve() -> None:
    """Serve on a free port of this host, and print which."""
    server = await asyncio.get_running_loop().create_server(Canned, "127.0.0.1", 0, backlog=1000)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve())
