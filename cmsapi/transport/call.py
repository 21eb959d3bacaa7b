"""One call: what it asks for, what is known of its attempts, and what its caller gets."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import attrs

from cmsapi.api.operations import Operation, Replay
from cmsapi.errors import (
    APIError,
    ClientClosedError,
    CMSError,
    DeadlineError,
    OutcomeUnknownError,
    TransportError,
)
from cmsapi.ratelimit.limiter import Priority, RateLimiter
from cmsapi.ratelimit.permits import Permit
from cmsapi.transport.message import Request
from cmsapi.transport.retry import Outcome, told_attempts

_CHECK = "Check whether it did before you repeat it."


@attrs.define(kw_only=True)
class Exchange:
    """Hold a successful answer and what it took.

    Args:
        status: HTTP status.
        document: The JSON document, None for an empty body.
        attempts: Requests spent.
        sent_at: Loop time at which the last attempt was sent.
    """

    status: int
    document: Any
    attempts: int
    sent_at: float


@attrs.frozen(kw_only=True)
class CallOptions:
    """Say what a call asks of the pipeline beyond its request.

    Args:
        priority: Lane in which it waits for quota.
        repeat: True to repeat in doubt whatever the replay class says, because the caller can bear it.
        max_attempts: Upper bound below that of the retry policy; a poll is one attempt.
        sent: Names in the body, to recognise the one that a validation message names.
        before_attempt: Awaited with the permit of each attempt before it is sent. It returns a function that is called
            when the first byte leaves; what either of them raises keeps the request here.
        not_executed: Awaited with the permit of an attempt that was certainly not executed: not sent, or answered with
            429.
    """

    priority: Priority = Priority.INTERACTIVE
    repeat: bool = False
    max_attempts: int | None = None
    sent: tuple[str, ...] = ()
    before_attempt: Callable[[Permit], Awaitable[Callable[[], None]]] | None = None
    not_executed: Callable[[Permit], Awaitable[None]] | None = None


@attrs.define(eq=False)
class Call:
    """Carry what is known of a call from attempt to attempt.

    Args:
        operation: What is called.
        request: The request, the same for each attempt.
        options: What it asks of the pipeline.
        limiter: The limiter that admits its attempts.
        ends_at: Loop time of its deadline, or None.
        attempts: Requests that were made.
        in_doubt: Whether one of them may have taken effect, although no clear answer says so.
        sent_at: Loop time at which the last of them was sent.
        status: Status of the answer to the last of them, or None.
        ends: What each of them before the last said, and how long the call waited then.
    """

    operation: Operation
    request: Request
    options: CallOptions
    limiter: RateLimiter
    ends_at: float | None
    attempts: int = 0
    in_doubt: bool = False
    sent_at: float = 0.0
    status: int | None = None
    ends: list[tuple[str, float]] = attrs.field(factory=list)

    @property
    def replay(self) -> Replay:
        """What repeating it may do."""
        return Replay.IDEMPOTENT if self.options.repeat else self.operation.replay

    def exchange(self, status: int, document: Any) -> Exchange:
        """Make the result of the call."""
        return Exchange(status=status, document=document, attempts=self.attempts, sent_at=self.sent_at)

    async def not_executed(self, permit: Permit) -> None:
        """Note that the last attempt was certainly not executed."""
        if self.options.not_executed is not None:
            await self.options.not_executed(permit)

    def is_settled_by(self, error: CMSError) -> bool:
        """Tell whether an error says that the call has done its work."""
        # A 404 after a deletion whose answer was lost says that it happened.
        return self.in_doubt and self.operation.method == "DELETE" and getattr(error, "status", None) == 404

    def final_error(self, error: APIError | TransportError, outcome: Outcome) -> CMSError:
        """Turn the last failure into what the caller gets."""
        name = self.operation.name
        error.attempts = self.attempts
        if isinstance(error, TransportError):
            error.operation = name
        why = None
        if outcome.in_doubt and self.replay in (Replay.CREATES, Replay.COSTS_CREDIT):
            harm = "a repeat could be paid twice" if self.replay is Replay.COSTS_CREDIT else "it could happen twice"
            why = f"({describe(error)}), and it is not repeated because {harm}"
        elif outcome is Outcome.NOT_SENT and self.in_doubt and self.replay is Replay.IDEMPOTENT:
            # "Nothing was sent" holds for the last attempt only.
            why = "after an attempt that was sent and got no clear answer, and the next could not be sent"
        final: CMSError = error
        if why is not None:
            hint = getattr(error, "hint", None)
            final = OutcomeUnknownError(
                " ".join(filter(None, [f"{name} may have happened {why}. {_CHECK}", hint])),
                operation=name,
                attempts=self.attempts,
            )
            final.__cause__ = error
        for line in told_attempts(self.ends, describe(error)):
            final.add_note(line)
        return final

    def interrupted(self, deadline: float | None, *, closing: bool) -> CMSError:
        """Say that the deadline or the closing of the client ended the call, and what became of it."""
        name = self.operation.name
        fate = (
            "A request was sent and got no clear answer, so it may have taken effect."
            if self.in_doubt
            else "Nothing of it was executed."
        )
        error: CMSError
        if not closing:
            error = DeadlineError(
                f"{name} was not done within its deadline of {deadline:g} s "
                f"({self.attempts} requests were made, waits for quota included). {fate}",
                operation=name,
                attempts=self.attempts,
                sent=self.in_doubt,
            )
        elif self.in_doubt and self.operation.replay in (Replay.CREATES, Replay.COSTS_CREDIT):
            error = OutcomeUnknownError(
                f"The client was closed during {name}. {fate}", operation=name, attempts=self.attempts
            )
        else:
            error = ClientClosedError(f"The client was closed during {name}. {fate}")
        for line in told_attempts(self.ends, ""):
            error.add_note(line)
        return error


def describe(error: CMSError) -> str:
    """Describe a failure in a few words."""
    if isinstance(error, APIError):
        return f"{error.status} {error.code or ''}".strip()
    return f"{type(error).__name__}: {error.args[0]}"
