"""Requests and responses as plain values, and the protocol of the transports that exchange them.

Transports translate between these and a library, a sandbox or a handler function. They send a request at most once, and
follow no redirects.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from attrs import field, frozen

from cmsapi.errors import REQUEST_ID


@frozen
class Request:
    """A request as it is sent.

    Attributes:
        method: HTTP method in capitals.
        url: Absolute address with the query, percent-encoded.
        headers: All headers that cmsapi sets, including the key; not part of the ``repr``.
        body: JSON text, or None for a request without a body and thus without ``Content-Type``.
        operation: Name of the operation in ``OPERATIONS``, or None for `Client.request`.
    """

    method: str
    url: str
    headers: Mapping[str, str] = field(factory=dict, repr=False)
    body: bytes | None = field(default=None, repr=False)
    operation: str | None = None


@frozen(slots=False)
class Response:
    """An answer as it was received, whatever its status.

    Attributes:
        status: HTTP status code.
        headers: Response headers with names in lower case.
        body: The body, decompressed.
    """

    status: int
    headers: Mapping[str, str] = field(factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)

    @property
    def request_id(self) -> str | None:
        """Identifier of the request, to quote to support, from ``X-Request-Id``; None if the service sent none."""
        return self.headers.get(REQUEST_ID)

    def json(self) -> Any:
        """Return the body parsed as JSON.

        Raises:
            ValueError: The body is not JSON.
        """
        return json.loads(self.body)


@runtime_checkable
class Transport(Protocol):
    """Protocol of an object that sends requests and returns responses.

    ``send`` raises `NotSentError` when nothing of the request can have reached the service, and `OutcomeUnknownError`
    when something may have. Any other exception is passed on to the caller of the client. ``send`` needs no time limit:
    it is cancelled when `Timeouts.request` has passed.
    """

    async def send(self, request: Request) -> Response:
        """Send a request once and return its response."""
        ...

    async def aclose(self) -> None:
        """Release connections."""
        ...
