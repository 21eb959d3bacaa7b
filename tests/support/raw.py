"""A server on loopback that answers with exactly the bytes it was given, and keeps what it was asked.

For what no well-behaved server can be made to do: broken status lines, truncated bodies, silence, dropped connections.
"""

from __future__ import annotations

import asyncio
import re
from types import TracebackType
from typing import Self

import attrs

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


@attrs.frozen
class Say:
    """Answer a request with some bytes.

    Args:
        data: The bytes; none at all when empty.
        then: What becomes of the connection: `keep` it for the next request, `close` it, or fall `silent`.
    """

    data: bytes = b""
    then: str = attrs.field(default="keep", validator=attrs.validators.in_(("keep", "close", "silent")))


DROP = Say(then="close")
SILENCE = Say(then="silent")


def http(body: bytes = b"{}", status: str = "200 OK", *headers: str) -> Say:
    """Answer as HTTP would have it."""
    lines = [f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(body)}", *headers]
    return Say("\r\n".join(lines).encode() + b"\r\n\r\n" + body)


class RawServer:
    """Play a script, one entry a request; the last entry is played again and again.

    Args:
        script: What to answer.
    """

    def __init__(self, *script: Say) -> None:
        self.script = list(script)
        self.requests: list[bytes] = []
        self.connections = 0
        self._open: set[asyncio.Task[None]] = set()
        self._writers: list[asyncio.StreamWriter] = []

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in tuple(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)
        await self._server.wait_closed()

    async def interrupt(self, data: bytes) -> None:
        """Write some bytes that were not asked for to every open connection, and let them arrive."""
        for writer in self._writers:
            writer.write(data)
            await writer.drain()
        await asyncio.sleep(0.02)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        self._writers.append(writer)
        try:
            while (asked := await _read_request(reader)) is not None:
                self.requests.append(asked)
                say = self.script[min(len(self.requests), len(self.script)) - 1]
                writer.write(say.data)
                await writer.drain()
                if say.then == "close":
                    return
                if say.then == "silent":
                    await asyncio.Event().wait()
        except (asyncio.CancelledError, ConnectionError):
            pass
        finally:
            self._open.discard(task)
            self._writers.remove(writer)
            writer.close()


async def _read_request(reader: asyncio.StreamReader) -> bytes | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    length = _LENGTH.search(head)
    return head + (await reader.readexactly(int(length[1])) if length else b"")
