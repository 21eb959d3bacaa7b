"""A proxy on loopback that applies faults to bytes, for faults that a transport in the process cannot show.

The proxy stands between any HTTP/1.1 client and a served sandbox, and forwards each request over a new connection. It
answers with the faults itself, so the sandbox's ledger contains only the requests that have reached the sandbox.
"""

from __future__ import annotations

import asyncio
import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from cmsapi.sandbox.faults.injector import FaultInjector
from cmsapi.sandbox.faults.rules import Fault, Faults, as_faults
from cmsapi.sandbox.faults.spoiling import GARBAGE, SPOILINGS
from cmsapi.sandbox.messages import answers
from cmsapi.sandbox.messages.answers import Answer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import TracebackType

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
# Number of pieces of a slow answer.
_PIECES = 10
_CHUNK = 64 * 1024


class FaultProxy:
    """Forward requests to a served sandbox, with faults; use it as an async context manager.

    Args:
        upstream: Base URL of the sandbox, `http://host:port`.
        faults: The faults; clock steps are ignored.
        seed: Seed of the choices.
    """

    def __init__(self, upstream: str, faults: Faults | Fault | Iterable[Fault], seed: object = 0) -> None:
        parts = urlsplit(upstream)
        self._upstream = (parts.hostname or "127.0.0.1", parts.port or 80)
        self._injector = FaultInjector(as_faults(faults), seed)
        self._open: set[asyncio.Task[Any]] = set()
        self.base_url: str = ""

    @property
    def faults_struck(self) -> Mapping[str, int]:
        """How many faults have struck, by kind."""
        return dict(self._injector.struck)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.base_url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in tuple(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)
        await self._server.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if (task := asyncio.current_task()) is not None:
            self._keep(task)
        try:
            while await self._exchange(reader, writer):
                pass
        except (asyncio.CancelledError, asyncio.IncompleteReadError, OSError):
            # The client or the sandbox has closed its connection, or the proxy closes.
            pass
        finally:
            writer.transport.abort()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Exchange one request and its answer; return whether the connection stays open."""
        request = await _read_message(reader)
        method, target, _ = request.split(b"\r\n", 1)[0].decode("latin-1").split(" ", 2)
        await asyncio.sleep(self._injector.draw_latency())
        at = asyncio.get_running_loop().time()
        fault = self._injector.fault_for(method, target.partition("?")[0], at)
        if fault is not None and fault.when == "before" and fault.replaces_answer:
            return await _write_faulty(writer, fault, b"")
        forwarding = asyncio.create_task(self._forward(request, 0.0 if fault is None else fault.late or 0.0))
        self._keep(forwarding)
        if fault is not None and fault.late is not None and fault.replaces_answer:
            return await _write_faulty(writer, fault, b"")
        answer = await forwarding
        await asyncio.sleep(self._injector.draw_latency())
        if fault is None:
            writer.write(answer)
            await writer.drain()
            return True
        return await _write_faulty(writer, fault, answer)

    def _keep(self, task: asyncio.Task[Any]) -> None:
        """Cancel a task when the proxy closes."""
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def _forward(self, request: bytes, after: float) -> bytes:
        await asyncio.sleep(after)
        reader, writer = await asyncio.open_connection(*self._upstream)
        try:
            writer.write(request)
            await writer.drain()
            return await _read_message(reader)
        finally:
            writer.close()


async def _write_faulty(writer: asyncio.StreamWriter, fault: Fault, answer: bytes) -> bool:
    """Write an answer as a fault changes it; return whether the connection stays open."""
    head, _, body = answer.partition(b"\r\n\r\n")
    half = head + b"\r\n\r\n" + body[: len(body) // 2]
    if fault.status is not None:
        headers = {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)}
        writer.write(_render(answers.error(fault.status, "a fault of the proxy", headers)))
    elif fault.drop:
        if fault.when == "within":
            writer.write(half)
            await writer.drain()
        return False
    elif fault.slow is not None:
        await _drip(writer, answer, fault.slow)
    elif fault.spoil == "garbage":
        writer.write(GARBAGE)
        await _end(writer)
        return False
    elif fault.spoil == "truncated":
        # The head has the length of the whole answer.
        writer.write(half)
        await _end(writer)
        return False
    elif fault.late is not None:
        writer.write(answer)
    elif fault.spoil is not None:
        parsed = _parse(head, body)
        if parsed.status < HTTPStatus.BAD_REQUEST:
            parsed = SPOILINGS[fault.spoil](parsed)
        await _stream(writer, parsed)
    await writer.drain()
    return True


async def _end(writer: asyncio.StreamWriter) -> None:
    """End the stream, so that the written bytes arrive before the connection breaks."""
    await writer.drain()
    writer.write_eof()
    await asyncio.sleep(0)


async def _drip(writer: asyncio.StreamWriter, data: bytes, seconds: float) -> None:
    size = max(1, len(data) // _PIECES)
    for start in range(0, len(data), size):
        await asyncio.sleep(seconds * size / len(data))
        writer.write(data[start : start + size])


async def _stream(writer: asyncio.StreamWriter, answer: Answer) -> None:
    """Write an answer in chunks, so that its head does not contain its length."""
    if answer.status == HTTPStatus.NO_CONTENT:
        writer.write(_head(answer, ""))
        return
    writer.write(_head(answer, "Transfer-Encoding: chunked\r\n"))
    for start in range(0, len(answer.body), _CHUNK):
        piece = answer.body[start : start + _CHUNK]
        writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        await writer.drain()
    writer.write(b"0\r\n\r\n")


def _parse(head: bytes, body: bytes) -> Answer:
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
    # A spoiled answer has another length. The name is spelled as aiohttp's server spells it.
    headers.pop("Content-Length", None)
    return Answer(int(first.split(" ", 2)[1]), headers, body)


def _render(answer: Answer) -> bytes:
    return _head(answer, f"Content-Length: {len(answer.body)}\r\n") + answer.body


def _head(answer: Answer, framing: str) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items())
    return f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}\r\n{lines}{framing}\r\n".encode("latin-1")


async def _read_message(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = _LENGTH.search(head)
    return head + (await reader.readexactly(int(length[1])) if length else b"")
