"""Classes for requests and responses, and the `Transport` protocol.

A transport passes each request to an HTTP library, the sandbox or a handler function, and returns the response. It
sends a request at most once, and does not follow redirects.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from attrs import field, frozen

from cmsapi.errors import REQUEST_ID


@frozen
class Request:
    """A request, ready to be sent.

    Attributes:
        method: HTTP method in capitals.
        url: Absolute URL with the query, percent-encoded.
        headers: All headers that cmsapi sets, including the API key; hidden in the ``repr``.
        body: The body as JSON; None if the request has no body.
        operation: Name of the operation in ``OPERATIONS``; None for `Client.request`.
    """

    method: str
    url: str
    headers: Mapping[str, str] = field(factory=dict, repr=False)
    body: bytes | None = field(default=None, repr=False)
    operation: str | None = None


@frozen(slots=False)
class Response:
    """A response as it was received, whatever its status.

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
        """Value of the ``X-Request-Id`` header, to quote when you contact support; None if the header is missing."""
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

    ``send`` raises `NotSentError` if no part of the request can have reached the service, and `OutcomeUnknownError` if
    the request may have arrived but no complete response came. ``send`` needs no time limit of its own, because it is
    cancelled after `Timeouts.request`.
    """

    async def send(self, request: Request) -> Response:
        """Send the request at most once, and return the response, whatever its status."""
        ...

    async def aclose(self) -> None:
        """Close all connections."""
        ...
