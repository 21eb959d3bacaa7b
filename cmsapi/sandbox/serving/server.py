"""The sandbox on a socket: aiohttp in front of the exchange and the live page.

Each answer comes from one of these two: aiohttp has no routes, so no path can be missing there.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING

from aiohttp import web

from cmsapi.sandbox.messages.bodies import LARGEST_BODY

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from cmsapi.sandbox.live.page import LivePage
    from cmsapi.sandbox.messages.answers import Answer
    from cmsapi.sandbox.serving.exchange import Exchange

CLOSING_TIME = 1.0
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


@asynccontextmanager
async def listen(exchange: Exchange, site: LivePage, host: str, port: int) -> AsyncIterator[int]:
    """Listen while the context is open, and yield the port.

    Args:
        exchange: Answers the requests of clients.
        site: Answers the requests of the live page.
        host: Address to listen on.
        port: Port to listen on; 0 for any free one.
    """

    async def respond(request: web.BaseRequest) -> web.StreamResponse:
        body = await _body(request)
        own = await site.answer(request.method, request.raw_path, request.headers, body)
        answer = own or await exchange.answer(request.method, request.raw_path, request.headers, body)
        if answer is None:
            if request.transport is not None:
                request.transport.abort()
            return web.Response()
        return _response(answer)

    runner = web.ServerRunner(_Server(exchange, respond), shutdown_timeout=CLOSING_TIME)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


class _Server(web.Server):
    """Make the handler of each connection."""

    def __init__(self, exchange: Exchange, respond: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]) -> None:
        super().__init__(respond)
        self.exchange = exchange

    def __call__(self) -> web.RequestHandler:
        return _Connection(self, self.exchange)


class _Connection(web.RequestHandler):
    """Answer unreadable requests, too, with the errors of section 7."""

    __slots__ = ("_exchange",)

    def __init__(self, server: _Server, exchange: Exchange) -> None:
        super().__init__(server, loop=asyncio.get_running_loop(), access_log=None)  # type: ignore[arg-type]  # no log
        self._exchange = exchange

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer an unreadable request or a failure of the sandbox, and close the connection."""
        if status < HTTPStatus.INTERNAL_SERVER_ERROR:
            # The message of the parser may contain a part of the key, so no answer and no log shows it.
            answer = self._exchange.answer_unreadable(400, "the request line or a header is malformed or too long")
        else:
            super().handle_error(request, status, exc, message)
            answer = self._exchange.answer_unreadable(500, "the sandbox has failed; its log has the reason")
        response = _response(answer)
        response.force_close()
        return response


async def _body(request: web.BaseRequest) -> bytes:
    """Read a body, up to the chunk that exceeds the largest size."""
    if request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(_CONTINUE)
        # aiohttp must not take these bytes for the beginning of the answer.
        request.writer.output_size = 0
    body = bytearray()
    async for chunk in request.content.iter_any():
        body += chunk
        if len(body) > LARGEST_BODY:
            break
    return bytes(body)


def _response(answer: Answer) -> web.Response:
    return web.Response(status=answer.status, headers=answer.headers, body=answer.body)
