"""Say how many seconds lie between two polls of a job.

Two schedules answer that, from the age of the job at its last poll:

- *Advised*: every `min_interval` to `max_interval` (specification 8, rule 5), sooner when the job may end soon.
- *Priced*: as rarely as the price of a poll makes worthwhile, because the advised polls do not fit into the limits.

A poll that comes late costs lateness, one that comes early costs a request. Of a job that ran at its last poll,
at age a, the cheapest plan costs

    W(a) = price * S(a) + min over t of [ L(a, t) + W(t) ]

where S is the share of jobs that still run, and L(a, t) the lateness of those that end before t. It is weighted with
S(a), so that nothing has to be divided by a share that runs out. Solved from the last age backwards it is exact on the
scale of ages, and the best t never moves backwards as a grows, which saves most of the search.
"""

from __future__ import annotations

import functools
import math
import random
from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

import attrs

from cmsapi.jobs.kinds.kind import Kind
from cmsapi.jobs.planning.durations import AGES, NEVER, Curve
from cmsapi.jobs.tracked import TrackedJob

HOUR = 3600.0
#: Jobs of a kind are divided at random into so many groups, which may have different intervals.
GROUPS = 4
# With requests to spare, one is worth so many seconds of lateness.
LOWEST_PRICE = 1.0
# Of scouts: the age of the first ones, its growth, how many have one age, and how many there are of a kind.
_FIRST_AGE, _GROWTH, _AT_ONE_AGE, _MOST_SCOUTS = 8.0, 1.4, 3, 75
# Ends of a kind that are enough to plan by.
_ENOUGH_ENDS = 15
# Beyond this share of finished jobs, and beyond the scale, ages are guessed from the age itself.
_TAIL = 0.9
_PATIENCE = 1.6


class Groups:
    """Divide jobs into groups, and choose scouts among the first jobs of each kind; scouts have more groups.

    As long as next to nothing is known of a kind, three jobs are scouts for an age of 8 s, three others for 11 s, three
    for 16 s and so on. A page of a list that shows a scout is read by then, to learn how long such jobs take. Of jobs
    that are polled one by one, `exploration` polls some early.

    Args:
        rng: Source of chance.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._scouts: Counter[Kind] = Counter()

    def draw(self) -> int:
        """Draw the group of a job; `randrange` takes four times as long, and each poll draws one."""
        return int(self._rng.random() * GROUPS)

    def first(self, job: TrackedJob, ends: float) -> int:
        """Return the group of a job that was not polled yet, when so many ends were seen of its kind."""
        number = self._scouts[job.kind]
        if not job.age_known or job.step or ends >= _ENOUGH_ENDS or number >= _MOST_SCOUTS:
            return self.draw()
        self._scouts[job.kind] += 1
        return GROUPS + number // _AT_ONE_AGE

    def following(self, group: int, age: float) -> int:
        """Return the group of a job after a poll at an age; a scout that was polled too early stays one."""
        return group if group >= GROUPS and age < scouting_interval(group) else self.draw()


def scouting_interval(group: int) -> float:
    """Return how many seconds after its launch the page of a scout of a group is read at the latest."""
    return _FIRST_AGE * _GROWTH ** (group - GROUPS)


@attrs.frozen(eq=False)
class AdvisedSchedule:
    """Poll every `min_interval` to `max_interval`.

    Args:
        curve: How long jobs take.
        min_interval: Seconds between two polls at the least.
        max_interval: Seconds between two polls at the most.
        caution: Factor by which jobs are taken to need more polls than expected.
    """

    curve: Curve
    min_interval: float
    max_interval: float
    caution: float = 1.0

    def interval(self, step: int, group: int) -> float:
        """Return how many seconds after a poll at a step the next one comes."""
        ended, after = self.curve.ended, min(step + 1, NEVER - 1)
        running, ending = 1.0 - ended[step], ended[after] - ended[step]
        best = math.inf
        if running > 1e-6 and ending > 1e-9:
            # The best interval where the hazard is constant.
            hazard = ending / running / (AGES[after] - AGES[step])
            best = math.sqrt(2.0 * LOWEST_PRICE / hazard)
        # Jobs that were launched together are not to be polled together.
        longest = self.max_interval - (self.max_interval - self.min_interval) / 2.0 * group / GROUPS
        return max(self.min_interval, min(longest, best))

    def polls(self, step: int, within: float = math.inf) -> float:
        """Return how many polls a job that ran at a step still needs, in all or within a span of seconds."""
        # A request that is used is back after an hour.
        return self.caution * self.curve.remaining(step, min(within, HOUR)) / self.max_interval + 1.0

    def variance(self, step: int) -> float:
        """Return about the variance of the polls that a job that ran at a step still needs."""
        return self.polls(step) - 1.0

    @property
    def lateness(self) -> float:
        """Seconds for which the end of a job is not seen, on average."""
        return self.max_interval / 2.0


@attrs.frozen(eq=False)
class PricedSchedule:
    """Poll when it is worth the price; `solve` makes it.

    Args:
        curve: How long jobs take.
        following: Step of the next poll, by the step of the last one.
        needed: Polls that a job still needs, weighted with the share that still runs.
        squares: The mean of their square, weighted likewise.
        cost: Price of those polls and lateness together, weighted likewise.
        price: What a poll costs, in seconds of lateness.
        min_interval: Seconds between two polls at the least.
    """

    curve: Curve
    following: Sequence[int]
    needed: Sequence[float]
    squares: Sequence[float]
    cost: Sequence[float]
    price: float
    min_interval: float

    def interval(self, step: int, group: int = 0) -> float:
        """Return how many seconds after a poll at a step the next one comes, for every group alike."""
        age, following = AGES[step], AGES[self.following[step]]
        if step == NEVER - 1:
            following = _PATIENCE * age
        elif self.curve.ended[step] > _TAIL:
            # A job that is older than nearly all others is not foretold by them.
            following = min(following, _PATIENCE * age)
        return max(self.min_interval, following - age)

    def polls(self, step: int, within: float = math.inf) -> float:
        """Return how many polls a job that ran at a step still needs, in all or within a span of seconds."""
        running = self.curve.running(step)
        if running <= 1e-6:
            return 1.0
        if within == math.inf:
            return self.needed[step] / running
        end, at, polls = AGES[step] + within, step, 0.0
        while at < NEVER - 1 and AGES[self.following[at]] <= end:
            polls += self.curve.running(at) / running
            at = self.following[at]
        return polls

    def variance(self, step: int) -> float:
        """Return the variance of the polls that a job that ran at a step still needs."""
        running = self.curve.running(step)
        if running <= 1e-6:
            return 0.0
        return max(0.0, self.squares[step] / running - (self.needed[step] / running) ** 2)

    @property
    def lateness(self) -> float:
        """Seconds for which the end of a job is not seen, on average."""
        return self.cost[0] - self.price * self.needed[0]


Schedule: TypeAlias = AdvisedSchedule | PricedSchedule


# Curves stay the same until something is learned, and plans ask for the same few prices again and again.
@functools.lru_cache(maxsize=128)
def solve(curve: Curve, price: float, min_interval: float) -> PricedSchedule:
    """Find the cheapest schedule for a price of a poll in seconds of lateness."""
    last = NEVER - 1
    ended, area = curve.ended, curve.area
    cost, needed, squares, following = [0.0] * NEVER, [0.0] * NEVER, [0.0] * NEVER, [last] * NEVER
    # A job that still runs at the end of the scale needs one more poll.
    needed[last] = squares[last] = curve.running(last)
    cost[last] = price * needed[last]
    # Cost at t and later, without what depends on the poll before.
    later = list(area)
    later[last] += cost[last]
    nearest = furthest = last
    for step in range(last - 1, -1, -1):
        age, over = AGES[step], ended[step]
        while nearest > step + 1 and AGES[nearest - 1] - age >= min_interval:
            nearest -= 1
        best, chosen = later[last] - over * AGES[last], last
        for candidate in range(nearest, max(nearest, furthest) + 1):
            value = later[candidate] - over * AGES[candidate]
            if value < best:
                best, chosen = value, candidate
        furthest = following[step] = chosen
        running = 1.0 - over
        cost[step] = price * running + best - area[step] + over * age
        needed[step] = running + needed[chosen]
        squares[step] = running + 2.0 * needed[chosen] + squares[chosen]
        later[step] = area[step] + cost[step]
    return PricedSchedule(curve, following, needed, squares, cost, price, min_interval)
