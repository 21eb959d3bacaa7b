"""Requests through the proxy of the sandbox."""

from __future__ import annotations

import asyncio

from cmsapi.sandbox import FaultProxy, Sandbox


async def ask(proxy: FaultProxy, box: Sandbox, method: str = "GET", path: str = "/v1/me") -> bytes:
    """Send one request and return all bytes that come back until the connection ends."""
    host, port = proxy.base_url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    body = b'{"name":"New"}' if method == "POST" else b""
    head = f"{method} {path} HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {box.api_key}\r\nContent-Length: {len(body)}"
    head += "\r\nContent-Type: application/json"
    writer.write(head.encode() + b"\r\n\r\n" + body)
    got = bytearray()
    try:
        while piece := await asyncio.wait_for(reader.read(2**20), 0.3):
            got += piece
    except (TimeoutError, ConnectionResetError):
        pass
    writer.close()
    return bytes(got)
