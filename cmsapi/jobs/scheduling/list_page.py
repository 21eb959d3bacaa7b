"""When the page of a list is read, which shows the states of many jobs with one request.

A page is read

- when the ends of its jobs have, together and as far as can be expected, been unseen for long enough;
- when one job is expected to have been over for longer than `max_interval`, which is what counts when few are left;
- when a job has grown so much older since it was seen that what is believed of it may be wrong.

`max_interval` is a promise for jobs that are polled one by one. A page keeps it where the policy is strict, and where
it has few jobs, which would be polled that often without the list.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections import Counter
from collections.abc import Collection

import attrs

from cmsapi.jobs.kinds.kind import Kind
from cmsapi.jobs.planning.durations import AGES, Curve, step_before
from cmsapi.jobs.planning.poll_interval import GROUPS, HOUR, scouting_interval
from cmsapi.jobs.tracked import LoadKey, TrackedJob

# A read of a page is worth so many seconds for which ends are unseen, summed over its jobs, or the square of their
# number divided by this where that is less. While requests are to spare, ten jobs are then seen about as soon as they
# would be alone, and forty a few seconds later, for a quarter of a request each.
_WORTH, _SPARE_WORTH = 80.0, 20.0
# One job is expected to have been over for no more than so many times `max_interval`.
_LATE = 1.5
# A page that never had more jobs than this keeps `max_interval`, while these would keep it alone.
_FEW = 4
# Whatever is believed, a job is seen again within this part of the median, or of the age at which it was seen.
_PART, _GROWTH = 0.5, 0.6
# The number of reads is estimated from the ends within these spans of seconds.
_SPANS = AGES[::4]


@attrs.frozen
class Listing:
    """Name one page of a list whose items show the states of jobs.

    Args:
        kind: The kind of the jobs.
        parent: What the list belongs to, such as the web page whose keywords are listed.
        number: Number of the page of the list, from 1.
    """

    kind: Kind
    parent: str
    number: int


@attrs.frozen
class Patience:
    """Say how long the ends of the jobs on a page may stay unseen.

    Args:
        shortest: Seconds between two reads at the least.
        longest: Seconds between two reads at the most.
        one: Seconds for which one job may have been over, as expected.
        all: The same, summed over all jobs.
    """

    shortest: float
    longest: float
    one: float
    all: float


@attrs.define(eq=False)
class ListPage:
    """Hold the jobs that one request shows.

    Args:
        listing: The request.
        jobs: The jobs.
        most: How many jobs it has had at a time.
        asked_at: When it was last asked for.
        due: When to ask next; infinity while it is being read, and while its job is polled alone.
        reading: Whether it is being read.
        failures: How often in a row it could not be read.
    """

    listing: Listing
    jobs: dict[TrackedJob, None] = attrs.field(factory=dict)
    most: int = 0
    asked_at: float = -math.inf
    due: float = math.inf
    reading: bool = False
    failures: int = 0

    @property
    def shared(self) -> bool:
        """Whether its jobs are polled together; the last of many jobs does not become more urgent than before."""
        return len(self.jobs) > 1 or self.most > _FEW

    def add(self, job: TrackedJob) -> None:
        """Have a job wait for the next read."""
        self.jobs[job] = None
        self.most = max(self.most, len(self.jobs))

    def time(self, now: float, curve: Curve, stretched: Collection[LoadKey], scarcity: float) -> None:
        """Set when to read it next, unless it is being read.

        Args:
            now: Time of the loop.
            curve: How long such jobs take.
            stretched: The loads whose jobs are polled more rarely than the service advises.
            scarcity: By what factor a request is worth more than with requests to spare.
        """
        if self.reading:
            return
        patience = self._patience(stretched, scarcity)
        # Jobs of nearly the same age count as one of several times the weight.
        alike = Counter((job.seen_running, round(job.started_at)) for job in self.jobs)

        def worth_it(quarters: int) -> bool:
            at, late = now + quarters / 4.0, 0.0
            for (step, since), count in alike.items():
                lateness = curve.lateness(step, at - since)
                if lateness >= patience.one:
                    return True
                late += count * lateness
            return late >= patience.all

        worth = now + bisect.bisect_left(range(4 * int(HOUR)), True, key=worth_it) / 4.0
        median, longest, slack = curve.quantile(0.5), patience.longest, math.sqrt(scarcity)
        latest = min(job.polled_at + min(longest, slack * _longest_wait(job, median)) for job in self.jobs)
        # A launch does not put the read off, or launches one by one would do so again and again.
        seen = max((job.polled_at for job in self.jobs if job.polled_at > job.started_at), default=-math.inf)
        self.due = max(now, max(self.asked_at, seen) + patience.shortest, min(worth, latest))

    def reads(self, curve: Curve, stretched: Collection[LoadKey]) -> float:
        """Estimate how many reads its jobs still take, with requests to spare.

        Args:
            curve: How long such jobs take.
            stretched: The loads whose jobs are polled more rarely than the service advises.
        """
        patience = self._patience(stretched, 1.0)
        counts = Counter(job.seen_running for job in self.jobs)
        # The last read comes after the last end.
        reads, running = 0.5, float(len(self.jobs))
        for since, until in itertools.pairwise(_SPANS):
            left = sum(count * _share_left(curve, step, until) for step, count in counts.items())
            # Ends come evenly over a short span, so that the mean of the lateness is half of the interval.
            late = min(patience.all, patience.one * max(1.0, left))
            interval = math.sqrt(2.0 * late * (until - since) / max(running - left, 1e-9))
            reads += min(1.0, running) * (until - since) / max(patience.shortest, min(patience.longest, interval))
            running = left
        return reads

    def _patience(self, stretched: Collection[LoadKey], scarcity: float) -> Patience:
        # Clients with different policies may wait for jobs on one page: the least patient one decides.
        policies = {job.settings.policy for job in self.jobs}
        spare = [policy for policy in policies if (self.listing.kind, policy) not in stretched]
        kept = [policy.max_interval for policy in spare if policy.budget == "strict" or self.most <= _FEW]
        return Patience(
            shortest=min(policy.min_interval for policy in policies),
            longest=min(kept, default=math.inf),
            one=scarcity * _LATE * min(policy.max_interval for policy in policies),
            all=scarcity * min(_WORTH, self.most**2 / _SPARE_WORTH if spare else math.inf),
        )


def _share_left(curve: Curve, step: int, span: float) -> float:
    """Return the share of the jobs that ran at a step and still run after a span of seconds."""
    return curve.running(step_before(AGES[step] + span)) / max(curve.running(step), 1e-9)


def _longest_wait(job: TrackedJob, median: float) -> float:
    """Return how many seconds a job may wait for its next poll, whatever is believed of the end."""
    if job.group >= GROUPS:
        return scouting_interval(job.group)
    return max(_PART * median, _GROWTH * (job.polled_at - job.started_at))
