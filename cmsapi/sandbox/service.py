"""The simulated service. It answers requests in the same way in process and on a socket.

A request goes through these steps: faults, key (401), limits (429), route (404, 405), media type and JSON (415, 400),
schemas (400, 422), role (403), handler. Public paths have no rate limits. On other paths, the service counts all
requests except those refused with 401 or 429, and sends rate-limit headers except with a 401 (specification 5, 7, 8).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from math import ceil
from random import Random
from typing import Any

from attrs import define, field

from cmsapi.messages import Request, Response
from cmsapi.sandbox.call import Call
from cmsapi.sandbox.checks import read_body, read_query
from cmsapi.sandbox.faults import Dropped, Fault, Faults
from cmsapi.sandbox.handlers import HANDLERS
from cmsapi.sandbox.jobs import Jobs
from cmsapi.sandbox.ledger import Ledger, LoggedRequest
from cmsapi.sandbox.limits import KeyWindows, Limits
from cmsapi.sandbox.openapi import Match, routes
from cmsapi.sandbox.refusal import Refusal
from cmsapi.sandbox.store import Record, Store

ADMIN_ONLY = frozenset({"delete_page", "delete_folder", "list_users"})
UNCOUNTED = frozenset({401, 429})  # statuses of responses that count in no window
JSON = {"content-type": "application/json"}
DOCS = b'<!doctype html><title>API v1</title><p>Described in <a href="/openapi.json">openapi.json</a>.</p>'


@define(eq=False, repr=False)
class Service:
    """The simulated service, independent of any socket."""

    store: Store
    jobs: Jobs
    limits: Limits
    faults: Faults
    ledger: Ledger
    keys: Mapping[str, Record]  # users by API key
    rng: Random  # for faults and latency
    _windows: dict[str, KeyWindows] = field(factory=dict, init=False)  # by user
    _number: int = field(default=0, init=False)

    async def handle(self, request: Request) -> Response:
        """Return the response to ``request``, after any latency or delay that `faults` adds.

        Raises:
            Dropped: A fault closes or refuses the connection.
        """
        if early := self.faults.delay(self.rng):
            await asyncio.sleep(early)
        fault, response = self._arrive(request)
        if late := fault.slow + self.faults.delay(self.rng):
            await asyncio.sleep(late)
        if response is None:
            raise Dropped(sent=not fault.refuse)
        return response

    def _arrive(self, request: Request) -> tuple[Fault, Response | None]:
        now = self.store.clock.now()
        self.jobs.advance(now)
        path, _, query = _target(request.url).partition("?")
        route = routes().match(request.method, path)
        name = route.operation.name if route.operation else ""
        fault = self.faults.pick(name, self.store.clock.elapsed(now), self.rng)
        user = self._user(_header(request, "authorization"))
        response = None if fault.replaces_service else self._respond(request, route, query, user, now, fault)
        response = fault.spoil(response)
        if not fault.refuse:
            status = None if response is None else response.status
            key = None if user is None else user["role"].lower()
            self.ledger.requests.append(LoggedRequest(now, name, request.method, path, status, key))
        return fault, response

    def _respond(
        self, request: Request, route: Match, query: str, user: Record | None, now: float, fault: Fault
    ) -> Response:
        failure = fault.refusal
        if route.public:
            return self._public(request.method, route) if failure is None else self._response(failure, {})
        if user is None:
            return self._response(Refusal(401, "The API key is missing, malformed, invalid or revoked."), {})
        windows = self._windows.get(user["id"]) or self._windows.setdefault(user["id"], KeyWindows(self.limits, now))
        is_counted = failure is None or failure.status not in UNCOUNTED
        wait = windows.arrive(now) if is_counted else None
        if wait is not None:
            failure = Refusal(429, "Too many requests.", {"retry-after": str(ceil(wait))})
        elif failure is not None and fault.effect:
            self._carry_out(request, route, query, user)
        result = failure or self._carry_out(request, route, query, user)
        has_rates = failure is None or failure.status != 401
        return self._response(result, windows.headers(now) if has_rates else {})

    def _carry_out(self, request: Request, route: Match, query: str, user: Record) -> Refusal | tuple[int, Any]:
        operation, choices = route.operation, self.store.choices
        if operation is None:
            return _missing(request.method, route)
        try:
            body = read_body(operation, _header(request, "content-type"), request.body or b"")
            values = read_query(operation, query, choices.malformed_query)
            if operation.name in ADMIN_ONLY and user["role"] != "Admin":
                return Refusal(403, "Only an Admin may do this.")
            document = HANDLERS[operation.name](Call(self.store, self.jobs, user, route.path, values, body))
        except Refusal as refusal:
            return refusal
        return choices.deletion if request.method == "DELETE" else operation.status, document

    def _public(self, method: str, route: Match) -> Response:
        match route.operation and route.operation.name:
            case "get_docs":
                return Response(200, {**self._headers(), "content-type": "text/html; charset=utf-8"}, DOCS)
            case "get_openapi":
                return Response(200, {**self._headers(), **JSON}, routes().description)
            case "get_health":
                return self._response((200, {"status": "ok"}), {})
        return self._response(_missing(method, route), {})

    def _user(self, authorization: str) -> Record | None:
        """Return the user of the key in an ``Authorization`` header; None without a valid key (specification 5.1)."""
        return self.keys.get(authorization.removeprefix("Bearer ")) if authorization.startswith("Bearer sk_") else None

    def _response(self, result: Refusal | tuple[int, Any], headers: Mapping[str, str]) -> Response:
        if isinstance(result, Refusal):
            status, document, headers = result.status, result.document, {**headers, **result.headers}
        else:
            status, document = result
        if status == 204:
            return Response(status, {**self._headers(), **headers})
        # ASCII, so that a lone surrogate in a text is returned as the escape sequence that was sent
        return Response(status, {**self._headers(), **JSON, **headers}, json.dumps(document).encode())

    def _headers(self) -> dict[str, str]:
        self._number += 1
        return {"date": self.store.clock.date(), "x-request-id": f"req_01hx{self._number:022d}"}


def _header(request: Request, name: str) -> str:
    return next((value for key, value in request.headers.items() if key.lower() == name), "")


def _missing(method: str, route: Match) -> Refusal:
    if route.allowed:
        return Refusal(405, f"The path has no {method}.", {"allow": ", ".join(route.allowed)})
    return Refusal(404, "No such path.")


def _target(url: str) -> str:
    """Return the path and query of ``url``, which is an absolute URL or begins with a slash."""
    return url if url.startswith("/") else "/" + url.partition("://")[2].partition("/")[2]
