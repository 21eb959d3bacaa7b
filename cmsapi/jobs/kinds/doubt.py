"""What polls may show that does not tell the end of a job, and how long it has to last until it ends the job.

A service may answer from a copy that lags behind, in a word that is not listed, or not at all. One such answer means
nothing. The same doubt in three polls in a row and for its whole time ends the job, so that every job has an end; the
token stays valid. The table of waits in the documentation has a row for each doubt.
"""

from __future__ import annotations

import enum

import attrs

from cmsapi.config import PollPolicy

# Polls in a row that have to show the same doubt.
_POLLS = 3
_ROUNDING = 1e-6
# Seconds for which a job that was never seen may be missing: a service may show new jobs late.
_NEVER_SEEN = 300.0


class Doubt(enum.Enum):
    """List the doubts, each with the seconds for which it has to last."""

    #: The service does not know the job (404, 410).
    GONE = ("the service does not know it", 60.0)
    #: Another job of the same target, perhaps an older one.
    OTHER_JOB = ("another job is in its place", 60.0)
    #: The end of what was seen to run, or to succeed before, with a time from before the launch: clocks differ, and
    #: failures may have no time.
    EARLIER_TIME = ("its end has a time from before its launch", 60.0)
    #: A success with fewer results than it announces, or results of a job that runs.
    INCOMPLETE = ("some of its result may be missing", 120.0)
    #: A success whose result the service refuses to show.
    NO_RESULT = ("its result is refused", 120.0)
    #: Any other refusal of polls.
    REFUSED = ("its polls are refused", 60.0)
    #: Polls that are answered, but not with what the interface promises.
    UNREADABLE = ("its polls cannot be read", 600.0)
    #: A word that is not listed, or none.
    UNLISTED = ("it shows a word that is not listed", 600.0)
    #: The end of an earlier run, perhaps because the service shows nothing else until the job has ended.
    EARLIER_RUN = ("the result that it shows is older than the launch", 1800.0)
    #: The service fails, or cannot be reached.
    OUTAGE = ("its polls fail", 3600.0)

    def __init__(self, words: str, seconds: float) -> None:
        #: What it is, in words.
        self.words: str = words
        #: Seconds for which it has to last by default.
        self.seconds: float = seconds

    def timeout(self, policy: PollPolicy, *, seen: bool) -> float:
        """Return for how many seconds it has to last.

        Args:
            policy: How the job is polled.
            seen: Whether the job itself was seen since its launch.
        """
        if self is Doubt.OUTAGE:
            return policy.outage_timeout
        limit = policy.give_up_after
        if self in (Doubt.GONE, Doubt.OTHER_JOB, Doubt.EARLIER_TIME):
            timeout = self.seconds if seen else _NEVER_SEEN
            return timeout if limit is None else min(timeout, limit)
        return self.seconds if limit is None else limit


@attrs.define
class Lasting:
    """Remember for how long, and in how many polls in a row, the same doubt was seen.

    Args:
        doubt: The doubt.
        about: What makes it the same one: the word, the identifier or the refusal.
        since: Loop time at which it was seen first.
        polls: Polls that have shown it.
    """

    doubt: Doubt
    about: object
    since: float
    polls: int = 1

    def left(self, policy: PollPolicy, now: float, *, seen: bool) -> float:
        """Return for how many seconds more it has to last to end the job."""
        return max(0.0, self.since + self.doubt.timeout(policy, seen=seen) - now)

    def lasts(self, policy: PollPolicy, now: float, *, seen: bool) -> bool:
        """Tell whether it has lasted for long enough to end the job."""
        # A poll that is timed for the end of it may come earlier by a rounding error.
        return self.polls >= _POLLS and self.left(policy, now, seen=seen) < _ROUNDING


def seen_again(before: Lasting | None, doubt: Doubt, about: object, now: float) -> Lasting:
    """Count a doubt that a poll has shown, anew unless the poll before has shown the same."""
    if before is not None and (before.doubt, before.about) == (doubt, about):
        before.polls += 1
        return before
    return Lasting(doubt, about, now)
