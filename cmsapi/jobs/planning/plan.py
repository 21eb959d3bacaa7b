"""Choose the price of a request, so that all polls fit into what the limits leave.

The price is at its floor while all jobs, polled as the service advises, fit into what is left of the hour. Otherwise it
is the lowest at which they fit. It is the same for a poll, for a page of a list and for an early read of a result.

What is left is what the hour admits, less what is owed: a launch for each job that will be launched, a request to read
each result, and what the last jobs may need (`exploration`). Requests that come back later count only towards polls
that come after they are back. Jobs that run beyond the hour count by their rate.

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
from cmsapi.jobs.planning.durations import AGES, Curve
from cmsapi.jobs.planning.schedule import HOUR, PRICES, Schedule, advised, price_at, solve

# A job that needs fewer polls than this cannot be made cheaper: its end has to be seen once.
_FEWEST_POLLS = 1.03
# This share of jobs is nearly all of them.
_NEARLY_ALL = 0.97
# Before any end was seen, jobs whose polls cannot become rarer may take five times what is expected.
_STRICT_DOUBT = 4.0

#: Tells how many requests come back within a span of seconds.
Returning: TypeAlias = Callable[[float], float]
#: Tells how many requests the pages of lists take at a price; None is its floor.
Reads: TypeAlias = Callable[[float | None], float]


@attrs.frozen(kw_only=True)
class Load:
    """Describe the jobs of one kind that are treated alike.

    Args:
        curve: How long they take.
        policy: How often they may be polled.
        running: How many run and are polled one by one, by the step of their last poll.
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
    def advised(self) -> Schedule:
        """The schedule that the policy asks for."""
        return advised(self.curve, self.policy.min_interval, self.policy.max_interval)

    @functools.cached_property
    def dearest(self) -> int:
        """The place of the price from which on polls do not become fewer."""

        def enough(place: int) -> bool:
            return self._priced(place).polls(0) <= _FEWEST_POLLS

        return 0 if self.strict else bisect.bisect_left(range(PRICES - 1), True, key=enough)

    @property
    def horizon(self) -> float:
        """Seconds until nearly all of the jobs are finished, those that are launched now among them."""
        steps = {*self.running, *self.paged, *([0] if self.queued else [])}
        return max((self.curve.quantile(_NEARLY_ALL, step) - AGES[step] for step in steps), default=0.0)

    @property
    def least_life(self) -> float:
        """Requests that one more job must take, from its launch to its result."""
        return self.life(self.at(self.dearest)) * self._doubt

    @property
    def least(self) -> float:
        """Polls that the running jobs must take."""
        return self.polls(self.at(self.dearest)) * self._doubt

    @property
    def _doubt(self) -> float:
        return 1.0 + _STRICT_DOUBT / (1.0 + self.learned) if self.strict else 1.0

    def at(self, place: int | None) -> Schedule:
        """Return the schedule at the place of a price: at None the advised one, then the dearer the rarer.

        While more jobs wait to be launched, no price is higher than makes sense.
        """
        if place is None or self.strict:
            return self.advised
        return self._priced(min(place, self.dearest) if self.queued else place)

    def _priced(self, place: int) -> Schedule:
        return solve(self.curve, price_at(place), self.policy.min_interval)

    def life(self, schedule: Schedule) -> float:
        """Return the requests that one more job is expected to take, from its launch to its result."""
        return 1.0 + schedule.polls(0) + self.result

    def polls(self, schedule: Schedule, span: float = HOUR) -> float:
        """Return how many polls the running jobs need by a schedule within a span of seconds."""
        return sum(count * schedule.polls(step, span) for step, count in self.running.items())

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
        return launches * self.life(schedule)


def spare(loads: Collection[Load], free: float) -> float:
    """Return how many requests are left when every running job takes no more than it must."""
    return _left(loads, free) - sum(load.least for load in loads)


def extra(loads: Collection[Load], free: float, kept: float = 0.0) -> float:
    """Return how many requests are left when every job takes its launch, one poll and its result."""
    room = spare(loads, free)
    left = room + sum(load.least - sum(load.running.values()) for load in loads)
    for load in loads:
        launches = min(load.queued, load.slots, max(0.0, (room - kept) / load.least_life)) if load.queued else 0.0
        left -= launches * (2.0 + load.result)
    return max(0.0, left)


@attrs.frozen
class Plan:
    """Say how often jobs are polled.

    Args:
        price: What a request costs, in seconds of lateness; None while there are requests to spare.
        schedules: The schedule of each load.
    """

    price: float | None
    schedules: Sequence[Schedule]


def plan(
    loads: Sequence[Load],
    free: float,
    returning: Returning = lambda span: 0.0,
    kept: float = 0.0,
    reads: Reads = lambda price: 0.0,
) -> Plan:
    """Decide how often to poll.

    Args:
        loads: The loads.
        free: Requests that the hour admits now for new work.
        returning: Tells which come back later.
        kept: Requests to leave to the last jobs.
        reads: Tells how many requests the pages of lists take.
    """
    left = _left(loads, free) - kept
    unused = spare(loads, free) if any(load.queued for load in loads) else 0.0
    coming = returning(max((load.horizon for load in loads), default=0.0))
    first_return = bisect.bisect_left(range(int(HOUR)), True, key=lambda span: returning(span) > 0)

    def needs(place: int | None, span: float = HOUR) -> float:
        expected = reads(None if place is None else price_at(place))
        for load in loads:
            schedule = load.at(place)
            expected += load.launches(schedule, unused) + load.polls(schedule, span)
        return expected

    def fits(place: int | None) -> bool:
        return needs(place) <= left + coming and (not coming or needs(place, first_return) <= left)

    if fits(None):
        return Plan(None, [load.advised for load in loads])
    dearest = max((load.dearest if load.queued or load.strict else PRICES - 1 for load in loads), default=0)
    place = bisect.bisect_left(range(dearest), True, key=fits)
    return Plan(price_at(place), [load.at(place) for load in loads])


def _left(loads: Collection[Load], free: float) -> float:
    """Return how many requests are left for polls and launches; the results of running jobs are paid for."""
    return free - sum(load.count * load.result for load in loads)
