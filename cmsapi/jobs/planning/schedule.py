"""Say how many seconds lie between two polls of a job, for one price of a request.

A request is worth the lateness that it ends: a price of 20 s buys a poll when a job is expected to have been over,
unseen, for about 20 s. A poll that comes late costs lateness, one that comes early costs a request. Of a job that ran
at its last poll, at age a, the cheapest schedule costs

    W(a) = price * S(a) + min over t of [ L(a, t) + W(t) ]

where S is the share of jobs that still run, and L(a, t) the lateness of those that end before t. It is weighted with
S(a), so that nothing has to be divided by a share that runs out. Solved from the last age backwards it is exact on the
scale of ages, and the best t never moves backwards as a grows, which saves most of the search. Within one step of the
scale the hazard is constant, and the best interval is sqrt(2 * price / hazard). So the schedule is continuous in the
price, from the shortest intervals to a single poll.

With requests to spare the price is at its floor. There no interval is longer than `max_interval` (specification 8,
rule 5), and it is shorter only when the job may end soon.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import attrs

from cmsapi.jobs.planning.durations import AGES, NEVER, Curve, step_before

HOUR = 3600.0
# With requests to spare, one is worth a second of lateness.
_FLOOR = 1.0
# Prices in seconds: the lowest one where requests are short, how many there are, and by what factor they grow.
_LOWEST, PRICES, _STEP = 1e-4, 129, math.exp(1.0 / 6.0)
_NOTHING = 1e-6


def price_at(place: int) -> float:
    """Return a price in seconds of lateness by its place among all prices; the first one is at 0."""
    return _LOWEST * _STEP**place


@attrs.frozen(eq=False)
class Schedule:
    """Poll when it is worth the price; `solve` makes it.

    Args:
        curve: How long jobs take.
        intervals: Seconds until the next poll, by the step of the last one.
        needed: Polls that a job still needs, weighted with the share that still runs.
        cost: Price of those polls and lateness together, weighted likewise.
        price: What a request costs, in seconds of lateness.
        stretched: Whether jobs are polled more rarely than the service advises.
    """

    curve: Curve
    intervals: Sequence[float]
    needed: Sequence[float]
    cost: Sequence[float]
    price: float
    stretched: bool

    def polls(self, step: int, within: float = HOUR) -> float:
        """Return how many polls a job that ran at a step needs within a span of seconds, an hour at the most.

        A request that is used is back after an hour, so that longer jobs count by their rate.
        """
        if (running := self.curve.running(step)) <= _NOTHING:
            return 1.0
        until = AGES[step] + min(within, HOUR)
        at = step_before(until)
        if at == NEVER - 1:
            return min(within, HOUR) / self.intervals[step] if at == step else self.needed[step] / running
        part = (until - AGES[at]) / (AGES[at + 1] - AGES[at])
        return (self.needed[step] - self.needed[at] - part * (self.needed[at + 1] - self.needed[at])) / running

    @property
    def lateness(self) -> float:
        """Seconds for which the end of a job is not seen, on average."""
        return self.cost[0] - self.price * self.needed[0]


def advised(curve: Curve, min_interval: float, max_interval: float) -> Schedule:
    """Return the schedule of jobs for which there are requests to spare."""
    return solve(curve, _FLOOR, min_interval, max_interval)


# Curves stay the same until something is learned, and plans ask for the same few prices again and again.
@functools.lru_cache(maxsize=128)
def solve(curve: Curve, price: float, min_interval: float, longest: float = math.inf) -> Schedule:
    """Find the cheapest schedule.

    Args:
        curve: How long jobs take.
        price: What a request costs, in seconds of lateness.
        min_interval: Seconds between two polls at the least.
        longest: Seconds between two polls at the most.
    """
    last = NEVER - 1
    ended, area = curve.ended, curve.area
    cost, needed, intervals = [0.0] * NEVER, [0.0] * NEVER, [longest] * NEVER
    # A job that still runs at the end of the scale needs one more poll.
    needed[last] = curve.running(last)
    cost[last] = price * needed[last]
    # Of longer ones nothing is known but that the request of a poll is back after an hour.
    intervals[last] = min(longest, HOUR)
    # Cost at t and later, without what depends on the poll before.
    later = list(area)
    later[last] += cost[last]
    nearest = furthest = last
    for step in range(last - 1, -1, -1):
        age, over = AGES[step], ended[step]
        running = 1.0 - over
        while nearest > step + 1 and AGES[nearest - 1] - age >= min_interval:
            nearest -= 1
        best, chosen = later[last] - over * AGES[last], last
        for candidate in range(nearest, max(nearest, furthest) + 1):
            value = later[candidate] - over * AGES[candidate]
            if value < best:
                best, chosen = value, candidate
        furthest = chosen
        cost[step] = price * running + best - area[step] + over * age
        needed[step] = running + needed[chosen]
        interval = AGES[chosen] - age
        # Several polls before the next step of the scale.
        span, ending = AGES[step + 1] - age, ended[step + 1] - over
        average = running - ending / 2.0
        within = min(longest, max(min_interval, math.sqrt(2.0 * price * average * span / max(ending, 1e-12))))
        polls = span / within
        dense = price * average * polls + ending * within / 2.0 + cost[step + 1]
        if interval > longest or (within < span and dense < cost[step]):
            cost[step], needed[step], interval = dense, average * polls + needed[step + 1], within
        intervals[step] = max(min_interval, interval)
        later[step] = area[step] + cost[step]
    return Schedule(curve, intervals, needed, cost, price, longest == math.inf)
