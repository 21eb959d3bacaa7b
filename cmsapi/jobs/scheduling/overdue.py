"""Warn of jobs that run far longer than nearly all that were seen to end: they may be stuck.

A job is reported once, and one line in ten minutes tells of all such jobs of a kind, however many there are.
"""

from __future__ import annotations

import logging
import math
from collections import Counter

from cmsapi.jobs.kinds.kind import Kind
from cmsapi.jobs.planning.durations import DurationModel
from cmsapi.jobs.timing import Timing
from cmsapi.jobs.tracked import TrackedJob

logger: logging.Logger = logging.getLogger("cmsapi")

# A job is overdue when it is twice as old as nearly all became whose ends were seen, and old enough to be worth a line.
_NEARLY_ALL, _TIMES, _LEAST = 0.99, 2.0, 300.0
# Fewer ends say little about the latest ones.
_ENOUGH = 30.0
_INTERVAL = 600.0


def overdue_after(durations: DurationModel) -> float:
    """Return the age from which a running job may be stuck; infinity when too few ends were seen."""
    return max(_LEAST, _TIMES * durations.ended_within(_NEARLY_ALL)) if durations.ends >= _ENOUGH else math.inf


class OverdueJobs:
    """Note the jobs that may be stuck."""

    def __init__(self) -> None:
        self._unreported: Counter[Kind] = Counter()
        self._reported_at: dict[Kind, float] = {}

    def saw_running(self, job: TrackedJob, timing: Timing, durations: DurationModel, now: float) -> None:
        """Note that a poll has found a job running, and report it where it runs for too long."""
        kind, age = job.kind, now - timing.started_at
        # Most polls are of younger jobs.
        if age < _LEAST or durations.ends < _ENOUGH:
            return
        if age < overdue_after(durations):
            return
        usual = durations.ended_within(_NEARLY_ALL)
        self._unreported[kind] += not timing.overdue
        timing.overdue = True
        count = self._unreported[kind]
        if count and now - self._reported_at.get(kind, -math.inf) >= _INTERVAL:
            self._unreported[kind], self._reported_at[kind] = 0, now
            others = "" if count == 1 else f", like {count - 1} more that were not reported yet"
            logger.warning(
                "%r has run for %.0f s%s, while 99 %% of such jobs ended within %.0f s. It is polled on; `timeout=` or "
                "PollPolicy(job_timeout=) ends the wait.",
                job,
                age,
                others,
                usual,
            )
