"""A simple peer that learns: one price for polls, found by bisection, and a few misses bought early. No plan, no lists.

A poll is due when the lateness that it is expected to end reaches the price: the lowest at which the polls to come fit
into what the hour has left. How long jobs take is believed as a hazard for each age, which observations correct.
"""

from __future__ import annotations

import asyncio
import bisect
import itertools
import math

from benchmarks.fanout.batch import Batch, Watched
from benchmarks.fanout.durations import finished
from benchmarks.fanout.poll_times import SHORTEST_GAP
from cmsapi.sandbox import Lognormal

_AGES = [0.0, *(2.0 * 1.12**step for step in range(90))]
_LAST = len(_AGES) - 1
# What is believed of durations before any was seen, and how many jobs that is worth.
_PRIOR, _WORTH = Lognormal(60.0, 1.4), 3.0
# With requests to spare, a job is polled this often.
_LONGEST_GAP = 10.0
# Prices in seconds: the lowest, by how much one exceeds the one before, and how many there are.
_LOWEST, _STEP, _PRICES = 1.0, 1.2, 60
# This part of the requests that are not needed otherwise may be lost to early polls, none before this age.
_PART, _FIRST_AGE, _HOUR = 0.5, 8.0, 3600.0
# While no end is known, jobs are taken to need so many times as many polls more.
_DOUBT = 5.0
# A part of the requests that come back may be counted on.
_COMING = 0.9


class Belief:
    """Learn how long jobs take: the hazard between each two ages."""

    def __init__(self) -> None:
        over = [finished(_PRIOR, age) for age in _AGES]
        hazards = [(later - gone) / (1.0 - gone) for gone, later in itertools.pairwise(over)]
        self._ends = [_WORTH * hazard for hazard in hazards]
        self._seen = [_WORTH] * _LAST
        self.ends = 0
        self.renew()

    def renew(self) -> None:
        """Reckon anew, after what was seen since."""
        self.running, self.area = [1.0], [0.0]
        for step in range(_LAST):
            self.running.append(self.running[-1] * max(1e-3, 1.0 - self._ends[step] / self._seen[step]))
            width = _AGES[step + 1] - _AGES[step]
            self.area.append(self.area[-1] + width * (1.0 - (self.running[-1] + self.running[-2]) / 2.0))

    def saw(self, since: int, until: int, *, over: bool) -> None:
        """Note that a job that ran at one age was seen running, or over, at another."""
        if not over:
            for step in range(since, until):
                self._seen[step] += 1.0
            return
        steps = range(since, max(until, since + 1))
        weights = [self.running[step] - self.running[min(step + 1, _LAST)] + 1e-9 for step in steps]
        still = whole = sum(weights)
        self.ends += 1
        for step, weight in zip(steps, weights, strict=True):
            if step < _LAST:
                self._seen[step] += still / whole
                self._ends[step] += weight / whole
            still -= weight

    def lateness(self, since: int, until: int) -> float:
        """Return for how many seconds a job that ran at an age is expected to have been over at a later one."""
        gone = 1.0 - self.running[since]
        area = self.area[until] - self.area[since] - gone * (_AGES[until] - _AGES[since])
        return area / self.running[since]


class Prices:
    """Say for one price when a job is polled next, and how many polls it still takes.

    Args:
        belief: How long jobs take.
        price: Seconds of lateness that a poll is worth.
        longest: Seconds between two polls at the most.
    """

    def __init__(self, belief: Belief, price: float, longest: float = math.inf) -> None:
        self.next_age, self.polls = [0.0] * _LAST + [1.3 * _AGES[_LAST]], [1.0] * (_LAST + 1)
        for since in range(_LAST - 1, -1, -1):
            worth = bisect.bisect_left(range(_LAST), price, lo=since + 1, key=lambda at: belief.lateness(since, at))
            before, after = belief.lateness(since, worth - 1), belief.lateness(since, worth)
            part = min(1.0, max(0.0, (price - before) / (after - before))) if after > before else 1.0
            age = _AGES[worth - 1] + part * (_AGES[worth] - _AGES[worth - 1])
            self.next_age[since] = age = max(_AGES[since] + SHORTEST_GAP, min(_AGES[since] + longest, age))
            then = min(_LAST, max(since + 1, _step(age)))
            width = max(1.0, (_AGES[then] - _AGES[since]) / (age - _AGES[since]))
            self.polls[since] = width + belief.running[then] / belief.running[since] * self.polls[then]


def _step(age: float) -> int:
    return bisect.bisect_right(_AGES, age) - 1


class Adaptive:
    """Launch what the hour holds, and poll when it is worth the price.

    Args:
        batch: What runs.
        seed: Nothing is left to chance.
    """

    def __init__(self, batch: Batch, seed: int) -> None:
        self._batch, self._loop = batch, asyncio.get_running_loop()
        self._belief, self._each = Belief(), 1 + batch.service.work.results
        self._prices = Prices(self._belief, _LOWEST, _LONGEST_GAP)
        self._priced_at, self._admitted = -math.inf, 0
        # The age at which each job was last seen running, and those that are polled early.
        self._seen: dict[Watched, int] = {}
        self._early: set[Watched] = set()
        self._allowed, self._oldest = 0.0, _FIRST_AGE

    async def admit(self) -> None:
        """Wait until the hour holds another job with all of its requests."""
        while self._left() - len(self._batch.running) < self._each + 1.1:  # noqa: ASYNC110  the hour has no event
            await asyncio.sleep(1.0)
        self._admitted += 1

    async def until_due(self, job: Watched) -> None:
        """Wait until a job should be polled."""
        seen, step = self._seen.get(job, 0), _step(job.age)
        if step > seen:
            self._belief.saw(seen, step, over=False)
        self._seen[job] = step
        while True:
            now = self._loop.time()
            if now >= self._priced_at + 1.0:
                self._reprice(now)
            due = job.launched_at + max(self._prices.next_age[step], job.age + SHORTEST_GAP)
            if (now >= due or job in self._early) and self._left() + len(self._batch.running) >= 1:
                self._early.discard(job)
                return
            await asyncio.sleep(min(1.0, max(0.05, due - now)))

    def _left(self) -> float:
        """Count the requests that no result and no launch that was admitted needs."""
        batch = self._batch
        launching = self._admitted - (len(batch.service.items) - batch.to_launch)
        return batch.caller.remaining - (self._each - 1) * len(batch.running) - batch.ready - self._each * launching

    def _reprice(self, now: float) -> None:
        self._priced_at, batch, belief = now, self._batch, self._belief
        for job in [job for job in self._seen if job not in batch.running and job.polls]:
            belief.saw(self._seen.pop(job), _step(job.age), over=True)
        belief.renew()
        steps = [self._seen.get(job, 0) for job in batch.running]
        fits = max(0.0, self._left() - len(steps)) / (self._each + 1.1)
        queued = min(float(batch.to_launch), fits)
        returns = batch.caller.returns(now)
        soon = now + 2.0 * max((_AGES[step] for step in steps), default=60.0)
        left = self._left() - queued * self._each + _COMING * bisect.bisect_right(returns, soon)

        def prices(number: int) -> Prices:
            return Prices(belief, _LOWEST * _STEP**number, _LONGEST_GAP if number == 0 else math.inf)

        def affordable(number: int) -> bool:
            polls = prices(number).polls
            count = len(steps) + queued
            more = sum(polls[step] for step in steps) + queued * polls[0] - count
            doubt = _DOUBT / (1.0 + belief.ends) if count > 1 else 0.0
            return count + more * (1.0 + doubt) + math.sqrt(max(0.0, more)) <= left

        self._prices = prices(bisect.bisect_left(range(_PRICES), True, key=affordable))
        self._explore(
            now, self._left() - len(steps) - queued * (self._each + 1), returns[0] - now if returns else _HOUR
        )

    def _explore(self, now: float, extra: float, back: float) -> None:
        """Buy a few misses, spread over the logarithm of the age until requests come back."""
        jobs = [job for job in self._batch.running if job in self._seen and job not in self._early]
        oldest = max((now - job.launched_at for job in jobs), default=0.0)
        if oldest > self._oldest and extra > 0.0:
            part = _PART * 50.0 / (50.0 + self._belief.ends)
            self._allowed += part * extra * math.log(oldest / self._oldest) / max(0.1, math.log1p(back / oldest))
            self._oldest = oldest
        self._allowed = min(self._allowed, max(0.0, extra / 4.0))
        ages = {job: now - job.launched_at for job in jobs if now >= job.launched_at + job.age + SHORTEST_GAP}

        def still_running(job: Watched) -> float:
            return self._belief.running[_step(ages[job])] / self._belief.running[self._seen[job]]

        for job in sorted((job for job in ages if ages[job] >= _FIRST_AGE), key=still_running):
            if self._allowed < (cost := max(0.1, still_running(job))):
                return
            self._allowed -= cost
            self._early.add(job)
