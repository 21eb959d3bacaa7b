"""Have each job of an account polled when the policy says so: one timer, for what is due first.

All jobs of an account on one event loop share one scheduler, because they share one budget. An account whose jobs have
no waiters has no timer.
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
from collections import defaultdict
from typing import Protocol

from cmsapi.api.model import Model
from cmsapi.jobs.kinds.kind import Kind
from cmsapi.jobs.planning.budget import PLAN
from cmsapi.jobs.planning.duration_store import DurationStore
from cmsapi.jobs.scheduling.overdue import OverdueJobs
from cmsapi.jobs.scheduling.policy import Policy
from cmsapi.jobs.statistics import Tally
from cmsapi.jobs.timing import Listing
from cmsapi.jobs.tracked import JobKey, PollSettings, TrackedJob
from cmsapi.observability.hooks import Hooks
from cmsapi.observability.job_events import Throttled
from cmsapi.ratelimit.limiter import RateLimiter
from cmsapi.ratelimit.timer import Timer

logger: logging.Logger = logging.getLogger("cmsapi")

# Polls that fail are repeated after longer and longer waits, up to this one.
_LONGEST_WAIT = 120.0


class JobPoller(Protocol):
    """Poll the jobs of one client when the scheduler says so; no method waits for an answer."""

    #: The hooks of its client.
    hooks: Hooks

    def poll(self, job: TrackedJob, why: str) -> None:
        """Begin a poll of a job that is due, and say why it is where that is special."""

    def read_list(self, listing: Listing, job: TrackedJob) -> None:
        """Begin to read a page of a list on which several jobs are, with the settings of one of them."""

    def show(self, job: TrackedJob, document: Model, sent_at: float) -> None:
        """Show a job a document that was read for another reason, and asked for at a loop time."""


class Scheduler:
    """Have the jobs of one account polled in time.

    Args:
        limiter: The limiter of the account.
        rng: Source of chance.
    """

    def __init__(self, limiter: RateLimiter, rng: random.Random) -> None:
        #: Decides which poll is sent when.
        self.policy: Policy = Policy(limiter, rng, self._reset_timer)
        #: The kinds whose results stay shorter than announced, as was seen, so that the next ones are not waited for.
        self.cut_results: set[Kind] = set()
        #: The kinds whose results were seen to be all there once they could be read.
        self.whole_results: set[Kind] = set()
        self.tallies: defaultdict[Kind, Tally] = defaultdict(Tally)
        #: Keeps what is learned where others find it; None where there are no others.
        self.duration_store: DurationStore | None = None
        self._overdue = OverdueJobs()
        self._pollers: dict[TrackedJob, JobPoller] = {}
        self._timer = Timer(self._on_time)
        self._due_at = math.inf
        self._timer_outdated = False

    # Jobs

    def add(self, job: TrackedJob, poller: JobPoller, *, at_once: bool = False) -> None:
        """Have a job polled from now on, for the first time at once if it may be finished."""
        if job.timing is None or not job.timing.scheduled:
            self._pollers[job] = poller
            self.policy.add(job, _now(), at_once=at_once)
            if job.poll is not None:
                self.polling(job)

    def drop(self, job: TrackedJob) -> None:
        """Poll a job no more."""
        if job.timing is not None and job.timing.scheduled:
            self.policy.drop(job, job.timing)
            del self._pollers[job]

    def change(self, job: TrackedJob, settings: PollSettings) -> None:
        """Poll a job with other settings from now on."""
        job.settings = settings
        if job.timing is not None and self._waits(job):
            self.policy.place(job, job.timing)
            self.policy.replan_soon()

    def polling(self, job: TrackedJob) -> None:
        """Note that a poll of a job has begun."""
        if job.timing is not None:
            self.policy.begins(job, job.timing)

    def saw_running(self, job: TrackedJob, *, certain: bool = True) -> None:
        """Note that a poll found a job running; a state that decides nothing teaches nothing about durations."""
        if (timing := job.timing) is not None:
            now = _now()
            self._tally(job.kind, wasted=True)
            self.policy.saw_running(job, timing, now, certain=certain)
            self._overdue.saw_running(job, timing, self.policy.durations[job.kind], now)

    def saw_end(self, job: TrackedJob) -> None:
        """Note that a poll found a job finished."""
        if (timing := job.timing) is not None:
            now = _now()
            tally = self._tally(job.kind, wasted=False)
            late = self.policy.saw_end(job, timing, now)
            if late is not None:
                tally.end(now - timing.started_at, late)
                if self.duration_store is not None:
                    self.duration_store.note()
            self.drop(job)

    def failed(self, job: TrackedJob, *, refused: bool) -> None:
        """Note that a poll failed, which says nothing about the job.

        Polls are repeated after longer and longer waits, unless the service works and refused just this one.
        """
        if (timing := job.timing) is None:
            return
        now = timing.polled_at = _now()
        self._tally(job.kind, wasted=True)
        self.policy.returned(job, finished=False)
        if timing.scheduled:
            polls = 1 if refused or job.failures is None else job.failures.polls
            delay = min(job.settings.policy.max_interval * 2.0 ** min(polls - 1, 10), _LONGEST_WAIT)
            # A poll does not wait for a long pause; the job does.
            delay = max(delay, self.policy.limiter.pause_left(now))
            self.policy.put_off(job, timing, now + delay, "the last poll failed")

    def hasten(self, job: TrackedJob, why: str) -> None:
        """Have a job polled as soon as the policy allows it."""
        if (timing := job.timing) is not None and self._waits(job):
            self.policy.put_off(job, timing, max(_now(), timing.polled_at + job.settings.policy.min_interval), why)

    def ask_again(self, job: TrackedJob) -> None:
        """Have a job polled again whose end is in doubt: after as long as the doubt has lasted, or when it counts."""
        lasting, settings = job.history.lasting, job.settings.policy
        if (timing := job.timing) is not None and timing.scheduled and lasting is not None:
            now = _now()
            left = lasting.left(settings, now, seen=job.history.seen)
            wait = max(settings.max_interval, min(now - lasting.since, left))
            self.policy.put_off(job, timing, now + wait, "what it shows counts only if it stays")

    # What other requests show

    def show(self, kind: Kind, target: str, document: Model, sent_at: float) -> None:
        """Show the jobs of a target a document that was read for another reason, and asked for at a loop time."""
        for job in tuple(self.policy.jobs.get((kind, target), ())):
            # What one shows may end other jobs of the target. A poll takes in what it reads itself.
            if job.timing is not None and job.timing.scheduled and job not in self.policy.under_way:
                self._pollers[job].show(job, document, sent_at)

    # What is known

    @property
    def idle(self) -> bool:
        """Whether no job has waiters and no launch waits."""
        return not self._pollers and not self.policy.admission.waiting

    def polls(self, key: JobKey) -> bool:
        """Tell whether a job of this kind and target is polled."""
        return key in self.policy.jobs

    def next_poll(self, job: TrackedJob) -> float | None:
        """Return the loop time of the next poll of a job, None when none is planned."""
        if job.timing is None or not self._waits(job):
            return None
        earliest = self.policy.next_poll(job.timing)
        return earliest if earliest < math.inf else None

    def why(self, job: TrackedJob) -> str:
        """Say why the next poll of a job comes when it does, and whether the job may be stuck."""
        if (timing := job.timing) is None or not timing.scheduled:
            return "it has no waiters"
        if job in self.policy.under_way:
            why = "it is being polled"
        elif timing.why is not None:
            why = timing.why
        elif (page := self.policy.listings.page_of(timing)) is not None:
            why = f"one request for the list of its page shows {len(page.jobs)} jobs"
        else:
            why = self.why_interval(job)
        return f"{why}; it runs far longer than nearly all such jobs" if timing.overdue else why

    def why_interval(self, job: TrackedJob) -> str:
        """Say why a job that has no time of its own is polled as often as it is."""
        policy = job.settings.policy
        if self.policy.stretched(job):
            jobs = len(self._pollers)
            free = max(0.0, self.policy.limiter.free(_now()))
            return (
                f"polls of {jobs} jobs every {policy.max_interval:g} s do not fit into the {free:.0f} requests that "
                "are left of the hour"
            )
        return f"every {policy.min_interval:g} to {policy.max_interval:g} s, as the service advises"

    def _waits(self, job: TrackedJob) -> bool:
        return job.timing is not None and job.timing.scheduled and job not in self.policy.under_way

    def _tally(self, kind: Kind, *, wasted: bool) -> Tally:
        """Count a poll of a job; it is wasted unless it found the job finished."""
        tally = self.tallies[kind]
        tally.polls += 1
        tally.wasted += wasted
        return tally

    # Rounds

    def _reset_timer(self) -> None:
        """Have the timer set before the loop waits again: however much changes until then, once is enough."""
        if not self._timer_outdated:
            self._timer_outdated = True
            asyncio.get_running_loop().call_soon(self._set_timer)

    def _set_timer(self) -> None:
        self._timer_outdated = False
        self._due_at = math.inf if self.idle else self.policy.next_time(_now())
        self._timer.set(self._due_at)

    def _on_time(self, now: float) -> None:
        # A loop may call a little early, by the resolution of its clock. What is due then is done then, because the
        # timer would be set for the same moment, and fire again at once.
        now = max(now, self._due_at)
        try:
            for key, jobs, interval in self.policy.plan_if_outdated(now):
                event = Throttled(kind=key[0].name.value, jobs=jobs, interval=interval)
                Hooks.joined({poller.hooks for job, poller in self._pollers.items() if job.load_key == key})(event)
            self._begin(now)
        except Exception:
            # The loop reports it, and the next round comes soon.
            self.policy.rest_until(now + PLAN)
            raise
        finally:
            self._reset_timer()

    def _begin(self, now: float) -> None:
        """Begin the polls and the reads that are due."""
        pages, jobs = self.policy.due(now)
        for page in pages:
            # The settings of a copy made by `with_options` must not keep its original from seeing the page.
            reader = min(page.jobs, key=lambda job: job.settings.depth, default=None)
            if reader is None:
                # An eager read of one page may have shown the ends of all jobs on another one.
                continue
            # What a page shows is compared with when it was asked for, which is not when that was due.
            page.asked_at = _now()
            try:
                self._pollers[reader].read_list(page.listing, reader)
            except Exception:
                logger.exception("the read of a page of a list could not begin")
                self.policy.read(page.listing, failed=True)
        for job, why in jobs.items():
            # An eager poll of one job may have shown the end of another one.
            if job.timing is not None and job.timing.scheduled:
                try:
                    self._pollers[job].poll(job, why)
                except Exception:
                    # The polls of the other jobs begin all the same.
                    logger.exception("the poll of %r could not begin", job)
                    self.failed(job, refused=False)


def _now() -> float:
    return asyncio.get_running_loop().time()
