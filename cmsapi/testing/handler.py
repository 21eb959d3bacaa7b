"""A transport whose responses a test provides, for cases that the sandbox does not cover."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

from attrs import evolve

from cmsapi.messages import Request, Response

Answer: TypeAlias = Response | Mapping[str, Any] | Sequence[Any]
Handler: TypeAlias = Callable[[Request], Answer | Awaitable[Answer]]


class HandlerTransport:
    """Transport that records requests and takes the responses from a function, like ``httpx.MockTransport``.

    ::

        transport = HandlerTransport(lambda request: {"id": "kwd_1", "analysisStatus": "success"})
        async with Client("sk_test", base_url="http://localhost", transport=transport) as client:
            await client.keywords.get("kwd_1")
        assert transport.requests[0].operation == "get_keyword"

    Clients retry, poll and obey rate limits as usual. To avoid real waits, use virtual time (looptime) or
    ``retry=RetryPolicy(max_attempts=1)``. For an analysis, return ``pending`` before ``success``.

    Args:
        handler: Function or coroutine function that takes a request and returns a `Response`, or a dict or list for a
            JSON response with status 200. To simulate a network failure, the function may raise `NotSentError` or
            `OutcomeUnknownError`; for a lost response, ``TimeoutError``. Other exceptions reach the caller unchanged.

    Attributes:
        requests: The requests in order of arrival, including retries and polls.
    """

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self.requests: list[Request] = []

    async def send(self, request: Request) -> Response:
        """Record ``request`` and return the handler's response. Raise ``TypeError`` if the response type is wrong."""
        self.requests.append(request)
        answer = self._handler(request)
        if inspect.isawaitable(answer):
            answer = await answer
        if isinstance(answer, Response):
            # cmsapi looks up headers in lower case; people write `Retry-After`
            return evolve(answer, headers={name.lower(): value for name, value in answer.headers.items()})
        if not isinstance(answer, Mapping | list):
            where = f"{request.method} {request.url}"
            raise TypeError(f"the handler must return a Response, a dict or a list, got {answer!r} for {where}")
        return Response(200, {"content-type": "application/json"}, json.dumps(answer).encode())

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""
