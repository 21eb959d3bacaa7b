"""What follows when an attempt to launch fails; `RetryPolicy` limits the number of attempts.

=====================================================  ================================================================
Outcome                                                What follows
=====================================================  ================================================================
nothing reached the service                            repeat
429, or 503 in the specification's form                repeat after the wait (specification 7)
4xx in the specification's form to the first attempt   delete the row, raise
500 or 502 in the specification's form                 adopt the job if its document shows the launch, else repeat; a
                                                       search is repeated if the balance has not fallen, else unknown
anything else, and 4xx to a later attempt              once no request can be under way any more, read the document:
                                                       adopt the job if it shows the launch, else unknown
=====================================================  ================================================================

Attempts that were not sent or got a 429 do not count as the first. A `ConfigError` is treated like a first 4xx. A
document that does not show a launch proves nothing; `LaunchPolicy.on_unknown` or the caller decides what follows.
"""

from __future__ import annotations

from enum import Enum

from cmsapi.errors import APIError, CMSError, ConfigError, NotSentError


class Verdict(Enum):
    """What the failure of an attempt to launch means."""

    REPEAT = "nothing was carried out"
    FAILED = "the service failed, and may have carried it out"
    REFUSED = "nothing was carried out, nor will it be"
    DOUBT = "it may have been carried out"


def verdict_of(failure: CMSError, *, first: bool) -> Verdict:
    """Return what ``failure`` means. A 4xx is final only if ``first``: it says nothing about earlier attempts."""
    if isinstance(failure, NotSentError):
        return Verdict.REPEAT
    if isinstance(failure, ConfigError):  # unusable settings stay unusable
        return Verdict.REFUSED
    if isinstance(failure, APIError):
        specified = failure.code is not None
        if failure.status == 429 or (specified and failure.status == 503):
            return Verdict.REPEAT
        if specified and failure.status in (500, 502):
            return Verdict.FAILED
        if specified and 400 <= failure.status < 500 and first:
            return Verdict.REFUSED
    return Verdict.DOUBT
