"""Describe what there is to look at for an account, and the requests that there are for it."""

from __future__ import annotations

import asyncio
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping

import attrs

from cmsapi.config import PollPolicy
from cmsapi.jobs.kinds.kind import JobKind
from cmsapi.jobs.kinds.registry import kind_of
from cmsapi.jobs.scheduling.admission import Admission
from cmsapi.jobs.scheduling.durations import DurationModel, step_before
from cmsapi.jobs.scheduling.forecast import Forecast, forecast
from cmsapi.jobs.scheduling.list_reads import Pages
from cmsapi.jobs.scheduling.plan import Load, Supply, plan
from cmsapi.jobs.scheduling.queue import LoadKey, PollQueue, ScheduledPoll
from cmsapi.ratelimit.limiter import RateLimiter

# Jobs whose results are read early take so many requests for a poll of the status now and then.
_READ_LATE = 0.1


@attrs.define
class ServiceTraits:
    """Hold what was seen of how the service treats jobs of a kind where the specification is silent; None is not known.

    Args:
        refuses_early_reads: Whether it refuses to show the result of a job that is not over.
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
        poll_queue: Jobs that are looked at one by one.
        pages: Jobs that are looked at together.
        looking: Jobs that are being looked at.
        admission: Jobs that wait to be launched.
    """

    limiter: RateLimiter
    durations: Mapping[JobKind, DurationModel]
    traits: Mapping[JobKind, ServiceTraits]
    poll_queue: PollQueue
    pages: Pages
    looking: Collection[ScheduledPoll]
    admission: Admission

    def supply(self) -> Supply:
        """Return the requests that there are for jobs."""
        limiter, now = self.limiter, asyncio.get_running_loop().time()
        return Supply(limiter.free(now), limiter.first_return(now), lambda span: limiter.returning(now, span))

    def load(self, kind: JobKind, policy: PollPolicy) -> Load:
        """Describe jobs of a kind of which none runs yet."""
        return Load(
            curve=self.durations[kind].curve(),
            running={},
            result=self._result(kind),
            min_interval=policy.min_interval,
            max_interval=policy.max_interval,
            strict=policy.budget == "strict",
            learned=self.durations[kind].ends,
        )

    def loads(self) -> dict[LoadKey, Load]:
        """Describe the jobs that run and those that wait to be launched."""
        now = asyncio.get_running_loop().time()
        running = self.poll_queue.running()
        looking: defaultdict[LoadKey, Counter[tuple[int, int]]] = defaultdict(Counter)
        for watch in self.looking:
            looking[watch.key][watch.known, step_before(now - watch.since)] += 1
        paged: defaultdict[LoadKey, Counter[int]] = defaultdict(Counter)
        for page in self.pages.shared():
            for watch in page.watches:
                if watch not in self.looking:
                    paged[watch.key][watch.known] += 1
        queued = self.admission.queued()
        for key, count in self.admission.launching().items():
            running[key][0] += count
        loads = {}
        for key in {**running, **looking, **paged, **queued}:
            count, slots = queued.get(key, (0, math.inf))
            loads[key] = attrs.evolve(
                self.load(*key),
                running=running.get(key, {}),
                looking=looking.get(key, {}),
                paged=paged.get(key, {}),
                queued=count,
                slots=slots,
            )
        return loads

    def forecast(self, kind: JobKind, policy: PollPolicy, count: int, balance: int | None) -> Forecast:
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
            per_second=self.limiter.windows.per_second,
            learned_from=int(self.durations[kind].ends),
        )

    def _result(self, kind: JobKind) -> float:
        """Return how many requests reading a result takes besides the look that finds its job over."""
        return _READ_LATE if self.traits[kind].refuses_early_reads else kind_of(kind).result_requests
