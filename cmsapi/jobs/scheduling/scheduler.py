"""Have each job of an account polled when it is best.

All jobs of an account on one event loop share one scheduler, because they share one budget. It learns how long jobs
take (`durations`), plans how often to poll (`planner`, `plan`), keeps when each job is due (`poll_queue`,
`list_reads`), lets launches wait that do not fit (`admission`), and sets one timer for the earliest poll. An account
whose jobs have no waiters has no timer.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import math
import random
from collections import defaultdict

from cmsapi.api.model import Model
from cmsapi.jobs.kinds.kind import Kind
from cmsapi.jobs.planning.duration_store import DurationModels, DurationStore
from cmsapi.jobs.planning.durations import step_after
from cmsapi.jobs.scheduling.admission import Admission
from cmsapi.jobs.scheduling.job_poller import JobPoller
from cmsapi.jobs.scheduling.list_reads import ListReads
from cmsapi.jobs.scheduling.overdue import OverdueJobs
from cmsapi.jobs.scheduling.planner import Planner
from cmsapi.jobs.scheduling.poll_queue import PollQueue
from cmsapi.jobs.scheduling.statistics import Tally
from cmsapi.jobs.tracked import JobKey, PollSettings, TrackedJob
from cmsapi.observability.hooks import Hooks
from cmsapi.observability.job_events import Throttled
from cmsapi.ratelimit.limiter import Priority, RateLimiter
from cmsapi.ratelimit.timer import Timer

logger: logging.Logger = logging.getLogger("cmsapi")

# A plan is good for a second. Without news it is made again when requests may have come back, or after some more.
_FRESH, _STALE = 1.0, 15.0
# While polls are rare, a few early ones may be worth while after so many seconds.
_EXPLORING = 2.0
# Where polls wait for permits, whether there is room for more is checked as often as this.
_SOON = 0.1
_LONGEST_RETRY = 120.0


class Scheduler:
    """Have the jobs of one account polled in time.

    Args:
        limiter: The limiter of the account.
        rng: Source of chance.
    """

    def __init__(self, limiter: RateLimiter, rng: random.Random) -> None:
        #: Whether the service refuses to show results before the end, where that was seen.
        self.refuses_early_reads: dict[Kind, bool] = {}
        #: The kinds whose results stay shorter than announced, as was seen, so that the next ones are not waited for.
        self.cut_results: set[Kind] = set()
        self.tallies: defaultdict[Kind, Tally] = defaultdict(Tally)
        self.durations: DurationModels = DurationModels()
        #: Keeps what is learned where others find it; None where there are no others.
        self.duration_store: DurationStore | None = None
        self._overdue = OverdueJobs(self.durations)
        # The scheduled jobs and what polls them, and those among them that are being polled.
        self._jobs: dict[JobKey, dict[TrackedJob, JobPoller]] = {}
        self.admission: Admission = Admission(self._hurry, self._jobs)
        self._polling: set[TrackedJob] = set()
        self._poll_queue = PollQueue(rng)
        self.list_reads: ListReads = ListReads(
            self._jobs, self._polling, self._poll_queue, self.durations, rng, self._hurry
        )
        self.planner: Planner = Planner(
            limiter=limiter,
            durations=self.durations,
            refuses_early_reads=self.refuses_early_reads,
            poll_queue=self._poll_queue,
            list_reads=self.list_reads,
            polling=self._polling,
            admission=self.admission,
        )
        self._crowded_until = -math.inf
        self._changed = True
        self._timer = Timer(self._on_time)
        self._due_at = math.inf
        self._timer_outdated = False

    # Jobs

    def add(self, job: TrackedJob, poller: JobPoller, *, at_once: bool = False) -> None:
        """Have a job polled from now on, for the first time at once if it may be finished."""
        if job.scheduled:
            return
        if not job.was_scheduled:
            job.note_start(_now())
        job.was_scheduled = job.scheduled = True
        self._jobs.setdefault(job.key, {})[job] = poller
        self._changed = True
        if job.poll is not None:
            self._polling.add(job)
        elif at_once:
            self._poll_queue.set(job, _now(), "it has not been polled yet")
        else:
            self.list_reads.place(job)
        self._reset_timer()

    def drop(self, job: TrackedJob) -> None:
        """Poll a job no more."""
        if job.scheduled:
            job.scheduled = False
            self._polling.discard(job)
            # A job without waiters needs none of the requests.
            self.planner.answered(job, finished=True)
            same = self._jobs[job.key]
            del same[job]
            if not same:
                del self._jobs[job.key]
            self.list_reads.displace(job)
            self._changed = True
            self._reset_timer()

    def change(self, job: TrackedJob, settings: PollSettings) -> None:
        """Poll a job with other settings from now on."""
        waits = job.scheduled and job not in self._polling
        if waits:
            self.list_reads.displace(job)
        job.settings = settings
        if waits:
            self.list_reads.place(job)
            self._hurry()

    def polling(self, job: TrackedJob) -> None:
        """Note that a poll of a job has begun."""
        if job.scheduled:
            self.list_reads.displace(job)
            self._polling.add(job)

    def saw_running(self, job: TrackedJob, *, certain: bool = True) -> None:
        """Note that a poll found a job running; a state that decides nothing teaches nothing about durations."""
        if not job.was_scheduled:
            return
        now = _now()
        age = now - job.started_at
        self._count_poll(job.kind, wasted=True)
        if certain and job.age_known:
            self.durations.saw_running(job, age)
        self.planner.saw(job, finished=False)
        self._overdue.saw_running(job, now)
        job.polled_at, job.step = now, step_after(age)
        # A job stays on its page of a list, which gets its next time when all of it has been seen.
        if self._ends_poll(job) and self.list_reads.page_of(job) is None:
            self.list_reads.displace(job)
            self.list_reads.place(job)

    def saw_end(self, job: TrackedJob) -> None:
        """Note that a poll found a job finished."""
        if not job.was_scheduled:
            return
        tally = self._count_poll(job.kind, wasted=False)
        self.planner.saw(job, finished=True)
        if job.age_known:
            age = _now() - job.started_at
            tally.end(age, self.durations.saw_end(job, age))
            job.age_known = False
            if self.duration_store is not None:
                self.duration_store.note()
        self.drop(job)

    def failed(self, job: TrackedJob, *, refused: bool) -> None:
        """Note that a poll failed, which says nothing about the job.

        Polls are repeated after longer and longer waits, unless the service works and refused just this one.
        """
        if not job.was_scheduled:
            return
        self._count_poll(job.kind, wasted=True)
        self.planner.answered(job, finished=False)
        job.polled_at = _now()
        if not self._ends_poll(job):
            return
        self.list_reads.displace(job)
        polls = 1 if refused or job.failures is None else job.failures.polls
        delay = min(job.settings.policy.max_interval * 2.0 ** min(polls - 1, 10), _LONGEST_RETRY)
        # A poll does not wait for a long pause; the job does.
        delay = max(delay, self.planner.limiter.pause_left(job.polled_at))
        self._poll_queue.set(job, job.polled_at + delay, "the last poll failed")

    def hasten(self, job: TrackedJob, why: str) -> None:
        """Have a job polled as soon as the policy allows it."""
        if job.scheduled and job not in self._polling:
            self.list_reads.displace(job)
            self._poll_queue.set(job, max(_now(), job.polled_at + job.settings.policy.min_interval), why)
            self._reset_timer()

    def ask_again(self, job: TrackedJob) -> None:
        """Have a job polled again whose end is in doubt: after as long as the doubt has lasted, or when it counts."""
        lasting, policy = job.history.lasting, job.settings.policy
        if job.scheduled and lasting is not None:
            now = _now()
            self.list_reads.displace(job)
            left = lasting.left(policy, now, seen=job.history.seen)
            wait = max(policy.max_interval, min(now - lasting.since, left))
            self._poll_queue.set(job, now + wait, "what it shows counts only if it stays")
            self._reset_timer()

    # What other requests show

    def show(self, kind: Kind, target: str, document: Model, sent_at: float) -> None:
        """Show the jobs of a target a document that was read for another reason, and asked for at a loop time."""
        for job, poller in tuple(self._jobs.get((kind, target), {}).items()):
            # What one shows may end other jobs of the target. A poll takes in what it reads itself.
            if job.scheduled and job not in self._polling:
                poller.show(job, document, sent_at)

    # What is known

    @property
    def idle(self) -> bool:
        """Whether no job has waiters and no launch waits."""
        return not self._jobs and not self.admission.waiting

    def polls(self, key: JobKey) -> bool:
        """Tell whether a job of this kind and target is polled."""
        return key in self._jobs

    def next_poll(self, job: TrackedJob) -> float | None:
        """Return the loop time of the next poll of a job, None when none is planned."""
        if not job.scheduled or job in self._polling:
            return None
        page = self.list_reads.page_of(job)
        earliest = min(self._poll_queue.next_poll(job), page.due if page is not None else math.inf)
        return earliest if earliest < math.inf else None

    def why(self, job: TrackedJob) -> str:
        """Say why the next poll of a job comes when it does, and whether the job may be stuck."""
        why = self._why(job)
        return f"{why}; it runs far longer than nearly all such jobs" if job.overdue else why

    def _why(self, job: TrackedJob) -> str:
        if job in self._polling:
            return "it is being polled"
        if not job.scheduled:
            return "it has no waiters"
        if (why := self._poll_queue.why(job)) is not None:
            return why
        if (page := self.list_reads.page_of(job)) is not None:
            return f"one request for the list of its page shows {len(page.jobs)} jobs"
        return self.why_interval(job)

    def why_interval(self, job: TrackedJob) -> str:
        """Say why a job that has no time of its own is polled as often as it is."""
        policy = job.settings.policy
        if job.load_key in self.planner.stretched:
            jobs = sum(map(len, self._jobs.values()))
            free = max(0.0, self.planner.limiter.free(_now()))
            return (
                f"polls of {jobs} jobs every {policy.max_interval:g} s do not fit into the {free:.0f} requests that "
                "are left of the hour"
            )
        return f"every {policy.min_interval:g} to {policy.max_interval:g} s, as the service advises"

    # Rounds

    def _replan(self, now: float) -> None:
        self._changed = False
        for key, jobs, interval in self.planner.replan(now):
            event = Throttled(kind=key[0].name.value, jobs=jobs, interval=interval)
            scheduled = itertools.chain.from_iterable(same.items() for same in self._jobs.values())
            Hooks.joined({poller.hooks for job, poller in scheduled if job.load_key == key})(event)

    def _count_poll(self, kind: Kind, *, wasted: bool) -> Tally:
        """Count a poll of a job; it is wasted unless it found the job finished."""
        tally = self.tallies[kind]
        tally.polls += 1
        tally.wasted += wasted
        return tally

    def _ends_poll(self, job: TrackedJob) -> bool:
        """Note that a poll has ended, and tell whether its job is still scheduled."""
        self._changed = True
        self._polling.discard(job)
        if not job.scheduled:
            return False
        self._reset_timer()
        return True

    def _hurry(self) -> None:
        self._changed = True
        self._reset_timer()

    def _next_moment(self) -> float:
        if self.idle:
            return math.inf
        due = min([*(page.due for page in self.list_reads.pages.values()), self._poll_queue.earliest()])
        moments = [max(due, self._crowded_until)]
        if self._changed:
            moments.append(self.planner.planned_at + _FRESH)
        elif self.planner.stretched:
            moments.append(self.planner.planned_at + self._plan_lasts)
        elif self.admission.waiting:
            returns = self.planner.limiter.first_return(_now())
            moments.append(self.planner.planned_at + max(self._plan_lasts, returns))
        # A plan that was never made is due at once.
        return max(min(moments), 0.0)

    @property
    def _plan_lasts(self) -> float:
        """Seconds after which a plan is made again: soon where launches wait, which requests that come back admit."""
        if self._changed or self.admission.waiting:
            return _FRESH
        return _EXPLORING if self.planner.stretched else _STALE

    def _reset_timer(self) -> None:
        """Have the timer set before the loop waits again: however much changes until then, once is enough."""
        if not self._timer_outdated:
            self._timer_outdated = True
            asyncio.get_running_loop().call_soon(self._set_timer)

    def _set_timer(self) -> None:
        self._timer_outdated = False
        self._due_at = self._next_moment()
        self._timer.set(self._due_at)

    def _on_time(self, now: float) -> None:
        # A loop may call a little early, by the resolution of its clock. What is due then is done then, because the
        # timer would be set for the same moment, and fire again at once.
        now = max(now, self._due_at)
        try:
            if now >= self.planner.planned_at + self._plan_lasts:
                self._replan(now)
            self._begin_polls(now)
        except Exception:
            # The loop reports it, and the next round comes soon.
            self._crowded_until = now + _FRESH
            raise
        finally:
            self._reset_timer()

    def _begin_polls(self, now: float) -> None:
        """Begin the polls that are due, but no more than get a permit within about a second.

        A new plan cannot put off a poll that waits for its permit. Where requests are short, each poll may find its job
        running, and none may take the last poll of another job: no more are under way than may be lost.
        """
        limiter, pages = self.planner.limiter, [page for page in self.list_reads.pages.values() if page.due <= now]
        # What a page shows is compared with when it was asked for, which is not when that was due: see `_on_time`.
        asked_at = _now()
        room = max(0.0, limiter.per_second - limiter.waiting()[Priority.POLL])
        for page in pages:
            # An eager read of one page may have shown the ends of all jobs on another one.
            if room and page.jobs:
                room -= 1
                page.due, page.asked_at, page.reading = math.inf, asked_at, True
                # The settings of a copy made by `with_options` must not keep its original from seeing the page.
                reader = min(page.jobs, key=lambda job: job.settings.depth)
                try:
                    self._jobs[reader.key][reader].read_list(page.listing, reader)
                except Exception:
                    logger.exception("the read of a page of a list could not begin")
                    self.list_reads.read(page.listing, failed=True)
        room = max(0.0, min(room, max(1.0, self.planner.extra) - len(self._polling)))
        due = self._poll_queue.take(now, room)
        if (due and len(due) == room) or not room:
            wait = limiter.expected_wait(Priority.POLL, now)
            self._crowded_until = now + max(_SOON, min(wait / 2.0, _STALE))
        for job, why in due.items():
            # An eager poll of one job may have shown the end of another one.
            if job.scheduled:
                self._polling.add(job)
                try:
                    self._jobs[job.key][job].poll(job, why)
                except Exception:
                    # The polls of the other jobs begin all the same.
                    logger.exception("the poll of %r could not begin", job)
                    self.failed(job, refused=False)


def _now() -> float:
    return asyncio.get_running_loop().time()
