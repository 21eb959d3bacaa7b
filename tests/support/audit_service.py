"""A service that audits web pages: a sandbox with one more kind of job."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import attrs
from aiohttp import web

from cmsapi.sandbox import Sandbox
from cmsapi.transport.message import Request, Response

REMARKS = ("The title is long.", "The page has no description.")


@attrs.define
class AuditService:
    """Carry requests to a sandbox, except those for audits.

    Args:
        sandbox: Answers all others.
        seconds: How long an audit takes.
        fails: Whether audits fail.
    """

    sandbox: Sandbox
    seconds: float = 20.0
    fails: bool = False
    #: When each audit was launched, and of which page.
    audits: dict[str, tuple[float, str]] = attrs.field(factory=dict)
    launched: asyncio.Event = attrs.field(factory=asyncio.Event)
    #: Launches take effect, and are answered as long as this is set.
    answering: asyncio.Event = attrs.field(factory=asyncio.Event)
    _numbers: itertools.count[int] = attrs.field(factory=lambda: itertools.count(1))

    def __attrs_post_init__(self) -> None:
        self.answering.set()

    async def send(self, request: Request) -> Response:
        """Answer one request."""
        segments = urlsplit(request.url).path.split("/")[2:]
        match (request.method, segments):
            case ("POST", ["pages", page_id, "audit"]):
                audit_id = f"aud_{next(self._numbers)}"
                self.audits[audit_id] = (asyncio.get_running_loop().time(), page_id)
                self.launched.set()
                await self.answering.wait()
                return answer(202, self.shown(audit_id))
            case ("GET", ["pages", page_id, "audit"]):
                own = [audit_id for audit_id, (_, of_page) in self.audits.items() if of_page == page_id]
                return answer(200, self.shown(own[-1])) if own else answer(404, {"code": "not_found", "message": "no"})
            case ("GET", ["audits", audit_id]):
                return answer(200, self.shown(audit_id))
            case ("GET", ["audits", audit_id, "remarks"]):
                remarks = [{"id": f"{audit_id}_{number}", "text": text} for number, text in enumerate(REMARKS)]
                return answer(200, {"data": remarks})
        return await self.sandbox.transport.send(request)

    def shown(self, audit_id: str) -> dict[str, Any]:
        """Return the document of an audit."""
        launched_at, page_id = self.audits[audit_id]
        over = asyncio.get_running_loop().time() - launched_at >= self.seconds
        end = "failed" if self.fails else "done"
        return {"id": audit_id, "pageId": page_id, "status": end if over else "running"}


def answer(status: int, document: dict[str, Any]) -> Response:
    """Answer with a document."""
    return Response(status, {"content-type": "application/json"}, json.dumps(document).encode())


@asynccontextmanager
async def listening(service: AuditService) -> AsyncIterator[str]:
    """Put the service behind a socket, and yield its base URL."""

    async def respond(request: web.BaseRequest) -> web.StreamResponse:
        url = f"http://127.0.0.1{request.raw_path}"
        heard = await service.send(Request(request.method, url, dict(request.headers), await request.read()))
        headers = {name: value for name, value in heard.headers.items() if name != "content-length"}
        return web.Response(status=heard.status, headers=headers, body=heard.body)

    runner = web.ServerRunner(web.Server(respond), shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
