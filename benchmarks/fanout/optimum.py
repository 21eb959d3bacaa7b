"""The informed optimum: it knows the distribution, not the durations, and polls one job a request.

All jobs pay the same price for a poll, which is found again while jobs end and tokens are spent. Where there are two
neighbouring prices, lots say who pays which.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections import defaultdict

import attrs

from benchmarks.fanout.batch import Batch, Watched
from benchmarks.fanout.poll_times import DEAREST, Plans, plans_for
from benchmarks.fanout.price import Group, Price, Tokens, find_price

# Between two searches for the price: so many seconds, or this part of the time since the batch began.
_SECONDS, _PART = 1.0, 0.005
# Tokens kept for chance while there are more than the last jobs; with fewer, fewer.
_SPARE, _LAST = 4.0, 10


@attrs.define(eq=False)
class _Place:
    """Say where a job stands in its plans, and what it drew."""

    job: Watched
    plans: Plans
    lot: float
    index: int
    turn: asyncio.Future[None]


class Optimum:
    """Launch and poll as the informed optimum does.

    Args:
        batch: What runs.
        seed: Seed of the lots.
    """

    def __init__(self, batch: Batch, seed: int) -> None:
        self._batch = batch
        self._loop = asyncio.get_running_loop()
        self._begun = self._loop.time()
        self._rng = random.Random(seed)
        self._plans = [plans_for(distribution) for distribution in batch.service.work.jobs]
        self._places: dict[Watched, _Place] = {}
        self._admitted = 0
        self._applicant: asyncio.Future[None] | None = None
        self._price = Price(DEAREST, 0.0)
        self._priced_at = -math.inf
        self._timer: asyncio.TimerHandle | None = None

    async def admit(self) -> None:
        """Wait until the hour holds another job with all of its requests."""
        self._applicant = self._loop.create_future()
        self._serve()
        await self._applicant
        self._admitted += 1

    async def until_due(self, job: Watched) -> None:
        """Wait until a job should be polled."""
        plans, place = self._plans[job.number], self._places.get(job)
        lot = self._rng.random() if place is None else place.lot
        turn = self._loop.create_future()
        self._places[job] = _Place(job, plans, lot, plans.index(job.age), turn)
        self._serve()
        await turn

    def _serve(self) -> None:
        """Let the jobs go whose turn it is, and come back at the turn of the next one."""
        now = self._loop.time()
        pause = max(_SECONDS, _PART * (now - self._begun))
        if now >= self._priced_at + pause:
            self._reprice(now)
        wake = self._priced_at + pause if self._batch.running else math.inf
        for job in self._batch.running:
            place = self._places.get(job)
            if place is None or place.turn.done():
                continue
            due = self._due(place)
            if due <= now:
                place.turn.set_result(None)
            else:
                wake = min(wake, due)
        if self._applicant is not None and not self._applicant.done():
            tokens = self._tokens(now)
            if self._room(tokens) >= self._admitted - self._launched + 1:
                self._applicant.set_result(None)
            elif tokens.returns:
                wake = min(wake, tokens.returns[0])
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(wake, self._serve) if wake < math.inf else None

    def _due(self, place: _Place) -> float:
        power = self._price.power - (place.lot < self._price.below)
        return place.job.launched_at + place.plans.next_age(place.plans.at(power), place.job.age, place.index)

    @property
    def _launched(self) -> int:
        return len(self._plans) - self._batch.to_launch

    def _tokens(self, now: float) -> Tokens:
        """Count the tokens for polls and launches: what is left, less the results of what is launched."""
        batch = self._batch
        results = batch.service.work.results * len(batch.running) + batch.ready
        return Tokens(now, batch.caller.remaining - results, batch.caller.returns(now))

    def _groups(self) -> list[Group]:
        groups: defaultdict[tuple[Plans, int], list[float]] = defaultdict(list)
        for job in self._batch.running:
            place = self._places.get(job)
            if place is not None:
                groups[place.plans, place.index].append(job.launched_at)
        return [
            Group(plans, index, len(launches), sum(launches) / len(launches))
            for (plans, index), launches in groups.items()
        ]

    def _room(self, tokens: Tokens) -> int:
        """Return how many more jobs the hour holds with all of their requests, at the dearest price."""
        power = tokens.dearest
        left = tokens.left - sum(group.polls(power) for group in self._groups())
        room, each = 0, 1 + self._batch.service.work.results
        for plans in self._plans[self._launched :]:
            left -= each + plans.at(power).polls[0]
            if left < 0:
                break
            room += 1
        return room

    def _reprice(self, now: float) -> None:
        self._priced_at = now
        tokens, groups = self._tokens(now), self._groups()
        coming = self._plans[self._launched :][: self._room(tokens)]
        each = 1 + self._batch.service.work.results
        jobs = len(self._batch.running) + len(coming)
        left = tokens.left - each * len(coming) - _SPARE * min(1.0, jobs / _LAST)
        groups += [Group(plans, 0, coming.count(plans), now) for plans in dict.fromkeys(coming)]
        self._price = find_price(groups, attrs.evolve(tokens, left=left))
