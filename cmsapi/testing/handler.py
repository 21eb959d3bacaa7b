"""A transport that asks a function for its answers: for what the sandbox does not say."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import attrs

from cmsapi.transport.message import Request, Response


@attrs.frozen
class Asked:
    """Record one request that a `HandlerTransport` has seen.

    Args:
        at: When, in seconds of the event loop.
        method: HTTP method.
        path: Path as sent, without the query.
        query: Query as sent, percent-encoded; empty when there was none.
        status: Status of the answer, or None when the handler raised.
        request: The request; its representation masks the key.
    """

    at: float
    method: str
    path: str
    query: str
    status: int | None
    request: Request

    def json(self) -> Any:
        """Return the document in the body, or None without a body."""
        return None if self.request.body is None else json.loads(self.request.body)


class HandlerTransport:
    """Answer requests with a function of yours, for `Client(transport=HandlerTransport(handler))`.

    Args:
        handler: Takes a `cmsapi.Request`, and returns a `cmsapi.Response` or a JSON document, which is answered with
            200. It may be asynchronous. What it raises is what the network does: `cmsapi.NotSentError` when nothing
            was sent, an `OSError` when no answer came.
    """

    def __init__(self, handler: Callable[[Request], Any]) -> None:
        self._handler = handler
        #: Every request seen, in order.
        self.ledger: list[Asked] = []

    async def send(self, request: Request) -> Response:
        """Ask the handler.

        Raises:
            TypeError: The handler returns neither a response nor a JSON document.
        """
        at, status = asyncio.get_running_loop().time(), None
        try:
            answer = self._handler(request)
            if inspect.isawaitable(answer):
                answer = await answer
            response = _response(answer, request)
            status = response.status
        finally:
            url = urlsplit(request.url)
            self.ledger.append(Asked(at, request.method, url.path, url.query, status, request))
        return response


def json_response(document: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Make a response with a JSON body.

    Args:
        document: What to send.
        status: HTTP status.
        headers: Further headers.
    """
    body = json.dumps(document).encode()
    return Response(status, {"content-type": "application/json", **(headers or {})}, body)


def error_response(
    status: int, code: str, message: str = "said the test", headers: Mapping[str, str] | None = None
) -> Response:
    """Make an error response as the service writes them (specification 7).

    Args:
        status: HTTP status.
        code: What goes into `error.code`, for example `not_found`.
        message: What goes into `error.message`.
        headers: Further headers, for example `Retry-After`.
    """
    return json_response({"error": {"code": code, "message": message}}, status, headers)


def _response(answer: object, request: Request) -> Response:
    if isinstance(answer, Response):
        return answer
    if isinstance(answer, dict | list):
        return json_response(answer)
    raise TypeError(
        f"The handler returned {answer!r} for {request.method} {urlsplit(request.url).path}: "
        "return a cmsapi.Response, or a dict or list for a JSON answer."
    )
