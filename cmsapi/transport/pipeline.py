"""The one loop through which every request goes: quota, send, read, decide, repeat.

One deadline spans all of it. Each attempt pays a token, and each token is ended in exactly one way, whatever happens.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Awaitable, Callable
from typing import Any, cast

import anyio
import attrs

from cmsapi.api.operations import Operation, Replay
from cmsapi.config import RetryPolicy, Timeouts
from cmsapi.errors import (
    APIError,
    ClientClosedError,
    CMSError,
    DeadlineError,
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
from cmsapi.ratelimit.limiter import Priority, RateLimiter
from cmsapi.ratelimit.permits import Permit
from cmsapi.transport import protocol
from cmsapi.transport.active_calls import ActiveCalls
from cmsapi.transport.clock import ServerClock
from cmsapi.transport.http import SendAwareTransport, Transport, without_frames
from cmsapi.transport.message import Request, Response
from cmsapi.transport.retry import Outcome, backoff, may_repeat, outcome_of, told_attempts


@attrs.define(kw_only=True)
class Exchange:
    """Hold a successful answer and what it took.

    Args:
        status: HTTP status.
        document: The JSON document, None for an empty body.
        attempts: Requests spent.
        in_doubt: Whether an earlier attempt may have taken effect.
        sent_at: Loop time at which the last attempt was let go.
    """

    status: int
    document: Any
    attempts: int
    in_doubt: bool
    sent_at: float


@attrs.frozen(kw_only=True)
class CallOptions:
    """Say what a call asks of the pipeline beyond its request.

    Args:
        priority: Lane in which it waits for quota.
        repeat: True to repeat in doubt whatever the replay class says, because the caller can bear it.
        max_attempts: Upper bound below that of the retry policy; a poll is one attempt.
        sent: Names in the body, to recognise the one that a validation message names.
    """

    priority: Priority = Priority.INTERACTIVE
    repeat: bool = False
    max_attempts: int | None = None
    sent: tuple[str, ...] = ()


@attrs.define
class Pipeline:
    """Send requests of one account.

    Args:
        transport: What carries them.
        find_limiter: Finds whose turn it is; the limiter belongs to the running loop.
        clock: The service's clock, learned from its answers.
        retry: How often and how patiently to repeat.
        timeouts: How long to wait.
        max_wait: Longest wait for quota in seconds.
        hooks: Who wants to hear of it.
        rng: Source of jitter.
        active_calls: Where calls are noted while they run.
        base_url: Address of the service, for hooks.
        counters: Counts the attempts.
    """

    transport: Transport | SendAwareTransport
    find_limiter: Callable[[], RateLimiter]
    clock: ServerClock
    retry: RetryPolicy
    timeouts: Timeouts
    max_wait: float | None = None
    hooks: Hooks = attrs.field(factory=Hooks)
    rng: random.Random = attrs.field(factory=random.Random)
    active_calls: ActiveCalls = attrs.field(factory=ActiveCalls)
    base_url: str = ""
    counters: Counters = attrs.field(factory=Counters)
    _tells: bool = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._tells = isinstance(self.transport, SendAwareTransport)

    async def send(self, operation: Operation, request: Request, options: CallOptions) -> Exchange:
        """Send a request until it succeeds, is refused, or must not be repeated.

        Raises:
            APIError: The service answered with an error.
            TransportError: There was no usable answer.
            RateLimitWaitError: The quota frees later than `max_wait`.
            DeadlineError: The deadline is over.
            ClientClosedError: The client was closed meanwhile.
        """
        call = _Call(self, operation, request, options)
        return await (self._told(call) if self.hooks.listening else self._in_time(call))

    async def _told(self, call: _Call) -> Exchange:
        """Carry out a call, and tell that it begins and ends."""
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
                    attempts=call.attempt,
                    status=call.status,
                    error=error,
                    duration=time() - began,
                )
            )

    async def _in_time(self, call: _Call) -> Exchange:
        scope = self.active_calls.within(self.timeouts.deadline)
        call.ends_at = scope.ends_at
        try:
            with scope:
                self.active_calls.enter(scope)
                return await call.run()
        except TimeoutError as error:
            if not scope.expired:
                raise
            raise call.cut_short() from without_frames(error)
        finally:
            self.active_calls.leave(scope)

    async def carry(self, request: Request, permit: Permit) -> Response:
        """Take a permit through one request, and end it.

        Raises:
            TransportError: There was no whole answer.
        """
        scope = self.active_calls.within(self.timeouts.request)
        sent_at = asyncio.get_running_loop().time()
        try:
            with scope:
                response = _checked(await self._through_transport(request, permit))
        except NotSentError:
            permit.unsent()
            raise
        except BaseException as error:
            # Cancelled or failed: the request counts as sent unless it is certain that it was not.
            unsent = self._tells and permit.stage == "taken"
            permit.unsent() if unsent else permit.lost()
            if isinstance(error, TimeoutError) and scope.expired:
                raise self._timed_out(unsent) from without_frames(error)
            if isinstance(error, asyncio.CancelledError):
                # A timeout around the call raises it on, or from it, and its frames hold the request.
                without_frames(error)
            if isinstance(error, OSError):
                raise OutcomeUnknownError(
                    f"The request was sent, but no whole answer came back ({type(error).__name__})."
                ) from error
            raise
        if response.status == 429:
            # Before the permit ends, because that lets the next ones go.
            permit.refused(protocol.read_retry_after(response.headers) or 0.0)
        permit.answered(protocol.read_quota(response.headers))
        self.clock.learn(response.headers, sent_at)
        return response

    def _through_transport(self, request: Request, permit: Permit) -> Awaitable[Response]:
        if self._tells:
            return cast("SendAwareTransport", self.transport).send_aware(request, permit.departing)
        return cast("Transport", self.transport).send(request)

    def _timed_out(self, unsent: bool) -> TransportError:
        seconds = self.timeouts.request
        if unsent:
            return NotSentError(f"No connection within {seconds:g} s. Nothing was sent, changed or charged.")
        return OutcomeUnknownError(f"The request was sent, but no answer came within {seconds:g} s.")


class _Call:
    """Carry one call through its attempts."""

    def __init__(self, pipeline: Pipeline, operation: Operation, request: Request, options: CallOptions) -> None:
        self.pipeline = pipeline
        self.operation = operation
        self.request = request
        self.options = options
        self.attempt = 0
        self.status: int | None = None
        self.in_doubt = False
        self.ends_at = math.inf
        self.sent_at = 0.0
        # What each attempt before the last said, and how long the call waited then.
        self.ends: list[tuple[str, float]] = []

    async def run(self) -> Exchange:
        policy, options = self.pipeline.retry, self.options
        replay = Replay.IDEMPOTENT if options.repeat else self.operation.replay
        most = min(policy.max_attempts, options.max_attempts or policy.max_attempts)
        error: APIError | TransportError | None = None
        outcome = Outcome.REFUSED
        while True:
            try:
                return await self.once()
            except RateLimitWaitError as refused:
                if error is None:
                    raise
                # What happened says more than that another try would have to wait.
                final = self.final(error, outcome, replay)
                final.add_note(f"no further attempt: the request limit admits it in {refused.available_in:.0f} s")
                raise final from final.__cause__
            except (APIError, TransportError) as caught:
                error, outcome = caught, _outcome(caught)
                if self.settles_deletion(error):
                    return self.exchange(200, None)
            if isinstance(error, APIError):
                error.in_doubt = self.in_doubt and self.operation.replay is not Replay.SAFE
            self.in_doubt = self.in_doubt or outcome.in_doubt
            repeat = may_repeat(outcome, replay)
            retry_after = error.retry_after if isinstance(error, APIError) else None
            delay = backoff(policy, self.attempt, retry_after, self.pipeline.rng)
            if outcome is Outcome.NOT_EXECUTED and not self.operation.unlimited:
                self.rest(delay)
            if not repeat or self.attempt >= most or self.beyond_patience(delay, retry_after):
                raise self.final(error, outcome, replay)
            self.ends.append((_word(error), delay))
            self.pipeline.hooks(
                RetryScheduled(operation=self.operation.name, attempt=self.attempt, delay=delay, reason=_word(error))
            )
            await anyio.sleep(delay)

    async def once(self) -> Exchange:
        pipeline = self.pipeline
        limiter = pipeline.find_limiter()
        time = limiter.time
        asked = time()
        if self.operation.unlimited:
            permit = Permit()
        else:
            priority, max_wait = self.options.priority, pipeline.max_wait
            permit = await limiter.acquire(priority, max_wait=max_wait, announce=self.announce_wait)
        began = self.sent_at = time()
        self.attempt += 1
        if pipeline.hooks.listening:
            pipeline.hooks(RequestStarted(operation=self.operation.name, attempt=self.attempt, waited=began - asked))
        try:
            response = await pipeline.carry(self.request, permit)
        except BaseException as error:
            # Also when cancelled: a deadline or a caller may give up on a request that takes effect all the same.
            self.in_doubt = self.in_doubt or permit.stage == "lost"
            self.tell(None, type(error).__name__, limiter, waited=began - asked, duration=time() - began)
            raise
        self.tell(response.status, None, limiter, waited=began - asked, duration=time() - began)
        if not 200 <= response.status < 300:
            told = protocol.without_key(response, self.request)
            raise protocol.error_from(told, self.operation, attempts=self.attempt, sent=self.options.sent)
        # Whatever the body of a deletion is, the thing is gone (specification 4.2, 4.3).
        document = None
        if self.operation.method != "DELETE":
            document = protocol.read_document(response, self.operation.name, self.request)
        return self.exchange(response.status, document)

    def settles_deletion(self, error: CMSError) -> bool:
        # A 404 after a deletion whose answer was lost says that it happened.
        return self.in_doubt and self.operation.method == "DELETE" and getattr(error, "status", None) == 404

    def rest(self, seconds: float) -> None:
        self.pipeline.find_limiter().pause(seconds)
        self.pipeline.hooks(RateLimitPaused(operation=self.operation.name, seconds=seconds))

    def beyond_patience(self, delay: float, retry_after: float | None) -> bool:
        """Tell whether the next attempt lies beyond the caller's patience."""
        max_wait = self.pipeline.max_wait
        if max_wait is not None and retry_after is not None and retry_after > max_wait:
            return True
        return asyncio.get_running_loop().time() + delay >= self.ends_at

    def final(self, error: APIError | TransportError, outcome: Outcome, replay: Replay) -> CMSError:
        """Turn the last failure into what the caller gets."""
        error.attempts = self.attempt
        if isinstance(error, TransportError):
            error.operation = self.operation.name
        final: CMSError = error
        if outcome.in_doubt and replay in (Replay.CREATES, Replay.COSTS_CREDIT):
            final = OutcomeUnknownError(
                f"{self.operation.name} may have happened ({_word(error)}), and it is not repeated because "
                f"{'a repeat could be paid twice' if replay is Replay.COSTS_CREDIT else 'it could happen twice'}. "
                "Look whether it did before you repeat it.",
                operation=self.operation.name,
                attempts=self.attempt,
            )
            final.__cause__ = error
        elif outcome is Outcome.NOT_SENT and self.in_doubt and replay is Replay.IDEMPOTENT:
            # "Nothing was sent" holds for the last attempt only.
            final = OutcomeUnknownError(
                f"{self.operation.name} may have happened: an attempt was sent and got no clear answer, and the next "
                "could not be sent. Look whether it did before you repeat it.",
                operation=self.operation.name,
                attempts=self.attempt,
            )
            final.__cause__ = error
        for line in told_attempts(self.ends, _word(error)):
            final.add_note(line)
        return final

    def exchange(self, status: int, document: Any) -> Exchange:
        return Exchange(
            status=status, document=document, attempts=self.attempt, in_doubt=self.in_doubt, sent_at=self.sent_at
        )

    def announce_wait(self, expected: float) -> None:
        self.pipeline.hooks(QuotaWait(operation=self.operation.name, expected=expected))

    def cut_short(self) -> CMSError:
        """Say that the deadline or the closing of the client ended the call, and what became of it."""
        name, closing = self.operation.name, self.pipeline.active_calls.closing
        fate = (
            "A request was sent and got no clear answer, so it may have taken effect."
            if self.in_doubt
            else "Nothing of it was executed."
        )
        error: CMSError
        if not closing:
            error = DeadlineError(
                f"{name} was not done within its deadline of {self.pipeline.timeouts.deadline:g} s "
                f"({self.attempt} requests were made, waits for quota included). {fate}",
                operation=name,
                attempts=self.attempt,
                sent=self.in_doubt,
            )
        elif self.in_doubt and self.operation.replay in (Replay.CREATES, Replay.COSTS_CREDIT):
            error = OutcomeUnknownError(
                f"The client was closed during {name}. {fate}", operation=name, attempts=self.attempt
            )
        else:
            error = ClientClosedError(f"The client was closed during {name}. {fate}")
        for line in told_attempts(self.ends, ""):
            error.add_note(line)
        return error

    def tell(
        self, status: int | None, error: str | None, limiter: RateLimiter, *, waited: float, duration: float
    ) -> None:
        self.status = status
        self.pipeline.counters.count_request(answered=status is not None)
        if not self.pipeline.hooks.listening:
            return
        self.pipeline.hooks(
            RequestFinished(
                operation=self.operation.name,
                method=self.operation.method,
                path=self.operation.path,
                attempt=self.attempt,
                status=status,
                error=error,
                waited=waited,
                duration=duration,
                remaining=limiter.remaining,
            )
        )


def _checked(response: object) -> Response:
    if not isinstance(response, Response):
        raise TypeError(f"a transport's send returns a cmsapi.Response, not {type(response).__name__}")
    return response


def _outcome(error: APIError | TransportError) -> Outcome:
    if isinstance(error, APIError):
        return outcome_of(error.status)
    return Outcome.NOT_SENT if isinstance(error, NotSentError) else Outcome.UNKNOWN


def _word(error: CMSError) -> str:
    if isinstance(error, APIError):
        return f"{error.status} {error.code or ''}".strip()
    return f"{type(error).__name__}: {error.args[0]}"
