"""The paths of the page: `/`, its files, and what its script reads and presses below `/_sandbox/`."""

from __future__ import annotations

import asyncio
import uuid
from importlib import resources
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from cmsapi.sandbox.interface import docs
from cmsapi.sandbox.messages import answers
from cmsapi.sandbox.messages.answers import Answer
from cmsapi.sandbox.page import buttons, guard
from cmsapi.sandbox.page.overview import overview
from cmsapi.sandbox.world.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cmsapi.sandbox.controls import Controls
    from cmsapi.sandbox.faults.injector import FaultInjector
    from cmsapi.sandbox.service.service import Service

_PREFIX = "/_sandbox/"
_TYPES = {"html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
_FILES = frozenset({"live.html", "live.js", "page.css", "reference.js"})


class LivePage:
    """Answer the requests of the page.

    Args:
        controls: What the buttons use.
        service: What is shown.
        injector: The faults on the way to it.
        examples: Values for the fields of the reference.
        host: Address that is listened on. The page exists on loopback only; elsewhere there are only the files that
            the reference needs.
    """

    def __init__(
        self, controls: Controls, service: Service, injector: FaultInjector, examples: Mapping[str, Any], host: str
    ) -> None:
        self._controls = controls
        self._examples = examples
        self._service = service
        self._injector = injector
        self._alone = guard.is_loopback(host)
        # A page that was open before sees that it talks to another sandbox now.
        self._run = uuid.uuid4().hex
        self._files: dict[str, bytes] = {}

    async def answer(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Answer | None:
        """Return the answer, or None when the path belongs to the service.

        Args:
            method: HTTP method.
            target: Path and query, percent-encoded.
            headers: Request headers, looked up without regard to case.
            body: Whole body.
        """
        path, _, query = target.partition("?")
        if path != "/" and not path.startswith(_PREFIX):
            return None
        name = path.removeprefix(_PREFIX) if path != "/" else "live.html"
        try:
            answer = await self._answer(method, name, query, headers, body)
        except Refusal as refusal:
            answer = answers.error(refusal.status, refusal.message, refusal.headers)
        answer.headers.update(docs.HEADERS)
        return answer

    async def _answer(self, method: str, name: str, query: str, headers: Mapping[str, str], body: bytes) -> Answer:
        if method == "GET" and name in _FILES and name != "live.html":
            return await self._file(name)
        if not self._alone:
            raise Refusal(404, "the page is there only where the sandbox listens on loopback")
        if method == "GET" and name == "live.html":
            if refusal := guard.host_refusal(headers):
                raise Refusal(403, refusal)
            return await self._file(name)
        if refusal := guard.request_refusal(method, headers):
            raise Refusal(403, refusal)
        if method == "POST":
            buttons.press(self._controls, name, body)
            return answers.document(200, {})
        if method != "GET":
            raise Refusal(404, "no such operation")
        if name == "state":
            seen = parse_qs(query).get("seen", ["0"])[0]
            known = int(seen) if seen.isdecimal() else 0
            return answers.document(200, {"run": self._run, **overview(self._service, self._injector, known)})
        if name == "examples":
            return answers.document(200, self._examples)
        raise Refusal(404, "no such path")

    async def _file(self, name: str) -> Answer:
        if name not in self._files:
            file = resources.files("cmsapi.sandbox.page") / "files" / name
            self._files[name] = await asyncio.to_thread(file.read_bytes)
        return Answer(200, {"Content-Type": _TYPES[name.rpartition(".")[2]]}, self._files[name])
