"""The best times to poll a job whose distribution of durations is known, when each poll costs a request.

Lateness and polls are traded at a price: seconds of lateness that a poll is worth. For one price the best plan is a
dynamic programme over the age of a job. With F(a) the probability that it is over at age a, S = 1 - F and H the
integral of F, the expected cost from a poll that found it running at age a is W(a) / S(a), where

    W(a) = price S(a) - H(a) + F(a) a + min over t >= a + 5 of [H(t) - F(a) t + W(t)].

The term H(t) - H(a) - F(a) (t - a) is the expected lateness of a job that ends between a and t and is seen at t. The
plan for a price says after each poll when the next one is due; no other plan with as few polls is less late.
"""

from __future__ import annotations

import bisect
import functools
import math

import attrs

from benchmarks.fanout.durations import Distribution, age_at, finished

# The service's advice (specification 8, rule 5).
SHORTEST_GAP = 5.0
AGES = 160
# Prices are powers of this, in seconds.
STEP: float = math.exp(0.125)
CHEAPEST, DEAREST = -32, 96
_BEYOND = 1.1


@attrs.frozen
class Plan:
    """Hold the best times to poll for one price.

    Args:
        following: For each age, the index of the age of the next poll.
        polls: For each age, the polls still to come when a job was just seen running.
        lateness: Mean seconds late, over all jobs.
    """

    following: tuple[int, ...]
    polls: tuple[float, ...]
    lateness: float


class Plans:
    """Plan the polls of jobs of one distribution, for any price.

    Args:
        distribution: How long the jobs take.
    """

    def __init__(self, distribution: Distribution) -> None:
        first = max(SHORTEST_GAP, age_at(distribution, 1e-4))
        last = max(2 * first, age_at(distribution, 1 - 1e-6))
        ratio = (last / first) ** (1 / (AGES - 2))
        self.ages: list[float] = [0.0, *(first * ratio**step for step in range(AGES - 1))]
        self._over = [finished(distribution, age) for age in self.ages]
        self._integral = [0.0]
        for index in range(1, AGES):
            step = self.ages[index] - self.ages[index - 1]
            self._integral.append(self._integral[-1] + step * (self._over[index] + self._over[index - 1]) / 2)
        self._plans: dict[int, Plan] = {}

    def at(self, power: int) -> Plan:
        """Return the plan for a price of `STEP ** power` seconds a poll."""
        if power not in self._plans:
            self._plans[power] = self._solve(STEP**power)
        return self._plans[power]

    def index(self, age: float) -> int:
        """Return the index of the latest age of the plans that is not above an age."""
        return bisect.bisect_right(self.ages, age) - 1

    def share(self, index: int, later: int) -> float:
        """Return the share of the jobs running at one of the ages that still runs at a later one."""
        alive = 1 - self._over[index]
        return (1 - self._over[later]) / alive if alive > 0 else 1.0

    def next_age(self, plan: Plan, age: float, index: int) -> float:
        """Return at which age to poll next a job that was seen running at an age with that index."""
        if index == AGES - 1:
            return max(age + SHORTEST_GAP, age * _BEYOND)
        return max(age + SHORTEST_GAP, self.ages[plan.following[index]])

    def _solve(self, price: float) -> Plan:
        ages, over, integral = self.ages, self._over, self._integral
        last = AGES - 1
        cost, polls, following = [0.0] * AGES, [0.0] * AGES, [last] * AGES
        # Beyond the last age so few are left that one more poll is reckoned for each.
        cost[last], polls[last] = price * (1 - over[last]), 1.0
        # What a poll at an age costs from there on, apart from what depends on the age before it.
        onward = [*integral[:last], integral[last] + cost[last]]
        for index in range(last - 1, -1, -1):
            age, gone = ages[index], over[index]
            earliest = min(last, bisect.bisect_left(ages, age + SHORTEST_GAP))
            ahead = [later - gone * when for later, when in zip(onward[earliest:], ages[earliest:], strict=True)]
            best = min(ahead)
            then = earliest + ahead.index(best)
            alive = 1 - gone
            cost[index] = price * alive - integral[index] + gone * age + best
            onward[index] = integral[index] + cost[index]
            following[index] = then
            polls[index] = 1.0 + self.share(index, then) * polls[then]
        return Plan(tuple(following), tuple(polls), cost[0] - price * polls[0])


@functools.cache
def plans_for(distribution: Distribution) -> Plans:
    """Return the plans for a distribution; each is made once."""
    return Plans(distribution)
