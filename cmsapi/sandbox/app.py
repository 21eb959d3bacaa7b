"""The sandbox on a socket: aiohttp in front of the same exchange, and of the page."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from cmsapi.sandbox.exchange import Exchange
    from cmsapi.sandbox.page.site import Site

LARGEST_BODY = 64 * 1024 * 1024
CLOSING_TIME = 1.0


@asynccontextmanager
async def served(exchange: Exchange, site: Site, host: str, port: int) -> AsyncIterator[int]:
    """Serve while the context is open, and yield the port.

    Args:
        exchange: What answers.
        site: The page beside it.
        host: Address to listen on.
        port: Port to listen on; 0 for any that is free.
    """

    async def respond(request: web.Request) -> web.StreamResponse:
        body = await request.read()
        own = await site.answer(request.method, request.raw_path, request.headers, body)
        answer = own or await exchange.answer(request.method, request.raw_path, request.headers, body)
        if answer is None:
            if request.transport is not None:
                request.transport.abort()
            return web.Response()
        return web.Response(status=answer.status, headers=answer.headers, body=answer.body)

    application = web.Application(client_max_size=LARGEST_BODY)
    application.router.add_route("*", "/{path:.*}", respond)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=CLOSING_TIME)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()
