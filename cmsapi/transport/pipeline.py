"""A call: build its request, wait for the rate limits, send it, repeat it where that is safe, and read the response."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from types import NoneType
from typing import Any, TypeVar

from attrs import field, frozen

from cmsapi.config import RateLimits, RetryPolicy, Timeouts
from cmsapi.errors import (
    ClientClosedError,
    CMSError,
    DeadlineError,
    DecodeError,
    NotSentError,
    OutcomeUnknownError,
    RateLimitWaitError,
    ServerError,
    TransportError,
)
from cmsapi.limits.limiter import Limiter, Permit, Priority, RateHeaders
from cmsapi.messages import Request, Response, Transport
from cmsapi.models.base import Model
from cmsapi.observe.events import Emitter, RequestFinished, RetryScheduled
from cmsapi.transport.account import Account
from cmsapi.transport.error_responses import error_of, retry_after
from cmsapi.transport.retries import brief, is_temporary, next_delay
from cmsapi.wire.arguments import MAX_LIMIT, query
from cmsapi.wire.converter import dump, parse, structure
from cmsapi.wire.operations import Operation, OperationTable
from cmsapi.wire.paging import Page, Paginator

T = TypeVar("T")


@frozen
class Pipeline:
    """Settings and connections that all calls of one client share, and the methods that make these calls."""

    base_url: str
    headers: Mapping[str, str] = field(repr=False)  # of each request, including the key
    operations: OperationTable
    retry: RetryPolicy
    timeouts: Timeouts
    max_wait: float | None  # seconds that a request may wait for the limits
    emit: Emitter
    account: Callable[[], Account]  # returns the limiter and the connections of the running event loop

    @property
    def open(self) -> bool:
        """True if the client can be used in the running event loop; the first use attaches the client to the loop."""
        try:
            self.account()
        except ClientClosedError:
            return False
        return True

    async def call(
        self,
        name: str,
        shape: type[T],
        *ids: object,
        params: Mapping[str, Any] | None = None,
        json: Any = None,
        priority: Priority = Priority.CALL,
    ) -> T:
        """Carry out operation ``name``, and return its response as ``shape``. Errors: see `send` and `read`."""
        operation = self.operations[name]
        request = self.build(operation, ids, params, json)
        response = await self.send(request, operation, priority)
        try:
            return read(response, shape, name)
        except DecodeError as error:
            if operation.caveat:
                error.add_note(operation.caveat)
            raise

    async def once(self, name: str, shape: type[T], *ids: object, priority: Priority) -> T:
        """Like `call`, but without retries, and without a maximum wait for the rate limits; for polls."""
        operation, account = self.operations[name], self.account()
        request = self.build(operation, ids)
        response = await self.attempt(account.transport, request, account.limiter.acquire(priority, emit=self.emit))
        if response.status >= 300:
            raise error_of(response, request, operation)
        return read(response, shape, name)

    def list(
        self,
        name: str,
        item: type[T],
        *ids: object,
        params: Mapping[str, Any] | None = None,
        page: int = 1,
        limit: int = MAX_LIMIT,
        priority: Priority = Priority.CALL,
    ) -> Paginator[T]:
        """Return a paginator for the list operation ``name``, starting at ``page``. Each page costs one request."""
        self.operations[name].fill(ids)  # refuses invalid identifiers at once, where they were passed

        def fetch(numbers: Mapping[str, int]) -> Awaitable[Page[T]]:
            filters = {**(params or {}), **numbers}
            return self.call(name, Page[item], *ids, params=filters, priority=priority)  # type: ignore[valid-type]  # a type at run time

        return Paginator(fetch, page, limit)

    def build(
        self, operation: Operation, ids: tuple[object, ...], params: Mapping[str, Any] | None = None, json: Any = None
    ) -> Request:
        """Return the request for an operation.

        Raises:
            ArgumentError: An identifier, a query parameter or the body cannot be sent.
        """
        url = self.base_url + operation.fill(ids) + (query(params) if params else "")
        if json is None:
            return Request(operation.method, url, self.headers, None, operation.name)
        headers = {**self.headers, "Content-Type": "application/json"}
        return Request(operation.method, url, headers, dump(json), operation.name)

    async def send(
        self,
        request: Request,
        operation: Operation | None,
        priority: Priority = Priority.CALL,
        retry: RetryPolicy | None = None,
        limited: bool = True,
    ) -> Response:
        """Send a request, repeat it where that is safe, and return the response.

        ``retry`` replaces the client's policy. With ``limited=False``, the request does not wait for the rate limits.
        If a DELETE is repeated, a 404 counts as success.

        Raises:
            APIError: The service answered with an error.
            TransportError: There was no complete response.
            DeadlineError: `Timeouts.deadline` passed first.
            RateLimitWaitError: The rate limits would hold the request back for longer than ``max_wait``.
        """
        retry = retry or self.retry
        repeatable = operation.repeatable if operation else request.method == "GET"
        account = self.account()
        limiter = account.limiter if limited else Limiter(RateLimits.unlimited())
        loop = asyncio.get_running_loop()
        deadline = None if self.timeouts.deadline is None else loop.time() + self.timeouts.deadline
        attempt, maybe_done, permit = 0, False, None
        failure: CMSError | None = None
        try:
            async with asyncio.timeout_at(deadline) if deadline is not None else nullcontext():
                while True:
                    attempt, permit = attempt + 1, limiter.acquire(priority, self.max_wait, self.emit)
                    try:
                        response = await self.attempt(account.transport, request, permit, attempt)
                        gone = response.status == 404 and request.method == "DELETE" and maybe_done
                        if response.status < 300 or gone:
                            return response
                        failure = error_of(response, request, operation)
                    except RateLimitWaitError:
                        if failure is None:
                            raise
                        raise failure from None  # the last failure says more than the limit that stops the retries
                    except TransportError as error:
                        failure = error
                    again = is_temporary(failure, repeatable=repeatable)
                    if isinstance(failure, NotSentError) and maybe_done:
                        failure = OutcomeUnknownError(f"{failure}; an earlier attempt may have been carried out")
                    maybe_done = maybe_done or isinstance(failure, OutcomeUnknownError | ServerError)
                    delay = next_delay(retry, attempt, failure)
                    if not again or delay is None or (deadline is not None and loop.time() + delay >= deadline):
                        raise failure
                    self.emit(RetryScheduled(request.operation, attempt, delay, brief(failure)))
                    await asyncio.sleep(delay)
        except TimeoutError:
            name, seconds = request.operation or request.method, self.timeouts.deadline
            sent = maybe_done or (permit is not None and permit.began is not None)
            consequence = "the service may have carried it out" if sent else "nothing was sent"
            raise DeadlineError(f"{name}: not finished in {seconds:g} s; {consequence}", sent=sent) from None

    async def attempt(
        self,
        transport: Transport,
        request: Request,
        permit: Permit,
        number: int = 1,
        prepare: Callable[[], Awaitable[None]] | None = None,
    ) -> Response:
        """Wait for the limits, await ``prepare``, send the request once, and return the response, whatever its status.

        Raises:
            NotSentError: Nothing reached the service.
            OutcomeUnknownError: The request may have arrived, but no complete response came in time.
            RateLimitWaitError: The rate limits would hold the request back for longer than the permit's ``max_wait``.
            StateError: The request is a launch, and the state that processes share does not answer.
        """
        response: Response | None = None
        lost: str | None = None
        async with permit:
            if prepare is not None:
                permit.departed = False
                await prepare()
                permit.departed = True
            try:
                async with asyncio.timeout(self.timeouts.request):
                    response = await transport.send(request)
            except BaseException as error:
                lost, permit.departed = type(error).__name__, not isinstance(error, NotSentError)
                if not isinstance(error, TimeoutError):
                    raise
                problem = f"no response within {self.timeouts.request:g} s; the request may have been carried out"
                raise OutcomeUnknownError(problem) from None
            else:
                permit.rate, permit.success = RateHeaders.of(response), response.status < 300
                permit.retry_after = retry_after(response) if response.status == 429 else None
                return response
            finally:
                if self.emit.wants(RequestFinished):
                    self.emit(_finished(request, permit, number, response, lost))


def read(response: Response, shape: type[T], operation: str | None = None) -> T:
    """Return the body as an instance of ``shape``; None for `NoneType`. Raise `DecodeError` if the body is invalid."""
    if shape is NoneType:
        return None  # type: ignore[return-value]  # T is None
    data = parse(response.body or b"null", operation)  # a 204 has no body
    if data.__class__ is list:
        data = {"data": data}  # a list without an envelope
    model = structure(data, shape, operation)
    if isinstance(model, Model):
        model.__dict__["response"] = response
    return model


def _finished(
    request: Request, permit: Permit, number: int, response: Response | None, lost: str | None
) -> RequestFinished:
    began = permit.began or 0.0
    return RequestFinished(
        operation=request.operation,
        method=request.method,
        path="/" + request.url.split("?", 1)[0].split("/", 3)[-1],
        attempt=number,
        seconds=asyncio.get_running_loop().time() - began,
        waited=permit.waited,
        status=response.status if response else None,
        request_id=response.request_id if response else None,
        error=lost,
    )
