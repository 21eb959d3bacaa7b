"""Describe the jobs of an account and the requests that there are for them, and keep the plan in force."""

from __future__ import annotations

import asyncio
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping

import attrs

from cmsapi.config import PollPolicy
from cmsapi.jobs.kinds.kind import Kind
from cmsapi.jobs.scheduling.admission import Admission
from cmsapi.jobs.scheduling.durations import DurationModel, step_before
from cmsapi.jobs.scheduling.forecast import Forecast, forecast
from cmsapi.jobs.scheduling.list_reads import ListReads
from cmsapi.jobs.scheduling.poll_budget import Load, Pace, Supply, plan
from cmsapi.jobs.scheduling.poll_queue import PollQueue
from cmsapi.jobs.tracked import LoadKey, TrackedJob
from cmsapi.ratelimit.limiter import RateLimiter

# Jobs whose results are read early take so many requests for polls of the status now and then.
_READ_LATE = 0.1
# Shortages that are not further apart than this are one.
_ONE_SHORTAGE = 300.0


@attrs.define
class ServiceTraits:
    """Hold how the service treats jobs of a kind where the specification is silent, as was seen; None is not known.

    Args:
        refuses_early_reads: Whether it refuses to show the result of a job that is not finished.
        trying: Whether that is being found out.
    """

    refuses_early_reads: bool | None = None
    trying: bool = False


@attrs.define(eq=False, kw_only=True)
class PollLoad:
    """Count the jobs of an account as planning needs it; what it counts belongs to the account's `Scheduler`.

    Args:
        limiter: The limiter of the account.
        durations: How long jobs of each kind take.
        traits: What was seen of the service.
        poll_queue: Jobs that are polled one by one.
        list_reads: Jobs that are polled together.
        polling: Jobs that are being polled.
        admission: Jobs that wait to be launched.
    """

    limiter: RateLimiter
    durations: Mapping[Kind, DurationModel]
    traits: Mapping[Kind, ServiceTraits]
    poll_queue: PollQueue
    list_reads: ListReads
    polling: Collection[TrackedJob]
    admission: Admission

    def supply(self) -> Supply:
        """Return the requests that there are for jobs."""
        limiter, now = self.limiter, asyncio.get_running_loop().time()
        return Supply(limiter.free(now), limiter.first_return(now), lambda span: limiter.returning(now, span))

    def load(self, kind: Kind, policy: PollPolicy) -> Load:
        """Describe jobs of a kind of which none runs yet."""
        return Load(
            curve=self.durations[kind].curve(),
            policy=policy,
            result=self._result(kind),
            learned=self.durations[kind].ends,
        )

    def loads(self) -> dict[LoadKey, Load]:
        """Describe the jobs that run and those that wait to be launched."""
        now = asyncio.get_running_loop().time()
        running = self.poll_queue.running()
        for job in self.polling:
            running[job.load_key][step_before(now - job.started_at)] += 1
        paged: defaultdict[LoadKey, Counter[int]] = defaultdict(Counter)
        for page in self.list_reads.pages():
            for job in page.jobs:
                if job not in self.polling:
                    paged[job.load_key][job.seen_running] += 1
        queued = self.admission.queued()
        for key, count in self.admission.launching().items():
            running[key][0] += count
        loads = {}
        for key in {**running, **paged, **queued}:
            count, slots = queued.get(key, (0, math.inf))
            loads[key] = attrs.evolve(
                self.load(*key),
                running=running.get(key, {}),
                paged=paged.get(key, {}),
                queued=count,
                slots=slots,
            )
        return loads

    def forecast(self, kind: Kind, policy: PollPolicy, count: int, balance: int | None) -> Forecast:
        """Say what more jobs of a kind would take."""
        loads, supply, key = self.loads(), self.supply(), (kind, policy)
        before = plan(list(loads.values()), supply).spare if loads else supply.free
        load = attrs.evolve(loads.pop(key, self.load(*key)), queued=count, slots=math.inf)
        made = plan([load, *loads.values()], supply)
        return forecast(
            kind,
            load,
            made.paces[0],
            attrs.evolve(supply, free=before),
            balance=balance,
            per_second=self.limiter.per_second,
            learned_from=int(self.durations[kind].ends),
        )

    def _result(self, kind: Kind) -> float:
        """Return how many requests reading a result takes besides the poll that finds its job finished."""
        return _READ_LATE if self.traits[kind].refuses_early_reads else kind.result_requests


class Planner:
    """Keep the plan in force: how often each load is polled."""

    def __init__(self) -> None:
        self.planned_at: float = -math.inf
        #: Requests that are left when every running job takes no more than it must.
        self.spare: float = -math.inf
        #: Requests that one more job of each load must take, from its launch to its result.
        self.lives: Mapping[LoadKey, float] = {}
        self._paces: dict[LoadKey, Pace] = {}
        # When polls of a load were last planned to be rare.
        self._short: dict[LoadKey, float] = {}

    def replan(self, poll_load: PollLoad, now: float) -> list[tuple[LoadKey, Pace]]:
        """Plan anew, and return the loads whose polls have become rarer than the service advises, with their paces."""
        self.planned_at = now
        loads, supply = poll_load.loads(), poll_load.supply()
        if reads := poll_load.list_reads.expected():
            supply = attrs.evolve(supply, free=supply.free - reads)
        made = plan(list(loads.values()), supply)
        self.spare, self.lives = made.spare, {key: load.least_life for key, load in loads.items()}
        before, self._paces = self._paces, dict(zip(loads, made.paces, strict=True))
        throttled = []
        for key, pace in self._paces.items():
            if pace.stretched:
                last, self._short[key] = self._short.get(key, -math.inf), now
                if now - last > _ONE_SHORTAGE and not (key in before and before[key].stretched):
                    throttled.append((key, pace))
        return throttled

    def interval(self, key: LoadKey, step: int, group: int) -> float:
        """Return how many seconds the jobs of a load wait after a poll at a step, by share of the price."""
        pace = self._paces.get(key)
        # A kind that the last plan did not know is new; the next plan comes within a second.
        return pace.interval(step, group) if pace is not None else key[1].max_interval

    def stretches(self, key: LoadKey) -> bool:
        """Tell whether the jobs of a load are polled more rarely than the service advises."""
        pace = self._paces.get(key)
        return pace is not None and pace.stretched

    @property
    def stretched(self) -> bool:
        """Whether the jobs of any load are."""
        return any(pace.stretched for pace in self._paces.values())
