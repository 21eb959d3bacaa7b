"""Choose the price of a request, so that all polls fit into what the limits leave.

The price is at its floor while all jobs, polled as the service advises, fit into what is left of the hour. Otherwise it
is the lowest at which they fit. It is the same for a poll, for a page of a list and for an early read of a result.

While jobs wait that are to be launched, it is at most what a launch is worth: a job that does not fit waits an hour, so
that the requests of its launch, its poll and its result are worth an hour together.

What is left is what the hour admits, less what is owed: a launch for each job that will be launched, a request to read
each result, and what is kept for the last jobs (`kept_for_the_last`). Requests that come back later count only towards
polls that come after they are back. Jobs that run beyond the hour count by their rate.

Nothing here waits, sends or remembers; the same arguments give the same price.
"""

from __future__ import annotations

import bisect
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import attrs

from cmsapi.config import PollPolicy
from cmsapi.jobs.planning.durations import AGES, Curve
from cmsapi.jobs.planning.schedule import HOUR, PRICES, Schedule, advised, price_at, solve

# This share of jobs is nearly all of them.
_NEARLY_ALL = 0.97
# Before any end was seen, jobs whose polls cannot become rarer may take five times what is expected.
_STRICT_DOUBT = 4.0
#: The youngest age in seconds at which a job is polled out of turn: one of the last, or one that tells of the others.
FIRST_AGE = 8.0

#: Seconds from one plan to the next at the least.
PLAN = 1.0

#: Tells how many requests come back within a span of seconds.
Returning: TypeAlias = Callable[[float], float]
#: Tells how many requests the pages of lists take at a price; None is its floor.
Reads: TypeAlias = Callable[[float | None], float]


def kept_for_the_last(age: float, returns: float) -> float:
    """Return how many requests a plan leaves to its last jobs, whatever is believed of durations.

    So the last ones can be polled, one after the other, at ages that double until requests come back.

    Args:
        age: Age of the oldest job in seconds.
        returns: In how many seconds requests come back.
    """
    return math.log2(1.0 + min(returns, HOUR) / max(age, FIRST_AGE))


@attrs.frozen(kw_only=True)
class Load:
    """Describe the jobs of one kind that are polled alike.

    Args:
        curve: How long they take.
        policy: How often they may be polled.
        alone: How many run and are polled one by one, by the step of their last poll.
        paged: How many besides are polled together, with others on a page of a list, by the step of the last poll.
        queued: How many are yet to be launched.
        slots: How many may run at a time.
        result: Requests that reading one result takes, besides the poll that finds its job finished.
        learned: How many ends the curve rests on.
    """

    curve: Curve
    policy: PollPolicy
    alone: Mapping[int, int] = attrs.field(factory=dict)
    paged: Mapping[int, int] = attrs.field(factory=dict)
    queued: int = 0
    slots: float = math.inf
    result: float = 0.0
    learned: float = 0.0

    @property
    def strict(self) -> bool:
        """Whether launched jobs are never polled less often than advised."""
        return self.policy.budget == "strict"

    @property
    def count(self) -> int:
        """Jobs that run."""
        return sum(self.alone.values()) + sum(self.paged.values())

    @functools.cached_property
    def advised(self) -> Schedule:
        """The schedule that the policy asks for."""
        return advised(self.curve, self.policy.min_interval, self.policy.max_interval)

    @functools.cached_property
    def rarest(self) -> Schedule:
        """The schedule with the fewest polls that makes sense while jobs wait to be launched."""
        return self.advised if self.strict else solve(self.curve, self.launch_price, self.policy.min_interval)

    @property
    def launch_price(self) -> float:
        """What each request of a launch is worth: its job waits an hour where they are missing."""
        return HOUR / (2.0 + self.result)

    @property
    def horizon(self) -> float:
        """Seconds until nearly all of the jobs are finished, those that are launched now among them."""
        steps = {*self.alone, *self.paged, *([0] if self.queued else [])}
        return max((self.curve.quantile(_NEARLY_ALL, step) - AGES[step] for step in steps), default=0.0)

    @property
    def least_life(self) -> float:
        """Requests that one more job must take, from its launch to its result."""
        return (1.0 + self.rarest.polls(0) + self.result) * self._doubt

    @property
    def least(self) -> float:
        """Polls that the jobs that are polled one by one must take."""
        return self.polls(self.rarest) * self._doubt

    @property
    def _doubt(self) -> float:
        return 1.0 + _STRICT_DOUBT / (1.0 + self.learned) if self.strict else 1.0

    def at(self, place: int | None) -> Schedule:
        """Return the schedule at the place of a price; None is its floor, with the polls that the service advises."""
        if place is None or self.strict:
            return self.advised
        # A launch that has to wait makes room for dearer polls.
        price = min(price_at(place), self.launch_price) if self.queued else price_at(place)
        return solve(self.curve, price, self.policy.min_interval)

    def polls(self, schedule: Schedule, span: float = HOUR) -> float:
        """Return how many polls the running jobs need by a schedule within a span of seconds."""
        return sum(count * schedule.polls(step, span) for step, count in self.alone.items())

    def launches(self, schedule: Schedule, spare: float) -> float:
        """Return how many requests the queued jobs need that are launched within an hour.

        Args:
            schedule: The schedule of polls.
            spare: Requests that the running jobs leave at the least. Jobs that do not fit into it at any price are not
                launched.
        """
        if not self.queued:
            return 0.0
        turnaround = max(self.curve.remaining(0) + schedule.lateness, 1.0)
        launches = min(float(self.queued), self.slots * HOUR / turnaround)
        if schedule.stretched and self.slots == math.inf:
            launches = min(launches, max(0.0, spare) / self.least_life)
        return launches * (1.0 + schedule.polls(0) + self.result)


@attrs.frozen
class Budget:
    """Divide requests between the jobs of an account.

    Args:
        loads: The jobs.
        free: Requests that the hour admits now for them.
        returning: Tells which come back later.
        kept: Requests to leave to the last jobs.
        reads: Tells how many requests the pages of lists take.
    """

    loads: Sequence[Load]
    free: float
    returning: Returning = lambda span: 0.0
    kept: float = 0.0
    reads: Reads = lambda price: 0.0

    @property
    def left(self) -> float:
        """Requests for polls and launches; the results of running jobs are paid for."""
        return self.free - sum(load.count * load.result for load in self.loads)

    @property
    def spare(self) -> float:
        """Requests that are left when every running job takes no more than it must."""
        return self.left - sum(load.least for load in self.loads)

    def misses(self, reads: float) -> float:
        """Return how many polls may find their jobs running: what is left when every job takes what it must.

        Args:
            reads: Requests that the pages of lists take.
        """
        left = self.left - reads - sum(sum(load.alone.values()) for load in self.loads)
        room = max(0.0, self.spare - reads - self.kept)
        for load in self.loads:
            left -= min(load.queued, load.slots, room / load.least_life) * (2.0 + load.result)
        return max(0.0, left)

    def price(self) -> int | None:
        """Return the place of the lowest price at which all polls fit, None for the floor."""
        left, spare = self.left - self.kept, self.spare
        coming = self.returning(max((load.horizon for load in self.loads), default=0.0))
        first_return = bisect.bisect_left(range(int(HOUR)), True, key=lambda span: self.returning(span) > 0)

        def needs(place: int | None, reads: float, span: float = HOUR) -> float:
            expected = reads
            for load in self.loads:
                schedule = load.at(place)
                expected += load.launches(schedule, spare) + load.polls(schedule, span)
            return expected

        def fits(place: int | None) -> bool:
            reads = self.reads(None if place is None else price_at(place))
            return needs(place, reads) <= left + coming and (not coming or needs(place, reads, first_return) <= left)

        if fits(None):
            return None
        return bisect.bisect_left(range(PRICES - 1), True, key=fits)
