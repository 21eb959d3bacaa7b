"""Count the jobs of an account and the requests that there are for them, and keep the plan in force."""

from __future__ import annotations

import asyncio
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from statistics import fmean

import attrs

from cmsapi.config import PollPolicy
from cmsapi.jobs.kinds.kind import Kind
from cmsapi.jobs.planning.durations import DurationModel, step_before
from cmsapi.jobs.planning.forecast import Estimate, Jobs, Rest, possible_curves
from cmsapi.jobs.planning.plan import Load, extra, plan, spare
from cmsapi.jobs.planning.schedule import Schedule
from cmsapi.jobs.scheduling.admission import Admission, LaunchQueue
from cmsapi.jobs.scheduling.breaker import Breaker
from cmsapi.jobs.scheduling.exploration import WHY, Exploration, expected_running, kept_for_the_last, likeliest
from cmsapi.jobs.scheduling.list_reads import ListReads
from cmsapi.jobs.scheduling.poll_queue import PollQueue
from cmsapi.jobs.tracked import LoadKey, TrackedJob
from cmsapi.ratelimit.limiter import Priority, RateLimiter

# A job whose result is read early takes a tenth of a request for polls of its status.
_READ_LATE = 0.1
# Shortages that are not further apart than this are one.
_ONE_SHORTAGE = 300.0


@attrs.frozen
class Outlook:
    """Say what more jobs would take, and beside what.

    Args:
        estimate: What they take.
        requests_left: Requests that there are for jobs that are launched; infinity without a limit.
        learned: How many ends the durations rest on.
        running: Jobs of all loads that run.
        waiting: Jobs of all loads that other fan-outs have still to launch.
    """

    estimate: Estimate
    requests_left: float
    learned: float
    running: int
    waiting: int


@attrs.define(eq=False, kw_only=True)
class Planner:
    """Keep the plan in force: how often each load is polled. What it counts belongs to the account's `Scheduler`.

    Args:
        limiter: The limiter of the account.
        durations: How long jobs of each kind take.
        refuses_early_reads: Whether the service refuses to show the result of a job that is not finished, as was seen.
        poll_queue: Jobs that are polled one by one.
        list_reads: Jobs that are polled together.
        polling: Jobs that are being polled.
        admission: Jobs that wait to be launched.
    """

    limiter: RateLimiter
    durations: Mapping[Kind, DurationModel]
    refuses_early_reads: Mapping[Kind, bool]
    poll_queue: PollQueue
    list_reads: ListReads
    polling: Collection[TrackedJob]
    admission: Admission
    planned_at: float = attrs.field(default=-math.inf, init=False)
    #: Requests beyond one poll and the result of every job, while polls are rare: so many may find their job running.
    extra: float = attrs.field(default=math.inf, init=False)
    #: The loads whose jobs are polled more rarely than the service advises.
    stretched: set[LoadKey] = attrs.field(factory=set, init=False)
    _schedules: dict[LoadKey, Schedule] = attrs.field(factory=dict, init=False)
    _explorations: dict[LoadKey, Exploration] = attrs.field(factory=dict, init=False)
    _breakers: dict[LoadKey, Breaker] = attrs.field(factory=dict, init=False)
    # When polls of a load were last planned to be rare.
    _short: dict[LoadKey, float] = attrs.field(factory=dict, init=False)

    def replan(self, now: float) -> list[tuple[LoadKey, int, float]]:
        """Plan anew, and return the loads whose polls have become rarer than the service advises.

        Each comes with its number of jobs, and the seconds between a launch and the first poll.
        """
        self.planned_at = now
        for durations in self.durations.values():
            durations.curve()
        loads = self._loads()
        room = self.limiter.free(now, max((load.horizon for load in loads.values()), default=0.0))
        alone = [_oldest(self.poll_queue.planned(key), now) for key in loads]
        oldest = max([*alone, *(page.oldest(now) for page in self.list_reads.shared())], default=0.0)
        kept = kept_for_the_last(oldest, self.limiter.first_return(now)) if loads else 0.0
        returning = partial(self.limiter.returning, now)
        found = plan(list(loads.values()), room, returning, kept, self.list_reads.reads)
        self._schedules = dict(zip(loads, found.schedules, strict=True))
        before = self.stretched
        self.stretched = {key for key, schedule in self._schedules.items() if schedule.stretched}
        short = [key for key in self.stretched if not loads[key].strict]
        self._breakers = {key: self._breakers.get(key) or Breaker() for key in short}
        self.poll_queue.replan(self.interval)
        self.list_reads.replan(now, self.stretched, found.price)
        free = room - self.list_reads.expected
        self._explore(now, loads, free, kept)
        if self.admission.launch_queues:
            lives = {key: load.least_life for key, load in loads.items()}
            # What comes back before such jobs end can be used for their last polls and their results.
            soon = min((load.curve.quantile(0.25) for load in loads.values() if load.queued), default=0.0)
            coming = returning(soon)
            self.admission.serve(spare(loads.values(), free) + coming - kept, lives)
        throttled = []
        for key in self.stretched:
            last, self._short[key] = self._short.get(key, -math.inf), now
            if now - last > _ONE_SHORTAGE and key not in before:
                throttled.append((key, loads[key].count, self.interval(key, 0)))
        return throttled

    def interval(self, key: LoadKey, step: int) -> float:
        """Return how many seconds the jobs of a load wait after a poll at a step."""
        schedule, breaker = self._schedules.get(key), self._breakers.get(key)
        if breaker is not None and breaker.open:
            return math.inf
        # A load that the last plan did not know is new; the next plan comes within a second.
        return schedule.intervals[step] if schedule is not None else key[1].max_interval

    def _explore(self, now: float, loads: Mapping[LoadKey, Load], free: float, kept: float) -> None:
        """Have a few jobs polled now whose polls are rarer than the service advises."""
        self.extra = extra(loads.values(), free, kept) if self.stretched else math.inf
        running = sum(sum(load.running.values()) for load in loads.values())
        before, self._explorations = self._explorations, {}
        for key in self.stretched:
            load = loads[key]
            waiting = self.poll_queue.planned(key)
            age = _oldest(waiting, now)
            exploration = self._explorations[key] = before.get(key) or Exploration(age=age)
            share = self.extra * sum(load.running.values()) / max(1, running)
            exploration.allow(age, share, self.limiter.first_return(now), load.learned)
            for job in exploration.jobs(load.curve, waiting, now):
                self.poll_queue.set(job, now, WHY)
            if (breaker := self._breakers.get(key)) is not None and breaker.open and now >= breaker.probe_at:
                self._probe(breaker, load, waiting, now)

    def _probe(self, breaker: Breaker, load: Load, waiting: Iterable[TrackedJob], now: float) -> None:
        """Have one of the jobs polled whose polls are put off."""
        probe, _ = likeliest(load.curve, waiting, now)
        if probe is not None:
            breaker.wait(now, now - probe.started_at, load.policy.min_interval)
            self.poll_queue.set(probe, now, WHY)
        else:
            # Jobs of unknown age cannot tell; their polls go on as planned.
            breaker.open = False
            self.poll_queue.replan(self.interval)

    def saw(self, job: TrackedJob, *, finished: bool) -> None:
        """Note what a poll has shown of a job."""
        breaker = self._breakers.get(job.load_key)
        if breaker is not None and job.age_known and self.list_reads.page_of(job) is None:
            durations, now, was_open = self.durations[job.kind], asyncio.get_running_loop().time(), breaker.open
            expected = expected_running(durations.last_curve(), job, now)
            extra_requests = self._explorations[job.load_key].extra
            breaker.answered(finished=finished, expected=expected, extra=extra_requests, learned=durations.ends)
            if breaker.open and not finished:
                breaker.wait(now, now - job.started_at, job.settings.policy.min_interval)
            if breaker.open != was_open:
                self.poll_queue.replan(self.interval)
        self.answered(job, finished=finished)

    def answered(self, job: TrackedJob, *, finished: bool) -> None:
        """Note that a poll of a job has ended, as far as requests are concerned."""
        self.extra -= not finished
        if (exploration := self._explorations.get(job.load_key)) is not None:
            exploration.answered(job, finished=finished)

    def estimate(
        self,
        kind: Kind,
        policy: PollPolicy,
        count: int,
        *,
        slots: float = math.inf,
        earlier: int = 0,
        elsewhere: Iterable[tuple[Kind, float]] = (),
        known: LaunchQueue | None = None,
        jobs: Sequence[TrackedJob] = (),
    ) -> Outlook:
        """Estimate what more jobs of a kind would take.

        Args:
            kind: Their kind.
            policy: How often they may be polled.
            count: How many there are.
            slots: How many may run at a time.
            earlier: Results of an earlier run that are read again.
            elsewhere: Kinds and ages of the jobs that other processes poll.
            known: Launches of these very jobs that are queued already.
            jobs: Those of the same fan-out that run.
        """
        # The next plan learns from what was observed since the last one.
        self.durations[kind].curve()
        now, loads, key = asyncio.get_running_loop().time(), self._loads(known), (kind, policy)
        for other, age in elsewhere:
            load = loads.get((other, policy)) or self._load(other, policy)
            loads[other, policy] = attrs.evolve(load, running=Counter(load.running) + Counter([step_before(age)]))
        running, waiting = (sum(load.count for load in loads.values()), sum(load.queued for load in loads.values()))
        free, returning = self.limiter.free(now), partial(self.limiter.returning, now)
        left = max(0.0, spare(loads.values(), free))
        load = loads.pop(key, self._load(*key))
        ahead = load.queued
        # What the running jobs of the fan-out itself take is theirs.
        own = (load.least + load.count * load.result) * len(jobs) / max(1, load.count)
        load = attrs.evolve(load, queued=ahead + count, slots=slots)
        schedule = plan([load, *loads.values()], free, returning).schedules[0]
        rest = Rest(
            schedule=schedule,
            admits=lambda span: left + own + returning(span),
            running=self._jobs(jobs, schedule),
            queued=count,
            ahead=ahead,
            slots=slots,
            per_second=self.limiter.per_second,
            results=load.result,
            earlier=earlier,
            lists=self.list_reads.may_show_states(kind),
        )
        found = rest.forecast(possible_curves(kind.initial_duration, self.durations[kind].observed))
        return Outlook(found, left, load.learned, running, waiting)

    def remaining(
        self, key: LoadKey, jobs: Sequence[TrackedJob], waiting: int, launches: LaunchQueue | None, *, earlier: int
    ) -> Estimate:
        """Estimate what the rest of a fan-out takes.

        Args:
            key: What its jobs have in common.
            jobs: Those of them that run.
            waiting: How many are not launched yet.
            launches: Where these are queued; None if they are not queued.
            earlier: Results of an earlier run that are still to be read.
        """
        kind, policy = key
        slots = math.inf if launches is None else launches.slots
        found = self.estimate(kind, policy, waiting, slots=slots, earlier=earlier, known=launches, jobs=jobs).estimate
        together = sum(len(page.jobs) for page in self.list_reads.shared())
        paged = sum(self.list_reads.page_of(job) is not None for job in jobs)
        return attrs.evolve(found, requests=found.requests + paged / max(1, together) * self.list_reads.expected)

    def _jobs(self, jobs: Iterable[TrackedJob], schedule: Schedule) -> list[Jobs]:
        """Count jobs that run by when they were seen last and are polled next."""
        now = asyncio.get_running_loop().time()
        soonest = self.limiter.expected_wait(Priority.POLL, now)
        alike: defaultdict[tuple[int, int, bool], list[tuple[float, float]]] = defaultdict(list)
        for job in jobs:
            due = now if job in self.polling else job.polled_at + schedule.intervals[job.seen_running]
            wait = max(soonest, due - now)
            alone = self.list_reads.page_of(job) is None
            alike[job.seen_running, step_before(wait), alone].append((wait, now + wait - job.started_at))
        return [
            Jobs(len(each), step, fmean(wait for wait, _ in each), fmean(age for _, age in each), alone)
            for (step, _, alone), each in alike.items()
        ]

    def _load(self, kind: Kind, policy: PollPolicy) -> Load:
        """Describe jobs of a kind of which none runs yet."""
        result = _READ_LATE if self.refuses_early_reads.get(kind) else kind.result_requests
        durations = self.durations[kind]
        return Load(curve=durations.last_curve(), policy=policy, result=result, learned=durations.ends)

    def _loads(self, without: LaunchQueue | None = None) -> dict[LoadKey, Load]:
        """Describe the jobs that run and those that wait to be launched, but for those of one queue."""
        now = asyncio.get_running_loop().time()
        running = self.poll_queue.running()
        for job in self.polling:
            running[job.load_key][step_before(now - job.started_at)] += 1
        paged: defaultdict[LoadKey, Counter[int]] = defaultdict(Counter)
        for page in self.list_reads.shared():
            for job in page.jobs:
                if job not in self.polling:
                    paged[job.load_key][job.seen_running] += 1
        queued: dict[LoadKey, tuple[int, float]] = {}
        for launches in self.admission.launch_queues:
            if launches.key is not None and launches.launching:
                running[launches.key][0] += launches.launching
            if launches.key is not None and launches.waiting > 0 and launches is not without:
                count, slots = queued.get(launches.key, (0, 0.0))
                queued[launches.key] = (count + launches.waiting, slots + launches.slots)
        loads = {}
        for key in {**running, **paged, **queued}:
            count, slots = queued.get(key, (0, math.inf))
            loads[key] = attrs.evolve(
                self._load(*key), running=running.get(key, {}), paged=paged.get(key, {}), queued=count, slots=slots
            )
        return loads


def _oldest(jobs: Iterable[TrackedJob], now: float) -> float:
    """Return the age in seconds of the oldest of some jobs, 0 without one."""
    return max((now - job.started_at for job in jobs), default=0.0)
