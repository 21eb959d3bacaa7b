"""A transport that answers from a script and records when each request arrived."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from cmsapi import Client, CMSError, RateLimits
from cmsapi.messages import Request, Response


def refusal(status: int, code: str, message: str = "no", **headers: str) -> Response:
    """Return an error response in the specification's form."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(status, names, json.dumps({"error": {"code": code, "message": message}}).encode())


class Scripted:
    """A transport that gives the next reply in its script; the last one is repeated, an exception is raised.

    For None it never answers.
    """

    def __init__(self, *script: Response | CMSError | None) -> None:
        self.script = script
        self.requests: list[Request] = []
        self.times: list[float] = []
        self.closed = False

    @property
    def waits(self) -> list[float]:
        """Seconds between the requests."""
        return [after - before for before, after in zip(self.times, self.times[1:], strict=False)]

    def client(self, **settings: Any) -> Client:
        """Return a client of this service."""
        settings.setdefault("limits", RateLimits.unlimited())
        return Client("sk_scripted", base_url="http://localhost:9", transport=self, **settings)

    async def send(self, request: Request) -> Response:
        """Return the next reply."""
        self.requests.append(request)
        self.times.append(asyncio.get_running_loop().time())
        reply = self.script[min(len(self.requests), len(self.script)) - 1]
        if reply is None:
            await asyncio.Event().wait()
        if isinstance(reply, CMSError):
            raise reply
        assert reply is not None
        return reply

    async def aclose(self) -> None:
        """Note that the transport was closed."""
        self.closed = True
