"""The paths of the live page: `/`, and below `/_sandbox/` its files, its state and its buttons."""

from __future__ import annotations

import asyncio
import uuid
from importlib import resources
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from cmsapi.sandbox.interface import docs
from cmsapi.sandbox.live import buttons, guard
from cmsapi.sandbox.live.details import details
from cmsapi.sandbox.live.overview import overview
from cmsapi.sandbox.messages import answers
from cmsapi.sandbox.messages.answers import Answer
from cmsapi.sandbox.world.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cmsapi.sandbox.controls import Controls
    from cmsapi.sandbox.faults.injector import FaultInjector
    from cmsapi.sandbox.service.exchange_log import ExchangeLog
    from cmsapi.sandbox.service.service import Service

# More entries do not fit into memory.
_DIGITS = 12
_PREFIX = "/_sandbox/"
_TYPES = {"html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
_FILES = frozenset({"drawing.js", "ledger.js", "live.html", "live.js", "page.css", "reference.js"})


class LivePage:
    """Answer the requests of the live page.

    Args:
        controls: The controls that the buttons use.
        service: The service that the page shows.
        injector: The faults on the way to it.
        exchanges: What the latest requests and answers said.
        examples: Values for the fields of the reference.
        host: Address that the sandbox listens on. The page exists only on loopback; on other addresses there are only
            the files of the reference.
    """

    def __init__(
        self,
        controls: Controls,
        service: Service,
        injector: FaultInjector,
        exchanges: ExchangeLog,
        examples: Mapping[str, Any],
        host: str,
    ) -> None:
        self._controls = controls
        self._examples = examples
        self._service = service
        self._injector = injector
        self._exchanges = exchanges
        self._on_loopback = guard.is_loopback(host)
        if self._on_loopback:
            exchanges.start()
        # An open page notices by this that another sandbox answers.
        self._run_id = uuid.uuid4().hex
        self._files: dict[str, bytes] = {}

    async def answer(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> Answer | None:
        """Return the answer; None if the path belongs to the service.

        Args:
            method: HTTP method.
            target: Path and query, percent-encoded.
            headers: Request headers, whose names ignore case.
            body: Whole body.
        """
        path, _, query = target.partition("?")
        if path != "/" and not path.startswith(_PREFIX):
            return None
        name = path.removeprefix(_PREFIX) if path != "/" else "live.html"
        try:
            answer = await self._answer(method, name, query, headers, body)
        except Refusal as refusal:
            answer = answers.error(refusal.status, refusal.message)
        answer.headers.update(docs.BROWSER_HEADERS)
        return answer

    async def _answer(self, method: str, name: str, query: str, headers: Mapping[str, str], body: bytes) -> Answer:
        if method == "GET" and name in _FILES and name != "live.html":
            return await self._file(name)
        if not self._on_loopback:
            raise Refusal(404, "the live page exists only on loopback addresses")
        if method == "GET" and name == "live.html":
            guard.check_host(headers)
            return await self._file(name)
        guard.check_request(method, headers)
        if method == "POST":
            buttons.press(self._controls, name, body)
            return answers.document(200, {})
        if method != "GET":
            raise Refusal(404, "no such operation")
        return answers.document(200, self._read(name, parse_qs(query)))

    def _read(self, name: str, query: Mapping[str, list[str]]) -> Mapping[str, Any]:
        if name == "state":
            seen = _number(query.get("seen", ["0"])[0]) or 0
            return {"run": self._run_id, **overview(self._service, self._injector, seen)}
        if name == "request":
            number = _number(query.get("number", [""])[0])
            found = None if number is None else details(self._service.ledger, self._exchanges, number)
            if found is None:
                raise Refusal(404, "no such request in the ledger")
            return found
        if name == "examples":
            return self._examples
        raise Refusal(404, "no such path")

    async def _file(self, name: str) -> Answer:
        if name not in self._files:
            file = resources.files("cmsapi.sandbox.live") / "files" / name
            self._files[name] = await asyncio.to_thread(file.read_bytes)
        return Answer(200, {"Content-Type": _TYPES[name.rpartition(".")[2]]}, self._files[name])


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < _DIGITS else None
