"""A bare client for the sandbox: the SDK is not needed to test what it is tested against.

It holds each answer against the sandbox's own description.
"""

from __future__ import annotations

import json
from typing import Any

import attrs

from cmsapi.message import Request, Response
from cmsapi.sandbox import Sandbox
from tests.support.described import check_described

NOTHING = object()
JSON = "application/json"


@attrs.frozen
class Answer:
    """Hold what a request came back with."""

    status: int
    headers: Any
    body: bytes

    @property
    def json(self) -> Any:
        """The decoded body."""
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The `error.code`."""
        return str(self.json["error"]["code"])

    @property
    def message(self) -> str:
        """The `error.message`."""
        return str(self.json["error"]["message"])


class Caller:
    """Send requests to a sandbox in the same process."""

    def __init__(self, sandbox: Sandbox, key: str | None = None) -> None:
        self.sandbox = sandbox
        self.key = sandbox.api_key if key is None else key

    async def __call__(
        self, method: str, path: str, body: Any = NOTHING, *, raw: bytes | None = None, content_type: str | None = JSON
    ) -> Answer:
        encoded = raw if body is NOTHING else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.key}"}
        if content_type is not None:
            headers["Content-Type"] = content_type
        request = Request(method, self.sandbox.base_url + path, headers, encoded)
        response: Response = await self.sandbox.transport.send(request)
        check_described(self.sandbox, method, path, response)
        return Answer(response.status, response.headers, response.body)

    async def get(self, path: str) -> Any:
        """Return the document at a path."""
        answer = await self("GET", path)
        assert answer.status == 200, answer.body
        return answer.json
