"""The service without I/O: it takes a request and returns an answer.

The order of the steps is part of the interface: key (401, which does not count), rate limits (429), route, role, body,
handler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from cmsapi.sandbox.interface import docs, openapi, parameters, requests, routes as operations
from cmsapi.sandbox.interface.routes import Route
from cmsapi.sandbox.messages import answers, bodies
from cmsapi.sandbox.messages.answers import Answer
from cmsapi.sandbox.messages.call import Call
from cmsapi.sandbox.service import limits
from cmsapi.sandbox.service.ledger import Entry, Ledger
from cmsapi.sandbox.world.clock import date_header
from cmsapi.sandbox.world.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cmsapi.sandbox.messages.request import Request
    from cmsapi.sandbox.service.api_keys import ApiKey, ApiKeys
    from cmsapi.sandbox.service.job_kinds import JobKind
    from cmsapi.sandbox.world.jobs import Job
    from cmsapi.sandbox.world.world import World

_PUBLIC_PATHS = frozenset({"/health", "/openapi.json", "/docs"})
_WITHOUT_EFFECT = frozenset({"score_keyword", "score_prompt"})


@attrs.frozen
class Statistics:
    """Counters of the requests so far.

    Args:
        requests: All requests.
        unauthorized: Requests answered with 401.
        rate_limited: Requests answered with 429.
    """

    requests: int
    unauthorized: int
    rate_limited: int


class Service:
    """Answer requests, and apply the ends of jobs.

    Args:
        world: State of the service.
        keys: The API keys.
        routes: The operations.
        job_kinds: The kinds of jobs by name.
    """

    def __init__(
        self, world: World, keys: ApiKeys, routes: tuple[Route, ...], job_kinds: Mapping[str, JobKind]
    ) -> None:
        self.world = world
        self.keys = keys
        self.job_kinds = job_kinds
        self.ledger: Ledger = Ledger()
        self._routes = routes
        self._unauthorized = 0
        self._rate_limited = 0

    @property
    def statistics(self) -> Statistics:
        """A snapshot of the counters."""
        return Statistics(len(self.ledger), self._unauthorized, self._rate_limited)

    def handle(self, request: Request) -> Answer:
        """Answer a request that arrives now."""
        world = self.world
        at = world.clock.seconds()
        if at >= world.jobs.next_end or at >= world.bookkeeper.next_due:
            self.complete_due_jobs(at)
        if (answer := self._answer_public(request)) is not None:
            return self._record(request, at, "none", answer)
        try:
            key = self.keys.authenticate(request.authorization)
        except Refusal as refusal:
            self._unauthorized += 1
            headers = {"WWW-Authenticate": "Bearer", **self._rate_headers(request, at)}
            answer = answers.error(refusal.status, refusal.message, headers)
            return self._record(request, at, self.keys.label(request.authorization), answer)
        wait = key.window.wait(at)
        if wait > 0:
            answer = self._answer_over_limit(key, wait, at)
            return self._record(request, at, key.label, answer, self._operation_name(request))
        return self._answer_operation(request, key, at)

    def complete_due_jobs(self, at: float) -> None:
        """Apply the ends that the clock has passed, and what is to be booked, in order, each with its own moment."""
        for job in self.world.jobs.due(at):
            self.world.bookkeeper.book_due(job.ends_at)
            self.complete_job(job)
        self.world.bookkeeper.book_due(at)

    def complete_job(self, job: Job) -> None:
        """Apply the end of one job."""
        self.world.bookkeeper.ended(job)
        self.job_kinds[job.kind].complete(self.world, job)

    def record_fault(self, request: Request, status: int | None, outcome: str) -> None:
        """Record a request that a fault broke before it reached the service."""
        at, label = self.world.clock.seconds(), self.keys.label(request.authorization)
        name = self._operation_name(request)
        self.ledger.append(Entry(at, request.method, request.path, name, label, status, outcome, request_id=request.id))

    def gateway_error(self, request: Request, status: int, message: str) -> Answer:
        """Make the error that a gateway between client and service answers with now.

        Args:
            request: The request.
            status: HTTP status.
            message: Text for people.
        """
        headers = {"Date": date_header(self.world.date())}
        if request.path not in _PUBLIC_PATHS:
            headers |= self._rate_headers(request, self.world.clock.seconds())
        return answers.error(status, message, headers)

    def _rate_headers(self, request: Request, at: float) -> dict[str, str]:
        """Return the rate headers of an answer to a request without a valid key, or of a gateway."""
        if self.world.behaviour.rate_headers == "valid_key":
            return {}
        return self.keys.window(request.authorization).headers(at)

    def _answer_public(self, request: Request) -> Answer | None:
        """Answer the paths that need no key and do not count (section 8, rule 3)."""
        if request.path not in _PUBLIC_PATHS:
            return None
        if request.method != "GET":
            return answers.error(404, "no such operation; this path has GET")
        if request.path == "/health":
            return answers.document(200, {"status": "ok"})
        if request.path == "/openapi.json":
            described = openapi.encoded(self._routes, self.world.behaviour.rate_headers)
            return Answer(200, {"Content-Type": answers.JSON}, described)
        headers = {"Content-Type": "text/html; charset=utf-8", **docs.BROWSER_HEADERS}
        return Answer(200, headers, docs.encoded(self._routes))

    def _answer_over_limit(self, key: ApiKey, wait: float, at: float) -> Answer:
        self._rate_limited += 1
        if self.world.behaviour.count_rejected:
            key.window.add(at)
            wait = key.window.wait(at)
        headers = {**key.window.headers(at), "Retry-After": str(limits.retry_after(wait))}
        return answers.error(429, "too many requests", headers)

    def _answer_operation(self, request: Request, key: ApiKey, at: float) -> Answer:
        window, behaviour, bookkeeper = key.window, self.world.behaviour, self.world.bookkeeper
        window.add(at)
        charges = bookkeeper.charges
        name, call = None, None
        try:
            route, params = operations.find(self._routes, request.method, request.path)
            name = route.name
            self._check_role(key, name)
            body = _parse_body(route, request)
            query = parameters.read_query(request.query, route.query, behaviour.malformed_query)
            call = Call(self.world, key.user, params, query, body, name)
            answer = self._success(route, route.handler(call))
        except Refusal as refusal:
            answer = answers.error(refusal.status, refusal.message)
            if not behaviour.count_client_errors:
                window.remove_last()
        answer.headers.update(window.headers(at))
        return self._record(request, at, key.label, answer, name, call, charged=bookkeeper.charges > charges)

    def _check_role(self, key: ApiKey, name: str) -> None:
        if name in self.world.behaviour.admin_only and key.user.role != "Admin":
            raise Refusal(403, "this action is for administrators")

    def _success(self, route: Route, result: Any) -> Answer:
        if route.answers is None and self.world.behaviour.deletion == "empty":
            return Answer(204, {}, b"")
        return answers.document(route.status, result)

    def _operation_name(self, request: Request) -> str | None:
        try:
            return operations.find(self._routes, request.method, request.path)[0].name
        except Refusal:
            return None

    def _record(
        self,
        request: Request,
        at: float,
        label: str,
        answer: Answer,
        operation: str | None = None,
        call: Call | None = None,
        *,
        charged: bool = False,
    ) -> Answer:
        answer.headers["Date"] = date_header(self.world.date())
        entry = Entry(
            at=at,
            method=request.method,
            path=request.path,
            operation=operation,
            key=label,
            status=answer.status,
            outcome=answer.code or "ok",
            target_id=_target_id(call),
            charged=charged,
            effect=answer.code is None and request.method != "GET" and operation not in _WITHOUT_EFFECT,
            request_id=request.id,
        )
        self.ledger.append(entry)
        return answer


def _target_id(call: Call | None) -> str | None:
    """Return the target of a call: the resource that it created, or the one of its path."""
    return (call.target_id or next(iter(call.params.values()), None)) if call else None


def _parse_body(route: Route, request: Request) -> Any:
    if route.body is None or (route.optional_body and not request.body):
        return {}
    value = bodies.parse(request.body, request.headers.get("content-type"))
    bodies.check(requests.CHECKED[route.body], value)
    return value
