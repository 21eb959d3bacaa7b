"""The sandbox as a transport of the SDK: without a socket, so it works under virtual time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmsapi.message import Response

if TYPE_CHECKING:
    from cmsapi.message import Request
    from cmsapi.sandbox.serving.exchange import Exchange


class SandboxTransport:
    """Answer requests in the same process, whatever host their URL has.

    Args:
        exchange: Answers the requests.
    """

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    async def send(self, request: Request) -> Response:
        """Send one request and return its answer.

        Raises:
            ConnectionResetError: A fault broke the connection.
        """
        answer = await self._exchange.answer(request.method, _target(request.url), request.headers, request.body or b"")
        if answer is None:
            raise ConnectionResetError("the connection was dropped by a fault of the sandbox")
        return Response(answer.status, answer.headers, answer.body)

    async def aclose(self) -> None:
        """Do nothing, because no connection is open."""


def _target(url: str) -> str:
    slash = url.find("/", url.find("://") + 3)
    return url[slash:].partition("#")[0] if slash >= 0 else "/"
