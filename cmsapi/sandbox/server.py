"""An HTTP server for the simulated service, for clients and tools in any language."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from cmsapi.messages import Request
from cmsapi.sandbox.faults import Dropped
from cmsapi.sandbox.service import Service

SHUTDOWN = 0.1  # seconds to wait for unfinished responses when the server stops


@asynccontextmanager
async def listen(service: Service, host: str, port: int) -> AsyncIterator[str]:
    """Serve ``service`` on ``host`` and ``port`` while the context is open, and yield the base URL."""

    async def answer(request: web.BaseRequest) -> web.Response:
        # read() would refuse bodies larger than one mebibyte; the specification shows no limit (8.7)
        body = await request.content.read()
        try:
            response = await service.handle(Request(request.method, request.raw_path, request.headers, body))
        except Dropped:
            if request.transport is not None:
                request.transport.abort()
            return web.Response()
        return web.Response(status=response.status, headers=response.headers, body=response.body)

    runner = web.ServerRunner(web.Server(answer, access_log=None), shutdown_timeout=SHUTDOWN)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        bound: str
        bound, number = runner.addresses[0][:2]
        yield f"http://{f'[{bound}]' if ':' in bound else bound}:{number}"
    finally:
        await runner.cleanup()
