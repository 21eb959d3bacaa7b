"""Run a fan-out forward: what the jobs take that run, and those that are launched after them.

The first poll after the end of a job shows it. So launches and polls are run forward, once for each distribution of
durations that the observations allow: that gives the requests, and the chance that all ends are seen by a time.

A distribution is a life table that begins with a shape: a lognormal distribution, or two of them one after the other.
Before an end was seen the shapes lie as far apart as durations of unknown jobs do; each end moves them together.
"""

from __future__ import annotations

import functools
import itertools
import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence

import attrs

from cmsapi.jobs.planning.budget import PLAN
from cmsapi.jobs.planning.durations import AGES, NEVER, Curve, Observed, Row, step_before
from cmsapi.jobs.planning.schedule import HOUR, Schedule

#: The most jobs at a time of a fan-out without `in_flight`.
MOST_IN_FLIGHT = 1000
# Spreads of the logarithm that are thought of; and of two sorts each spread, and how far they are apart.
_SPREADS, _TWO_SORTS = (0.05, 0.1, 0.2, 0.3, 0.45, 0.65, 1.0), (0.2, 0.4, 2.7)
# How far the logarithm of the median lies from its guess, before anything was observed.
_GUESS_SPREAD = 1.2
# Jobs of one fan-out are alike: many tell as much as three times the square root of their number.
_TELLS = 3.0
# The chance that the jobs have ended at the begin of a range, if they end together, and at its end, if one by one.
_SOON, _LATE = 0.25, 0.95
# How fine it is reckoned: distributions, and parts of the queued jobs.
_CURVES, _PARTS = 12, 4
# The times that a forecast chooses from, in seconds: even at first, then in steps of 2 %.
_TIMES = tuple(5.0 * (1.02**place - 1.0) for place in range(700))
_STEP = math.log(AGES[2] / AGES[1])
_NOTHING = 1e-9


@attrs.frozen
class Jobs:
    """Describe jobs that are polled at the same times.

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

    def over(self, curve: Curve, time: float, intervals: Sequence[float] | None = None) -> float:
        """Return the chance that one of them has ended by a time; with the intervals of polls, that these show it."""
        age = self.age - self.due + time
        if intervals is not None:
            # Polls come within the second of a plan; after the next one, ends are seen half an interval late.
            age -= PLAN
            age = max(self.age, age - intervals[step_before(age)] / 2.0) if age >= self.age else 0.0
        running = curve.running(self.step)
        return max(0.0, curve.at(age)[0] - curve.ended[self.step]) / running if running > _NOTHING else 1.0


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


@attrs.frozen(kw_only=True)
class Rest:
    """Describe what is left of a fan-out to do.

    Args:
        schedule: How often its jobs are polled, by what is believed of their durations.
        admits: Tells how many requests may be sent for them within a span of seconds, an hour at the most.
        running: Its jobs that run.
        queued: How many jobs it has still to launch.
        ahead: Queued jobs that others launch before them.
        slots: How many may run at a time.
        per_second: Requests that one second admits.
        results: Requests that reading a result takes.
        earlier: Results of an earlier run to read again.
        lists: Whether one request for a list may show many of the jobs.
    """

    schedule: Schedule
    admits: Callable[[float], float]
    running: Sequence[Jobs] = ()
    queued: int = 0
    ahead: int = 0
    slots: float = math.inf
    per_second: float = math.inf
    results: float = 0.0
    earlier: int = 0
    lists: bool = False

    def forecast(self, curves: Mapping[Curve, float]) -> Estimate:
        """Estimate what it takes.

        Args:
            curves: Possible distributions of the durations, each with its weight.
        """
        believed, runs = self.schedule.curve, {curve: self._run(curve) for curve in curves}

        def together(curve: Curve, time: float) -> float:
            return min(each.over(curve, time) for each in runs[curve][0])

        def one_by_one(curve: Curve, time: float) -> float:
            jobs, intervals = runs[curve][0], self.schedule.intervals
            return math.prod([math.pow(each.over(curve, time, intervals), each.count) for each in jobs])

        def quantile(share: float, over: Callable[[Curve, float], float]) -> float:
            def chance(time: float) -> float:
                return sum(weight * over(curve, time) for curve, weight in curves.items())

            return _TIMES[bisect_left(_TIMES[:-1], share, key=chance)] if self.running or self.queued else 0.0

        polls, free = _polls(self.schedule, believed), self.admits(0.0)
        requests = self._begun(polls) + self.queued * (1.0 + polls(0) + self.results)
        possible = [requests, *(requests for _, requests in runs.values())]
        if self.lists:
            possible.append(self.queued * (1.0 + self.results))
        in_flight = min(self.queued, self.slots, MOST_IN_FLIGHT, max(1.0, free / (2.0 + self.results)))
        turnaround = max(1.0, believed.remaining(0) + self.schedule.lateness)
        each = 1.0 + self.schedule.polls(0) + self.results
        return Estimate(
            requests=requests,
            requests_range=(min(possible), max(possible)),
            polls_per_job=polls(0),
            results=self.results,
            seconds=quantile(0.5, one_by_one),
            seconds_range=(quantile(_SOON, together), quantile(_LATE, one_by_one)),
            fits=self.earlier * (1.0 + self.results) + (self.queued + self.ahead) * each <= free,
            in_flight=int(min(math.ceil(in_flight), self.per_second * turnaround)),
            lateness=self.schedule.lateness,
        )

    def _run(self, curve: Curve) -> tuple[Sequence[Jobs], float]:
        """Return all jobs and the requests that they take if durations follow a curve."""
        polls, launches = _polls(self.schedule, curve), self.queued + self.ahead
        begun, fixed = self._begun(polls), self._begun(lambda step: 1.0) + launches * (1.0 + self.results)
        # Polls become rarer where the requests of whole hours do not suffice; each end takes one all the same.
        free, hourly = self._by_minute[0], self._by_minute[-1]
        room = hourly * ((fixed + launches) // hourly + 1.0) if hourly and fixed + launches > free else free
        each = 1.0 + min(polls(0), max(0.0, room - fixed) / max(1, launches)) + self.results
        turnaround, interval = max(1.0, curve.remaining(0)), self.schedule.intervals[0]
        occupied = sum(jobs.count * curve.remaining(jobs.step) for jobs in self.running) / self.slots
        jobs = [*self.running]
        for part in range(_PARTS if self.queued else 0):
            number = (part + 0.5) / _PARTS * self.queued + self.ahead
            admitted = max(number / self.per_second, self._wait(begun + number * each))
            begins = max(admitted, occupied + max(0.0, number - self.slots) / self.slots * turnaround)
            jobs.append(Jobs(self.queued / _PARTS, 0, begins + interval, interval))
        return jobs, begun + self.queued * each

    def _begun(self, polls: Callable[[int], float]) -> float:
        """Return the requests of what is launched already."""
        reading = self.earlier * (1.0 + self.results) + self.results * sum(jobs.count for jobs in self.running)
        return reading + sum(jobs.count * polls(jobs.step) for jobs in self.running if jobs.alone)

    @functools.cached_property
    def _by_minute(self) -> Sequence[float]:
        return [self.admits(60.0 * minute) for minute in range(61)]

    def _wait(self, number: float) -> float:
        """Return in how many seconds a number of requests is admitted; infinity if the limit admits none."""
        free, hourly = self._by_minute[0], self._by_minute[-1]
        if number <= free or not hourly:
            return 0.0 if number <= free else math.inf
        # Those that fit into whole hours wait for these, the rest until enough requests have come back.
        hours, rest = divmod(number, hourly)
        return HOUR * hours + 60.0 * bisect_left(self._by_minute, rest)


def _polls(schedule: Schedule, curve: Curve) -> Callable[[int], float]:
    """Tell how many polls a job takes that was last seen running at a step, if durations follow a curve."""
    needed = [0.0] * NEVER
    for step in range(NEVER - 2, -1, -1):
        interval = max(schedule.intervals[step], _NOTHING)
        after = max(step + 1, min(step_before(AGES[step] + interval), NEVER - 1))
        needed[step] = (AGES[after] - AGES[step]) / interval * curve.running(step) + needed[after]
    return lambda step: max(1.0, needed[step] / max(curve.running(step), _NOTHING))


def possible_curves(guess: float, observed: Observed) -> Mapping[Curve, float]:
    """Return possible distributions of durations, each with its weight.

    Args:
        guess: Median in seconds that is expected before anything was observed.
        observed: What was observed.
    """
    told = defaultdict[tuple[int, int], float](float)
    for (before, now), jobs in observed.ends.items():
        told[before, now] += jobs
        told[before, NEVER] -= jobs
    for step, (jobs, later) in enumerate(itertools.pairwise([*observed.beyond, 0.0]), 1):
        told[step, NEVER] += jobs - later
    tells = _TELLS / math.sqrt(max(1.0, sum(told.values())))
    shapes, middle = _shapes(), math.log(guess / AGES[1]) / _STEP + 1.0
    likely = [-(((location - middle) * _STEP / _GUESS_SPREAD) ** 2) / 2.0 for location, _ in shapes]
    for steps, jobs in told.items():
        if jobs > _NOTHING:
            likely = [each + tells * jobs * chance for each, chance in zip(likely, _chances(*steps), strict=True)]
    best = max(likely)
    sums = [*itertools.accumulate(math.exp(each - best) for each in likely)]
    picked = Counter(bisect_left(sums, (number + 0.5) / _CURVES * sums[-1]) for number in range(_CURVES))
    return {_life_table(shapes[place][1], observed): number / _CURVES for place, number in picked.items()}


@functools.cache
def _shapes() -> Sequence[tuple[int, Row]]:
    """Return the step of the median of each shape, and the share of jobs that are over at each step; shortest first."""

    def lognormal(location: int, spread: float, apart: float = 0.0) -> Row:
        logarithms = ((step - location) * _STEP - apart for step in range(1, NEVER))
        return [0.0, *(0.5 * math.erfc(-each / spread / math.sqrt(2.0)) for each in logarithms)]

    shapes, (early, late, apart) = list[tuple[int, Row]](), _TWO_SORTS
    for location in range(-4, NEVER, 2):
        shapes += [(location, lognormal(location, spread)) for spread in _SPREADS]
        both = zip(lognormal(location, early), lognormal(location, late, apart), strict=True)
        shapes.append((location, [sum(each) / 2.0 for each in both]))
    return sorted(shapes, key=lambda shape: bisect_left(shape[1], 0.9))


@functools.lru_cache(maxsize=2048)
def _chances(before: int, now: int) -> Sequence[float]:
    """Return for each shape the logarithm of the chance that a job ends between two steps."""
    ending = ((1.0 if now == NEVER else over[now]) - over[before] for _, over in _shapes())
    return [math.log(max(_NOTHING, chance)) for chance in ending]


def _life_table(over: Row, observed: Observed) -> Curve:
    """Return the curve of a life table that begins with a shape, which weighs as much as one job at each age."""
    ended, exposed = [0.0] * NEVER, list(observed.beyond)
    for (before, now), jobs in observed.ends.items():
        # An end that this shape rules out may lie anywhere between its two steps.
        shares = [later - share + _NOTHING for share, later in itertools.pairwise(over[before : now + 1])]
        left = float(jobs)
        for step, share in enumerate(shares, before):
            exposed[step] += left
            ended[step] += jobs * share / sum(shares)
            left -= jobs * share / sum(shares)
    running, table = 1.0, [0.0]
    for (was_over, is_over), seen, exposure in zip(itertools.pairwise(over), ended, exposed, strict=False):
        hazard = (is_over - was_over) / (1.0 - was_over) if was_over < 1.0 else 1.0
        running *= 1.0 - min(1.0, (hazard + seen) / (1.0 + exposure))
        table.append(1.0 - running)
    return Curve.of(table)
