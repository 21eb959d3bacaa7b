"""Poll the first jobs of a kind at chosen ages, to learn how long such jobs take.

As long as next to nothing is known of a kind, three jobs are polled after 8 s, three others after 11 s, three after
16 s and so on. They are different jobs, because each teaches something new, and a job that has ended by then needed
that poll anyway.
"""

from __future__ import annotations

from collections import Counter

from cmsapi.jobs.kinds.kind import Kind
from cmsapi.jobs.tracked import TrackedJob

_FIRST_AGE, _GROWTH, _AT_ONE_AGE, _MOST = 8.0, 1.4, 3, 75
# Ends of a kind that are enough to plan by.
_ENOUGH_ENDS = 15


class Scouts:
    """Choose the first poll of the first jobs of each kind."""

    def __init__(self) -> None:
        self._chosen: Counter[Kind] = Counter()

    def choose(self, job: TrackedJob, ends: float) -> float | None:
        """Return the loop time of the first poll of a job that is a scout, None for any other job.

        Args:
            job: The job.
            ends: The ends that were seen of its kind.
        """
        number = self._chosen[job.kind]
        if not job.age_known or job.step or ends >= _ENOUGH_ENDS or number >= _MOST:
            return None
        self._chosen[job.kind] += 1
        age = _FIRST_AGE * _GROWTH ** (number // _AT_ONE_AGE)
        return max(job.started_at + age, job.polled_at + job.settings.policy.min_interval)
