"""The loop through which each call goes: wait for a permit, send the request, read the answer, decide about a repeat.

One deadline spans all of it. Each attempt takes a permit and ends it once. The stage of the permit says whether the
bytes of the attempt may have left, and whether it was answered.

The deadline and the timeout of an attempt are two nested scopes of asyncio, not of anyio: once its time is over, a
scope of anyio interrupts each `await`, and what became of a paid attempt has to be written then.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import anyio
import attrs

from cmsapi.api.operations import UNLIMITED_PATHS, Operation
from cmsapi.config import RetryPolicy, Timeouts
from cmsapi.errors import APIError, LeaseLostError, NotSentError, RateLimitWaitError, TransportError
from cmsapi.message import Request, Response
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
from cmsapi.ratelimit.clock import until
from cmsapi.ratelimit.limiter import RateLimiter
from cmsapi.ratelimit.permits import Permit
from cmsapi.transport import answers
from cmsapi.transport.call import REQUEST_COUNT, Call, CallOptions, being_cancelled, unanswered
from cmsapi.transport.headers import added_headers
from cmsapi.transport.http import SendAwareTransport, Transport, without_frames
from cmsapi.transport.retry import (
    Failure,
    backoff,
    describe,
    failure_of,
    longest_retry_after,
    may_repeat,
    pause_after,
    pause_after_refusals,
)


class ActiveCalls:
    """Keep the deadlines of the calls of a client and its `with_options` copies, so that closing it ends the calls."""

    def __init__(self) -> None:
        #: Whether the client is being closed, which ends its calls.
        self.closing: bool = False
        self._deadlines: set[asyncio.Timeout] = set()
        self._ended: asyncio.Event | None = None

    def __len__(self) -> int:
        return len(self._deadlines)

    @contextlib.contextmanager
    def under_way(self, deadline: asyncio.Timeout) -> Iterator[None]:
        """Count a call as under way while the context lasts."""
        self._deadlines.add(deadline)
        try:
            yield
        finally:
            self._deadlines.remove(deadline)
            if self._ended is not None and not self._deadlines:
                self._ended.set()

    async def end(self) -> None:
        """End all calls, and return when their callers have their errors."""
        self.closing = True
        if self._deadlines:
            self._ended, now = asyncio.Event(), asyncio.get_running_loop().time()
            for deadline in self._deadlines:
                # One whose time has just come ends by itself.
                if not deadline.expired():
                    deadline.reschedule(now)
            await self._ended.wait()


@attrs.frozen
class _AtOnce:
    """Send over a transport that does not tell when bytes leave: from the beginning they may."""

    transport: Transport

    async def send_aware(self, request: Request, departing: Callable[[], None]) -> Response:
        departing()
        return await self.transport.send(request)


@attrs.define
class Pipeline:
    """Send requests of one account, and learn the service's time from the answers.

    `rng` is the source of jitter, and `max_wait` the longest wait for quota in seconds.
    """

    transport: Transport | SendAwareTransport
    clock: answers.ServerClock
    retry: RetryPolicy
    timeouts: Timeouts
    max_wait: float | None = None
    hooks: Hooks = attrs.field(factory=Hooks)
    rng: random.Random = attrs.field(factory=random.Random)
    active_calls: ActiveCalls = attrs.field(factory=ActiveCalls)
    base_url: str = ""
    counters: Counters = attrs.field(factory=Counters)
    _sender: SendAwareTransport = attrs.field(init=False)
    _max_pause: float = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        transport = self.transport
        self._sender = transport if isinstance(transport, SendAwareTransport) else _AtOnce(transport)
        self._max_pause = longest_retry_after(self.retry)

    async def send(self, operation: Operation, request: Request, options: CallOptions, limiter: RateLimiter) -> Call:
        """Send a request until it succeeds, is refused, or must not be repeated; return the call with its answer.

        Raises:
            APIError: The service answered with an error.
            TransportError: There was no usable answer.
            RateLimitWaitError: The quota frees later than `max_wait`.
            DeadlineError: The deadline is over.
            ClientClosedError: The client was closed meanwhile.
        """
        deadline = self.timeouts.deadline
        ends_at = math.inf if deadline is None else limiter.time() + deadline
        call = Call(operation, request, options, limiter, ends_at, asyncio.timeout(deadline))
        with self._told(call) if self.hooks.wants(CallFinished.level) else contextlib.nullcontext():
            try:
                async with call.deadline:
                    with self.active_calls.under_way(call.deadline):
                        return await self._run(call)
            except TimeoutError as error:
                if not call.deadline.expired():
                    raise
                closing = self.active_calls.closing
                if not closing:
                    await call.take_back()
                raise call.interrupted(deadline, closing=closing) from without_frames(error)

    @contextlib.contextmanager
    def _told(self, call: Call) -> Iterator[None]:
        """Tell hooks of the start and the end of a call."""
        time, row, error = call.limiter.time, call.operation, None
        began = time()
        self.hooks(
            CallStarted(
                operation=row.name,
                method=row.method,
                path=row.path,
                base_url=self.base_url,
                headers=added_headers(call.request),
            )
        )
        try:
            yield
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

    async def _run(self, call: Call) -> Call:
        """Take a permit, send, read the answer, and decide whether to repeat all that; until one attempt succeeds."""
        while True:
            try:
                permit = await self._take(call)
                response = await self._send(call, permit)
                call.document = self._read(call, permit, response)
            except RateLimitWaitError as refused:
                if call.failure is None:
                    raise
                # What happened says more than that another try would have to wait.
                final = call.final_error(call.failure, self.retry)
                final.add_note(f"no further attempt: the request limit admits it in {refused.available_in:.0f} s")
                raise final from final.__cause__
            except LeaseLostError:
                await call.take_back()
                raise
            except (APIError, TransportError) as error:
                if call.is_done_by(error):
                    return call
                call.failure = error
            else:
                return call
            await self._wait_to_repeat(call, call.failure)

    async def _take(self, call: Call) -> Permit:
        """Wait for the permit of an attempt."""
        limiter, options = call.limiter, call.options
        call.asked_at, call.permit, call.status, call.headers = limiter.time(), None, None, {}
        if call.operation.path in UNLIMITED_PATHS:
            permit = Permit()
        else:
            announce = partial(self._announce, call)
            permit = await limiter.acquire(
                options.priority, max_wait=self.max_wait, max_pause=self._max_pause, announce=announce
            )
        call.permit, call.sent_at = permit, limiter.time()
        call.attempts += 1
        self.counters.requests += 1
        return permit

    async def _send(self, call: Call, permit: Permit) -> Response:
        """Send the request once; end the permit if no answer comes."""
        if self.hooks.wants(RequestStarted.level):
            waited = call.sent_at - call.asked_at
            self.hooks(RequestStarted(operation=call.operation.name, attempt=call.attempts, waited=waited))
        before, timeout = call.options.before_attempt, asyncio.timeout(self.timeouts.request)
        try:
            async with timeout:
                check = None if before is None else await before(permit)
                response: object = await self._sender.send_aware(call.request, partial(_depart, permit, check))
                if not isinstance(response, Response):
                    wrong = f"a transport's send returns a cmsapi.Response, not {type(response).__name__}"
                    raise TypeError(wrong)  # noqa: TRY301  it ends the permit as well
                return response
        except BaseException as raised:
            error = self._unanswered(call, permit, raised, late=timeout.expired())
            if self.hooks.wants(RequestFinished.level):
                self._tell_end(call, error=type(error).__name__)
            if error is raised:
                raise
            raise error from raised

    def _read(self, call: Call, permit: Permit, response: Response) -> Any:
        """End the permit, learn what an answer says of limits and time, and return its document."""
        limiter, headers, refused = call.limiter, response.headers.folded, response.status == 429
        call.status, call.headers = response.status, headers
        quota = answers.read_quota(headers)
        self.clock.learn(headers, call.sent_at)
        if refused and call.operation.path not in UNLIMITED_PATHS:
            # Before the permit ends, because that lets the next ones go.
            pause = pause_after_refusals(limiter.refused(permit), self.rng)
            limiter.pause(max(pause, answers.read_retry_after(headers) or 0.0))
        limiter.end(permit, "refused" if refused else "answered", quota)
        self.counters.answered += 1
        if self.hooks.wants(RequestFinished.level):
            self._tell_end(call)
        return answers.read_document(
            response, call.operation, call.request, call.attempts, or_text=call.options.or_text
        )

    async def _wait_to_repeat(self, call: Call, failure: APIError | TransportError) -> None:
        """Wait until a call is to be repeated.

        Raises:
            CMSError: It is not to be repeated.
        """
        if call.deadline.expired():
            # A transport has put that error into the place of the cancellation.
            raise asyncio.CancelledError
        await call.take_back()
        await anyio.sleep(self._delay_after(failure, call))
        ask = call.options.before_repeat if call.in_doubt else None
        if ask is not None and not await ask(failure):
            call.earlier.pop()
            raise call.final_error(failure, self.retry)

    def _unanswered(self, call: Call, permit: Permit, error: BaseException, *, late: bool) -> BaseException:
        """End the permit of an attempt without an answer, and return the error of the attempt."""
        # Also when cancelled: a deadline or a caller may give up on a request that takes effect all the same.
        unsent = permit.stage == "taken" or isinstance(error, NotSentError | LeaseLostError)
        call.limiter.end(permit, "unsent" if unsent else "lost")
        call.in_doubt = call.in_doubt or permit.stage == "lost"
        if isinstance(error, TransportError):
            # A transport may quote its request.
            error.args = tuple(answers.text_without_key(str(arg), call.request) for arg in error.args)
        if isinstance(error, asyncio.CancelledError | TimeoutError):
            # A timeout raises it on, or from it, and its frames hold the request.
            without_frames(error)
        if late and isinstance(error, TimeoutError):
            return unanswered(unsent, f"within {self.timeouts.request:g} s")
        if isinstance(error, OSError) or (isinstance(error, asyncio.CancelledError) and not being_cancelled()):
            return unanswered(unsent, f"({type(error).__name__})")
        return error

    def _tell_end(self, call: Call, *, error: str | None = None) -> None:
        """Tell hooks of the end of an attempt."""
        row, limiter = call.operation, call.limiter
        self.hooks(
            RequestFinished(
                method=row.method,
                path=row.path,
                status=call.status,
                error=error,
                duration=limiter.time() - call.sent_at,
                attempt=call.attempts,
                request_id=answers.read_request_id(call.headers, call.request),
                operation=row.name,
                waited=call.sent_at - call.asked_at,
                remaining=limiter.remaining,
            )
        )

    def _delay_after(self, error: APIError | TransportError, call: Call) -> float:
        """Return seconds to wait before the next attempt, or raise what the caller gets if none is to follow."""
        name, failure = call.operation.name, failure_of(error)
        retry_after = error.retry_after if isinstance(error, APIError) else None
        call.in_doubt = call.in_doubt or failure.in_doubt
        delay = backoff(self.retry, call.attempts, retry_after, self.rng)
        if failure is Failure.NOT_EXECUTED and call.operation.path not in UNLIMITED_PATHS:
            pause = call.limiter.pause(pause_after(delay, call.attempts, retry_after))
            self.counters.rate_limited += 1
            self.hooks(RateLimitPaused(operation=name, seconds=pause))
        most = min(self.retry.max_attempts, call.options.max_attempts or self.retry.max_attempts)
        longest = min(self._max_pause, math.inf if self.max_wait is None else self.max_wait)
        too_far = call.limiter.time() + delay >= call.ends_at or (retry_after or 0.0) > longest
        if isinstance(error, APIError) and retry_after and too_far:
            error.hint = (
                f"Try again in {until(retry_after)}: the service asks for that (Retry-After), and the settings do not "
                "wait for as long (RetryPolicy.max_retry_after, RateLimits.max_wait, Timeouts.deadline)."
            )
        if call.attempts >= most or too_far or not may_repeat(failure, call.replay(self.retry)):
            raise call.final_error(error, self.retry)
        reason = describe(error)
        call.earlier.append((reason, delay))
        self.counters.retries += 1
        if self.hooks.wants(RetryScheduled.level):
            self.hooks(RetryScheduled(operation=name, attempt=call.attempts, delay=delay, reason=reason))
        return delay

    def _announce(self, call: Call, expected: float) -> None:
        if self.hooks.wants(QuotaWait.level):
            window, reason = call.limiter.why_wait(call.options.priority)
            self.hooks(QuotaWait(operation=call.operation.name, expected=expected, window=window, reason=reason))


def _depart(permit: Permit, check: Callable[[], None] | None) -> None:
    """Note that the first byte of an attempt may leave now, unless the check of the caller forbids it."""
    if check is not None:
        check()
    if permit.stage == "taken":
        permit.stage = "departed"
        if (count := REQUEST_COUNT.get()) is not None:
            count.sent += 1
