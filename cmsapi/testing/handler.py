"""Answer requests with a function, for answers that the sandbox does not give."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import attrs

from cmsapi.message import Request, Response


@attrs.frozen
class RecordedRequest:
    """Record one request to a `HandlerTransport`.

    Args:
        at: Time in seconds of the event loop.
        method: HTTP method.
        path: Path as sent, without the query.
        query: Query as sent, percent-encoded; empty without one.
        status: Status of the answer, or None if the handler raised an error.
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
    """Answer requests with your own function, for `Client(transport=HandlerTransport(handler))`.

    Args:
        handler: Takes a `cmsapi.Request` and returns a `cmsapi.Response`, or a JSON document to answer with 200. It may
            be asynchronous. An error that it raises acts as an error of the network: `cmsapi.NotSentError` means that
            nothing was sent, an `OSError` that no answer came.
    """

    def __init__(self, handler: Callable[[Request], Any]) -> None:
        self._handler = handler
        #: All requests, in order.
        self.ledger: list[RecordedRequest] = []

    async def send(self, request: Request) -> Response:
        """Call the handler.

        Raises:
            TypeError: The handler returned neither a response nor a JSON document.
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
            self.ledger.append(RecordedRequest(at, request.method, url.path, url.query, status, request))
        return response


def json_response(document: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Make a response with a JSON body.

    Args:
        document: The document to send.
        status: HTTP status.
        headers: Further headers.
    """
    body = json.dumps(document).encode()
    return Response(status, {"content-type": "application/json", **(headers or {})}, body)


def error_response(
    status: int, code: str, message: str = "from the test", headers: Mapping[str, str] | None = None
) -> Response:
    """Make an error response in the form of the service (specification 7).

    Args:
        status: HTTP status.
        code: Value of `error.code`, for example `not_found`.
        message: Value of `error.message`.
        headers: Further headers, for example `Retry-After`.
    """
    return json_response({"error": {"code": code, "message": message}}, status, headers)


def _response(answer: object, request: Request) -> Response:
    if isinstance(answer, Response):
        return answer
    if isinstance(answer, dict | list):
        return json_response(answer)
    raise TypeError(
        f"The handler must return a cmsapi.Response, or a dict or list for a JSON answer, got {answer!r} for "
        f"{request.method} {urlsplit(request.url).path}."
    )
