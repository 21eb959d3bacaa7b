"""Say what more jobs, or the rest of a fan-out, would take: the policy run forward."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from statistics import fmean

import attrs

from cmsapi.jobs.kinds.kind import Kind
from cmsapi.jobs.planning.budget import Budget
from cmsapi.jobs.planning.durations import step_before
from cmsapi.jobs.planning.forecast import Estimate, Jobs, Rest, possible_curves
from cmsapi.jobs.planning.schedule import Schedule
from cmsapi.jobs.scheduling.admission import LaunchQueue
from cmsapi.jobs.scheduling.policy import Policy
from cmsapi.jobs.timing import Timing
from cmsapi.jobs.tracked import LoadKey, TrackedJob
from cmsapi.ratelimit.limiter import Priority


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


def outlook(
    policy: Policy,
    now: float,
    key: LoadKey,
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
        policy: Decides when jobs are polled.
        now: Time of the loop.
        key: Their kind, and how often they may be polled.
        count: How many there are.
        slots: How many may run at a time.
        earlier: Results of an earlier run that are read again.
        elsewhere: Kinds and ages of the jobs that other processes poll.
        known: Launches of these very jobs that are queued already.
        jobs: Those of the same fan-out that run.
    """
    kind, settings = key
    # The next plan learns from what was observed since the last one.
    policy.durations[kind].curve()
    loads = policy.loads(now, known)
    for other, age in elsewhere:
        load = loads.get((other, settings)) or policy.load(other, settings)
        loads[other, settings] = attrs.evolve(load, alone=Counter(load.alone) + Counter([step_before(age)]))
    running, waiting = (sum(load.count for load in loads.values()), sum(load.queued for load in loads.values()))
    free, returning = policy.limiter.free(now), partial(policy.limiter.returning, now)
    left = max(0.0, Budget(list(loads.values()), free).spare)
    load = loads.pop(key, policy.load(*key))
    ahead = load.queued
    # What the running jobs of the fan-out itself take is theirs.
    own = (load.least + load.count * load.result) * len(jobs) / max(1, load.count)
    load = attrs.evolve(load, queued=ahead + count, slots=slots)
    schedule = load.at(Budget([load, *loads.values()], free, returning).price())
    rest = Rest(
        schedule=schedule,
        admits=lambda span: left + own + returning(span),
        running=_running(policy, now, jobs, schedule),
        queued=count,
        ahead=ahead,
        slots=slots,
        per_second=policy.limiter.per_second,
        results=load.result,
        earlier=earlier,
        lists=policy.listings.may_show_states(kind),
    )
    found = rest.forecast(possible_curves(kind.initial_duration, policy.durations[kind].observed))
    return Outlook(found, left, load.learned, running, waiting)


def remaining(
    policy: Policy,
    now: float,
    key: LoadKey,
    jobs: Sequence[TrackedJob],
    waiting: int,
    launches: LaunchQueue | None,
    *,
    earlier: int,
) -> Estimate:
    """Estimate what the rest of a fan-out takes.

    Args:
        policy: Decides when jobs are polled.
        now: Time of the loop.
        key: What its jobs have in common.
        jobs: Those of them that run.
        waiting: How many are not launched yet.
        launches: Where these are queued; None if they are not queued.
        earlier: Results of an earlier run that are still to be read.
    """
    slots = math.inf if launches is None else launches.slots
    found = outlook(policy, now, key, waiting, slots=slots, earlier=earlier, known=launches, jobs=jobs).estimate
    together = sum(len(page.jobs) for page in policy.listings.shared())
    paged = sum(_on_page(policy, job) for job in jobs)
    return attrs.evolve(found, requests=found.requests + paged / max(1, together) * policy.expected_reads)


def _on_page(policy: Policy, job: TrackedJob) -> bool:
    return job.timing is not None and policy.listings.page_of(job.timing) is not None


def _running(policy: Policy, now: float, jobs: Iterable[TrackedJob], schedule: Schedule) -> list[Jobs]:
    """Count jobs that run by when they were seen last and are polled next."""
    soonest = policy.limiter.expected_wait(Priority.POLL, now)
    alike: defaultdict[tuple[int, int, bool], list[tuple[float, float]]] = defaultdict(list)
    for job in jobs:
        # A job that was not waited for yet is polled from now on.
        timing = job.timing or Timing(job.history.began, False, now)
        due = now if job in policy.under_way else timing.polled_at + schedule.intervals[timing.seen_running]
        wait = max(soonest, due - now)
        key = (timing.seen_running, step_before(wait), not _on_page(policy, job))
        alike[key].append((wait, now + wait - timing.started_at))
    return [
        Jobs(len(each), step, fmean(wait for wait, _ in each), fmean(age for _, age in each), alone)
        for (step, _, alone), each in alike.items()
    ]
