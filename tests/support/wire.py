"""Requests to a sandbox without the SDK, for tests of what the service itself does."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from cmsapi.messages import Request, Response

if TYPE_CHECKING:
    from cmsapi.sandbox import Sandbox


class Wire:
    """Sender of plain requests with a sandbox's key."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self.headers = {"authorization": f"Bearer {sandbox.api_key}"}

    async def send(self, method: str, path: str, body: Any = None) -> Response:
        """Return the response, whatever its status.

        Args:
            method: HTTP method.
            path: Path with its query.
            body: Value to send as JSON; None for a request without a body.
        """
        content = None if body is None else json.dumps(body).encode()
        headers = self.headers if content is None else {**self.headers, "content-type": "application/json"}
        return await self._sandbox.transport.send(Request(method, self._sandbox.base_url + path, headers, content))

    async def get(self, path: str) -> Any:
        """Return the document at a path."""
        return await self._document("GET", path)

    async def post(self, path: str, body: Any = None) -> Any:
        """Post a body and return the document that came back."""
        return await self._document("POST", path, body)

    async def until(self, path: str, name: str, word: str) -> Any:
        """Poll the document at a path until one of its fields has a given value."""
        while (document := await self.get(path))[name] != word:  # noqa: ASYNC110  the service sends no events
            await asyncio.sleep(5)
        return document

    async def _document(self, method: str, path: str, body: Any = None) -> Any:
        response = await self.send(method, path, body)
        assert response.status < 300, (method, path, response.status, response.body)
        return response.json()
