"""A sender of plain requests to a sandbox whose every answer is compared with its description."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from cmsapi.messages import Response
from cmsapi.sandbox import Sandbox
from cmsapi.sandbox.routes import routes
from tests.support.wire import Wire


@cache
def _schema(operation: str, status: int) -> Draft202012Validator:
    description = json.loads(routes().description)
    methods = (each for path in description["paths"].values() for each in path.values())
    answer = next(each["responses"] for each in methods if each["operationId"] == operation)[str(status)]
    if "$ref" in answer:
        answer = description["components"]["responses"][answer["$ref"].rpartition("/")[2]]
    schema = answer.get("content", {}).get("application/json", {}).get("schema", {})
    return Draft202012Validator({**schema, "components": description["components"]})


class CheckedWire(Wire):
    """A sender that fails when an answer is not what the description shows."""

    def __init__(self, sandbox: Sandbox, key: str | None = None) -> None:
        super().__init__(sandbox)
        self.sandbox = sandbox
        self.headers = {"authorization": f"Bearer {key or sandbox.api_key}"}
        self.workspace = f"/v1/workspaces/{sandbox.workspace_id}"

    async def send(self, method: str, path: str, body: Any = None) -> Response:
        """Return the answer, whatever its status."""
        response = await super().send(method, path, body)
        operation = self.sandbox.ledger.requests[-1].operation
        if operation and "json" in response.headers.get("content-type", ""):
            _schema(operation, response.status).validate(response.json())
        return response

    async def status(self, method: str, path: str, body: Any = None) -> int:
        """Return the status of an answer."""
        return (await self.send(method, path, body)).status

    async def refusal(self, method: str, path: str, body: Any = None) -> tuple[int, str, str]:
        """Return status, code and message of an error."""
        response = await self.send(method, path, body)
        return response.status, response.json()["error"]["code"], response.json()["error"]["message"]


@pytest.fixture
def wire(sandbox: Sandbox) -> CheckedWire:
    """Return a sender with the administrator's key."""
    return CheckedWire(sandbox)


@pytest.fixture
def member(sandbox: Sandbox) -> CheckedWire:
    """Return a sender with the member's key."""
    return CheckedWire(sandbox, sandbox.member_key)
