"""What tells whether a launch happened whose answer is lost: verdicts, and how times and names compare."""

from __future__ import annotations

import enum
import hashlib
import re
from datetime import UTC, datetime, timedelta

import attrs

# `Date` and the times in documents are exact to a second each.
CLOCK_BLUR = timedelta(seconds=2)
# By how much this machine's clock may be wrong, where the service tells no time.
OWN_CLOCK = timedelta(seconds=120)
# A keyword that is longer than this is a text, and the journal keeps no texts.
_LONGEST_NAME = 500
_DIGEST = re.compile("[0-9a-f]{32}")


def by_own_clock(wall: float) -> datetime:
    """Return the earliest time of the service at a moment of this machine's clock, where the service tells no time."""
    return datetime.fromtimestamp(wall, UTC) - OWN_CLOCK


class Verdict(enum.Enum):
    """Say whether a launch happened."""

    LAUNCHED = "it was launched"
    ABSENT = "it was not launched"
    UNKNOWN = "it cannot be told"


@attrs.frozen(kw_only=True)
class Finding:
    """Hold a verdict and what it rests on.

    Args:
        verdict: Whether it happened.
        why: The evidence, in words.
        job_id: The job, where the kind has an identifier.
        ours: Whether it is certainly not another user's.
        running: Whether it is known to have been running since the launch.
        served_at: When it was sent on the service's clock, as far as that is known by now.
    """

    verdict: Verdict
    why: str
    job_id: str | None = None
    ours: bool = True
    running: bool = False
    served_at: float | None = None

    @classmethod
    def unknown(cls, why: str) -> Finding:
        """Say that the evidence does not tell."""
        return cls(verdict=Verdict.UNKNOWN, why=why)


def name_of(keyword: str) -> str:
    """Name a keyword in the journal: by itself, or by a digest when it is a whole text."""
    if len(keyword) <= _LONGEST_NAME:
        return keyword
    return hashlib.blake2b(keyword.encode(), digest_size=16).hexdigest()


def is_digest(name: str) -> bool:
    """Tell whether a name may stand for a whole text."""
    return _DIGEST.fullmatch(name) is not None
