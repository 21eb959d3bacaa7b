"""Decide whether and when a request is repeated: a pure function of what happened and what a repeat could do.

Specification 7 asks for repeats of 429, 500, 502 and 503 with exponential backoff and jitter. There is no idempotency
key, so what a repeat may cost depends on the operation:

=============  ==================  ==============  ===============  ==============================  ========
replay class   429, or never sent  500, 502, 503   no clear answer  redirects, pages of others      refused
=============  ==================  ==============  ===============  ==============================  ========
SAFE           repeat              repeat          repeat           error                           error
IDEMPOTENT     repeat              repeat          repeat           error                           error
CREATES        repeat              it may exist    it may exist     it may exist                    error
COSTS_CREDIT   repeat              it may be paid  it may be paid   it may be paid                  error
=============  ==================  ==============  ===============  ==============================  ========

A request that creates something is repeated like an IDEMPOTENT one when its caller allows that
(`RetryPolicy.repeat_in_doubt`); one that costs a credit never is.

A refusal is a 4xx with the service's error document, or a status by which HTTP says that the request was not carried
out. Any other answer may come from a proxy that speaks after the service has done the work.
"""

from __future__ import annotations

import enum
import random
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from cmsapi.api.operations import Replay
from cmsapi.config import RetryPolicy
from cmsapi.errors import APIError, CMSError, NotSentError, TransportError
from cmsapi.errors.answers import is_refusal

_DEFAULT = RetryPolicy()
# Longest `Retry-After` that is waited for by default: the longest window of the limits (specification 8).
_HOUR = 3600.0
# Pauses after several 429s in a row: the first, by how much each is longer than the one before, the longest without its
# jitter, and the most jitter. All of them together last four times as long as the next one, so that work goes on soon
# after the service does, however long it refused.
_FIRST_PAUSE, _GROWTH, _LONGEST_PAUSE, _JITTER = 0.5, 1.25, 300.0, 1.2


class Failure(enum.Enum):
    """Classify requests that did not succeed."""

    REFUSED = "the service refused it; a repeat gets the same answer"
    NOT_EXECUTED = "the service put it off (429)"
    NOT_SENT = "nothing left this machine"
    FAILED = "the service failed (500, 502, 503)"
    UNKNOWN = "it was sent, and there is no usable answer"
    UNCLEAR = "the answer is not one of the service's; a repeat gets the same answer"

    @property
    def in_doubt(self) -> bool:
        """Whether the request may have taken effect."""
        return self in (Failure.FAILED, Failure.UNKNOWN, Failure.UNCLEAR)


def failure_of(error: APIError | TransportError) -> Failure:
    """Classify a failure."""
    if not isinstance(error, APIError):
        return Failure.NOT_SENT if isinstance(error, NotSentError) else Failure.UNKNOWN
    status = error.status
    if status == 429:
        return Failure.NOT_EXECUTED
    if status in (500, 502, 503):
        return Failure.FAILED
    # The answers of gateways that cannot reach the service.
    if status == 408 or status >= 500:
        return Failure.UNKNOWN
    return Failure.REFUSED if is_refusal(status, error.code) else Failure.UNCLEAR


def may_repeat(failure: Failure, replay: Replay) -> bool:
    """Check whether repeating can do no harm."""
    if failure in (Failure.REFUSED, Failure.UNCLEAR):
        return False
    return not failure.in_doubt or replay in (Replay.SAFE, Replay.IDEMPOTENT)


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


def pause_after_refusals(refusals: int, rng: random.Random) -> float:
    """Return seconds for which all clients of a key rest at least after some 429s in a row; 0 after a lone one."""
    if refusals < 2:
        return 0.0
    return min(_LONGEST_PAUSE, _FIRST_PAUSE * _GROWTH ** min(refusals - 2, 60)) * rng.uniform(1.0, _JITTER)


def longest_retry_after(policy: RetryPolicy) -> float:
    """Return for how many seconds a call waits because the service asks for it."""
    return _HOUR if policy.max_retry_after is None else policy.max_retry_after


def _longest(policy: RetryPolicy, attempt: int) -> float:
    return min(policy.cap, policy.base * 2.0 ** min(attempt - 1, 60))


def told_attempts(earlier: Sequence[tuple[str, float]], last: str) -> Iterator[str]:
    """Tell what each attempt before the last one said, and for how long the call waited then; the same is said once."""
    if earlier and all(said == last for said, _ in earlier):
        yield f"tried {len(earlier) + 1} times; waited {sum(wait for _, wait in earlier):.2f} s in all"
        return
    first = 1
    for said, group in groupby(earlier, key=itemgetter(0)):
        waits = [wait for _, wait in group]
        until = first + len(waits) - 1
        which = f"attempt {first}" if until == first else f"attempts {first} to {until}"
        yield f"{which}: {'like the last one' if said == last else said}; waited {sum(waits):.2f} s"
        first = until + 1


def describe(error: CMSError) -> str:
    """Describe a failure in a few words."""
    if isinstance(error, APIError):
        return f"{error.status} {error.code or ''}".strip()
    return f"{type(error).__name__}: {error.args[0]}"
