"""A sender of plain requests to a sandbox that compares every response with its description."""

from __future__ import annotations

from typing import Any

import pytest

from cmsapi.messages import Request, Response
from cmsapi.sandbox import Sandbox
from tests.support.responses import problem
from tests.support.wire import Wire


class CheckedWire(Wire):
    """A sender that fails if a response does not match the description."""

    def __init__(self, sandbox: Sandbox, key: str | None = None) -> None:
        super().__init__(sandbox)
        self.sandbox = sandbox
        self.headers = {"authorization": f"Bearer {key or sandbox.api_key}"}
        self.workspace = f"/v1/workspaces/{sandbox.workspace_id}"

    async def send(self, method: str, path: str, body: Any = None) -> Response:
        """Return the response, whatever its status."""
        response = await super().send(method, path, body)
        assert problem(Request(method, self.sandbox.base_url + path, {}), response) is None
        return response

    async def status(self, method: str, path: str, body: Any = None) -> int:
        """Return the status of a response."""
        return (await self.send(method, path, body)).status

    async def refusal(self, method: str, path: str, body: Any = None) -> tuple[int, str, str]:
        """Return status, code and message of an error."""
        response = await self.send(method, path, body)
        return response.status, response.json()["error"]["code"], response.json()["error"]["message"]

    def path(self, kind: str) -> str:
        """Return the path of the document that shows a job's status."""
        return {
            "analysis": f"/v1/keywords/{self.sandbox.keyword_ids[0]}",
            "prompt": f"/v1/prompts/{self.sandbox.prompt_ids[0]}",
            "generation": f"/v1/contents/{self.sandbox.content_ids[0]}/generation",
        }[kind]

    async def launch(self, kind: str) -> int:
        """Launch a job of a kind and return the status of the response."""
        if kind == "generation":
            return await self.status("POST", f"/v1/contents/{self.sandbox.content_ids[0]}/atomic", {"settings": {}})
        return await self.status("POST", f"{self.path(kind)}/analyze")


@pytest.fixture
def wire(sandbox: Sandbox) -> CheckedWire:
    """Return a sender with the administrator's key."""
    return CheckedWire(sandbox)


@pytest.fixture
def member(sandbox: Sandbox) -> CheckedWire:
    """Return a sender with the member's key."""
    return CheckedWire(sandbox, sandbox.member_key)
