"""Decide how often to poll, so that all polls fit into what the limits leave.

There are two ways:

- *Frequent*: every `min_interval` to `max_interval` (specification 8, rule 5), sooner when a job may end soon. It is
  taken while all jobs, polled so for as long as they are expected to go on, fit into what is left of the hour.
- *Stretched*: the dynamic programme of `poll_interval`, at the price that makes the expected number of polls
  fit. Where the number of polls jumps with the price, some jobs follow the cheaper price and others the dearer one.

What is left is what the hour admits, less what is owed: a launch for each job that will be launched, a request to read
each result. Requests that come back later count only towards polls that come after they are back.

Nothing here waits, sends or remembers; the same arguments give the same plan.
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import attrs

from cmsapi.jobs.scheduling.durations import AGES, NEVER, Curve
from cmsapi.jobs.scheduling.poll_interval import Schedule, solve

#: Jobs of a kind share their price in so many groups, of which some may follow the cheaper price.
GROUPS = 4
# With requests to spare, one is worth so many seconds of lateness.
_LOWEST_PRICE = 1.0
_PRICE_STEP = 1.0 / 6.0
_PRICES = 72
# A job that needs fewer polls than this cannot be made cheaper: its end has to be seen once.
_FEWEST_POLLS = 1.06
# Polls are a matter of chance; so many deviations of their number are kept back.
_CHANCE = 1.1
# Where polls are never made fewer, a duration of which one end is known is taken to be off by so many times itself.
_DOUBT = 5.0
# What comes back later is not quite certain to be ours.
_COMING = 0.9
_HOUR = 3600.0


def draw_group(rng: random.Random) -> int:
    """Draw the group of a job; `randrange` takes four times as long, and each poll draws one."""
    return int(rng.random() * GROUPS)


@attrs.frozen
class Supply:
    """Say how many requests there are for jobs.

    Args:
        free: Requests that the hour admits now for new work.
        first_return: Seconds until the first used request comes back.
        returning: Tells how many come back within a span of seconds.
    """

    free: float
    first_return: float = math.inf
    returning: Callable[[float], float] = lambda span: 0.0


@attrs.frozen(kw_only=True)
class Load:
    """Describe the jobs of one kind that are treated alike.

    Args:
        curve: How long they take.
        running: How many run, by the step of their last poll.
        polling: How many besides are being polled, by the step at which they were known to run and that of now.
        paged: How many besides are polled together, with others on a page of a list, by the step of the last poll.
        queued: How many are yet to be launched.
        slots: How many may run at a time.
        result: Requests that reading one result takes, besides the poll that finds its job finished.
        min_interval: Seconds between two polls at the least.
        max_interval: Seconds between two polls at the most, while the limits allow it.
        strict: Whether launched jobs are never polled less often than that.
        learned: How many ends the curve rests on.
    """

    curve: Curve
    running: Mapping[int, int]
    polling: Mapping[tuple[int, int], int] = attrs.field(factory=dict)
    paged: Mapping[int, int] = attrs.field(factory=dict)
    queued: int = 0
    slots: float = math.inf
    result: float = 0.0
    min_interval: float = 5.0
    max_interval: float = 10.0
    strict: bool = False
    learned: float = 0.0

    @property
    def caution(self) -> float:
        """Factor by which jobs are taken to need more polls than expected, where too few polls are never made up for.

        The fewer ends are known, the farther the expectation may be off.
        """
        return 1.0 + _DOUBT / math.sqrt(1.0 + self.learned) if self.strict else 1.0

    @property
    def count(self) -> int:
        """Jobs that run."""
        return sum(self.running.values()) + sum(self.polling.values()) + sum(self.paged.values())

    def singles(self) -> Iterator[tuple[int, float]]:
        """Give the jobs that are polled one by one, by the step of their last poll.

        A poll under way is paid for, and may find that no other is needed.
        """
        yield from self.running.items()
        for (known, now), count in self.polling.items():
            yield now, count * self.curve.running(now) / max(self.curve.running(known), 1e-9)

    def launches(self, turnaround: float) -> float:
        """Return how many queued jobs will be launched within an hour."""
        return min(float(self.queued), self.slots * _HOUR / max(turnaround, 1.0))


@attrs.frozen(eq=False)
class Frequent:
    """Poll every `min_interval` to `max_interval`.

    Args:
        load: The jobs.
    """

    load: Load
    stretched: bool = attrs.field(default=False, init=False)

    def gap(self, step: int, group: int) -> float:
        """Return how many seconds after a poll at a step the next one comes."""
        load, curve, after = self.load, self.load.curve, min(step + 1, NEVER - 1)
        running, ending = curve.running(step), curve.ended[after] - curve.ended[step]
        best = math.inf
        if running > 1e-6 and ending > 1e-9 and after > step:
            # The best interval where the hazard is constant.
            hazard = ending / running / (AGES[after] - AGES[step])
            best = math.sqrt(2.0 * _LOWEST_PRICE / hazard)
        # Jobs that were launched together are not to be polled together.
        longest = load.max_interval - (load.max_interval - load.min_interval) / 2.0 * group / GROUPS
        return max(load.min_interval, min(longest, best))

    @property
    def life(self) -> float:
        """Requests that one more job is expected to take from its launch to its result."""
        load = self.load
        return 2.0 + load.caution * load.curve.remaining(0, _HOUR) / load.max_interval + load.result

    @property
    def lateness(self) -> float:
        """Seconds for which an end is not seen, on average."""
        return self.load.max_interval / 2.0

    def needed(self, span: float = math.inf) -> float:
        """Return how many polls the running jobs need within a span of seconds."""
        load, polls = self.load, 0.0
        for step, count in (*load.singles(), *load.paged.items()):
            # What is used is back after an hour.
            polls += count * (load.caution * load.curve.remaining(step, min(span, _HOUR)) / load.max_interval + 1.0)
        return polls


@attrs.frozen(eq=False)
class Stretched:
    """Poll when it is worth the price.

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
    stretched: bool = attrs.field(default=True, init=False)

    def gap(self, step: int, group: int) -> float:
        """Return how many seconds after a poll at a step the next one comes."""
        schedule = self.cheaper if (group + 0.5) / GROUPS < self.share else self.dearer
        return schedule.gap(step)

    @property
    def life(self) -> float:
        """Requests that one more job is expected to take from its launch to its result."""
        return 1.0 + self.dearer.expected_polls(0) + self.load.result

    @property
    def lateness(self) -> float:
        """Seconds for which an end is not seen, on average."""
        return self.dearer.lateness


Pace: TypeAlias = Frequent | Stretched


@attrs.frozen(eq=False)
class Plan:
    """Hold how often each load is polled, and how many requests remain for more jobs.

    Args:
        paces: The pace of each load.
        spare: Requests that are left when every running job takes no more than it must.
        lives: Requests that one more job of each load must take, from its launch to its result.
    """

    paces: Sequence[Pace]
    spare: float
    lives: Sequence[float]


def plan(loads: Sequence[Load], supply: Supply) -> Plan:
    """Decide for each load how often to poll."""
    free = supply.free - sum(load.count * load.result for load in loads)
    expected = sum(load.count + max(0.0, min(load.queued, free)) for load in loads)
    free -= _CHANCE * math.sqrt(expected) if free < math.inf else 0.0
    schedules = [_Schedules(load) for load in loads]
    lives = [each.least_life for each in schedules]
    spare = free - sum(each.least for each in schedules)
    frequent = [Frequent(load) for load in loads]
    if _fits(frequent, free, supply):
        return Plan(frequent, spare, lives)
    strict = sum(pace.needed() for pace in frequent if pace.load.strict)
    stretched = iter(_stretch([each for each in schedules if not each.load.strict], free - strict, supply))
    return Plan([pace if pace.load.strict else next(stretched) for pace in frequent], spare, lives)


def _fits(paces: Sequence[Frequent], free: float, supply: Supply) -> bool:
    queued = sum(pace.load.launches(pace.load.curve.remaining(0) + pace.lateness) * pace.life for pace in paces)
    needed = queued + sum(pace.needed() for pace in paces)
    if needed <= free:
        return True
    if supply.first_return == math.inf or queued + sum(pace.needed(supply.first_return) for pace in paces) > free:
        return False
    return needed <= free + _COMING * supply.returning(_horizon([pace.load for pace in paces]))


def _horizon(loads: Sequence[Load]) -> float:
    """Return the seconds after which nearly all of the jobs are finished."""
    spans = [load.curve.remaining(step) for load in loads for step, _ in load.singles()]
    spans += [load.curve.quantile(0.97) for load in loads]
    return max(spans, default=0.0)


def _stretch(schedules: Sequence[_Schedules], free: float, supply: Supply) -> list[Stretched]:
    dearest = max((each.dearest if each.load.queued else _PRICES for each in schedules), default=0)
    horizon = _horizon([each.load for each in schedules])
    coming = _COMING * supply.returning(horizon) if supply.first_return < math.inf else 0.0

    def needs(price: int, span: float = math.inf) -> float:
        return sum(each.needs(price, free, span) for each in schedules)

    def fits(price: int) -> bool:
        return needs(price) <= free + coming and (not coming or needs(price, supply.first_return) <= free)

    low, high = 0, dearest
    if fits(low):
        high = low
    elif not fits(high):
        low = high
    else:
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if fits(middle) else (middle, high)
    more, fewer = needs(low), needs(high)
    # Only a sum over all polls can be shared out; with requests yet to come, it is not the sum that binds.
    share = max(0.0, min(1.0, (free - fewer) / (more - fewer))) if more > fewer and not coming else 0.0
    return [Stretched(each.load, each.at(low), each.at(high), share) for each in schedules]


class _Schedules:
    """Keep the schedules of one load, by price."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self._solved: dict[int, Schedule] = {}

    def at(self, price: int) -> Schedule:
        """Return the schedule at a step of the scale of prices.

        While more jobs wait to be launched, it is none that is dearer than makes sense.
        """
        return self._at(min(price, self.dearest) if self.load.queued else price)

    def _at(self, price: int) -> Schedule:
        solved = self._solved.get(price)
        if solved is None:
            seconds = _LOWEST_PRICE * math.exp(price * _PRICE_STEP)
            solved = self._solved[price] = solve(self.load.curve, seconds, self.load.min_interval)
        return solved

    @functools.cached_property
    def dearest(self) -> int:
        """The price from which on polls do not become fewer."""
        low, high = 0, _PRICES
        while high - low > 1:
            middle = (low + high) // 2
            enough = self._at(middle).expected_polls(0) <= _FEWEST_POLLS
            low, high = (low, middle) if enough else (middle, high)
        return high

    @functools.cached_property
    def least(self) -> float:
        """Polls that the running jobs must take."""
        load = self.load
        if load.strict:
            return Frequent(load).needed()
        cheapest = self.at(self.dearest)
        return sum(count * cheapest.expected_polls(step) for step, count in load.singles())

    @property
    def least_life(self) -> float:
        """Requests that one more job must take."""
        if self.load.strict:
            return Frequent(self.load).life
        return 1.0 + self.at(self.dearest).expected_polls(0) + self.load.result

    def needs(self, price: int, free: float, span: float = math.inf) -> float:
        """Return how many requests the jobs need at a price, within a span."""
        load, schedule = self.load, self.at(price)
        if span == math.inf:
            polls = sum(count * schedule.expected_polls(step) for step, count in load.singles())
        else:
            polls = sum(count * schedule.polls_within(step, span) for step, count in load.singles())
        if not load.queued:
            return polls
        launches = load.launches(load.curve.remaining(0) + schedule.lateness)
        if load.slots == math.inf:
            # What does not fit at any price is not launched.
            launches = min(launches, max(0.0, free - self.least) / self.least_life)
        return polls + launches * (1.0 + schedule.expected_polls(0) + load.result)
