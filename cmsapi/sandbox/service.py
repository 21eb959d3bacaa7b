"""The service: one function from a request to its answer, the same in process and on a socket.

A request passes, in this order: faults of the network, key (401), limits (429), route (404, 405), media type and JSON
(415, 400), schemas (400, 422), role (403), and its handler. 401 counts in no window and carries no rate headers; 429
carries them and does not count; all other answers count and carry them (specification 5, 7, 8).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from math import ceil
from random import Random
from typing import Any

from cmsapi.messages import Request, Response
from cmsapi.sandbox.call import Call
from cmsapi.sandbox.checks import read_body, read_query
from cmsapi.sandbox.clock import Clock
from cmsapi.sandbox.faults import Dropped, Fault, Faults
from cmsapi.sandbox.handlers import HANDLERS
from cmsapi.sandbox.jobs import Jobs
from cmsapi.sandbox.ledger import Ledger, LoggedRequest
from cmsapi.sandbox.limits import KeyWindows, Limits
from cmsapi.sandbox.refusal import Refusal
from cmsapi.sandbox.routes import Match, Operation, routes
from cmsapi.sandbox.store import Record, Store

ADMIN_ONLY = frozenset({"delete_page", "delete_folder", "list_users"})
UNCOUNTED = frozenset({401, 429})  # statuses of answers that count in no window
NO_HEADERS: Mapping[str, str] = {}
JSON = {"content-type": "application/json"}
DOCS = b'<!doctype html><title>API v1</title><p>Described in <a href="/openapi.json">openapi.json</a>.</p>'


class Service:
    """The whole service without a socket.

    Args:
        seed: Seed of faults and latency.
        store: Its records.
        jobs: Its jobs.
        limits: Limits of each key.
        faults: Faults between client and service.
        ledger: What happened.
        keys: Users by API key.
    """

    def __init__(
        self,
        seed: int,
        store: Store,
        jobs: Jobs,
        limits: Limits,
        faults: Faults,
        ledger: Ledger,
        keys: Mapping[str, Record],
    ) -> None:
        self.store = store
        self.jobs = jobs
        self.faults = faults
        self.ledger = ledger
        self._limits = limits
        self._keys = keys
        self._windows: dict[str, KeyWindows] = {}
        self._clock: Clock = store.clock
        self._rng = Random(f"{seed} faults")  # noqa: S311 - made-up faults
        self._number = 0

    async def handle(self, request: Request) -> Response:
        """Answer a request.

        Raises:
            Dropped: A fault closes or refuses the connection.
        """
        if self.faults.latency:
            await asyncio.sleep(self.faults.delay(self._rng))
        fault, answer = self._arrive(request)
        late = (fault.slow if fault else 0.0) + (self.faults.delay(self._rng) if self.faults.latency else 0.0)
        if late:
            await asyncio.sleep(late)
        if answer is None:
            raise Dropped(sent=fault is None or not fault.refuse)
        return answer

    def _arrive(self, request: Request) -> tuple[Fault | None, Response | None]:
        now = self._clock.now()
        self.jobs.advance(now)
        path, _, query = _target(request.url).partition("?")
        route = routes().match(request.method, path)
        name = route.operation.name if route.operation else ""
        fault = self.faults.pick(name, self._clock.elapsed(now), self._rng) if self.faults.rules else None
        headers = {name.lower(): value for name, value in request.headers.items()}
        user = self._user(headers.get("authorization", ""))
        answer: Response | None = None
        if fault is None or not fault.replaces_service:
            answer = self._answer(request, route, query, headers, user, now, fault)
        if fault is not None:
            answer = fault.spoil(answer)
        if fault is None or not fault.refuse:
            key = user["role"].lower() if user is not None else None
            status = answer.status if answer is not None else None
            self.ledger.requests.append(LoggedRequest(now, name, request.method, path, status, key))
        return fault, answer

    def _answer(
        self,
        request: Request,
        route: Match,
        query: str,
        headers: Mapping[str, str],
        user: Record | None,
        now: float,
        fault: Fault | None,
    ) -> Response:
        failure = fault.refusal if fault is not None and fault.status is not None else None
        if route.public:
            if failure is None and route.operation is not None:
                return self._public(route.operation)
            return self._response(failure or _missing(request.method, route))
        if user is None:
            return self._response(Refusal(401, "The API key is missing, malformed, invalid or revoked."))
        windows = self._windows.get(user["id"]) or self._windows.setdefault(user["id"], KeyWindows(self._limits, now))
        wait = windows.arrive(now) if failure is None or failure.status not in UNCOUNTED else None
        result: Refusal | tuple[int, Any]
        if wait is not None:
            result = Refusal(429, "Too many requests.", {"retry-after": str(ceil(wait))})
        elif failure is not None and fault is not None and not fault.effect:
            result = failure
        else:
            try:
                result = self._carry_out(request, route, query, headers, user)
            except Refusal as refusal:
                result = refusal
            result = failure or result
        is_limited = not (isinstance(result, Refusal) and result.status == 401)
        return self._response(result, windows.headers(now) if is_limited else {})

    def _carry_out(
        self, request: Request, route: Match, query: str, headers: Mapping[str, str], user: Record
    ) -> tuple[int, Any]:
        operation = route.operation
        if operation is None:
            raise _missing(request.method, route)
        choices = self.store.choices
        body = read_body(operation, headers.get("content-type", ""), request.body or b"")
        values = read_query(operation, query, choices.malformed_query)
        if operation.name in ADMIN_ONLY and user["role"] != "Admin":
            raise Refusal(403, "Only an Admin may do this.")
        document = HANDLERS[operation.name](Call(self.store, self.jobs, user, route.path, values, body))
        return choices.deletion if request.method == "DELETE" else operation.status, document

    def _public(self, operation: Operation) -> Response:
        if operation.name == "get_docs":
            return Response(200, {**self._headers(), "content-type": "text/html; charset=utf-8"}, DOCS)
        if operation.name == "get_openapi":
            return Response(200, {**self._headers(), **JSON}, routes().description)
        return self._response((200, {"status": "ok"}))

    def _user(self, authorization: str) -> Record | None:
        """Return the user of a key; the value must start exactly with ``Bearer sk_`` (specification 5.1)."""
        return self._keys.get(authorization.removeprefix("Bearer ")) if authorization.startswith("Bearer sk_") else None

    def _response(self, result: Refusal | tuple[int, Any], headers: Mapping[str, str] = NO_HEADERS) -> Response:
        if isinstance(result, Refusal):
            status, document, headers = result.status, result.document, {**headers, **result.headers}
        else:
            status, document = result
        if status == 204:
            return Response(status, {**self._headers(), **headers})
        # ASCII, so that a lone surrogate in a text comes back as the escape that it came as
        return Response(status, {**self._headers(), **JSON, **headers}, json.dumps(document).encode())

    def _headers(self) -> dict[str, str]:
        self._number += 1
        return {"date": self._clock.date(), "x-request-id": f"req_01hx{self._number:022d}"}


def _missing(method: str, route: Match) -> Refusal:
    if route.allowed:
        return Refusal(405, f"The path has no {method}.", {"allow": ", ".join(route.allowed)})
    return Refusal(404, "No such path.")


def _target(url: str) -> str:
    """Return path and query of an absolute address, or of a request line."""
    return url if url.startswith("/") else "/" + url.partition("://")[2].partition("/")[2]
