"""Find the ages at which to poll a job, for a price of a poll.

A poll that comes late costs lateness, one that comes early costs a request. Of a job that ran at its last poll,
at age a, the cheapest plan costs

    W(a) = price * S(a) + min over t of [ L(a, t) + W(t) ]

where S is the share of jobs that still run, and L(a, t) the lateness of those that end before t. It is weighted with
S(a), so that nothing has to be divided by a share that runs out. Solved from the last age backwards it is exact on the
scale of ages, and the best t never moves backwards as a grows, which saves most of the search.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import attrs

from cmsapi.jobs.scheduling.durations import AGES, NEVER, Curve

# Beyond this share of finished jobs, and beyond the scale, ages are guessed from the age itself.
_TAIL = 0.9
_PATIENCE = 1.6


@attrs.frozen(eq=False)
class Schedule:
    """Hold when to poll next, by the step of the last poll.

    Args:
        curve: How long jobs take.
        following: Step of the next poll.
        polls: Polls that a job still needs, weighted with the share that still runs.
        cost: Price of those polls and lateness together, weighted likewise.
        price: What a poll costs, in seconds of lateness.
        min_gap: Seconds between two polls at the least.
    """

    curve: Curve
    following: Sequence[int]
    polls: Sequence[float]
    cost: Sequence[float]
    price: float
    min_gap: float

    def gap(self, step: int) -> float:
        """Return how many seconds after a poll at a step the next one comes."""
        age, following = AGES[step], AGES[self.following[step]]
        if step == NEVER - 1:
            following = _PATIENCE * age
        elif self.curve.ended[step] > _TAIL:
            # What is longer than nearly all others is not foretold by them.
            following = min(following, _PATIENCE * age)
        return max(self.min_gap, following - age)

    def expected_polls(self, step: int) -> float:
        """Return how many polls a job that ran at a step still needs."""
        running = self.curve.running(step)
        return self.polls[step] / running if running > 1e-6 else 1.0

    def polls_within(self, step: int, span: float) -> float:
        """Return how many of them come within a span of seconds from that poll."""
        running = self.curve.running(step)
        if running <= 1e-6:
            return 1.0
        end, at, polls = AGES[step] + span, step, 0.0
        while at < NEVER - 1 and AGES[self.following[at]] <= end:
            polls += self.curve.running(at) / running
            at = self.following[at]
        return polls

    @property
    def lateness(self) -> float:
        """Seconds for which the end of a job is not seen, on average."""
        return self.cost[0] - self.price * self.polls[0]


# Curves stay the same until something is learned, and plans ask for the same few prices again and again.
@functools.lru_cache(maxsize=64)
def solve(curve: Curve, price: float, min_gap: float) -> Schedule:
    """Find the cheapest schedule.

    Args:
        curve: How long jobs take.
        price: What a poll costs, in seconds of lateness.
        min_gap: Seconds between two polls at the least.
    """
    last = NEVER - 1
    ended, area = curve.ended, curve.area
    cost, polls, following = [0.0] * NEVER, [0.0] * NEVER, [last] * NEVER
    # What still runs at the end of the scale needs one more poll.
    polls[last] = curve.running(last)
    cost[last] = price * polls[last]
    # Cost at t and what is later than it, without what depends on the poll before.
    later = list(area)
    later[last] += cost[last]
    nearest = furthest = last
    for step in range(last - 1, -1, -1):
        age, over = AGES[step], ended[step]
        while nearest > step + 1 and AGES[nearest - 1] - age >= min_gap:
            nearest -= 1
        best, chosen = later[last] - over * AGES[last], last
        for candidate in range(nearest, max(nearest, furthest) + 1):
            value = later[candidate] - over * AGES[candidate]
            if value < best:
                best, chosen = value, candidate
        furthest = following[step] = chosen
        running = 1.0 - over
        cost[step] = price * running + best - area[step] + over * age
        polls[step] = running + polls[chosen]
        later[step] = area[step] + cost[step]
    return Schedule(curve, following, polls, cost, price, min_gap)
