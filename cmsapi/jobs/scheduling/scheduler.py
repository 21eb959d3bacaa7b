"""Have each job of an account looked at when it is best.

All jobs of an account on one event loop share one of these, because they share one budget. It learns how long jobs take
(`durations`), plans how often to look (`pacing`) at what there is (`workload`), keeps when each job is due
(`timetable`, `pages`), lets launches wait that do not fit (`admission`), and winds one timer for the earliest look. A
timer is nothing to start too late or to leave behind: an account whose jobs nobody waits for has none.

Scouts buy knowledge. As long as next to nothing is known of a kind, three jobs are looked at after 8 s, three others
after 11 s, three after 16 s and so on. Different ones, because each tells something new, and one that is over by then
needed that look anyway.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import attrs

from cmsapi.config import PollPolicy
from cmsapi.jobs.kinds.kind import JobKind
from cmsapi.jobs.kinds.registry import kind_of
from cmsapi.jobs.scheduling.admission import Admission
from cmsapi.jobs.scheduling.duration_store import DurationModels, DurationStore
from cmsapi.jobs.scheduling.durations import step_after, step_before
from cmsapi.jobs.scheduling.list_reads import Page, Pages
from cmsapi.jobs.scheduling.load import PollLoad, ServiceTraits
from cmsapi.jobs.scheduling.plan import GROUPS, Pace, plan
from cmsapi.jobs.scheduling.queue import Listing, LoadKey, PollQueue, ScheduledPoll, Subject
from cmsapi.jobs.scheduling.statistics import Tally
from cmsapi.observability.events import Throttled
from cmsapi.ratelimit.limiter import Priority, RateLimiter

# A plan is good for a second. Without news it is made again when requests may have come back.
_FRESH, _STALE = 1.0, 15.0
# Where looks wait for permits, whether there is room for more is asked as often as this.
_SOON = 0.1
# Shortages that are not further apart than this are one.
_ONE_SHORTAGE = 300.0
_SCOUT_FIRST, _SCOUT_GROWTH, _SCOUTS_AT_ONCE, _SCOUTS, _SCOUTED = 8.0, 1.4, 3, 75, 15
_LONGEST_RETRY = 120.0
# A page of which nothing is expected is read once an hour all the same.
_LONGEST_UNSEEN = 3600.0
_EXPLORED_AT_ONCE = 8
# With fewer jobs than this, a request to learn how the service behaves does not pay.
_MANY = 10


class Scheduler:
    """Have the jobs of one account looked at in time.

    Args:
        limiter: The limiter of the account.
        rng: Source of chance.
    """

    def __init__(self, limiter: RateLimiter, rng: random.Random) -> None:
        self._rng = rng
        self.traits: defaultdict[JobKind, ServiceTraits] = defaultdict(ServiceTraits)
        self.tallies: defaultdict[JobKind, Tally] = defaultdict(Tally)
        self.durations: DurationModels = DurationModels()
        #: Keeps what is learned where others find it; None where there are no others.
        self.duration_store: DurationStore | None = None
        self.pages: Pages = Pages()
        self.admission: Admission = Admission(self._hurry)
        self._poll_queue = PollQueue(self._gap)
        self._watches: set[ScheduledPoll] = set()
        self._looking: set[ScheduledPoll] = set()
        self._by_target: dict[tuple[JobKind, str], list[ScheduledPoll]] = {}
        self.poll_load: PollLoad = PollLoad(
            limiter=limiter,
            durations=self.durations,
            traits=self.traits,
            poll_queue=self._poll_queue,
            pages=self.pages,
            looking=self._looking,
            admission=self.admission,
        )
        self._scouts: Counter[JobKind] = Counter()
        self._paces: dict[LoadKey, Pace] = {}
        # When looks at jobs were last planned to be rare.
        self._short: dict[LoadKey, float] = {}
        self._planned_at = -math.inf
        self._crowded_until = -math.inf
        self._changed = True
        self._timer: asyncio.TimerHandle | None = None
        # Kept beside the timer: a handle of another loop than asyncio's may not tell when it is due.
        self._rings_at = math.inf
        self._unwound = False

    # Jobs

    def watch(
        self, kind: JobKind, target: str, policy: PollPolicy, subject: Subject, since: float, *, launched: bool
    ) -> ScheduledPoll:
        """Make a place in the schedule; `add` takes it up.

        Args:
            kind: Kind of job.
            target: What is looked at.
            policy: How often to look.
            subject: Looks at it.
            since: Loop time from which its age counts.
            launched: Whether that is its launch.
        """
        return ScheduledPoll(kind, target, policy, subject, since, launched, self._group(), polled_at=since)

    def add(self, watch: ScheduledPoll, *, at_once: bool = False) -> None:
        """Have a job looked at from now on.

        Args:
            watch: Its place.
            at_once: Whether the first look comes now, because the job may be over.
        """
        if watch in self._watches:
            return
        self._watches.add(watch)
        self._by_target.setdefault((watch.kind, watch.target), []).append(watch)
        self._changed = True
        if at_once:
            self._poll_queue.set(watch, _now(), "it has not been looked at yet")
        else:
            self._place(watch)
            self._scout(watch)
        self._wind()

    def drop(self, watch: ScheduledPoll) -> None:
        """Look at a job no more."""
        if watch in self._watches:
            self._watches.remove(watch)
            self._looking.discard(watch)
            same = self._by_target[watch.kind, watch.target]
            same.remove(watch)
            if not same:
                del self._by_target[watch.kind, watch.target]
            self._displace(watch)
            self._changed = True
            self._wind()

    def change(self, watch: ScheduledPoll, policy: PollPolicy) -> None:
        """Poll a job as another policy says from now on."""
        placed = watch in self._watches and watch not in self._looking
        if placed:
            self._displace(watch)
        watch.policy = policy
        if placed:
            self._place(watch)
            self._hurry()

    def looking(self, watch: ScheduledPoll) -> None:
        """Note that a look at a job has begun."""
        if watch in self._watches:
            self._displace(watch)
            self._looking.add(watch)

    def saw_running(self, watch: ScheduledPoll, *, certain: bool = True) -> None:
        """Note that a look found a job running.

        Args:
            watch: Its place.
            certain: False when what was seen decides nothing, so that nothing is to be learned from it.
        """
        now = _now()
        age = now - watch.since
        self._count(watch, wasted=True)
        if certain and watch.launched and (known := step_before(age)) > watch.known:
            self.durations[watch.kind].saw_running(watch.known, known)
            watch.known = known
        watch.polled_at, watch.step, watch.failures = now, step_after(age), 0
        watch.group = self._group()
        self._back(watch)

    def saw_end(self, watch: ScheduledPoll) -> None:
        """Note that a look found a job over."""
        self._count(watch, wasted=False)
        if watch.launched:
            age, durations = _now() - watch.since, self.durations[watch.kind]
            curve, after = durations.last_curve(), max(step_after(age), watch.known + 1)
            ended = max(1e-9, curve.ended[min(after, len(curve.ended) - 1)] - curve.ended[watch.known])
            late = curve.lateness(watch.known, age) * curve.running(watch.known) / ended
            self.tallies[watch.kind].end(age, min(late, age))
            durations.saw_end(watch.known, after)
            watch.launched = False
            if self.duration_store is not None:
                self.duration_store.note()
        self.drop(watch)

    def failed(self, watch: ScheduledPoll, *, refused: bool) -> None:
        """Note that a look failed, which says nothing about the job.

        Args:
            watch: Its place.
            refused: Whether the service works and refused just this, so that resting would not help it.
        """
        self._count(watch, wasted=True)
        watch.polled_at = _now()
        watch.failures = 1 if refused else watch.failures + 1
        self._back(watch)

    def hasten(self, watch: ScheduledPoll, why: str) -> None:
        """Have a job looked at as soon as the policy allows it."""
        if watch in self._watches and watch not in self._looking:
            self._displace(watch)
            self._poll_queue.set(watch, max(_now(), watch.polled_at + watch.policy.min_interval), why)
            self._wind()

    # Pages of lists

    def listed(self, listing: Listing, targets: Sequence[str], *, show_states: bool) -> None:
        """Learn from a list that was read, for whatever reason."""
        if self.pages.listed(listing, targets, show_states=show_states) and self._watches:
            shown = [watch for target in targets for watch in self.watching(listing.kind, target)]
            self.pages.found(sum(self.pages.of(watch) is None for watch in shown))
            for watch in shown:
                if watch not in self._looking and watch.due is None:
                    self._displace(watch)
                    self._place(watch)

    def page_read(self, listing: Listing) -> None:
        """Note that a page was read; jobs that it did not show are looked at by themselves."""
        page = self.pages.page(listing)
        if page is not None:
            page.reading, page.failures = False, 0
            self._part([watch for watch in page.watches if watch.polled_at < page.asked_at])
        self._retime(listing)

    def page_failed(self, listing: Listing) -> None:
        """Note that a page could not be read; its jobs are looked at by themselves when that happens again."""
        page = self.pages.page(listing)
        if page is not None:
            page.reading, page.failures = False, page.failures + 1
            if page.failures > 1:
                self._part(list(page.watches))
        self._retime(listing)

    def _part(self, watches: Sequence[ScheduledPoll]) -> None:
        for watch in watches:
            self.pages.forget(watch)
            self._displace(watch)
            self._place(watch)

    @property
    def lost(self) -> bool:
        """Whether it would help to know where the keywords of analyses stand."""
        return len(list(itertools.islice(self._lost(), 2))) > 1

    def explores(self, watch: ScheduledPoll, parent: str) -> bool:
        """Tell whether to read a list that shows a job, to learn which jobs can be polled together."""
        hidden = self.pages.show_states.get(watch.kind) is False
        return not hidden and self.stretches(watch) and self.lost and self.pages.met(watch.kind, parent)

    def _lost(self) -> Iterator[ScheduledPoll]:
        return (watch for watch in self._watches if kind_of(watch.kind).list_operation and not self.pages.knows(watch))

    def _explore(self, now: float) -> None:
        """Look at a few jobs to learn on which web pages they are, when lists are worth finding."""
        if not self.pages.worth_finding:
            return
        lost = [
            watch
            for watch in self._lost()
            if self.pages.show_states.get(watch.kind) and watch not in self._looking and self.stretches(watch)
        ]
        # One look shows the page of a job, if any does.
        new = [watch for watch in lost if not watch.explored and not watch.failures]
        for watch in self._rng.sample(new, min(len(new) // 2, _EXPLORED_AT_ONCE)):
            watch.explored = True
            self._displace(watch)
            due = max(now, watch.polled_at + watch.policy.min_interval)
            self._poll_queue.set(watch, due, "its page may have a list that shows many jobs at once")

    # What is known

    @property
    def idle(self) -> bool:
        """Whether nobody waits for any job."""
        return not self._watches and not self.admission.waiting

    def watching(self, kind: JobKind, target: str) -> tuple[ScheduledPoll, ...]:
        """Return the places of the jobs of a kind that work on a target."""
        return tuple(self._by_target.get((kind, target), ()))

    def next_poll(self, watch: ScheduledPoll) -> float | None:
        """Return the loop time of the next look at a job, None when none is planned."""
        if watch not in self._watches or watch in self._looking:
            return None
        page = self.pages.of(watch)
        earliest = min(watch.next_poll, page.due if page is not None else math.inf)
        return earliest if earliest < math.inf else None

    def why(self, watch: ScheduledPoll) -> str:
        """Say why then."""
        if watch in self._looking:
            return "it is being looked at"
        if watch not in self._watches:
            return "nobody waits for it"
        if watch.due is not None and watch.due <= watch.next_poll:
            return watch.why
        if (page := self.pages.of(watch)) is not None:
            return f"one request for the list of its page shows {len(page.watches)} jobs"
        policy = watch.policy
        if self.stretches(watch):
            free = max(0.0, self.poll_load.limiter.free(_now()))
            return (
                f"looks at {len(self._watches)} jobs every {policy.max_interval:g} s do not fit into the "
                f"{free:.0f} requests that are left of the hour"
            )
        return f"every {policy.min_interval:g} to {policy.max_interval:g} s, as the service advises"

    def expected_end(self, watch: ScheduledPoll) -> float | None:
        """Return when such jobs are over as a rule, None when too little is known."""
        durations = self.durations[watch.kind]
        if not watch.launched or durations.ends < 1:
            return None
        return watch.since + durations.last_curve().quantile(0.5, watch.known)

    def stretches(self, watch: ScheduledPoll) -> bool:
        """Tell whether looks at a job are rarer than the service advises."""
        pace = self._paces.get(watch.key)
        return pace is not None and pace.stretched

    def reads_early(self, watch: ScheduledPoll) -> bool:
        """Tell whether reading the result of a job is to be its poll."""
        return bool(self.traits[watch.kind].refuses_early_reads) and self.stretches(watch)

    def tries_early(self, watch: ScheduledPoll) -> bool:
        """Tell whether a request to learn if the service refuses early reads would pay."""
        traits = self.traits[watch.kind]
        if traits.refuses_early_reads is not None or traits.trying or not self.stretches(watch):
            return False
        return sum(other.kind == watch.kind for other in self._watches) >= _MANY

    # Planning

    def _replan(self, now: float) -> None:
        self._planned_at, self._changed = now, False
        loads = self.poll_load.loads()
        supply = self.poll_load.supply()
        if reads := self.pages.expected_reads(self.durations):
            supply = attrs.evolve(supply, free=supply.free - reads)
        made = plan(list(loads.values()), supply)
        before, self._paces = self._paces, dict(zip(loads, made.paces, strict=True))
        self._poll_queue.replan()
        self._explore(now)
        for page in self.pages.shared():
            self._time_page(page, now)
        for key, pace in self._paces.items():
            if not pace.stretched:
                continue
            last, self._short[key] = self._short.get(key, -math.inf), now
            if now - last > _ONE_SHORTAGE and not (key in before and before[key].stretched):
                event = Throttled(kind=key[0].value, jobs=pace.load.count, interval=pace.gap(0, 0))
                for hooks in {watch.subject.hooks for watch in self._watches if watch.key == key}:
                    hooks(event)
        self.admission.serve(made.spare, dict(zip(loads, made.lives, strict=True)), running=bool(self._watches))

    def _gap(self, key: LoadKey, step: int, group: int) -> float:
        pace = self._paces.get(key)
        # A kind that the last plan did not know is new; the next plan comes within a second.
        return pace.gap(step, group) if pace is not None else key[1].max_interval

    def _place(self, watch: ScheduledPoll) -> None:
        page = self.pages.join(watch)
        if page is None:
            self._poll_queue.line_up(watch)
            return
        if self.pages.of(watch) is None:
            self._poll_queue.line_up(watch)
        else:
            for other in page.watches:
                # The first one had stood alone.
                self._poll_queue.remove(other)
            self._time_page(page, _now())

    def _displace(self, watch: ScheduledPoll) -> None:
        self._poll_queue.remove(watch)
        page = self.pages.leave(watch)
        if page is not None and len(page.watches) == 1:
            (other,) = page.watches
            if other not in self._looking and other.row is None:
                self._poll_queue.line_up(other)

    def _back(self, watch: ScheduledPoll) -> None:
        """Put a job back after a look."""
        self._changed = True
        self._looking.discard(watch)
        if watch in self._watches:
            if not watch.failures and self.pages.of(watch) is not None:
                # It stays where it is, and the page is timed when all of it has been seen.
                self._wind()
                return
            self._displace(watch)
            if watch.failures:
                delay = min(watch.policy.max_interval * 2.0 ** min(watch.failures - 1, 10), _LONGEST_RETRY)
                self._poll_queue.set(watch, watch.polled_at + delay, "the last look failed")
            else:
                self._place(watch)
            self._wind()

    def _scout(self, watch: ScheduledPoll) -> None:
        number = self._scouts[watch.kind]
        if watch.launched and not watch.step and self.durations[watch.kind].ends < _SCOUTED and number < _SCOUTS:
            self._scouts[watch.kind] += 1
            age = _SCOUT_FIRST * _SCOUT_GROWTH ** (number // _SCOUTS_AT_ONCE)
            due = max(watch.since + age, watch.polled_at + watch.policy.min_interval)
            self._poll_queue.set(watch, due, "the first of a kind show how long they take")

    def _time_page(self, page: Page, now: float) -> None:
        # Clients with different policies may wait for jobs on one page: the least patient one decides.
        policies = {watch.policy for watch in page.watches}
        kind = page.listing.kind
        paces = {policy: self._paces.get((kind, policy)) for policy in policies}
        shortest = min(policy.min_interval for policy in policies)
        longest = min(
            _LONGEST_UNSEEN if pace is not None and pace.stretched else policy.max_interval
            for policy, pace in paces.items()
        )
        page.time(now, self.durations[kind].curve(), shortest, longest)

    def _retime(self, listing: Listing) -> None:
        self._changed = True
        page = self.pages.page(listing)
        if page is not None and len(page.watches) > 1:
            self._time_page(page, _now())
        self._wind()

    def _group(self) -> int:
        # `randrange` takes four times as long, and each look draws one.
        return int(self._rng.random() * GROUPS)

    def _count(self, watch: ScheduledPoll, *, wasted: bool) -> None:
        tally = self.tallies[watch.kind]
        tally.polls += 1
        tally.wasted += wasted

    # The timer

    def _hurry(self) -> None:
        self._changed = True
        self._wind()

    def _wind(self) -> None:
        """Have the timer set before the loop waits again: however much changes until then, once is enough."""
        if not self._unwound:
            self._unwound = True
            asyncio.get_running_loop().call_soon(self._set_timer)

    def _set_timer(self) -> None:
        """Set the timer to the next moment at which there is something to do."""
        self._unwound = False
        when = self._next_moment()
        if self._timer is not None:
            if self._rings_at == when:
                return
            self._timer.cancel()
        self._rings_at = when
        self._timer = None if when == math.inf else asyncio.get_running_loop().call_at(when, self._ring)

    def _next_moment(self) -> float:
        if not self._watches and not self.admission.waiting:
            return math.inf
        earliest = min([self._poll_queue.earliest(), *(page.due for page in self.pages.shared())])
        moments = [max(earliest, self._crowded_until)]
        if self._changed:
            moments.append(self._planned_at + _FRESH)
        elif self.admission.waiting or any(pace.stretched for pace in self._paces.values()):
            returns = self.poll_load.limiter.first_return(_now())
            moments.append(self._planned_at + max(_STALE, returns))
        # A plan that was never made is due at once.
        return max(min(moments), 0.0)

    def _ring(self) -> None:
        # A loop rings a little early, by the resolution of its clock. What is due then is done then, because the timer
        # would be set for the same moment, and ring again at once.
        now = _now() if self._timer is None else max(_now(), self._rings_at)
        self._timer = None
        try:
            if now >= self._planned_at + (_FRESH if self._changed else _STALE):
                self._replan(now)
            self._begin(now)
        except Exception:
            # The loop reports it. What one job cannot do must not end the polls of all others.
            self._crowded_until = now + _FRESH
            raise
        finally:
            self._wind()

    def _begin(self, now: float) -> None:
        """Begin the looks that are due, as many as do not wait for a permit for more than about a second.

        What waits there is committed; a new plan could put it off no more.
        """
        limiter = self.poll_load.limiter
        room = max(0.0, limiter.windows.per_second - limiter.queue(Priority.POLL))
        for page in [page for page in self.pages.shared() if page.due <= now]:
            if room:
                room -= 1
                page.due, page.asked_at, page.reading = math.inf, now, True
                next(iter(page.watches)).subject.read_page(page.listing)
        due = self._poll_queue.take(now, room)
        if (due and len(due) == room) or not room:
            wait = limiter.expected_wait(Priority.POLL, now)
            self._crowded_until = now + max(_SOON, min(wait / 2.0, _STALE))
        for watch in due:
            # An eager look at one job may have shown the end of another one.
            if watch in self._watches:
                self._looking.add(watch)
                watch.subject.look()


def _now() -> float:
    return asyncio.get_running_loop().time()
