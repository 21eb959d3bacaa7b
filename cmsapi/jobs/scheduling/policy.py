"""Decide which poll is sent when: what is known goes in, what is due comes out.

All jobs of an account on one event loop share one policy, because they share one budget. It learns how long jobs take
(`durations`), chooses the price of a request (`budget`), and from that when each job (`schedule`) and each page of a
list (`list_page`) is due, which jobs are polled early (`misses`), and which launches fit (`admission`).

Nothing here waits, sends or asks a clock.
"""

from __future__ import annotations

import heapq
import itertools
import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import attrs

from cmsapi.config import PollPolicy
from cmsapi.jobs.kinds.kind import Kind
from cmsapi.jobs.planning.budget import PLAN, Budget, Load, Reads, kept_for_the_last
from cmsapi.jobs.planning.duration_store import DurationModels
from cmsapi.jobs.planning.durations import step_after, step_before
from cmsapi.jobs.planning.schedule import Schedule, price_at
from cmsapi.jobs.scheduling.admission import Admission, LaunchQueue
from cmsapi.jobs.scheduling.list_page import ListPage
from cmsapi.jobs.scheduling.listings import Listings
from cmsapi.jobs.scheduling.misses import Misses
from cmsapi.jobs.timing import Listing, Timing
from cmsapi.jobs.tracked import JobKey, LoadKey, TrackedJob
from cmsapi.ratelimit.limiter import Priority, RateLimiter

#: Why a poll comes that no plan has set.
EARLY = "a few jobs that are polled early show how long the others take"
CHECK = "it is asked for itself now and then, because its list may lag behind"
# Without news a plan is made again when a few early polls may be worth while. A round that found no room for all comes
# again after longer at most.
_EXPLORING, _STALE = 2.0, 15.0
# Polls begin in rounds that are this far apart at the least, which is also how often a round without room is tried.
_SOON = 0.1
# A lot shortens an advised interval by up to this part (specification 8, rule 5).
_LOT = 0.1
# Reads of pages may take twice as many requests as expected by chance.
_READS_DOUBT = 2.0
# Shortages that are not further apart than this are one.
_ONE_SHORTAGE = 300.0


@attrs.define(eq=False)
class LoadPlan:
    """Hold what is planned for the jobs of one load.

    Args:
        schedule: When each is polled.
        misses: What polls beside and beyond that may cost.
        short_at: When polls were last planned to be rarer than the service advises.
    """

    schedule: Schedule | None = None
    misses: Misses = attrs.field(factory=Misses)
    short_at: float = -math.inf


class Policy:
    """Know the jobs of one account, and decide when each is polled. All times are those of the loop.

    Args:
        limiter: The limiter of the account.
        rng: Source of chance.
        wake: Is called when there is a new time at which something is due.
    """

    def __init__(self, limiter: RateLimiter, rng: random.Random, wake: Callable[[], None]) -> None:
        self.limiter: RateLimiter = limiter
        self.durations: DurationModels = DurationModels()
        #: Whether the service refuses to show results before the end, where that was seen.
        self.refuses_early_reads: dict[Kind, bool] = {}
        #: The jobs that are polled, by kind and target.
        self.jobs: dict[JobKey, dict[TrackedJob, Timing]] = {}
        #: The jobs among them whose polls are under way.
        self.under_way: set[TrackedJob] = set()
        self.listings: Listings = Listings(self.jobs, self._place_again)
        self.admission: Admission = Admission(self.replan_soon, self.jobs)
        #: Requests beyond one poll and the result of every job, while polls are rare: that many may be misses.
        self.extra: float = math.inf
        #: Requests that the pages of lists are expected to take.
        self.expected_reads: float = 0.0
        self._plans: defaultdict[LoadKey, LoadPlan] = defaultdict(LoadPlan)
        self._stretched: set[LoadKey] = set()
        self._planned_at = self._crowded_until = -math.inf
        self._outdated = True
        self._next_due = math.inf
        self._rng = rng
        self._wake = wake

    # What is known

    def add(self, job: TrackedJob, now: float, *, at_once: bool) -> None:
        """Have a job polled from now on, for the first time at once if it may be finished."""
        timing = job.timing
        if timing is None:
            launched = job.launch_time(now)
            started_at = job.history.began if launched is None else launched
            known = launched is not None and not job.history.watched
            timing = job.timing = Timing(started_at, known, started_at)
        self.jobs.setdefault(job.key, {})[job] = timing
        timing.scheduled, timing.due, timing.why = True, math.inf, None
        if at_once:
            self.put_off(job, timing, now, "it has not been polled yet")
        else:
            self.place(job, timing)
        self.replan_soon()

    def drop(self, job: TrackedJob, timing: Timing) -> None:
        """Poll a job no more."""
        # A job without waiters needs none of the requests.
        self.returned(job, finished=True)
        self._displace(job, timing)
        timing.scheduled = False
        same = self.jobs[job.key]
        del same[job]
        if not same:
            del self.jobs[job.key]
        self.replan_soon()

    def begins(self, job: TrackedJob, timing: Timing) -> None:
        """Note that a poll of a job begins."""
        if timing.scheduled:
            self._displace(job, timing)
            self.under_way.add(job)

    def saw_running(self, job: TrackedJob, timing: Timing, now: float, *, certain: bool) -> None:
        """Note that a poll found a job running; a state that decides nothing teaches nothing about durations."""
        if certain and timing.age_known:
            self.durations.saw_running(job.kind, timing, now)
        self._count(job, timing, now, finished=False)
        timing.polled_at, timing.step = now, step_after(now - timing.started_at)
        # A job stays on its page of a list, which gets its next time when all of it has been seen.
        if timing.scheduled and self.listings.page_of(timing) is None:
            self.place(job, timing)

    def saw_end(self, job: TrackedJob, timing: Timing, now: float) -> float | None:
        """Note that a poll found a job finished, and return how late that was on average, where its age tells it."""
        self._count(job, timing, now, finished=True)
        self.listings.saw_end(job, timing, now)
        if not timing.age_known:
            return None
        timing.age_known = False
        return self.durations.saw_end(job.kind, timing, now)

    def _count(self, job: TrackedJob, timing: Timing, now: float, *, finished: bool) -> None:
        plan = self._plans.get(job.load_key)
        if plan is None or not self.stretched(job) or self.listings.page_of(timing) is not None:
            self.returned(job, finished=finished)
            return
        misses, durations = plan.misses, self.durations[job.kind]
        probed = misses.probe_at is not None
        misses.answered(job, timing, now, finished=finished, curve=durations.last_curve(), learned=durations.ends)
        self.returned(job, finished=finished)
        if probed != (misses.probe_at is not None):
            self._set_times(self._waiting())

    def returned(self, job: TrackedJob, *, finished: bool) -> None:
        """Note that a poll of a job has ended, as far as requests are concerned."""
        self.extra -= not finished
        self.under_way.discard(job)
        self._plans[job.load_key].misses.returned(job, finished=finished)
        self._outdated = True

    # Where jobs wait

    def place(self, job: TrackedJob, timing: Timing) -> None:
        """Have a job wait for its next poll, with its page or alone."""
        self._displace(job, timing)
        page = self.listings.add(job, timing)
        timing.why, timing.lot = None, self._rng.random()
        if page is None:
            self._set_time(job, timing)
        else:
            for other in page.jobs.values():
                # The first one has waited alone.
                other.due = math.inf
        self._wake()

    def put_off(self, job: TrackedJob, timing: Timing, due: float, why: str) -> None:
        """Have a job wait until a time of its own, which no plan changes."""
        self._displace(job, timing)
        timing.due, timing.why = due, why
        self._next_due = min(self._next_due, due)
        self._wake()

    def _place_again(self, job: TrackedJob, timing: Timing) -> None:
        """Place a job anew, unless it is polled or has a time of its own."""
        if job not in self.under_way and timing.why is None:
            self.place(job, timing)

    def _displace(self, job: TrackedJob, timing: Timing) -> None:
        """Take a job out of the jobs that wait."""
        timing.due = math.inf
        self.under_way.discard(job)
        if (page := self.listings.remove(job, timing)) is not None:
            page.due = math.inf
            for other, others in page.jobs.items():
                if other not in self.under_way and others.due == math.inf:
                    self._set_time(other, others)

    def _set_time(self, job: TrackedJob, timing: Timing) -> None:
        """Set when a job is due that waits as planned."""
        policy, interval = job.settings.policy, self.interval(job.load_key, timing.step)
        if interval <= policy.max_interval:
            interval = max(policy.min_interval, interval * (1.0 - _LOT * timing.lot))
        timing.due = timing.polled_at + interval
        self._next_due = min(self._next_due, timing.due)

    def _set_times(self, waiting: Mapping[LoadKey, Mapping[TrackedJob, Timing]]) -> None:
        """Set anew when jobs are due that wait as planned."""
        for jobs in waiting.values():
            for job, timing in jobs.items():
                self._set_time(job, timing)

    def interval(self, key: LoadKey, step: int) -> float:
        """Return how many seconds the jobs of a load wait after a poll at a step."""
        plan = self._plans.get(key)
        # A load that the last plan did not know is new; the next plan comes within a second.
        if plan is None or plan.schedule is None:
            return key[1].max_interval
        return plan.schedule.intervals[step] if plan.misses.probe_at is None else math.inf

    def stretched(self, job: TrackedJob) -> bool:
        """Tell whether jobs like this one are polled more rarely than the service advises."""
        return job.load_key in self._stretched

    def next_poll(self, timing: Timing) -> float:
        """Return when a job is polled next, infinity when no time is set."""
        page = self.listings.page_of(timing)
        return timing.due if page is None else min(timing.due, page.due)

    # What lists show

    def listed(
        self, listing: Listing, targets: Sequence[str], *, show_states: bool, running: Sequence[str] = ()
    ) -> None:
        """Learn from a page of a list that was read for any reason: the jobs that it shows are polled together."""
        if self.listings.listed(listing, targets, show_states=show_states, running=running):
            self.replan_soon()

    def wants_list(self, job: TrackedJob, parent: str) -> bool:
        """Tell whether the list that shows a job is worth reading, to learn which jobs can be polled together."""
        return self.listings.wants(job.kind, parent, stretched=self.stretched(job))

    def read(self, listing: Listing, *, failed: bool = False) -> None:
        """Note that a page was read: jobs that it did not show are polled alone, and all when it fails again."""
        self.listings.read(listing, failed=failed)
        if (job := self.listings.to_check(listing)) is not None and job.timing is not None:
            self.put_off(job, job.timing, self.listings.pages[listing].asked_at, CHECK)
        self.replan_soon()

    # Plans

    def replan_soon(self) -> None:
        """Have a new plan made."""
        self._outdated = True
        self._wake()

    def plan_if_outdated(self, now: float) -> list[tuple[LoadKey, int, float]]:
        """Plan anew when it is time for it, and return the loads whose polls have become rarer than advised.

        Each comes with its number of jobs, and the seconds between a launch and the first poll.
        """
        return self._plan(now) if now >= self._plan_at(now) else []

    def _plan(self, now: float) -> list[tuple[LoadKey, int, float]]:
        self._planned_at, self._outdated = now, False
        for durations in self.durations.values():
            durations.curve()
        loads = self.loads(now)
        limiter, planned = self.limiter, list(loads.values())
        free = limiter.free(now, max((load.horizon for load in planned), default=0.0))
        returning, returns = partial(limiter.returning, now), limiter.first_return(now)
        waiting = self._waiting()
        ages = [now - timing.started_at for jobs in waiting.values() for timing in jobs.values()]
        ages += [now - timing.started_at for page in self.listings.shared() for timing in page.jobs.values()]
        kept = kept_for_the_last(max(ages, default=0.0), returns) if loads else 0.0
        reads = self._reads()
        budget = Budget(planned, free, returning, kept, reads)
        place = budget.price()
        price = None if place is None else price_at(place)
        self.expected_reads = reads(price)
        before, plans = self._stretched, {key: self._plans[key] for key in loads}
        for key, load in loads.items():
            plans[key].schedule = load.at(place)
        self._plans = defaultdict(LoadPlan, plans)
        self._stretched = {key for key, load in loads.items() if load.at(place).stretched}
        for key in loads.keys() - self._stretched:
            # Polls that were put off are planned again.
            plans[key].misses = Misses()
        self._set_times(waiting)
        for page in self.listings.shared():
            page.plan(now, self.durations[page.listing.kind].last_curve(), price)
        self.extra = budget.misses(self.expected_reads) if self._stretched else math.inf
        self._poll_early(now, loads, waiting, returns)
        # What comes back before such jobs end can be used for their last polls and their results.
        soon = min((load.curve.quantile(0.25) for load in planned if load.queued), default=0.0)
        spare = budget.spare - self.expected_reads + returning(soon) - kept
        self.admission.serve(spare, {key: load.least_life for key, load in loads.items()})
        throttled = []
        for key in self._stretched:
            last, plans[key].short_at = plans[key].short_at, now
            if now - last > _ONE_SHORTAGE and key not in before:
                throttled.append((key, loads[key].count, self.interval(key, 0)))
        return throttled

    def _poll_early(
        self,
        now: float,
        loads: Mapping[LoadKey, Load],
        waiting: Mapping[LoadKey, Mapping[TrackedJob, Timing]],
        returns: float,
    ) -> None:
        """Have a few of the jobs that wait polled now whose polls are rarer than the service advises."""
        alone = sum(sum(load.alone.values()) for load in loads.values())
        for key in self._stretched:
            load, misses, jobs = loads[key], self._plans[key].misses, waiting.get(key, {})
            # The oldest one may be stuck, and the others are explored all the same.
            oldest = heapq.nlargest(2, (now - timing.started_at for timing in jobs.values()))
            age = oldest[-1] if oldest else 0.0
            # Where lists show states, each poll of a job alone also finds the list that shows it.
            learned = 0.0 if self.listings.shows_states(key[0]) else load.learned
            misses.allow(age, self.extra * sum(load.alone.values()) / max(1, alone), returns, learned)
            for job in list(misses.chosen(load.curve, jobs, now)):
                self.put_off(job, jobs[job], now, EARLY)

    def _reads(self) -> Reads:
        """Tell how many requests the pages of lists take at a price, with what they may take by chance."""
        pages = [page.reads(self.durations[page.listing.kind].last_curve()) for page in self.listings.shared()]
        return lambda price: sum(reads(price) for reads in pages) * _READS_DOUBT

    def _waiting(self) -> defaultdict[LoadKey, dict[TrackedJob, Timing]]:
        """Return the jobs of each load that wait alone, and as planned."""
        waiting: defaultdict[LoadKey, dict[TrackedJob, Timing]] = defaultdict(dict)
        for job, timing in self._scheduled():
            if timing.why is None and job not in self.under_way and self.listings.page_of(timing) is None:
                waiting[job.load_key][job] = timing
        return waiting

    def _scheduled(self) -> Iterator[tuple[TrackedJob, Timing]]:
        return itertools.chain.from_iterable(same.items() for same in self.jobs.values())

    def load(self, kind: Kind, policy: PollPolicy) -> Load:
        """Describe jobs of a kind of which none runs yet."""
        # Where results are refused before the end, the read of one is a poll.
        result = 0.0 if self.refuses_early_reads.get(kind) else kind.result_requests
        durations = self.durations[kind]
        return Load(curve=durations.last_curve(), policy=policy, result=result, learned=durations.ends)

    def loads(self, now: float, without: LaunchQueue | None = None) -> dict[LoadKey, Load]:
        """Describe the jobs that run and those that wait to be launched, but for those of one queue."""
        alone: defaultdict[LoadKey, Counter[int]] = defaultdict(Counter)
        paged: defaultdict[LoadKey, Counter[int]] = defaultdict(Counter)
        queued: dict[LoadKey, tuple[int, float]] = {}
        for job, timing in self._scheduled():
            if job in self.under_way:
                alone[job.load_key][step_before(now - timing.started_at)] += 1
            elif self.listings.page_of(timing) is None:
                alone[job.load_key][timing.step] += 1
            else:
                paged[job.load_key][timing.seen_running] += 1
        for launches in self.admission.launch_queues:
            if launches.key is not None and launches.launching:
                alone[launches.key][0] += launches.launching
            if launches.key is not None and launches.waiting > 0 and launches is not without:
                count, slots = queued.get(launches.key, (0, 0.0))
                queued[launches.key] = (count + launches.waiting, slots + launches.slots)
        loads = {}
        for key in {**alone, **paged, **queued}:
            count, slots = queued.get(key, (0, math.inf))
            loads[key] = attrs.evolve(
                self.load(*key), alone=alone.get(key, {}), paged=paged.get(key, {}), queued=count, slots=slots
            )
        return loads

    # What is due

    def _plan_at(self, now: float) -> float:
        """Return when the next plan is made, infinity when nothing asks for one."""
        if self._outdated or self.admission.waiting:
            lasts = PLAN
            if not self._outdated and not self._stretched:
                lasts = max(lasts, self.limiter.first_return(now))
        elif self._stretched:
            lasts = _EXPLORING
        else:
            return math.inf
        return self._planned_at + lasts

    def next_time(self, now: float) -> float:
        """Return when something is due next, infinity when nothing is."""
        pages = min((page.due for page in self.listings.pages.values()), default=math.inf)
        polls = max(min(self._next_due, pages), self._crowded_until)
        # A plan that was never made is due at once.
        return max(min(polls, self._plan_at(now)), 0.0)

    def rest_until(self, time: float) -> None:
        """Let nothing be due before a time."""
        self._crowded_until = time

    def due(self, now: float) -> tuple[list[ListPage], dict[TrackedJob, str]]:
        """Take what is due: the pages to read, and the jobs to poll, each with why it has a time of its own.

        No more begins than gets a permit within about a second, because a new plan cannot put off a poll that waits for
        its permit. Where requests are short, each poll may be a miss, and none may take the last poll of another job:
        no more are under way than may be lost.
        """
        limiter = self.limiter
        room = max(0.0, limiter.per_second - limiter.waiting()[Priority.POLL])
        pages = [page for page in self.listings.pages.values() if page.due <= now and page.jobs][: _whole(room)]
        for page in pages:
            page.due, page.asked_at, page.reading = math.inf, now, True
        room = max(0.0, min(room - len(pages), max(1.0, self.extra) - len(self.under_way)))
        taken, late = self._take(now, _whole(room)) if now >= self._next_due else ({}, False)
        # Rounds that look through all jobs are not made for each of them.
        wait = min(limiter.expected_wait(Priority.POLL, now) / 2.0, _STALE) if late or not room else 0.0
        self._crowded_until = now + max(_SOON, wait)
        return pages, taken

    def _take(self, now: float, room: int | None) -> tuple[dict[TrackedJob, str], bool]:
        """Take the jobs that are due, first those that have been due for longest; tell whether more of them wait."""
        ready = sorted((each for each in self._scheduled() if each[1].due <= now), key=lambda each: each[1].due)
        taken = {job: timing.why or "" for job, timing in ready[:room]}
        for job, timing in ready[:room]:
            self.begins(job, timing)
        self._next_due = min((timing.due for _, timing in self._scheduled()), default=math.inf)
        return taken, len(taken) < len(ready)


def _whole(room: float) -> int | None:
    return None if room == math.inf else math.floor(room)
