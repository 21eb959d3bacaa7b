"""Choose the schedules of all jobs, so that all polls fit into what the limits leave.

Schedules are tried in the order of their price. The first is the advised one; it is taken while all jobs, polled so
for as long as they are expected to go on, fit into what is left of the hour. After it come the priced ones, and the
lowest price that fits is taken. Where the number of polls jumps with the price, some jobs follow the price below.

What is left is what the hour admits, less what is owed: a launch for each job that will be launched, a request to read
each result, what the last jobs may need (`exploration`), and a deviation of the number of polls, which is a matter of
chance. Requests that come back later count only towards polls that come after they are back.

Nothing here waits, sends or remembers; the same arguments give the same plan.
"""

from __future__ import annotations

import bisect
import functools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeAlias

import attrs

from cmsapi.config import PollPolicy
from cmsapi.jobs.planning.durations import Curve
from cmsapi.jobs.planning.poll_interval import GROUPS, HOUR, LOWEST_PRICE, AdvisedSchedule, Schedule, solve

# Priced schedules: how many there are, and by how much the logarithm of the price grows from one to the next.
_PRICES, _PRICE_STEP = 73, 1.0 / 6.0
# A job that needs fewer polls than this cannot be made cheaper: its end has to be seen once.
_FEWEST_POLLS = 1.06
# So many deviations of the number of polls are kept back.
_CHANCE = 1.0
# A duration of which no end is known is taken to be off by so many times itself.
_DOUBT = 5.0
# A request that comes back later may be used by another client.
_COMING = 0.9


#: Tells how many requests come back within a span of seconds.
Returning: TypeAlias = Callable[[float], float]


@attrs.frozen(kw_only=True)
class Load:
    """Describe the jobs of one kind that are treated alike.

    Args:
        curve: How long they take.
        policy: How often they may be polled.
        running: How many run, by the step of their last poll.
        paged: How many besides are polled together, with others on a page of a list, by the step of the last poll.
        queued: How many are yet to be launched.
        slots: How many may run at a time.
        result: Requests that reading one result takes, besides the poll that finds its job finished.
        learned: How many ends the curve rests on.
    """

    curve: Curve
    policy: PollPolicy
    running: Mapping[int, int] = attrs.field(factory=dict)
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
        return sum(self.running.values()) + sum(self.paged.values())

    @functools.cached_property
    def advised(self) -> AdvisedSchedule:
        """The schedule that the policy asks for.

        More polls are expected of it than the curve says, because the fewer ends are known, the farther the curve may
        be off: without that, jobs of half an hour use up the hour in its first minutes. The doubt stays longer where
        the jobs cannot be polled more rarely later. A single job has the hour to itself.
        """
        doubt = _DOUBT / (1.0 + self.learned) ** (0.5 if self.strict else 1.0)
        if not self.strict and self.count + self.queued <= 1:
            doubt = 0.0
        return AdvisedSchedule(self.curve, self.policy.min_interval, self.policy.max_interval, 1.0 + doubt)

    @functools.cached_property
    def dearest(self) -> int:
        """The price from which on polls do not become fewer."""

        def enough(price: int) -> bool:
            return self._priced(price).polls(0) <= _FEWEST_POLLS

        return 0 if self.strict else bisect.bisect_left(range(_PRICES), True, lo=2, key=enough)

    @property
    def least_life(self) -> float:
        """Requests that one more job must take, from its launch to its result."""
        return self.life(self.at(self.dearest))

    @property
    def least(self) -> float:
        """Polls that the running jobs must take."""
        return self.polls(self.dearest)

    def at(self, price: int) -> Schedule:
        """Return the schedule at a price: at 0 the advised one, then the dearer the rarer.

        While more jobs wait to be launched, no price is higher than makes sense.
        """
        if price == 0 or self.strict:
            return self.advised
        return self._priced(min(price, self.dearest) if self.queued else price)

    def _priced(self, price: int) -> Schedule:
        return solve(self.curve, LOWEST_PRICE * math.exp((price - 1) * _PRICE_STEP), self.policy.min_interval)

    def life(self, schedule: Schedule) -> float:
        """Return the requests that one more job is expected to take, from its launch to its result."""
        return 1.0 + schedule.polls(0) + self.result

    def polls(self, price: int, span: float = math.inf) -> float:
        """Return how many polls the running jobs need at a price, in all or within a span of seconds."""
        schedule = self.at(price)
        polls = sum(count * schedule.polls(step, span) for step, count in self.running.items())
        if schedule is self.advised:
            polls += sum(count * schedule.polls(step, span) for step, count in self.paged.items())
        return polls

    def launches(self, price: int, spare: float) -> float:
        """Return how many requests the queued jobs need that are launched within an hour.

        Args:
            price: The price of polls.
            spare: Requests that the running jobs leave at the least. Jobs that do not fit into it at any price are not
                launched.
        """
        return self._launched(price, spare) * self.life(self.at(price)) if self.queued else 0.0

    def variance(self, price: int, spare: float) -> float:
        """Return the variance of the polls that running jobs, and those that are launched, need at a price."""
        schedule = self.at(price)
        launched = self._launched(price, spare) * schedule.variance(0) if self.queued else 0.0
        return launched + sum(count * schedule.variance(step) for step, count in self.running.items())

    def _launched(self, price: int, spare: float) -> float:
        turnaround = max(self.curve.remaining(0) + self.at(price).lateness, 1.0)
        launches = min(float(self.queued), self.slots * HOUR / turnaround)
        if price and self.slots == math.inf:
            launches = min(launches, max(0.0, spare) / self.least_life)
        return launches


@attrs.frozen(eq=False)
class Pace:
    """Say how often the jobs of one load are polled.

    Args:
        load: The jobs.
        cheaper: Schedule at the lower price, with more polls.
        dearer: Schedule at the higher price.
        share: Share of the jobs that follow the lower price.
    """

    load: Load
    cheaper: Schedule
    dearer: Schedule
    share: float

    @property
    def stretched(self) -> bool:
        """Whether the jobs are polled more rarely than the service advises."""
        return self.dearer is not self.load.advised

    def interval(self, step: int, group: int) -> float:
        """Return how many seconds after a poll at a step the next one comes, for a group of the jobs."""
        schedule = self.cheaper if (group + 0.5) / GROUPS < self.share else self.dearer
        return schedule.interval(step, group)

    @property
    def life(self) -> float:
        """Requests that one more job is expected to take from its launch to its result."""
        return self.load.life(self.dearer)


def spare(loads: Collection[Load], free: float) -> float:
    """Return how many requests are left when every running job takes no more than it must."""
    return _left(loads, free) - sum(load.least for load in loads)


def extra(loads: Collection[Load], free: float) -> float:
    """Return how many requests are left when every job takes its launch, one poll and its result."""
    room = spare(loads, free)
    left = room + sum(load.least - sum(load.running.values()) for load in loads)
    for load in loads:
        launches = min(load.queued, load.slots, max(0.0, room / load.least_life)) if load.queued else 0.0
        left -= launches * (2.0 + load.result)
    return max(0.0, left)


def plan(loads: Sequence[Load], free: float, returning: Returning = lambda span: 0.0, kept: float = 0.0) -> list[Pace]:
    """Decide for each load how often to poll.

    Args:
        loads: The loads.
        free: Requests that the hour admits now for new work.
        returning: Tells which come back later.
        kept: Requests to leave to the last jobs.
    """
    left = _left(loads, free) - kept
    unused = spare(loads, free) if any(load.queued for load in loads) else 0.0

    def needs(price: int, span: float = math.inf) -> float:
        expected = sum(load.launches(price, unused) + load.polls(price, span) for load in loads)
        return expected + _CHANCE * math.sqrt(sum(load.variance(price, unused) for load in loads))

    def paces(cheaper: int, dearer: int, share: float) -> list[Pace]:
        return [Pace(load, load.at(cheaper), load.at(dearer), share) for load in loads]

    if needs(0) <= left:
        return paces(0, 0, 0.0)
    spans = [load.curve.remaining(step) for load in loads for step in load.running]
    # After so many seconds nearly all of the jobs are finished.
    horizon = max([*spans, *(load.curve.quantile(0.97) for load in loads)], default=0.0)
    coming = _COMING * returning(horizon)
    first_return = bisect.bisect_left(range(int(HOUR)), True, key=lambda span: returning(span) > 0)

    def fits(price: int) -> bool:
        return needs(price) <= left + coming and (not coming or needs(price, first_return) <= left)

    if fits(0):
        return paces(0, 0, 0.0)
    dearest = max((load.dearest if load.queued or load.strict else _PRICES for load in loads), default=0)
    dearer = bisect.bisect_left(range(dearest), True, lo=1, key=fits)
    cheaper = max(dearer - 1, 1)
    more, fewer = needs(cheaper), needs(dearer)
    # Only a sum over all polls can be shared out; with requests yet to come, it is not the sum that binds.
    share = max(0.0, min(1.0, (left - fewer) / (more - fewer))) if more > fewer and not coming else 0.0
    return paces(cheaper, dearer, share)


def _left(loads: Collection[Load], free: float) -> float:
    """Return how many requests are left for polls and launches; the results of running jobs are paid for."""
    return free - sum(load.count * load.result for load in loads)
