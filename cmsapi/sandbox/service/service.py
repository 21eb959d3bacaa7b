"""The service without I/O: bytes in, bytes out, time injected.

The order of the steps is the interface: key (401, not counted), rate limits (429), route, permission, body, handler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from cmsapi.sandbox.interface import docs, openapi, schemas
from cmsapi.sandbox.interface.routes import Route, Router
from cmsapi.sandbox.messages import answers, bodies
from cmsapi.sandbox.messages.answers import Answer
from cmsapi.sandbox.messages.call import Call
from cmsapi.sandbox.messages.query import Query
from cmsapi.sandbox.service import limits
from cmsapi.sandbox.service.job_kinds import complete_due_jobs
from cmsapi.sandbox.service.ledger import Entry, Ledger
from cmsapi.sandbox.world.clock import DateHeader
from cmsapi.sandbox.world.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cmsapi.sandbox.service.api_keys import ApiKey, ApiKeys
    from cmsapi.sandbox.world.world import World

_PUBLIC_PATHS = frozenset({"/health", "/openapi.json", "/docs"})
_WITHOUT_EFFECT = frozenset({"score_keyword", "score_prompt"})


@attrs.frozen
class Statistics:
    """Count the requests so far.

    Args:
        requests: All of them.
        unauthorized: Answered with 401.
        rate_limited: Answered with 429.
    """

    requests: int
    unauthorized: int
    rate_limited: int


class Service:
    """Answer requests.

    Args:
        world: State of the service.
        keys: The API keys.
    """

    def __init__(self, world: World, keys: ApiKeys) -> None:
        self.world = world
        self.keys = keys
        self.ledger: Ledger = Ledger()
        self._router = Router()
        self._date = DateHeader()
        self._unauthorized = 0
        self._rate_limited = 0

    @property
    def statistics(self) -> Statistics:
        """A snapshot of the counters."""
        return Statistics(len(self.ledger), self._unauthorized, self._rate_limited)

    def handle(self, method: str, path: str, query: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Answer one request, which arrives now.

        Args:
            method: HTTP method.
            path: Path, still percent-encoded.
            query: Query string, still percent-encoded.
            headers: Request headers, looked up without regard to case.
            body: Whole body; empty when there is none.
        """
        world = self.world
        at = world.clock.seconds()
        authorization = headers.get("authorization")
        if at >= world.jobs.next_end:
            complete_due_jobs(world, at)
        if (answer := self._answer_public(method, path)) is not None:
            return self._record(at, method, path, None, "none", answer)
        try:
            key = self.keys.authenticate(authorization)
        except Refusal as refusal:
            self._unauthorized += 1
            told = {"WWW-Authenticate": "Bearer", **self._rate_headers(authorization, at)}
            answer = answers.error(refusal.status, refusal.message, told)
            return self._record(at, method, path, None, self.keys.label(authorization), answer)
        return self._answer_with_key(key, at, method, path, query, headers, body)

    def record_fault(
        self, method: str, path: str, headers: Mapping[str, str], status: int | None, outcome: str
    ) -> None:
        """Write a request down that a fault kept from the service."""
        at, label = self.world.clock.seconds(), self.keys.label(headers.get("authorization"))
        name = self._name(method, path)
        self.ledger.append(Entry(at, method, path, name, label, status, outcome, None, charged=False, effect=False))

    def gateway_error(self, status: int, message: str, path: str, headers: Mapping[str, str]) -> Answer:
        """Make the error that something between client and service answers with; it leaves now.

        Args:
            status: HTTP status.
            message: Text for people.
            path: Path of the request.
            headers: Headers of the request.
        """
        told = {"Date": self._date.at(self.world.date())}
        if path not in _PUBLIC_PATHS:
            told |= self._rate_headers(headers.get("authorization"), self.world.clock.seconds())
        return answers.error(status, message, told)

    def _rate_headers(self, authorization: str | None, at: float) -> dict[str, str]:
        """Describe the hour of a key to which the service has not answered."""
        if self.world.behaviour.rate_headers == "valid_key":
            return {}
        return self.keys.window(authorization).headers(at)

    def _answer_with_key(
        self, key: ApiKey, at: float, method: str, path: str, query: str, headers: Mapping[str, str], body: bytes
    ) -> Answer:
        window, behaviour = key.window, self.world.behaviour
        wait = window.wait(at)
        if wait > 0:
            self._rate_limited += 1
            if behaviour.count_rejected:
                window.add(at)
                wait = window.wait(at)
            told = {**window.headers(at), "Retry-After": str(limits.retry_after(wait))}
            answer = answers.error(429, "too many requests", told)
            return self._record(at, method, path, self._name(method, path), key.label, answer)
        window.add(at)
        charges = self.world.billing.charges
        name, call = None, None
        try:
            route, params = self._router.find(method, path)
            name = route.name
            self._check_role(key, name)
            parsed = _parse(route, headers.get("content-type"), body)
            call = Call(self.world, key.user, params, Query(query, behaviour.malformed_query), parsed)
            answer = self._success(route, route.handler(call))
        except Refusal as refusal:
            answer = answers.error(refusal.status, refusal.message, refusal.headers)
            if not behaviour.count_client_errors:
                window.remove_last()
        answer.headers.update(window.headers(at))
        return self._record(at, method, path, name, key.label, answer, call, self.world.billing.charges > charges)

    def _answer_public(self, method: str, path: str) -> Answer | None:
        """Answer the paths that need no key and count nowhere (section 8, rule 3)."""
        if path not in _PUBLIC_PATHS:
            return None
        if method != "GET":
            return answers.error(404, "no such operation; this path has GET")
        if path == "/health":
            return answers.document(200, {"status": "ok"})
        if path == "/openapi.json":
            return Answer(200, {"Content-Type": answers.JSON}, openapi.encoded(self.world.behaviour.rate_headers))
        return Answer(200, {"Content-Type": "text/html; charset=utf-8", **docs.HEADERS}, docs.encoded())

    def _check_role(self, key: ApiKey, name: str) -> None:
        if name in self.world.behaviour.admin_only and key.user.role != "Admin":
            raise Refusal(403, "this action is for administrators")

    def _success(self, route: Route, result: Any) -> Answer:
        if route.answers is None and self.world.behaviour.deletion == "empty":
            return Answer(204, {}, b"")
        return answers.document(route.status, result)

    def _name(self, method: str, path: str) -> str | None:
        try:
            return self._router.find(method, path)[0].name
        except Refusal:
            return None

    def _record(
        self,
        at: float,
        method: str,
        path: str,
        name: str | None,
        label: str,
        answer: Answer,
        call: Call | None = None,
        charged: bool = False,
    ) -> Answer:
        answer.headers["Date"] = self._date.at(self.world.date())
        target_id = None
        if call is not None:
            target_id = call.target_id or next(iter(call.params.values()), None)
        effect = answer.code is None and method != "GET" and name not in _WITHOUT_EFFECT
        outcome = answer.code or "ok"
        self.ledger.append(
            Entry(at, method, path, name, label, answer.status, outcome, target_id, charged=charged, effect=effect)
        )
        return answer


def _parse(route: Route, content_type: str | None, body: bytes) -> Any:
    if route.body is None or (route.optional_body and not body):
        return {}
    value = bodies.parse(body, content_type)
    bodies.check(schemas.REQUESTS[route.body], value)
    return value
