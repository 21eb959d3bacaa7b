"""The retry rule: whether and when a failed request is repeated (specification 7).

* The request did not reach the service (`NotSentError`): it is repeated.
* The response is a 429, or a 500, 502 or 503 in the specification's format: the request is repeated.
* The response was lost, or is a 500, 502, 503 or 504 in another format, perhaps from a gateway: the service may have
  acted. The request is repeated only if sending it twice has the same effect as sending it once.

Launches have their own rule, in `cmsapi.jobs.launch_failures`, with the same delays.
"""

from __future__ import annotations

import random

from cmsapi.config import RetryPolicy
from cmsapi.errors import BY_CODE, APIError, CMSError, NotSentError, OutcomeUnknownError

_RETRIED_CODES = frozenset({"rate_limited", "internal_error", "bad_gateway", "service_unavailable"})
_TEMPORARY_STATUSES = frozenset({429, 500, 502, 503, 504})  # from a proxy, or the service without the specified body


def is_temporary(failure: CMSError, *, repeatable: bool) -> bool:
    """Return True if a request may be repeated after ``failure``; ``repeatable`` means that repeating does no harm."""
    if isinstance(failure, APIError):
        if failure.code in BY_CODE:
            return failure.code in _RETRIED_CODES
        return failure.status in _TEMPORARY_STATUSES and (repeatable or failure.status == 429)
    return isinstance(failure, NotSentError) or (repeatable and isinstance(failure, OutcomeUnknownError))


def next_delay(policy: RetryPolicy, attempt: int, failure: CMSError) -> float | None:
    """Return the seconds to wait (at least ``Retry-After``), or None if ``policy`` allows no further attempt."""
    asked = (failure.retry_after or 0.0) if isinstance(failure, APIError) else 0.0
    too_long = policy.max_retry_after is not None and asked > policy.max_retry_after
    if attempt >= policy.max_attempts or too_long:
        return None
    wait: float = policy.base * min(policy.cap / policy.base, 2 ** (attempt - 1))  # the power may overflow a float
    return asked + wait * random.uniform(0.5, 1)  # noqa: S311  no secret


def brief(failure: CMSError) -> str:
    """Return the failure's status and code, or its class name if it has no status, for `RetryScheduled`."""
    return f"{failure.status} {failure.code or ''}".strip() if isinstance(failure, APIError) else type(failure).__name__
