"""What a poll is worth: the lowest price at which the polls still to come fit into what is left of the hour."""

from __future__ import annotations

import bisect
import heapq
import itertools
import math
from collections.abc import Sequence

import attrs

from benchmarks.fanout.poll_times import CHEAPEST, DEAREST, STEP, Plan, Plans

# So many of the longest waits for a token are minded.
_WAITS = 4


@attrs.frozen
class Group:
    """Count jobs at the same place of the same plans.

    Args:
        plans: Their plans.
        index: Index of the age at which they were last seen running.
        count: How many there are.
        launched_at: When they were launched, on average.
    """

    plans: Plans
    index: int
    count: float
    launched_at: float

    def polls(self, power: int) -> float:
        """Return the polls still to come at a price."""
        return self.count * self.plans.at(power).polls[self.index]

    def looks_before(self, power: int, moment: float) -> float:
        """Return the polls that come before a moment."""
        plan = self.plans.at(power)
        later = self._first_from(plan, moment - self.launched_at)
        return self.count * (plan.polls[self.index] - self.plans.share(self.index, later) * plan.polls[later])

    def _first_from(self, plan: Plan, age: float) -> int:
        """Return the index of the last poll before an age."""
        index, ages = self.index, self.plans.ages
        while index < len(ages) - 1 and ages[plan.following[index]] < age:
            index = plan.following[index]
        return index


@attrs.frozen
class Tokens:
    """Say what may be spent on polls.

    Args:
        now: The loop's time.
        left: Tokens that are left now.
        returns: When those that are out come back, in order.
    """

    now: float
    left: float
    returns: Sequence[float]

    def before(self, moment: float) -> float:
        """Return the tokens that may be spent before a moment."""
        return self.left + bisect.bisect_left(self.returns, moment)

    @property
    def moments(self) -> list[float]:
        """The moments before which no more may be spent than is there: the ends of the longest waits, and of all."""
        waits = itertools.pairwise((self.now, *self.returns))
        longest = heapq.nlargest(_WAITS, waits, key=lambda wait: wait[1] - wait[0])
        return [*sorted(end for _, end in longest), math.inf]

    @property
    def dearest(self) -> int:
        """The highest price worth paying: waiting until a token comes back costs no more."""
        if not self.returns:
            return DEAREST
        wait = max(1.0, self.returns[0] - self.now)
        return max(CHEAPEST + 1, min(DEAREST, round(math.log(wait, STEP))))


@attrs.frozen
class Price:
    """Say what a poll costs.

    Args:
        power: The price is `STEP ** power` seconds of lateness.
        below: Share of the jobs that pay the next lower price instead.
    """

    power: int
    below: float


def find_price(groups: Sequence[Group], tokens: Tokens) -> Price:
    """Return the lowest price at which all polls fit, mixed with the next lower one so that they just fit."""
    moments = tokens.moments
    # When all is over before tokens come back, nothing is to be gained by waiting for them.
    if all(group.launched_at + group.plans.ages[-1] < moments[0] for group in groups):
        moments = [moments[0]]
    budgets = [tokens.before(moment) for moment in moments]

    def demands(power: int) -> list[float]:
        return [sum(group.looks_before(power, moment) for group in groups) for moment in moments]

    def fits(power: int) -> bool:
        return all(options <= budget for options, budget in zip(demands(power), budgets, strict=True))

    low, high = CHEAPEST, tokens.dearest
    if fits(low):
        return Price(low, 0.0)
    if not fits(high):
        return Price(high, 0.0)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    shares = [
        (budget - dear) / (cheap - dear)
        for dear, cheap, budget in zip(demands(high), demands(low), budgets, strict=True)
        if cheap > budget
    ]
    return Price(high, min(shares))
