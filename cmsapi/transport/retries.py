"""The retry rule: which failures are repeated, and after which wait (specification 7).

* Nothing arrived (`NotSentError`): any request.
* An error answer in the specification's form with 429, 500, 502 or 503: any request.
* A lost answer, or one without that form, from something in between, which does not know whether the service has acted:
  only what has the same effect when done twice. A 429 refuses for certain.

Launches have a rule of their own, in `cmsapi.jobs.launch_failures`, and share the wait.
"""

from __future__ import annotations

import random

from cmsapi.config import RetryPolicy
from cmsapi.errors import BY_CODE, APIError, CMSError, NotSentError, OutcomeUnknownError

_RETRIED_CODES = frozenset({"rate_limited", "internal_error", "bad_gateway", "service_unavailable"})
_TEMPORARY_STATUSES = frozenset({429, 500, 502, 503, 504})  # a proxy's, and specified ones without the body


def is_temporary(failure: CMSError, *, repeatable: bool) -> bool:
    """Return True if a request may be repeated; ``repeatable`` if it has the same effect when done twice."""
    if isinstance(failure, APIError):
        if failure.code in BY_CODE:
            return failure.code in _RETRIED_CODES
        return failure.status in _TEMPORARY_STATUSES and (repeatable or failure.status == 429)
    return isinstance(failure, NotSentError) or (repeatable and isinstance(failure, OutcomeUnknownError))


def next_delay(policy: RetryPolicy, attempt: int, failure: CMSError) -> float | None:
    """Return the seconds until the next attempt, at least ``Retry-After``; None if there is none."""
    asked = (failure.retry_after or 0.0) if isinstance(failure, APIError) else 0.0
    too_long = policy.max_retry_after is not None and asked > policy.max_retry_after
    if attempt >= policy.max_attempts or too_long:
        return None
    wait: float = min(policy.cap, policy.base * 2 ** min(attempt - 1, 99))
    return asked + wait * random.uniform(0.5, 1)  # noqa: S311  no secret


def brief(failure: CMSError) -> str:
    """Return a failure in a few words, for the log."""
    return f"{failure.status} {failure.code or ''}".strip() if isinstance(failure, APIError) else type(failure).__name__
