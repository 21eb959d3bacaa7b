"""The schedule: when to poll, and whether to launch another job. No clock, I/O or randomness: times are passed in.

Each job needs one poll that finds it finished (a hit), and the requests that read its result. An item that is not yet
launched also needs the launch. As far as the hourly limit allows, these requests are reserved. The rest may be spent
on polls that find a job still running (misses). So the schedule only has to choose these polls:

* `Plan` chooses the ages at which to poll a job, for a given price of a miss. By dynamic programming on the life table,
  it minimizes the expected lateness (seconds from a job's end to its hit) plus the price of the expected misses.
* `Schedule.plan` chooses the lowest price at which the expected misses fit the free requests. All kinds have the same
  price. Only a part of the free requests may be spent before the jobs' ages have doubled; the rest is kept for jobs
  that take unexpectedly long.
* While little is known, some of the free requests go to early polls, from which the schedule learns. A hit is free, so
  early polls continue as long as they hit. The service's advised intervals are kept if the requests suffice.
"""

from __future__ import annotations

import bisect
import math
import operator
from collections import Counter, deque
from collections.abc import Callable, Hashable, Mapping
from typing import Generic, TypeVar

from attrs import define

from cmsapi.config import HOUR
from cmsapi.jobs.durations import AGES, LAST, Durations, step_of
from cmsapi.limits.limiter import Forecast

J = TypeVar("J", bound=Hashable)

_PRICE_RATIO = 1.25  # factor between two prices of a miss; the lowest price is one second of lateness
_PRICES = 50  # number of prices; the highest price is 15 hours of lateness
_STRIDE = 24  # steps of age that a plan looks ahead: up to ten times the age
_REACH = 76  # step up to which a plan looks ahead from any age: three quarters of an hour
_SOON = 0.65  # part of the free misses that may be spent before ages have doubled
_SOONER = (1.0, 0.25)
"""Fractions of the time until ages have doubled; by the end of each, polls spend only requests free by then."""
_EARLY = 0.35  # part of the free misses for early polls, spread over the logarithm of the age, while nothing is known
_ENOUGH = 50  # number of ends after which early polls get half of their part
_YOUNGEST = 8.0  # seconds of age from which early polls are made
_YOUNG = 100.0  # age in seconds up to which a few jobs are polled at the advised intervals, without a plan
MISSES = 0.1  # misses that are reserved per job before another job is launched
_RETURNS = 0.9  # part of the requests due to be free in time that a plan counts on; also a quantile of durations
_PATIENCE = 30.0  # minimum seconds ahead for which a plan counts the requests that become free
_PARTS = tuple(part / 20 for part in range(19, 0, -1))
"""Fractions of the jobs that may be polled at the next lower price, tried from the largest down."""
_GOLDEN = math.sqrt(5) / 2 - 0.5  # step between numbers of a sequence that fills the interval from 0 to 1 evenly
_LIKELY = 0.3  # probability of a miss below which a poll is made even if nothing is free: a hit is paid for anyway


class Plan:
    """Plan for one kind and one price of a miss: for each step of age, the age at which to poll a job next."""

    def __init__(self, model: Durations, price: float, shortest: float, longest: float = math.inf) -> None:
        self._model = model
        self.next_age: list[float] = [AGES[LAST] + min(HOUR, longest)] * (LAST + 1)
        alive, area, to_come = model.alive, model.area, [0.0] * (LAST + 1)
        for seen in range(LAST - 1, -1, -1):
            ran, before, age = alive[seen], area[seen], AGES[seen]
            least, choice = math.inf, seen + 1
            for at in range(seen + 1, min(LAST, max(seen + _STRIDE, _REACH)) + 1):
                late = area[at] - before - (1 - ran) * (AGES[at] - age)
                cost = (late + alive[at] * (price + to_come[at])) / ran
                if cost < least:
                    least, choice = cost, at
            to_come[seen], chosen = least, AGES[choice]
            if choice == seen + 1:  # within a step of the scale, ends are assumed to be equally likely
                hazard = max(1e-9, (1 - alive[choice] / ran) / (chosen - age))
                chosen = min(chosen, age + math.sqrt(2 * price / hazard))
            self.next_age[seen] = min(max(chosen, age + shortest), age + longest)

    def polls(self, seen: int, horizon: float) -> float:
        """Return the expected number of polls in ``horizon`` seconds, for a job last seen running at step ``seen``."""
        count, alive, end = 0.0, 1.0, AGES[seen] + horizon
        while seen < LAST:
            then = min(LAST, max(seen + 1, step_of(self.next_age[seen])))
            several = max(1.0, (AGES[then] - AGES[seen]) / (self.next_age[seen] - AGES[seen]))
            if AGES[then] >= end:
                return count + alive * several * max(0.0, (end - AGES[seen]) / (AGES[then] - AGES[seen]))
            count += alive * several
            alive *= self._model.alive[then] / self._model.alive[seen]
            seen = then
        return count + alive


@define
class Watched:
    """What the schedule knows about one job; times are on the event loop's clock."""

    kind: str
    launched: float
    seen: float  # age at which it was last seen running
    polled: float  # end of the latest poll
    draw: float  # between 0 and 1, spread evenly over the jobs


class Schedule(Generic[J]):
    """Schedule of the polls of all watched jobs. It also decides whether another job may be launched.

    ``results`` is the number of requests that read a result, by kind. Polls of a job are at least ``shortest`` seconds
    apart, and at most ``longest`` if requests suffice. ``arrivals`` holds times of recent launches outside fan-outs.
    """

    def __init__(self, results: dict[str, float], shortest: float, longest: float) -> None:
        self.results: dict[str, float] = results
        self.models: dict[str, Durations] = {kind: Durations() for kind in results}
        self.jobs: dict[J, Watched] = {}
        self.reserve: float = 0.0
        self._shortest, self._longest = shortest, longest
        self._advised = {kind: Plan(model, 1.0, shortest, longest) for kind, model in self.models.items()}
        self._plans = self._advised
        self._cheaper: dict[str, Plan] = {}  # plans at the next lower price, for a part of the jobs
        self._part = 0.0
        self._price = 0  # number of the latest price
        self._longest_seen = 0.0  # greatest age at which a job was found finished
        self._added = 0
        self._early: dict[J, float] = {}  # early polls, with the misses that each is expected to cost
        self._allowance = 0.0  # misses that early polls may cost
        self._oldest = _YOUNGEST  # age up to which early polls were allowed
        self._spent = 0.0  # recent misses, forgotten as ages grow
        self._age = math.inf  # of the oldest job at the latest plan
        self.arrivals: deque[float] = deque()

    def add(self, job: J, kind: str, launched: float, polled: float, *, seen: float = 0.0) -> None:
        """Add a job; ``launched`` and ``polled`` are times, ``seen`` is the age at which it was last seen running."""
        self._added += 1
        self.jobs[job] = Watched(kind, launched, seen, polled, self._added * _GOLDEN % 1)

    def running(self, job: J, now: float) -> None:
        """Account for a poll that found a job running, or was unclear, at time ``now``."""
        watched, age = self.jobs[job], now - self.jobs[job].launched
        self.models[watched.kind].saw_running(watched.seen, age)
        watched.seen, watched.polled = age, now
        self._spent += 1
        if job in self._early:
            self._allowance -= 1 - self._early.pop(job)

    def ended(self, job: J, now: float) -> None:
        """Account for a poll that found a job finished at time ``now``, and forget the job."""
        watched = self.jobs[job]
        self.models[watched.kind].saw_end(watched.seen, now - watched.launched)
        self._longest_seen = max(self._longest_seen, now - watched.launched)
        self._allowance += self._early.get(job, 0.0)
        self.forget(job)

    def failed(self, job: J, now: float) -> None:
        """Account for a poll that failed at time ``now``, and so said nothing about the job."""
        self.jobs[job].polled = now

    def forget(self, job: J) -> None:
        """Remove a job from the schedule, if it is there."""
        self.jobs.pop(job, None)
        self._early.pop(job, None)

    def due(self, job: J) -> float:
        """Return the time of a job's next poll, which may have passed; minus infinity means at once."""
        if job in self._early:
            return -math.inf
        watched = self.jobs[job]
        step = step_of(watched.seen)
        plans = self._cheaper if watched.draw < self._part and watched.kind in self._cheaper else self._plans
        interval = plans[watched.kind].next_age[step] - AGES[step]  # often shorter than a step of the scale
        return max(watched.launched + watched.seen + interval, watched.polled + self._shortest)

    def owed(self) -> float:
        """Return the number of requests that the watched jobs need for their hits and results."""
        return sum(1 + self.results[watched.kind] for watched in self.jobs.values())

    def may_poll(self, job: J, now: float, free: int) -> bool:
        """Return True if ``free`` requests allow for a miss, or if a poll will probably find the job finished."""
        return free - self.owed() - self.reserve > 0 or self._still_running(job, now) < _LIKELY

    def may_launch(self, life: float, free: int) -> bool:
        """Return True if ``free`` requests suffice for the watched jobs and another that takes ``life`` requests."""
        return free - self.owed() - MISSES * len(self.jobs) >= life + MISSES

    def seconds_left(self, kind: str, now: float, hour: Forecast, held: int, in_flight: int | None) -> float | None:
        """Estimate the seconds until all running jobs of ``kind`` and ``held`` unlaunched ones end; None if unknown."""
        model = self.models[kind]
        if not model.ends:
            return None
        running = [watched for watched in self.jobs.values() if watched.kind == kind]
        last = max((model.quantile(_RETURNS, step_of(job.seen)) - (now - job.launched) for job in running), default=0.0)
        if held:
            missing = self.owed() + held * (2 + self.results[kind] + MISSES) - hour.free
            back = bisect.bisect_left(range(int(HOUR)), missing, key=hour.returning) if missing > 0 else 0
            if back == int(HOUR):  # more than will be free within an hour, as far as this process knows
                back *= math.ceil(missing / hour.limit)
            waves = held / in_flight * model.quantile(0.5, 0) if in_flight else 0.0
            last = max(last, max(back, waves) + model.quantile(_RETURNS, 0))
        return max(0.0, last)

    def plan(self, now: float, hour: Forecast, waiting: Mapping[str, int]) -> bool:
        """Choose the price of a miss, and return True if there are too few requests for the advised intervals.

        Call it after changes, and once a second while it returns True. ``waiting`` counts unlaunched items by kind.
        """
        if not self.jobs:
            self.reserve = self._spent = 0.0
            return False
        oldest = max(now - watched.launched for watched in self.jobs.values())
        if oldest < _YOUNG and not waiting and len(self.jobs) * HOUR / self._shortest <= hour.free:
            self._plans, self.reserve = self._advised, 0.0
            return False
        for model in self.models.values():
            model.refresh()
        seen = Counter((watched.kind, step_of(watched.seen)) for watched in self.jobs.values())
        ahead = max(self.models[kind].quantile(_RETURNS, at) - AGES[at] for kind, at in seen)
        back = _RETURNS * hour.returning(max(_PATIENCE, min(HOUR, ahead)))
        spare = hour.free - self.owed()
        reach = self._set_aside(now, spare - MISSES * len(self.jobs), hour.half_back(), waiting)
        spare -= self.reserve
        beyond = 2 * max(0.0, sum(waiting.values()) - sum(reach.values()))  # launches and hits that come later
        self._spent *= min(1.0, (self._age + _YOUNGEST) / (oldest + _YOUNGEST))
        self._age = oldest
        soon = _SOON * max(0.0, spare + self._spent) - self._spent
        most_soon = [soon + _RETURNS * hour.returning(part * (oldest + _YOUNGEST)) for part in _SOONER]
        most = max(0.0, spare + max(0.0, back - beyond))
        doubt = 1 + 1 / (1 + sum(model.ends for model in self.models.values())) if len(self.jobs) > 1 else 1.0

        def affordable(misses: float, *early: float) -> bool:  # with few ends seen, up to twice the misses are assumed
            return misses * doubt + math.sqrt(misses) <= most and all(map(operator.le, early, most_soon))

        self._plans, self._cheaper = self._plans_at(0, self._longest), {}
        if affordable(*self._needs(self._plans, seen, reach)):
            self._oldest = max(self._oldest, oldest)
            return False
        self._choose_price(affordable, seen, reach)
        self._poll_early(now, max(0.0, spare), hour.half_back())
        return True

    def _choose_price(
        self, affordable: Callable[..., bool], seen: Counter[tuple[str, int]], reach: Mapping[str, float]
    ) -> None:
        """Choose the lowest price affordable for all jobs. Use the next lower price for as many jobs as requests allow.

        The lower price is not used while a job is older than any finished job was, because misses are underestimated.
        """
        plans: dict[int, dict[str, Plan]] = {}
        needs: dict[int, list[float]] = {}

        def fits(number: int) -> bool:
            plans[number] = self._plans_at(number)
            needs[number] = self._needs(plans[number], seen, reach)
            return affordable(*needs[number])

        first, last = 0, _PRICES - 1
        if self._price > 0 and fits(self._price - 1):  # prices change little from plan to plan
            last = self._price - 1
        elif fits(self._price):
            first = last = self._price
        else:
            first = min(self._price + 1, last)
        number = self._price = bisect.bisect_left(range(_PRICES), True, first, last, key=fits)
        self._plans = plans.get(number) or self._plans_at(number)
        if self._age < self._longest_seen and number in needs and number - 1 in needs:
            self._cheaper = plans[number - 1]
            costs = list(zip(needs[number], needs[number - 1], strict=True))
            fitting = (part for part in _PARTS if affordable(*(low + part * (high - low) for low, high in costs)))
            self._part = next(fitting, 0.0)

    def _needs(
        self, plans: Mapping[str, Plan], seen: Counter[tuple[str, int]], reach: Mapping[str, float]
    ) -> list[float]:
        """Return the expected misses of ``plans``: within an hour, then by the end of each fraction in `_SOONER`."""
        needs = [-float(len(self.jobs)), *(0.0 for _ in _SOONER)]
        for (kind, at), jobs in seen.items():
            plan, alive = plans[kind], self.models[kind].alive
            needs[0] += jobs * plan.polls(at, HOUR)
            for number, part in enumerate(_SOONER, 1):
                then = min(LAST, step_of(AGES[at] + part * (AGES[at] + _YOUNGEST)))
                hits = 1 - alive[then] / alive[at]
                needs[number] += jobs * max(0.0, plan.polls(at, AGES[then] - AGES[at]) - hits)
        needs[0] += sum(items * max(0.0, plans[kind].polls(0, HOUR) - 1) for kind, items in reach.items())
        return [max(0.0, needs[0]), *needs[1:]]

    def _plans_at(self, number: int, longest: float = math.inf) -> dict[str, Plan]:
        price, kinds = _PRICE_RATIO**number, {watched.kind for watched in self.jobs.values()}
        plans = {kind: Plan(self.models[kind], price, self._shortest, longest) for kind in kinds}
        return {**self._plans, **plans}

    def _set_aside(self, now: float, spare: float, half_back: float, waiting: Mapping[str, int]) -> dict[str, float]:
        """Reserve requests for waiting items and expected launches; return the number of jobs covered, by kind."""
        while self.arrivals and self.arrivals[0] < now - HOUR:
            self.arrivals.popleft()
        coming = {kind: float(items) for kind, items in waiting.items()}
        if len(self.arrivals) > 2:
            rate = len(self.arrivals) / max(60.0, now - self.arrivals[0])
            for watched in self.jobs.values():
                more = rate * half_back / len(self.jobs)
                coming[watched.kind] = coming.get(watched.kind, 0.0) + more
        lives = sum(items * (2 + self.results[kind] + MISSES) for kind, items in coming.items())
        part = min(1.0, max(0.0, spare) / lives) if lives else 0.0
        reach = {kind: part * items for kind, items in coming.items()}
        self.reserve = sum(items * (2 + self.results[kind]) for kind, items in reach.items())
        return reach

    def _poll_early(self, now: float, spare: float, half_back: float) -> None:
        if self._age > self._oldest and spare:
            part = _EARLY * _ENOUGH / (_ENOUGH + sum(model.ends for model in self.models.values()))
            growth = math.log(self._age / self._oldest) / max(0.1, math.log1p(half_back / self._age))
            self._allowance, self._oldest = self._allowance + part * spare * growth, self._age
        self._allowance = min(self._allowance, spare / 4)
        old_enough = (
            job
            for job, watched in self.jobs.items()
            if job not in self._early and now - watched.launched >= _YOUNGEST and now - watched.polled >= self._shortest
        )
        for miss, job in sorted(((self._still_running(job, now), job) for job in old_enough), key=lambda each: each[0]):
            cost = max(0.1, miss)
            if self._allowance < cost:
                break
            self._allowance -= cost
            self._early[job] = cost

    def _still_running(self, job: J, now: float) -> float:
        watched = self.jobs[job]
        alive = self.models[watched.kind].alive
        return alive[step_of(now - watched.launched)] / alive[step_of(watched.seen)]
