"""The one loop through which every request goes: wait for a turn, send, read, decide, repeat.

One deadline spans all of it. Each attempt pays a permit, and each permit is ended in exactly one way, whatever happens.
The stage of the permit is what is known of the attempt: whether its bytes may have left, and whether it was answered.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from functools import partial
from typing import cast

import anyio
import attrs

from cmsapi.api.operations import UNLIMITED_PATHS, Operation, Replay
from cmsapi.config import RetryPolicy, Timeouts
from cmsapi.errors import (
    APIError,
    LeaseLostError,
    NotSentError,
    OutcomeUnknownError,
    RateLimitWaitError,
    TransportError,
)
from cmsapi.observability.events import (
    CallFinished,
    CallStarted,
    QuotaWait,
    RateLimitPaused,
    RequestFinished,
    RequestStarted,
    RetryScheduled,
)
from cmsapi.observability.hooks import Hooks
from cmsapi.observability.statistics import Counters
from cmsapi.ratelimit.limiter import RateLimiter
from cmsapi.ratelimit.permits import Permit
from cmsapi.transport import protocol
from cmsapi.transport.active_calls import ActiveCalls, being_cancelled
from cmsapi.transport.call import Call, CallOptions, Exchange, describe
from cmsapi.transport.clock import ServerClock
from cmsapi.transport.http import SendAwareTransport, Transport, without_frames
from cmsapi.transport.message import Request, Response
from cmsapi.transport.request_timer import RequestTimer
from cmsapi.transport.retry import Outcome, backoff, may_repeat, outcome_of, pause_after


@attrs.define
class Pipeline:
    """Send requests of one account.

    Args:
        transport: What carries them.
        clock: The service's clock, learned from its answers.
        retry: How often and how patiently to repeat.
        timeouts: How long to wait.
        max_wait: Longest wait for quota in seconds.
        hooks: What is told of each call and attempt.
        rng: Source of jitter.
        active_calls: Where calls are noted while they run.
        base_url: Address of the service, for hooks.
        counters: Counts the attempts.
    """

    transport: Transport | SendAwareTransport
    clock: ServerClock
    retry: RetryPolicy
    timeouts: Timeouts
    max_wait: float | None = None
    hooks: Hooks = attrs.field(factory=Hooks)
    rng: random.Random = attrs.field(factory=random.Random)
    active_calls: ActiveCalls = attrs.field(factory=ActiveCalls)
    base_url: str = ""
    counters: Counters = attrs.field(factory=Counters)
    _request_timer: RequestTimer = attrs.field(init=False)
    _tells: bool = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._request_timer = RequestTimer(self.timeouts.request)
        self._tells = isinstance(self.transport, SendAwareTransport)

    async def send(
        self, operation: Operation, request: Request, options: CallOptions, limiter: RateLimiter
    ) -> Exchange:
        """Send a request until it succeeds, is refused, or must not be repeated.

        Args:
            operation: What it calls.
            request: The request.
            options: What the call asks for beyond that.
            limiter: Admits it; the limiter belongs to the account and the running loop.

        Raises:
            APIError: The service answered with an error.
            TransportError: There was no usable answer.
            RateLimitWaitError: The quota frees later than `max_wait`.
            DeadlineError: The deadline is over.
            ClientClosedError: The client was closed meanwhile.
        """
        deadline = self.timeouts.deadline
        ends_at = None if deadline is None else asyncio.get_running_loop().time() + deadline
        call = Call(operation, request, options, limiter, ends_at)
        if self.hooks.listening:
            return await self._observed(call)
        return await self._in_time(call)

    async def _observed(self, call: Call) -> Exchange:
        """Carry out a call, and tell the hooks that it begins and ends."""
        time, row, error = asyncio.get_running_loop().time, call.operation, None
        began = time()
        self.hooks(CallStarted(operation=row.name, method=row.method, path=row.path, base_url=self.base_url))
        try:
            return await self._in_time(call)
        except BaseException as raised:
            error = type(raised).__name__
            raise
        finally:
            self.hooks(
                CallFinished(
                    operation=row.name,
                    method=row.method,
                    path=row.path,
                    attempts=call.attempts,
                    status=call.status,
                    error=error,
                    duration=time() - began,
                )
            )

    async def _in_time(self, call: Call) -> Exchange:
        """Carry out a call until its deadline, or until the client is closed."""
        scope = asyncio.timeout_at(call.ends_at)
        try:
            async with scope:
                self.active_calls.enter(scope)
                try:
                    return await self._run(call)
                finally:
                    self.active_calls.leave(scope)
        except TimeoutError as error:
            if not scope.expired():
                raise
            final = call.interrupted(self.timeouts.deadline, closing=self.active_calls.closing)
            raise final from without_frames(error)

    async def _run(self, call: Call) -> Exchange:
        """Make attempts until one succeeds, or none is to follow."""
        failure: APIError | TransportError | None = None
        while True:
            try:
                return self._read(call, await self._attempt(call))
            except RateLimitWaitError as refused:
                if failure is None:
                    raise
                # What happened says more than that another try would have to wait.
                final = call.final_error(failure, outcome_of(failure))
                final.add_note(f"no further attempt: the request limit admits it in {refused.available_in:.0f} s")
                raise final from final.__cause__
            except (APIError, TransportError) as error:
                if call.is_settled_by(error):
                    return call.exchange(200, None)
                failure = error
            await anyio.sleep(self._delay_after(failure, call))

    async def _attempt(self, call: Call) -> Response:
        """Wait for a permit, send the request once, and tell the hooks."""
        limiter = call.limiter
        asked = limiter.time()
        if call.operation.path in UNLIMITED_PATHS:
            permit = Permit()
        else:
            announce = partial(self._announce, call)
            permit = await limiter.acquire(call.options.priority, max_wait=self.max_wait, announce=announce)
        call.sent_at = limiter.time()
        call.attempts += 1
        waited = call.sent_at - asked
        if self.hooks.listening:
            self.hooks(RequestStarted(operation=call.operation.name, attempt=call.attempts, waited=waited))
        try:
            response = await self._carry(call, permit)
        except BaseException as error:
            # Also when cancelled: a deadline or a caller may give up on a request that takes effect all the same.
            call.in_doubt = call.in_doubt or permit.stage == "lost"
            self._tell_end(call, waited, error=type(error).__name__)
            raise
        self._tell_end(call, waited, status=response.status)
        return response

    def _tell_end(self, call: Call, waited: float, *, status: int | None = None, error: str | None = None) -> None:
        """Count an attempt that is over, and tell the hooks."""
        call.status = status
        self.counters.requests += 1
        self.counters.answered += status is not None
        if self.hooks.listening:
            self.hooks(
                RequestFinished(
                    operation=call.operation.name,
                    method=call.operation.method,
                    path=call.operation.path,
                    attempt=call.attempts,
                    status=status,
                    error=error,
                    waited=waited,
                    duration=call.limiter.time() - call.sent_at,
                    remaining=call.limiter.remaining,
                )
            )

    async def _carry(self, call: Call, permit: Permit) -> Response:
        """Take a permit through one request, and end it."""
        scope, before, departing = asyncio.timeout(None), call.options.before_attempt, permit.departing
        try:
            async with scope:
                self._request_timer.enter(scope)
                try:
                    if before is not None:
                        departing = _each(await before(permit), departing)
                    response = _checked(await self._through_transport(call.request, departing))
                finally:
                    self._request_timer.leave(scope)
        except (NotSentError, LeaseLostError):
            permit.unsent()
            await call.not_executed(permit)
            raise
        except BaseException as error:
            # Cancelled or failed: the request counts as sent unless it is certain that it was not.
            permit.unsent() if permit.stage == "taken" else permit.lost()
            if isinstance(error, TimeoutError) and scope.expired():
                if permit.stage == "unsent":
                    await call.not_executed(permit)
                raise self._timed_out(permit) from without_frames(error)
            if isinstance(error, asyncio.CancelledError):
                # A timeout around the call raises it on, or from it, and its frames hold the request.
                without_frames(error)
            if isinstance(error, OSError) or (isinstance(error, asyncio.CancelledError) and not being_cancelled()):
                raise OutcomeUnknownError(
                    f"The request was sent, but no whole answer came back ({type(error).__name__})."
                ) from error
            raise
        headers = response.headers
        if response.status == 429 and call.operation.path not in UNLIMITED_PATHS:
            # Before the permit ends, because that lets the next ones go.
            call.limiter.pause(protocol.read_retry_after(headers) or 0.0)
        permit.answered(protocol.read_quota(headers))
        self.clock.learn(headers, call.sent_at)
        if response.status == 429:
            await call.not_executed(permit)
        return response

    def _through_transport(self, request: Request, departing: Callable[[], None]) -> Awaitable[Response]:
        if self._tells:
            return cast("SendAwareTransport", self.transport).send_aware(request, departing)
        # The transport does not tell when bytes leave: from here on they may.
        departing()
        return cast("Transport", self.transport).send(request)

    def _timed_out(self, permit: Permit) -> TransportError:
        seconds = self.timeouts.request
        if permit.stage == "unsent":
            return NotSentError(f"No connection within {seconds:g} s. Nothing was sent, changed or charged.")
        return OutcomeUnknownError(f"The request was sent, but no answer came within {seconds:g} s.")

    def _read(self, call: Call, response: Response) -> Exchange:
        """Read an answer; one that is not a 2xx is an error."""
        operation = call.operation
        if not 200 <= response.status < 300:
            safe = protocol.without_key(response, call.request)
            raise protocol.error_from(safe, operation, attempts=call.attempts, sent=call.options.sent)
        # Whatever the body of a deletion is, the thing is gone (specification 4.2, 4.3).
        if operation.method == "DELETE":
            return call.exchange(response.status, None)
        return call.exchange(response.status, protocol.read_document(response, operation.name, call.request))

    def _delay_after(self, error: APIError | TransportError, call: Call) -> float:
        """Return seconds to wait before the next attempt, or raise what the caller gets if none is to follow."""
        name, outcome, retry_after = call.operation.name, outcome_of(error), None
        if isinstance(error, APIError):
            error.in_doubt = call.in_doubt and call.operation.replay is not Replay.SAFE
            retry_after = error.retry_after
        call.in_doubt = call.in_doubt or outcome.in_doubt
        delay = backoff(self.retry, call.attempts, retry_after, self.rng)
        if outcome is Outcome.NOT_EXECUTED and call.operation.path not in UNLIMITED_PATHS:
            pause = pause_after(delay, call.attempts, retry_after)
            call.limiter.pause(pause)
            self.hooks(RateLimitPaused(operation=name, seconds=pause))
        most = min(self.retry.max_attempts, call.options.max_attempts or self.retry.max_attempts)
        last = call.attempts >= most or self._beyond_patience(call, delay, retry_after)
        if last or not may_repeat(outcome, call.replay):
            raise call.final_error(error, outcome)
        reason = describe(error)
        call.ends.append((reason, delay))
        self.hooks(RetryScheduled(operation=name, attempt=call.attempts, delay=delay, reason=reason))
        return delay

    def _beyond_patience(self, call: Call, delay: float, retry_after: float | None) -> bool:
        """Tell whether the next attempt lies beyond the caller's patience."""
        if self.max_wait is not None and retry_after is not None and retry_after > self.max_wait:
            return True
        return call.ends_at is not None and asyncio.get_running_loop().time() + delay >= call.ends_at

    def _announce(self, call: Call, expected: float) -> None:
        self.hooks(QuotaWait(operation=call.operation.name, expected=expected))


def _checked(response: object) -> Response:
    if not isinstance(response, Response):
        raise TypeError(f"a transport's send returns a cmsapi.Response, not {type(response).__name__}")
    return response


def _each(*functions: Callable[[], None]) -> Callable[[], None]:
    """Return a function that calls several, unless one of them raises."""

    def call() -> None:
        for function in functions:
            function()

    return call
