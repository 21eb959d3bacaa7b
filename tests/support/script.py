"""Transports for tests: one that plays a script and one that is a network in front of another."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import attrs

from cmsapi import Request, Response
from cmsapi.errors import NotSentError

KEY = "sk_test_0123456789"
ME: dict[str, Any] = {
    "id": "usr_1",
    "firstName": "Ada",
    "lastName": "Lovelace",
    "email": "ada@example.com",
    "organization": {"id": "org_1", "name": "Engines"},
}


class Sends(Protocol):
    """Be a transport."""

    async def send(self, request: Request) -> Response:
        """Send a request."""
        ...


def answer(status: int = 200, document: Any = None, headers: Mapping[str, str] | None = None) -> Response:
    """Make an answer with a JSON document."""
    return Response(status, headers or {}, json.dumps(ME if document is None else document).encode())


def refusal(status: int, code: str = "internal_error", headers: Mapping[str, str] | None = None) -> Response:
    """Make an error answer as specification 7 has it."""
    return answer(status, {"error": {"code": code, "message": "said the service"}}, headers)


LOST = ConnectionResetError("dropped")
UNSENT = NotSentError("no connection")
HANG = object()


class Script:
    """Answer with what was written down: responses, errors to raise, or `HANG`; the last one again and again.

    Args:
        steps: The answers in order.
        takes: Seconds that each answer takes.
    """

    def __init__(self, *steps: Any, takes: float = 0.0) -> None:
        self.steps = steps
        self.takes = takes
        self.requests: list[Request] = []
        self.times: list[float] = []
        self.closed = 0

    async def send(self, request: Request) -> Response:
        """Play the next step."""
        self.requests.append(request)
        self.times.append(asyncio.get_running_loop().time())
        step = self.steps[min(len(self.requests), len(self.steps)) - 1]
        if step is HANG:
            await asyncio.Event().wait()
        await asyncio.sleep(self.takes)
        if isinstance(step, BaseException):
            raise step
        assert isinstance(step, Response)
        return step

    async def aclose(self) -> None:
        """Count how often it was closed."""
        self.closed += 1


class TellingScript(Script):
    """Play a script, and tell when bytes leave: `connects` seconds after the request was handed over."""

    def __init__(self, *steps: Any, takes: float = 0.0, connects: float = 0.0) -> None:
        super().__init__(*steps, takes=takes)
        self.connects = connects

    async def send_aware(self, request: Request, departing: Callable[[], None]) -> Response:
        """Connect, tell, and play the next step."""
        await asyncio.sleep(self.connects)
        departing()
        return await self.send(request)


@attrs.define
class Outage:
    """Be a network that fails silently for a while: what is sent then arrives when it is back, unless given up.

    Args:
        inner: What the network leads to.
        begins: Loop time at which nothing arrives any more.
        ends: Loop time at which everything that was held arrives at once.
    """

    inner: Sends
    begins: float
    ends: float

    async def send(self, request: Request) -> Response:
        """Send a request, later if need be."""
        now = asyncio.get_running_loop().time()
        if self.begins <= now < self.ends:
            await asyncio.sleep(self.ends - now)
        return await self.inner.send(request)


def limit_headers(quota: tuple[int, int, float]) -> dict[str, str]:
    """Spell limit, remaining and reset as the headers that say so."""
    return {
        f"x-ratelimit-{name}": str(value) for name, value in zip(("limit", "remaining", "reset"), quota, strict=True)
    }


@attrs.define
class Gateway:
    """Answer one request with 503 in place of the service, and tell of limits of its own.

    Args:
        inner: What it stands in front of.
        quota: What it says of the limits: limit, remaining, reset.
        after: How many requests it lets pass before.
    """

    inner: Sends
    quota: tuple[int, int, float]
    after: int

    async def send(self, request: Request) -> Response:
        """Send a request, or answer it."""
        self.after -= 1
        return refusal(503, headers=limit_headers(self.quota)) if self.after == -1 else await self.inner.send(request)
