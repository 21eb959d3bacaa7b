"""When the page of a list is read, which shows the states of many jobs with one request.

A page is read when the ends of its jobs have, together and as far as can be expected, been unseen for as long as a
request is worth: the price that polls have, too. With requests to spare the page has a worth of its own, and is read
within `max_interval`, or longer where it has many jobs, which is a promise for jobs that are polled one by one. Where
the policy is strict, `max_interval` is kept always.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence

import attrs

from cmsapi.jobs.planning.budget import Reads
from cmsapi.jobs.planning.durations import AGES, Curve, step_before
from cmsapi.jobs.planning.schedule import HOUR
from cmsapi.jobs.timing import Listing, Timing
from cmsapi.jobs.tracked import TrackedJob

# With requests to spare, a read of a page is worth a minute for which ends are unseen, summed over its jobs, or the
# square of their number divided by 20 where that is less. Ten jobs are then seen about as soon as they would be alone,
# and forty a few seconds later, for a quarter of a request each.
_WORTH, _SPARE_WORTH = 60.0, 20.0
# A page that never had more jobs than this keeps `max_interval`, and one that had more a multiple of it.
_FEW = 8
# Whatever is believed, a page is read again when a job on it is older by `max_interval`, or by this part of its age.
_GROWTH = 0.6
# A page that shows a job as running a minute after its end was seen cannot be relied on.
_LAG = 60.0
# The number of reads is estimated from the ends within these spans of seconds.
_SPANS = (*(age for age in AGES[::4] if age < HOUR), HOUR)


@attrs.define(eq=False)
class ListPage:
    """Hold the jobs that one request shows.

    Args:
        listing: The request.
        jobs: The jobs, each with when it is polled.
        most: How many jobs it has had at a time.
        asked_at: When it was last asked for.
        due: When to ask next; infinity while it is being read, and while its job is polled alone.
        reading: Whether it is being read.
        failures: How often in a row it could not be read.
        ended: When jobs were seen to have ended by polls of their own, by target.
    """

    listing: Listing
    jobs: dict[TrackedJob, Timing] = attrs.field(factory=dict)
    most: int = 0
    asked_at: float = -math.inf
    due: float = math.inf
    reading: bool = False
    failures: int = 0
    ended: dict[str, float] = attrs.field(factory=dict)

    @property
    def shared(self) -> bool:
        """Whether its jobs are polled together; the last of many jobs does not become more urgent than before."""
        return len(self.jobs) > 1 or self.most > _FEW

    def add(self, job: TrackedJob, timing: Timing) -> None:
        """Have a job wait for the next read."""
        self.jobs[job] = timing
        self.most = max(self.most, len(self.jobs))

    def lags(self, running: Sequence[str]) -> bool:
        """Tell whether it shows a job as running whose end was seen long before it was asked for."""
        seen = [target for target, ended_at in self.ended.items() if self.asked_at - ended_at >= _LAG]
        for target in seen:
            del self.ended[target]
        return any(target in running for target in seen)

    def plan(self, now: float, curve: Curve, price: float | None) -> None:
        """Set when to read it next, unless it is being read.

        Args:
            now: Time of the loop.
            curve: How long such jobs take.
            price: What a request costs, in seconds for which ends are unseen; None with requests to spare.
        """
        if self.reading:
            return
        # Jobs of nearly the same age count as one of several times the weight.
        alike = Counter((round(each.polled_age), round(each.started_at)) for each in self.jobs.values())

        def when(worth: float) -> float:
            def is_worth(quarters: int) -> bool:
                at = now + quarters / 4.0
                return sum(count * curve.lateness(seen, at - since) for (seen, since), count in alike.items()) >= worth

            return now + bisect.bisect_left(range(4 * int(HOUR)), True, key=is_worth) / 4.0

        first = min(each.polled_at for each in self.jobs.values())
        worth = min(when(self._spare_worth), first + self._longest)
        if price is not None:
            worth = max(worth, when(price))
        # What is believed may be wrong of jobs that are this much older than when they were seen.
        older = min(each.polled_at + max(longest, _GROWTH * each.polled_age) for each, longest in self._longest_of())
        # A launch does not put the read off, or launches one by one would do so again and again.
        seen = max((each.polled_at for each in self.jobs.values() if each.polled_age > 0.0), default=-math.inf)
        self.due = max(now, max(self.asked_at, seen) + self._shortest, min(worth, older, first + self._strict))

    def reads(self, curve: Curve) -> Reads:
        """Tell by the price how many reads its jobs are expected to take within an hour.

        A plan tries many prices, so that what does not depend on them is computed before.
        """
        spare_worth, longest, shortest, strict = self._spare_worth, self._longest, self._shortest, self._strict
        counts = Counter(each.seen_running for each in self.jobs.values())
        spans: list[tuple[float, float, float]] = []
        running = float(len(self.jobs))
        for since, until in itertools.pairwise(_SPANS):
            left = sum(count * _share_left(curve, step, until) for step, count in counts.items())
            # Ends come evenly over a short span, so that the mean of the lateness is half of the interval.
            each = math.sqrt(2.0 * (until - since) / max(running - left, 1e-9))
            spans.append((each, min(longest, each * math.sqrt(spare_worth)), min(1.0, running) * (until - since)))
            running = left

        def at(price: float | None) -> float:
            root = 0.0 if price is None else math.sqrt(price)
            # The last read comes after the last end.
            reads = 0.5
            for each, spare_interval, seconds in spans:
                reads += seconds / max(shortest, min(strict, max(spare_interval, each * root)))
            return reads

        return at

    def _longest_of(self) -> Iterator[tuple[Timing, float]]:
        """Give when each job is polled, with the longest interval that its policy names."""
        return ((timing, job.settings.policy.max_interval) for job, timing in self.jobs.items())

    @property
    def _shortest(self) -> float:
        return min(job.settings.policy.min_interval for job in self.jobs)

    @property
    def _longest(self) -> float:
        """Seconds between two reads at the most, with requests to spare: more where there are many jobs."""
        return min(longest for _, longest in self._longest_of()) * max(1.0, self.most / _FEW)

    @property
    def _strict(self) -> float:
        """Seconds between two reads at the most, whatever there is to spare."""
        policies = {job.settings.policy for job in self.jobs}
        return min((policy.max_interval for policy in policies if policy.budget == "strict"), default=math.inf)

    @property
    def _spare_worth(self) -> float:
        """Seconds for which ends may be unseen, summed over its jobs, with requests to spare."""
        return min(_WORTH, self.most**2 / _SPARE_WORTH)


def _share_left(curve: Curve, step: int, span: float) -> float:
    """Return the share of the jobs that ran at a step and still run after a span of seconds."""
    return curve.running(step_before(AGES[step] + span)) / max(curve.running(step), 1e-9)
