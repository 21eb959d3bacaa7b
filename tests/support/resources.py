"""What the tests of resources share: clients of a sandbox, and answers changed on their way."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import attrs

import cmsapi
from cmsapi.message import Request, Response
from cmsapi.resources.resource import Resource
from cmsapi.runtime.lazy import Lazy
from cmsapi.sandbox import Sandbox


def client_of(sandbox: Sandbox, **options: Any) -> cmsapi.Client:
    """Make a client of a sandbox in the same process."""
    options.setdefault("transport", sandbox.transport)
    return cmsapi.Client(options.pop("api_key", sandbox.api_key), base_url=sandbox.base_url, **options)


@attrs.frozen
class Changing:
    """Carry requests to a sandbox, and change the documents that come back."""

    sandbox: Sandbox
    change: Callable[[Request, Any], Any]

    async def send(self, request: Request) -> Response:
        """Carry one request."""
        response = await self.sandbox.transport.send(request)
        if response.status >= 300:
            return response
        document = self.change(request, json.loads(response.body) if response.body else None)
        return attrs.evolve(response, body=json.dumps(document).encode())


def operations(sandbox: Sandbox) -> list[str | None]:
    """Return the operations that arrived, in order."""
    return [entry.operation for entry in sandbox.ledger]


def resources() -> dict[str, type[Resource]]:
    """Return the class of each resource, by the name of a client's attribute."""
    client = cmsapi.Client("sk_1", base_url="https://api.example.com")
    found = {name: getattr(client, name) for name, each in vars(cmsapi.Client).items() if isinstance(each, Lazy)}
    return {name: type(each) for name, each in found.items() if isinstance(each, Resource)}
