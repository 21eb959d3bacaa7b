"""Decide whether and when a request is repeated: a pure function of what happened and what a repeat could do.

Specification 7 asks for repeats of 429, 500, 502 and 503 with exponential backoff and jitter. There is no idempotency
key, so what a repeat may cost depends on the operation:

=============  =========================  ==========================================  =========================
replay class   429, or never sent         500, 502, 503                               outcome unknown
=============  =========================  ==========================================  =========================
SAFE           repeat                     repeat                                      repeat
IDEMPOTENT     repeat                     repeat                                      repeat
CREATES        repeat                     no: it may exist                            no: it may exist
COSTS_CREDIT   repeat                     no: it may be paid                          no: it may be paid
=============  =========================  ==========================================  =========================
"""

from __future__ import annotations

import enum
import random
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from cmsapi.api.operations import Replay
from cmsapi.config import RetryPolicy
from cmsapi.errors import APIError, NotSentError, TransportError

_DEFAULT = RetryPolicy()


class Outcome(enum.Enum):
    """Say what is known about a request that did not succeed."""

    REFUSED = "the service said no; repeating it unchanged is pointless"
    NOT_EXECUTED = "the service put it off (429)"
    NOT_SENT = "nothing left this machine"
    FAILED = "the service failed (500, 502, 503)"
    UNKNOWN = "it was sent, and there is no usable answer"

    @property
    def in_doubt(self) -> bool:
        """Whether the request may have taken effect."""
        return self in (Outcome.FAILED, Outcome.UNKNOWN)


def outcome_of(error: APIError | TransportError) -> Outcome:
    """Classify a failure."""
    if isinstance(error, APIError):
        return outcome_of_status(error.status)
    return Outcome.NOT_SENT if isinstance(error, NotSentError) else Outcome.UNKNOWN


def outcome_of_status(status: int) -> Outcome:
    """Classify an answer that is not a 2xx."""
    if status == 429:
        return Outcome.NOT_EXECUTED
    if status in (500, 502, 503):
        return Outcome.FAILED
    # Gateways speak for a service that they have lost sight of.
    if status == 408 or status >= 500:
        return Outcome.UNKNOWN
    return Outcome.REFUSED


def may_repeat(outcome: Outcome, replay: Replay) -> bool:
    """Tell whether repeating can do no harm."""
    if outcome is Outcome.REFUSED:
        return False
    return not outcome.in_doubt or replay in (Replay.SAFE, Replay.IDEMPOTENT)


def backoff(policy: RetryPolicy, attempt: int, retry_after: float | None, rng: random.Random) -> float:
    """Return seconds to wait before the next attempt: full jitter, on top of `Retry-After` and never below it."""
    return (retry_after or 0.0) + rng.uniform(0.0, _longest(policy, attempt))


def pause_after(delay: float, attempt: int, retry_after: float | None) -> float:
    """Return seconds for which all clients of a key rest after a 429.

    Args:
        delay: What the client that got the answer waits. Its policy makes the others rest no longer than the default.
        attempt: Number of the attempt that got the answer.
        retry_after: What the service says.
    """
    return min(delay, (retry_after or 0.0) + _longest(_DEFAULT, attempt))


def _longest(policy: RetryPolicy, attempt: int) -> float:
    return min(policy.cap, policy.base * 2.0 ** min(attempt - 1, 60))


def told_attempts(ends: Sequence[tuple[str, float]], last: str) -> Iterator[str]:
    """Tell how the attempts before the last one ended; what several of them say is said once.

    Args:
        ends: What each said, and how long the call waited afterwards.
        last: What the last one said.
    """
    if ends and all(said == last for said, _ in ends):
        yield f"tried {len(ends) + 1} times; waited {sum(wait for _, wait in ends):.2f} s in all"
        return
    first = 1
    for said, group in groupby(ends, key=itemgetter(0)):
        waits = [wait for _, wait in group]
        until = first + len(waits) - 1
        which = f"attempt {first}" if until == first else f"attempts {first} to {until}"
        yield f"{which}: {'like the last one' if said == last else said}; waited {sum(waits):.2f} s"
        first = until + 1
