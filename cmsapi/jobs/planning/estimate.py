"""Run a fan-out forward: what the jobs take that run, and those that are launched after them.

A job is seen to have ended by the first poll after its end. So the schedule of polls is run forward for the jobs that
run and those that are still to be launched, once for each curve that the observations allow: that gives the chance
that all ends are seen by a time, and the number of requests. The forecast is the median over the curves, the range
what nine of ten cases lie in.
"""

from __future__ import annotations

import functools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import TypeAlias

import attrs

from cmsapi.jobs.planning.durations import AGES, NEVER, Curve, step_before
from cmsapi.jobs.planning.schedule import HOUR

#: The most jobs at a time of a fan-out without `in_flight`.
MOST_IN_FLIGHT = 1000
# Nine of ten runs end within a range.
_EARLY, _LATE = 0.005, 0.97
# Where one request for a list shows many jobs, each takes half a poll at the least.
_FEWEST_WITH_LISTS = 0.5
# Queued jobs are reckoned with in eight parts, times and ages in steps that grow by 4 %.
_PARTS, _RESOLUTION = 8, 0.04
_NOTHING = 1e-9
# The last place of the scale of times.
_LONGEST = round(math.log(1e6) / _RESOLUTION)
# Seconds until the next plan changes the polls, and those that a poll is late at the most.
_PLAN, _SLACK = 1.0, 3.0

#: Says how many seconds after a poll at an age the next one comes.
Interval: TypeAlias = Callable[[float], float]


@attrs.frozen
class Unseen:
    """Describe jobs whose ends were not seen yet, and that are polled at the same times.

    Args:
        count: How many there are.
        step: Step of the age at which they were last seen running.
        due: Seconds until their next poll.
        age: Their age at that poll.
        alone: Whether each of them takes polls of its own.
    """

    count: float
    step: int
    due: float
    age: float
    alone: bool = True


@attrs.frozen(kw_only=True)
class Room:
    """Say when requests may be sent.

    Args:
        free: Requests that are left now.
        returning: Tells how many come back within a span of seconds.
        per_second: Requests that one second admits.
    """

    free: float
    returning: Callable[[float], float] = lambda span: 0.0
    per_second: float = math.inf

    @functools.cached_property
    def _by_minute(self) -> Sequence[float]:
        return [self.free + self.returning(60.0 * minute) for minute in range(61)]

    def within(self, span: float) -> float:
        """Return how many requests a span of seconds admits."""
        hours, rest = divmod(span, HOUR)
        return (hours * self._by_minute[-1] if hours else 0.0) + self._by_minute[int(rest / 60.0)]

    def whole_hours(self, number: float) -> float:
        """Return how many requests are sent in the whole hours that a number of them takes."""
        hourly = self._by_minute[-1]
        return self.free if number <= self.free or hourly <= 0.0 else (number // hourly + 1.0) * hourly

    def at(self, number: float) -> float:
        """Return in how many seconds the hour has admitted a number of requests; infinity if the limit admits none."""
        if number <= self.free:
            return 0.0
        hourly = self._by_minute[-1]
        if hourly <= 0.0:
            return math.inf
        # Those that fit into whole hours wait for these, the rest until enough requests have come back.
        hours, rest = divmod(number, hourly)
        return HOUR * hours + 60.0 * bisect_left(self._by_minute, rest)


@attrs.frozen(kw_only=True)
class Estimate:
    """Say what jobs of one load take that run or wait to be launched.

    Args:
        requests: Requests that launches, polls and results take.
        requests_range: The fewest and the most requests that are expected.
        polls_per_job: Polls of each job that is launched, on average.
        results: Requests that read the result of each of them.
        seconds: Seconds until about the last end is seen.
        seconds_range: The fewest and the most seconds that are expected.
        fits: Whether all launches fit into what is left of the hour.
        in_flight: The most jobs that run at a time.
        lateness: Seconds between an end and the poll that sees it, on average.
    """

    requests: float
    requests_range: tuple[float, float]
    polls_per_job: float
    results: float
    seconds: float
    seconds_range: tuple[float, float]
    fits: bool
    in_flight: int
    lateness: float


def estimate(
    believed: Curve,
    curves: Sequence[Curve],
    interval: Interval,
    room: Room,
    *,
    queued: int = 0,
    ahead: int = 0,
    unseen: Sequence[Unseen] = (),
    slots: float = math.inf,
    results: float = 0.0,
    earlier: int = 0,
    lists: bool = False,
) -> Estimate:
    """Estimate what the queued jobs of a fan-out take, and those of its jobs that run.

    Args:
        believed: The distribution of their durations that polls are planned by.
        curves: Equally likely distributions of their durations.
        interval: How often they are polled.
        room: The requests that there are for jobs that are launched.
        queued: How many jobs the fan-out has still to launch.
        ahead: Queued jobs that others launch before them.
        unseen: Its jobs that run.
        slots: How many may run at a time.
        results: Requests that reading a result takes.
        earlier: Results of an earlier run to read again.
        lists: Whether one request for a list may show many of the jobs.
    """
    schedule = _Schedule(interval)
    lives = [schedule.life(curve) for curve in curves]
    reading = earlier * (1.0 + results)
    running, alone = sum(jobs.count for jobs in unseen), sum(jobs.count * jobs.alone for jobs in unseen)
    fixed = reading + (queued + ahead) * (1.0 + results) + running * results
    least = queued + ahead + alone

    def polls_of_running(life: _Life) -> float:
        return sum(jobs.count * jobs.alone * life.polls(jobs.step) for jobs in unseen)

    def needed(life: _Life) -> float:
        return (queued + ahead) * life.polls(0) + polls_of_running(life)

    # Polls become rarer where the requests do not suffice, by whole hours; each end takes one all the same.
    room_for_polls = max(least, room.whole_hours(fixed + least) - fixed)
    shares = [
        min(1.0, max(room_for_polls, room.within(life.curve.quantile(_LATE)) - fixed) / max(1.0, needed(life)))
        for life in lives
    ]
    polls = [share * life.polls(0) for share, life in zip(shares, lives, strict=True)]
    believed_life = schedule.life(believed)

    def requests_of(life: _Life, share: float) -> float:
        polled = queued * life.polls(0) + polls_of_running(life)
        return reading + queued * (1.0 + results) + running * results + share * polled

    requests = sorted(requests_of(life, share) for life, share in zip(lives, shares, strict=True))
    expected = requests_of(believed_life, 1.0)
    runs = []
    for curve, life, share, each in zip(curves, lives, shares, polls, strict=True):
        # Those that run go first.
        begun = reading + running * results + share * polls_of_running(life)
        turnaround = max(1.0, curve.remaining(0) + life.lateness)
        # While jobs fill all slots, the first of those that wait are launched as these end.
        occupied = sum(jobs.count * curve.remaining(jobs.step) for jobs in unseen) / slots
        launches = []
        for number in ((part + 0.5) / _PARTS * queued + ahead for part in range(_PARTS if queued else 0)):
            wait = max(number / room.per_second, room.at(begun + number * (1.0 + each + results)))
            launches.append(max(wait, occupied + max(0.0, number - slots) / slots * turnaround))
        runs.append(_Run(curve, launches))
    early, seconds, late = _last_end(runs, schedule, unseen, queued / _PARTS)
    fewest = queued * (1.0 + _FEWEST_WITH_LISTS + results) if lists else requests[0]
    turnaround = max(1.0, believed.remaining(0) + believed_life.lateness)
    in_flight = min(queued, slots, MOST_IN_FLIGHT, max(1.0, room.free / (2.0 + results)))
    return Estimate(
        requests=expected,
        requests_range=(min(fewest, expected), max(requests[-1], expected)),
        polls_per_job=believed_life.polls(0),
        results=results,
        seconds=seconds,
        seconds_range=(early, late),
        fits=reading + (queued + ahead) * (1.0 + believed_life.polls(0) + results) <= room.free,
        in_flight=int(min(math.ceil(in_flight), room.per_second * turnaround)),
        lateness=believed_life.lateness,
    )


class _Schedule:
    """Know the polls of jobs.

    Args:
        interval: How many seconds after a poll at an age the next one comes.
    """

    def __init__(self, interval: Interval) -> None:
        self.interval: Interval = functools.cache(lambda step: max(interval(AGES[step]), _NOTHING))
        #: For each step, a later one, and how many polls come from the one to the other.
        self.hops: list[tuple[int, float]] = []
        for step in range(NEVER - 1):
            wait = self.interval(step)
            after = max(step + 1, min(step_before(AGES[step] + wait), NEVER - 1))
            self.hops.append((after, (AGES[after] - AGES[step]) / wait))

    def life(self, curve: Curve) -> _Life:
        """Return what jobs take whose durations follow a curve."""
        needed, late = [0.0] * NEVER, [0.0] * NEVER
        for step in range(NEVER - 2, -1, -1):
            after, polls = self.hops[step]
            span = AGES[after] - AGES[step]
            needed[step] = polls * curve.running(step) + needed[after]
            unseen = curve.area[after] - curve.area[step] - curve.ended[step] * span
            late[step] = unseen / max(1.0, polls) + late[after]
        return _Life(curve, needed, late[0])


@attrs.frozen(eq=False)
class _Life:
    """Hold what jobs take: polls from each step on, weighted with the share that still runs, and the lateness."""

    curve: Curve
    needed: Sequence[float]
    lateness: float

    def polls(self, step: int) -> float:
        """Return how many polls a job takes that was last seen running at a step."""
        return max(1.0, self.needed[step] / max(self.curve.running(step), _NOTHING))


@attrs.frozen(eq=False)
class _Run:
    """Hold a curve, and in how many seconds the parts of the queued jobs are launched if durations follow it."""

    curve: Curve
    launches: Sequence[float]


class _Polls:
    """Give the polls of jobs alike, in their order.

    Args:
        due: When the first one comes.
        age: The age of the jobs then.
        schedule: Gives the others.
    """

    def __init__(self, due: float, age: float, schedule: _Schedule) -> None:
        self._times, self._ages, self._schedule = [due], [age], schedule

    def last(self, time: float) -> tuple[int, float] | None:
        """Return the age at the last poll by a time, as a step and a part of the next one; None before the first."""
        times, ages = self._times, self._ages
        while times[-1] <= time:
            age = ages[-1]
            wait = max(self._schedule.interval(step_before(age)), _RESOLUTION * age)
            times.append(times[-1] + wait)
            ages.append(age + wait)
        place = bisect_right(times, time) - 1
        return _position(ages[place]) if place >= 0 else None


def _position(age: float) -> tuple[int, float]:
    """Return the step before an age, and the part of the way to the next one."""
    step = step_before(age)
    after = min(step + 1, NEVER - 1)
    return step, (age - AGES[step]) / (AGES[after] - AGES[step]) if after > step and age > 0.0 else 0.0


def _last_end(
    runs: Sequence[_Run], schedule: _Schedule, unseen: Sequence[Unseen], launched: float
) -> tuple[float, float, float]:
    """Return early, about and late in how many seconds the last end is seen."""
    if not unseen and not launched:
        return 0.0, 0.0, 0.0
    first = schedule.interval(0)
    of_running = [_Polls(jobs.due, jobs.age, schedule) for jobs in unseen]
    of_launched = _Polls(first, first, schedule)

    @functools.cache
    def chance(place: int, seen: bool) -> float:
        """Return the chance that by a time all jobs have ended, and that polls have seen it."""
        time = _time(place)
        running = []
        for jobs, polls in zip(unseen, of_running, strict=True):
            last = polls.last(time) if seen else _position(jobs.age - jobs.due + time)
            if last is None:
                return 0.0
            running.append((jobs.count, jobs.step, *last))
        launched_ago = [
            [of_launched.last(time - wait) if seen else _position(time - wait) for wait in run.launches] for run in runs
        ]
        total = 0.0
        for run, positions in zip(runs, launched_ago, strict=True):
            if None not in positions:
                total += _all_over(run.curve.ended, [*running, *((launched, 0, *each) for each in positions if each)])
        return total / len(runs)

    def quantile(share: float, seen: bool = True) -> float:
        low, high = 0, 16
        while chance(high, seen) < share and high < _LONGEST:
            low, high = high, min(2 * high, _LONGEST)
        return _time(bisect_left(range(high), share, low, key=lambda place: chance(place, seen)))

    # What is observed meanwhile may bring polls forward.
    return quantile(_EARLY, seen=False), _PLAN + quantile(0.5), _SLACK + quantile(_LATE)


def _time(place: int) -> float:
    """Return the seconds that a place on a scale stands for that is even at first and then grows steadily."""
    return 5.0 * math.expm1(_RESOLUTION * place)


def _all_over(ended: Sequence[float], jobs: Sequence[tuple[float, int, int, float]]) -> float:
    """Return the chance that all jobs are over, each given by a number, the step it ran at, and its position now."""
    chance = 1.0
    for count, step, at, part in jobs:
        running = 1.0 - ended[step]
        if running > _NOTHING:
            over = ended[at] - ended[step]
            if at < NEVER - 1:
                over += part * (ended[at + 1] - ended[at])
            if over <= 0.0:
                return 0.0
            chance *= (over / running) ** count
            if chance < _NOTHING:
                return 0.0
    return chance
