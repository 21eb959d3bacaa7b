"""One call: its request, its attempts, and its answer or error."""

from __future__ import annotations

import asyncio
import math
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
from cmsapi.message import Request
from cmsapi.ratelimit.limiter import Priority, RateLimiter
from cmsapi.ratelimit.permits import Permit
from cmsapi.transport.retry import Failure, describe, failure_of, told_attempts


@attrs.frozen(kw_only=True)
class CallOptions:
    """Say what a call asks of the pipeline beyond its request.

    Args:
        priority: Lane in which it waits for quota.
        repeat: True to repeat in doubt whatever the replay class says, because the caller can bear it.
        max_attempts: Upper bound below that of the retry policy; a poll is one attempt.
        before_attempt: Awaited with the permit of each attempt before it is sent. It returns a function that is called
            when the first byte is about to leave. If one of the two raises, nothing is sent.
        not_executed: Awaited with the permit of an attempt that was certainly not executed: not sent, or answered with
            429.
    """

    priority: Priority = Priority.INTERACTIVE
    repeat: bool = False
    max_attempts: int | None = None
    before_attempt: Callable[[Permit], Awaitable[Callable[[], None]]] | None = None
    not_executed: Callable[[Permit], Awaitable[None]] | None = None


@attrs.define(eq=False)
class Call:
    """Hold a call and its state, from its first attempt to its answer."""

    operation: Operation
    request: Request
    options: CallOptions
    limiter: RateLimiter
    #: Loop time of its deadline, infinity without one.
    ends_at: float = math.inf
    #: Ends its attempt, or the call.
    scope: asyncio.Timeout = attrs.field(init=False)
    attempts: int = 0
    #: Whether an attempt may have taken effect, although no clear answer says so.
    in_doubt: bool = False
    # Of the newest attempt; `failure` is how the one before ended.
    permit: Permit | None = None
    sent_at: float = 0.0
    failure: APIError | TransportError | None = None
    status: int | None = None
    #: The JSON document of the answer, None for an empty body.
    document: Any = None
    #: What each attempt before the newest said, and how long the call waited then.
    ends: list[tuple[str, float]] = attrs.field(factory=list)

    @property
    def replay(self) -> Replay:
        """What repeating it may do."""
        return Replay.IDEMPOTENT if self.options.repeat else self.operation.replay

    async def take_back(self) -> None:
        """Report the newest attempt if it was certainly not executed."""
        permit, not_executed = self.permit, self.options.not_executed
        if permit is not None and not_executed is not None and (permit.stage == "unsent" or self.status == 429):
            self.permit = None
            await not_executed(permit)

    def is_settled_by(self, error: CMSError) -> bool:
        """Tell whether an error says that the call has done its work."""
        # A 404 after a deletion whose answer was lost says that it happened.
        return self.in_doubt and self.operation.method == "DELETE" and getattr(error, "status", None) == 404

    def final_error(self, error: APIError | TransportError) -> CMSError:
        """Turn the last failure into what the caller gets."""
        name, failure = self.operation.name, failure_of(error)
        error.attempts = self.attempts
        if isinstance(error, TransportError):
            error.operation = name
        why = None
        if failure.in_doubt and self.replay in (Replay.CREATES, Replay.COSTS_CREDIT):
            harm = "a repeat could be paid twice" if self.replay is Replay.COSTS_CREDIT else "it could happen twice"
            why = f"({describe(error)}), and it is not repeated because {harm}"
        elif failure is Failure.NOT_SENT and self.in_doubt and self.replay is Replay.IDEMPOTENT:
            # "Nothing was sent" holds for the last attempt only.
            why = "after an attempt that was sent and got no clear answer, and the next could not be sent"
        final: CMSError = error
        if why is not None:
            hint = getattr(error, "hint", None)
            advice = "Check whether it did before you repeat it." + (f" {hint}" if hint else "")
            final = OutcomeUnknownError(f"{name} may have happened {why}. {advice}", operation=name)
            final.attempts, final.__cause__ = self.attempts, error
        return self._with_notes(final, describe(error))

    def interrupted(self, deadline: float | None, *, closing: bool) -> CMSError:
        """Say that the deadline or the closing of the client ended the call, and whether it may have taken effect."""
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
        return self._with_notes(error, "")

    def _with_notes(self, error: CMSError, last: str) -> CMSError:
        for line in told_attempts(self.ends, last):
            error.add_note(line)
        return error


def being_cancelled() -> bool:
    """Tell whether the current task itself is being cancelled, and not only something that it awaits."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
