"""Requests through the proxy of the sandbox."""

from __future__ import annotations

import asyncio
import contextlib
import re

from cmsapi.sandbox import FaultProxy, Sandbox

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


async def ask(proxy: FaultProxy, box: Sandbox, method: str = "GET", path: str = "/v1/me") -> bytes:
    """Send one request and return the bytes of its answer: a whole one, or what comes until the connection ends."""
    host, port = proxy.base_url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    body = b'{"name":"New"}' if method == "POST" else b""
    head = f"{method} {path} HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {box.api_key}\r\nContent-Length: {len(body)}"
    head += "\r\nContent-Type: application/json"
    writer.write(head.encode() + b"\r\n\r\n" + body)
    got = bytearray()
    async with asyncio.timeout(20):
        with contextlib.suppress(ConnectionResetError):
            while not _is_whole(got) and (piece := await reader.read(2**20)):
                got += piece
    writer.close()
    return bytes(got)


def _is_whole(answer: bytearray) -> bool:
    """Tell whether an answer has ended, by its length or by its last chunk."""
    head, end, _ = answer[:4096].partition(b"\r\n\r\n")
    if not end:
        return False
    if (length := _LENGTH.search(head)) is not None:
        return len(answer) >= len(head) + len(end) + int(length[1])
    return b"chunked" in head and answer.endswith(b"\r\n0\r\n\r\n")
