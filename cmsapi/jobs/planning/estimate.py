"""Estimate what jobs take that run, and those that are launched after them: requests, and the time of the last end.

A job is seen to have ended by the first poll after its end. So a fan-out is over when, for each job, a poll has come
after its end; the chance of that grows with each poll of the plan by what the durations say.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence

import attrs

from cmsapi.jobs.kinds.kind import Kind
from cmsapi.jobs.planning.durations import AGES, NEVER, Curve, step_before
from cmsapi.jobs.planning.poll_budget import Load, Pace, Returning
from cmsapi.jobs.planning.poll_interval import GROUPS, HOUR, AdvisedSchedule, Schedule

#: A fan-out without `in_flight` has at most so many jobs at a time.
MOST_IN_FLIGHT = 1000
# Nine of ten runs end within a range: the share of runs that end before it, and of those that end before its end.
_EARLY, _LATE = 0.05, 0.95
# A duration of which one end is known may be off by so many times itself, and a number of polls likewise.
_DOUBT, _DOUBT_OF_POLLS = 5.0, 2.5
# Before anything was learned, durations are known as well as from so many jobs: few, because a belief is no evidence.
_PRIOR = 5.0
# Durations of jobs deviate from their mean by about this share of it.
_DEVIATION = 0.8
# Above this share of the requests that are left, polls may become rarer than planned. Each job then takes so many
# requests at the least after its launch: alone, and where one request for a list shows many jobs.
_AMPLE = 0.5
_FEWEST, _FEWEST_WITH_LISTS = 1.0, 0.5
# A page of a list is read again when its jobs are older by up to twice this share of their age.
_LATE_WITH_LISTS = 0.3
# Queued jobs are reckoned with in so many parts, and polls of a job that are nearer than this share of its age are one.
_PARTS, _RESOLUTION = 16, 0.03
# A chance may be off by this share of itself, and no logarithm is taken of less than that.
_NEGLIGIBLE, _NOTHING = 0.02, 1e-9


@attrs.frozen
class Unseen:
    """Describe jobs whose ends were not seen yet, and that are polled at the same times.

    Args:
        count: How many there are.
        step: Step of the age at which they were last seen running.
        due: Seconds until their next poll.
        age: Their age at that poll.
        group: Their group among the jobs of their load.
        alone: Whether each of them takes polls of its own.
    """

    count: float
    step: int
    due: float
    age: float
    group: int
    alone: bool = True

    def at_once(self) -> Unseen:
        """Return the same jobs with their next poll as early as it makes sense: now, or at their launch."""
        sooner = min(self.due, self.age - AGES[self.step])
        return attrs.evolve(self, due=self.due - sooner, age=self.age - sooner)


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
        requests_left: Requests that there are for jobs that are launched; infinity without a limit.
        fits: Whether all launches fit into these.
        in_flight: The most jobs that run at a time.
        lateness: Seconds between an end and the poll that sees it, on average.
        learned: How many ends the durations rest on.
        running: Jobs of all loads that run.
        waiting: Jobs of all loads that other fan-outs have still to launch.
    """

    requests: float
    requests_range: tuple[float, float]
    polls_per_job: float
    results: float
    seconds: float
    seconds_range: tuple[float, float]
    requests_left: float
    fits: bool
    in_flight: int
    lateness: float
    learned: float
    running: int
    waiting: int


@attrs.frozen(kw_only=True)
class Launches:
    """Say when the queued jobs of a load are launched.

    Args:
        life: Requests that each of them takes.
        reading: Requests that go first.
        free: Requests that are left for all that.
        returning: Tells which come back later.
        per_second: Requests that one second admits.
        slots: How many may run at a time.
        occupied: Seconds until a slot is free, on average.
        turnaround: Seconds for which a job has a slot.
    """

    life: float
    reading: float
    free: float
    returning: Returning
    per_second: float
    slots: float
    occupied: float
    turnaround: float

    def at(self, number: float) -> float:
        """Return in how many seconds so many of them have been launched."""
        needed, hourly = self.reading + number * self.life, self.free + self.returning(HOUR)
        wait = number / self.per_second
        if needed > self.free:
            # Those that fit into whole hours wait for these, the rest until enough requests have come back.
            hours, rest = divmod(needed, hourly) if hourly > 0.0 else (0.0, math.inf)
            wait = HOUR * hours + bisect.bisect_left(range(int(HOUR)), rest - self.free, key=self.returning)
            wait += rest / self.life / self.per_second if hours else 0.0
        if number > self.slots:
            wait = max(wait, (number - self.slots) / self.slots * self.turnaround)
        return wait + (self.occupied if self.slots < math.inf else 0.0)

    def unseen(self, first: int, count: int, pace: Pace) -> list[Unseen]:
        """Return the jobs from a number on, as they will be when they are polled for the first time."""
        found, parts = list[Unseen](), min(count, _PARTS)
        for part in range(parts):
            group = part % GROUPS
            age = pace.interval(0, group)
            launched = self.at(first + count * (part + 0.5) / parts)
            found.append(Unseen(count / parts, 0, launched + age, age, group))
        return found


def estimate(
    kind: Kind,
    pace: Pace,
    spare: float,
    returning: Returning,
    *,
    unseen: Sequence[Unseen],
    ahead: int,
    earlier: int,
    per_second: float,
    lists: bool = False,
    running: int = 0,
    waiting: int = 0,
) -> Estimate:
    """Estimate what the queued jobs of a load take, and jobs of the same fan-out that run.

    Args:
        kind: Their kind.
        pace: How many are queued, and how all of them are polled.
        spare: Requests that the jobs that run leave.
        returning: Tells which come back later.
        unseen: The jobs of the same fan-out that run.
        ahead: Queued jobs that other fan-outs launch.
        earlier: Results of an earlier run to read again.
        per_second: Requests that one second admits.
        lists: Whether one request for a list may show many of the jobs.
        running: Jobs of all loads that run.
        waiting: Jobs of all loads that other fan-outs have still to launch.
    """
    load, curve = pace.load, pace.load.curve
    count, free = load.queued - ahead, max(0.0, spare)
    polls_per_job = _polls(pace, 0)
    life, reading = 1.0 + polls_per_job + load.result, earlier * (1.0 + load.result)
    # How far the sum of all polls may be off: by the chance of so many jobs, and by what is known of their durations.
    chance = math.sqrt(_DEVIATION**2 / max(1, count) + _DOUBT_OF_POLLS**2 / (1.0 + load.learned))
    requests, needed = count * life + reading, load.queued * life + reading
    hourly = free + returning(HOUR)
    fewest = max(_FEWEST, polls_per_job * (1.0 - chance)) + load.result
    rare = requests > _AMPLE * free
    if rare:
        # A service that refuses to show results early lets reading a result stand for a poll.
        fewest = _FEWEST_WITH_LISTS if lists else _FEWEST
        fewest += 0.0 if kind.reads_results_early else load.result
    advised = _as_advised(load)
    hours = needed // hourly if hourly > 0.0 else 0.0
    most = max(requests, free if needed <= free else (hours + 2.0) * hourly) - reading
    most = min(count * (2.0 + _polls(advised, 0) * (1.0 + chance) + load.result), most)
    launches = Launches(
        life=life,
        reading=reading,
        free=free,
        returning=returning,
        per_second=per_second,
        slots=load.slots,
        # While jobs fill all slots, the first of those that wait are launched as these end.
        occupied=sum(each.count * curve.remaining(each.step) for each in unseen) / load.slots,
        turnaround=max(1.0, curve.remaining(0) + pace.dearer.lateness),
    )
    lives = (1.0 + fewest, life, most / count) if count else ()
    waits = [attrs.evolve(launches, life=each).at(load.queued) for each in lives] or [0.0] * 3
    jobs = [*unseen, *launches.unseen(ahead, count, pace)]
    polls = sum(each.count * (each.alone * _polls(pace, each.step) + load.result) for each in unseen)
    seconds, (early, late) = _time_left(jobs, pace, waits)
    late += max(0.0, late - waits[-1]) * _LATE_WITH_LISTS if rare and lists else 0.0
    in_flight = min(count, load.slots, MOST_IN_FLIGHT, max(1.0, free / load.least_life))
    return Estimate(
        requests=requests + polls,
        requests_range=(count * (1.0 + fewest) + reading, most + reading),
        polls_per_job=polls_per_job,
        results=load.result,
        seconds=seconds,
        seconds_range=(early, late),
        requests_left=max(0.0, spare),
        fits=needed <= free,
        in_flight=int(min(math.ceil(in_flight), per_second * launches.turnaround)),
        lateness=pace.dearer.lateness,
        learned=load.learned,
        running=running,
        waiting=waiting,
    )


def _as_advised(load: Load) -> Pace:
    """Return the pace of jobs that are polled as often as the service advises."""
    return Pace(load, load.advised, load.advised, 0.0)


def _polls(pace: Pace, step: int) -> float:
    """Return the polls that a job that ran at a step is expected to take; a plan is more cautious."""

    def expected(schedule: Schedule) -> float:
        polls = schedule.polls(step)
        return 1.0 + (polls - 1.0) / schedule.caution if isinstance(schedule, AdvisedSchedule) else polls

    return pace.share * expected(pace.cheaper) + (1.0 - pace.share) * expected(pace.dearer)


def _time_left(unseen: Sequence[Unseen], pace: Pace, waits: Sequence[float]) -> tuple[float, tuple[float, float]]:
    """Return the seconds until about the last end is seen, and their range.

    Args:
        unseen: The jobs, those that are still queued among them.
        pace: How they are polled.
        waits: Seconds until the last launch: the fewest, those that the queued jobs are described with, and the most.
    """
    if not unseen:
        return 0.0, (0.0, 0.0)
    shortest, wait, longest = waits
    # When others need fewer polls than they might, the last jobs are polled as often as the service advises.
    early, *_ = last_end([each.at_once() for each in unseen], _as_advised(pace.load), [_EARLY])
    seconds, late = last_end(unseen, pace, [0.5, _LATE])
    doubt = 1.0 + _DOUBT / math.sqrt(1.0 + pace.load.learned)
    return seconds, (
        min(shortest, early) + max(0.0, early - wait) / doubt,
        max(longest, min(wait, late)) + max(0.0, late - wait) * doubt,
    )


def last_end(unseen: Sequence[Unseen], pace: Pace, shares: Sequence[float]) -> list[float]:
    """Return in how many seconds the last end is seen, in each of some ascending shares of the cases.

    All ends are seen when each job has ended before its latest poll. What is not known of the durations concerns all
    jobs alike: when one of them has ended early, the others are likelier to. So they count as fewer jobs, the more
    there are of them for each one that the durations were learned from.

    Args:
        unseen: The jobs; there is one at the least.
        pace: How they are polled.
        shares: The shares.
    """
    curve, jobs = pace.load.curve, sum(each.count for each in unseen)
    known = sum(each.count * curve.running(each.step) for each in unseen) / jobs
    alike = max(_NOTHING, known * (_PRIOR + pace.load.learned)) / jobs
    wanted = [math.log(share) / (alike * math.log1p(1.0 / alike)) for share in shares]
    interval, negligible = functools.cache(pace.interval), -_NEGLIGIBLE * wanted[-1] / jobs
    gains = sorted(itertools.chain.from_iterable(_gains(each, curve, interval, negligible) for each in unseen))
    found, chance, due = list[float](), jobs * math.log(_NOTHING), 0.0
    for due, gain in gains:
        chance += gain
        while len(found) < len(wanted) and chance >= wanted[len(found)]:
            found.append(due)
    return found + [due] * (len(wanted) - len(found))


def _gains(
    unseen: Unseen, curve: Curve, interval: Callable[[int, int], float], negligible: float
) -> Iterator[tuple[float, float]]:
    """Give the times of polls, and by how much each adds to the logarithm of the chance that all ends are seen.

    Args:
        unseen: The jobs that are polled.
        curve: How long they take.
        interval: Says how many seconds after a poll at a step the next one comes, for a group.
        negligible: The share of jobs that may still run after the last poll.
    """
    due, age, before = unseen.due, unseen.age, math.log(_NOTHING)
    share = 1.0 / max(curve.running(unseen.step), _NOTHING)
    while True:
        at = step_before(age)
        after = min(at + 1, NEVER - 1)
        part = (age - AGES[at]) / (AGES[after] - AGES[at]) if after > at else 0.0
        running = share * (1.0 - curve.ended[at] - part * (curve.ended[after] - curve.ended[at]))
        ended = max(before, math.log(max(1.0 - running, _NOTHING)))
        yield due, unseen.count * (ended - before)
        if running < negligible or after == at:
            return
        before = ended
        wait = max(interval(at if AGES[at] >= age else after, unseen.group), _RESOLUTION * age)
        due, age = due + wait, age + wait
