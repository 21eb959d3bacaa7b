"""Hold back the polls of a load when too many of them find their jobs running.

A plan takes every job for itself: one that is later than believed says little about the others. When the service pauses
or has become slower, all jobs are late together; each poll is another one in vain, although the first few have told it.

So the polls in vain are counted, less those that were expected. When they are too many for chance, the breaker opens:
planned polls of the load are put off, and one job at a time is polled as a probe, at ages that grow. The first that is
found finished closes it. A pause takes a dozen polls, however many jobs there are.
"""

from __future__ import annotations

import attrs

# More polls in vain than expected are chance up to this number, and up to this part of what may be lost: of much more
# while few ends were seen, because what is expected then is a guess.
_CHANCE, _PART, _ENOUGH_ENDS = 3.0, 1.0 / 8.0, 50.0
# A probe comes when the jobs are older by this part of their age than at the last one.
_GROWTH = 0.25


@attrs.define(eq=False)
class Breaker:
    """Tell whether polls of a load are put off.

    Args:
        open: Whether they are.
        surprises: Polls that found their job running, less those that were expected to.
        probe_at: Loop time of the next probe, while it is open.
    """

    open: bool = False
    surprises: float = 0.0
    probe_at: float = 0.0

    def answered(self, *, finished: bool, expected: float, extra: float, learned: float) -> None:
        """Note what a poll has shown.

        Args:
            finished: Whether it found its job finished.
            expected: How likely it was to find it running.
            extra: Requests beyond one poll and the result of every job.
            learned: Ends that were seen of such jobs.
        """
        self.surprises = max(0.0, self.surprises - expected + (not finished))
        if self.open and finished:
            self.open, self.surprises = False, self.surprises / 2.0
        elif not self.open:
            self.open = self.surprises > max(_CHANCE, _PART * extra * (_ENOUGH_ENDS + learned) / (1.0 + learned))

    def wait(self, now: float, age: float, min_interval: float) -> None:
        """Set the time of the next probe, after a poll of a job at an age."""
        self.probe_at = now + max(min_interval, _GROWTH * age)
