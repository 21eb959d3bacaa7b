"""One call: its request, its attempts, and its answer or error."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Any

import attrs

from cmsapi.api.operations import Operation, Replay
from cmsapi.config import RetryPolicy
from cmsapi.errors import (
    APIError,
    ClientClosedError,
    CMSError,
    DeadlineError,
    NotSentError,
    OutcomeUnknownError,
    TransportError,
)
from cmsapi.message import Request
from cmsapi.ratelimit.limiter import Priority, RateLimiter
from cmsapi.ratelimit.permits import Permit
from cmsapi.transport.retry import describe, failure_of, told_attempts


@attrs.define
class RequestCount:
    """Count the requests of one fan-out."""

    sent: int = 0


#: Counts the requests of the current task, and of the polls of what it waits for; None outside of fan-outs.
REQUEST_COUNT: ContextVar[RequestCount | None] = ContextVar("cmsapi_request_count", default=None)


@attrs.frozen(kw_only=True)
class CallOptions:
    """Collect what a call asks of the pipeline beyond its request.

    Args:
        priority: Queue in which it waits for quota.
        repeat: Whether to repeat in doubt also what creates something; None leaves that to the retry policy.
        before_repeat: Awaited with the failure of an attempt before a repeat, once the wait is over, if an attempt may
            have taken effect. It tells whether to repeat; what it raises ends the call.
        max_attempts: Upper bound below that of the retry policy; a poll is one attempt.
        before_attempt: Awaited with the permit of each attempt before it is sent. It returns a function that is called
            when the first byte is about to leave. If one of the two raises, nothing is sent.
        not_executed: Awaited with the permit of an attempt that was certainly not executed: not sent, or answered with
            429.
        or_text: Whether a body of another type than JSON is given as a text.
    """

    priority: Priority = Priority.INTERACTIVE
    repeat: bool | None = None
    before_repeat: Callable[[CMSError], Awaitable[bool]] | None = None
    max_attempts: int | None = None
    before_attempt: Callable[[Permit], Awaitable[Callable[[], None]]] | None = None
    not_executed: Callable[[Permit], Awaitable[None]] | None = None
    or_text: bool = False


@attrs.define(eq=False)
class Call:
    """Follow a call, from its first attempt to its answer."""

    operation: Operation
    request: Request
    options: CallOptions
    limiter: RateLimiter
    #: Loop time of its deadline, infinity without one.
    ends_at: float
    #: The scope that ends it then, or when the client is closed.
    deadline: asyncio.Timeout
    attempts: int = 0
    #: Whether an attempt may have taken effect, although no clear answer says so.
    in_doubt: bool = False
    # Of the newest attempt, with the loop times of its wish for a permit and of its request; `failure` is how the one
    # before ended.
    permit: Permit | None = None
    asked_at: float = 0.0
    sent_at: float = 0.0
    failure: APIError | TransportError | None = None
    #: Of its answer: the status, the headers by names in lower case, and the JSON document, None for an empty body.
    status: int | None = None
    headers: Mapping[str, str] = attrs.field(factory=dict)
    document: Any = None
    #: What each attempt before the newest said, and how long the call waited then.
    earlier: list[tuple[str, float]] = attrs.field(factory=list)

    def replay(self, policy: RetryPolicy) -> Replay:
        """Return what repeating it may do, in the eyes of its caller."""
        replay = self.operation.replay
        bold = policy.repeat_in_doubt if self.options.repeat is None else self.options.repeat
        return Replay.IDEMPOTENT if bold and replay is Replay.CREATES else replay

    @property
    def _may_have_changed(self) -> bool:
        """Whether it may have changed something, although no clear answer says so."""
        return self.in_doubt and self.operation.replay is not Replay.SAFE

    async def take_back(self) -> None:
        """Report the newest attempt if it was certainly not executed."""
        permit, not_executed = self.permit, self.options.not_executed
        if permit is not None and not_executed is not None and permit.stage in ("unsent", "refused"):
            self.permit = None
            await not_executed(permit)

    def is_done_by(self, error: CMSError) -> bool:
        """Check whether an error says that the call has done its work."""
        # A 404 after a deletion whose answer was lost says that it happened.
        return self.in_doubt and self.operation.method == "DELETE" and getattr(error, "status", None) == 404

    def final_error(self, error: APIError | TransportError, policy: RetryPolicy) -> CMSError:
        """Turn the last failure into what the caller gets."""
        error.attempts, error.in_doubt = self.attempts, self._may_have_changed
        final: CMSError = error
        if isinstance(error, TransportError):
            error.operation = self.operation.name
            if (why := self._doubt(error, self.replay(policy))) is not None:
                final = OutcomeUnknownError(
                    f"{error.operation} may have happened {why}. Check whether it did before you repeat it.",
                    operation=error.operation,
                    attempts=self.attempts,
                )
                final.__cause__ = error
        return self._with_notes(final, describe(error))

    def _doubt(self, error: TransportError, replay: Replay) -> str | None:
        """Explain why the call may have happened, None when the error itself says all that is known."""
        if failure_of(error).in_doubt and replay in (Replay.CREATES, Replay.COSTS_CREDIT):
            harm = "a repeat could be paid twice" if replay is Replay.COSTS_CREDIT else "it could happen twice"
            return f"({describe(error)}), and it is not repeated because {harm}"
        if isinstance(error, NotSentError) and self.in_doubt and replay is Replay.IDEMPOTENT:
            # "Nothing was sent" holds for the last attempt only.
            return "after an attempt that was sent and got no clear answer, and the next could not be sent"
        return None

    def interrupted(self, deadline: float | None, *, closing: bool) -> CMSError:
        """Make the error of a call that the deadline or the closing of the client ended."""
        name = self.operation.name
        effect = (
            "A request was sent and got no clear answer, so it may have taken effect."
            if self.in_doubt
            else "Nothing of it was executed."
        )
        error: CMSError
        if not closing:
            error = DeadlineError(
                f"{name} was not done within its deadline of {deadline:g} s "
                f"({self.attempts} requests were made, waits for quota included). {effect}",
                operation=name,
                attempts=self.attempts,
                sent=self.in_doubt,
            )
        elif self.in_doubt and self.operation.replay in (Replay.CREATES, Replay.COSTS_CREDIT):
            error = OutcomeUnknownError(
                f"The client was closed during {name}. {effect}", operation=name, attempts=self.attempts
            )
        else:
            error = ClientClosedError(f"The client was closed during {name}. {effect}")
        error.in_doubt = self._may_have_changed
        return self._with_notes(error, "")

    def _with_notes(self, error: CMSError, last: str) -> CMSError:
        for line in told_attempts(self.earlier, last):
            error.add_note(line)
        return error


def unanswered(unsent: bool, how: str) -> TransportError:
    """Return the error of an attempt without an answer: how long it took, or what ended it."""
    if unsent:
        return NotSentError(
            f"No connection {how}. Nothing was sent, changed or charged. Check base_url, the network and the proxy."
        )
    return OutcomeUnknownError(f"The request was sent, but no whole answer came back {how}.")


def being_cancelled() -> bool:
    """Check whether the current task itself is being cancelled, and not only something that it awaits."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
