"""Poll many jobs with one request: a list may show the state of each (specification 4.5).

The specification does not show the items of a list. When they carry the states of jobs, one request settles up to 100
jobs. So jobs on one page of a list are polled together. A page is read

- when the ends of its jobs have, together and as far as can be expected, been unseen for long enough;
- when one job is expected to have been over for longer than `max_interval`, which is what counts when few are left;
- when a job has grown so much older since it was seen that what is believed of it may be wrong.

`max_interval` is a promise for jobs that are polled one by one. A page keeps it where the policy is strict, and where
it has few jobs, which would be polled that often without the list.
"""

from __future__ import annotations

import bisect
import itertools
import math
import random
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import attrs

from cmsapi.jobs.kinds.kind import Kind
from cmsapi.jobs.scheduling.durations import AGES, Curve, DurationModel, step_before
from cmsapi.jobs.scheduling.poll_interval import GROUPS, HOUR, scouting_interval
from cmsapi.jobs.scheduling.poll_queue import PollQueue
from cmsapi.jobs.tracked import JobKey, LoadKey, TrackedJob

# A read of a page is worth so many seconds for which ends are unseen, summed over its jobs, or the square of their
# number divided by this where that is less. While requests are to spare, ten jobs are then seen about as soon as they
# would be alone, and forty a few seconds later, for a quarter of a request each.
_WORTH, _SPARE_WORTH = 80.0, 20.0
# One job is expected to have been over for no more than so many times `max_interval`.
_LATE = 1.5
# A page that never had more jobs than this keeps `max_interval`, while these would keep it alone.
_FEW = 4
# Whatever is believed, a job is seen again within this part of the median, or of the age at which it was seen.
_PART, _GROWTH = 0.5, 0.6
# Reads are a matter of chance: pages take no more than this share of the requests that are there for their jobs.
_SURE = 0.75
# Finding a list takes two requests. It is expected to show ten of the jobs, until some were found, and has to show
# three.
_EXPECTED, _WORTHWHILE = 10.0, 3.0
_EXPLORING = "a list may show many such jobs at once"
# Of the lists that are to be found, so many are looked for at a time: of more, several would be the same one.
_AT_A_TIME = 0.15
_LARGEST_MEMORY = 50_000
# The number of reads is estimated from the ends within these spans of seconds.
_SPANS = AGES[::4]


@attrs.frozen
class Listing:
    """Name one page of a list whose items show the states of jobs.

    Args:
        kind: The kind of the jobs.
        parent: What the list belongs to, such as the web page whose keywords are listed.
        number: Number of the page of the list, from 1.
    """

    kind: Kind
    parent: str
    number: int


@attrs.frozen
class Patience:
    """Say how long the ends of the jobs on a page may stay unseen.

    Args:
        shortest: Seconds between two reads at the least.
        longest: Seconds between two reads at the most.
        one: Seconds for which one job may have been over, as expected.
        all: The same, summed over all jobs.
    """

    shortest: float
    longest: float
    one: float
    all: float


@attrs.define(eq=False)
class ListPage:
    """Hold the jobs that one request shows.

    Args:
        listing: The request.
        jobs: The jobs.
        most: How many jobs it has had at a time.
        asked_at: When it was last asked for.
        due: When to ask next; infinity while it is being read, and while its job is polled alone.
        reading: Whether it is being read.
        failures: How often in a row it could not be read.
    """

    listing: Listing
    jobs: dict[TrackedJob, None] = attrs.field(factory=dict)
    most: int = 0
    asked_at: float = -math.inf
    due: float = math.inf
    reading: bool = False
    failures: int = 0

    @property
    def shared(self) -> bool:
        """Whether its jobs are polled together; the last of many jobs does not become more urgent than before."""
        return len(self.jobs) > 1 or self.most > _FEW

    def add(self, job: TrackedJob) -> None:
        """Have a job wait for the next read."""
        self.jobs[job] = None
        self.most = max(self.most, len(self.jobs))

    def time(self, now: float, curve: Curve, stretched: Collection[LoadKey], scarcity: float) -> None:
        """Set when to read it next, unless it is being read.

        Args:
            now: Time of the loop.
            curve: How long such jobs take.
            stretched: The loads whose jobs are polled more rarely than the service advises.
            scarcity: By what factor a request is worth more than with requests to spare.
        """
        if self.reading:
            return
        patience = self._patience(stretched, scarcity)
        # Jobs of nearly the same age count as one of several times the weight.
        alike = Counter((job.seen_running, round(job.started_at)) for job in self.jobs)

        def worth_it(quarters: int) -> bool:
            at, late = now + quarters / 4.0, 0.0
            for (step, since), count in alike.items():
                lateness = curve.lateness(step, at - since)
                if lateness >= patience.one:
                    return True
                late += count * lateness
            return late >= patience.all

        worth = now + bisect.bisect_left(range(4 * int(HOUR)), True, key=worth_it) / 4.0
        median, longest, slack = curve.quantile(0.5), patience.longest, math.sqrt(scarcity)
        latest = min(job.polled_at + min(longest, slack * _longest_wait(job, median)) for job in self.jobs)
        # A launch does not put the read off, or launches one by one would do so again and again.
        seen = max((job.polled_at for job in self.jobs if job.polled_at > job.started_at), default=-math.inf)
        self.due = max(now, max(self.asked_at, seen) + patience.shortest, min(worth, latest))

    def reads(self, curve: Curve, stretched: Collection[LoadKey]) -> float:
        """Estimate how many reads its jobs still take, with requests to spare.

        Args:
            curve: How long such jobs take.
            stretched: The loads whose jobs are polled more rarely than the service advises.
        """
        patience = self._patience(stretched, 1.0)
        counts = Counter(job.seen_running for job in self.jobs)
        # The last read comes after the last end.
        reads, running = 0.5, float(len(self.jobs))
        for since, until in itertools.pairwise(_SPANS):
            left = sum(count * _share_left(curve, step, until) for step, count in counts.items())
            # Ends come evenly over a short span, so that the mean of the lateness is half of the interval.
            late = min(patience.all, patience.one * max(1.0, left))
            interval = math.sqrt(2.0 * late * (until - since) / max(running - left, 1e-9))
            reads += min(1.0, running) * (until - since) / max(patience.shortest, min(patience.longest, interval))
            running = left
        return reads

    def _patience(self, stretched: Collection[LoadKey], scarcity: float) -> Patience:
        # Clients with different policies may wait for jobs on one page: the least patient one decides.
        policies = {job.settings.policy for job in self.jobs}
        spare = [policy for policy in policies if (self.listing.kind, policy) not in stretched]
        kept = [policy.max_interval for policy in spare if policy.budget == "strict" or self.most <= _FEW]
        return Patience(
            shortest=min(policy.min_interval for policy in policies),
            longest=min(kept, default=math.inf),
            one=scarcity * _LATE * min(policy.max_interval for policy in policies),
            all=scarcity * min(_WORTH, self.most**2 / _SPARE_WORTH if spare else math.inf),
        )


def _share_left(curve: Curve, step: int, span: float) -> float:
    """Return the share of the jobs that ran at a step and still run after a span of seconds."""
    return curve.running(step_before(AGES[step] + span)) / max(curve.running(step), 1e-9)


def _longest_wait(job: TrackedJob, median: float) -> float:
    """Return how many seconds a job may wait for its next poll, whatever is believed of the end."""
    if job.group >= GROUPS:
        return scouting_interval(job.group)
    return max(_PART * median, _GROWTH * (job.polled_at - job.started_at))


class ListReads:
    """Decide which jobs are polled together, with one request for a page of a list, and which alone.

    Args:
        jobs: The jobs that are scheduled, by kind and target.
        polling: The jobs among them that are being polled.
        poll_queue: Jobs that are polled alone.
        durations: How long jobs of each kind take.
        rng: Source of chance.
        hurry: Has a new plan made soon.
    """

    def __init__(
        self,
        jobs: Mapping[JobKey, Sequence[TrackedJob]],
        polling: Collection[TrackedJob],
        poll_queue: PollQueue,
        durations: Mapping[Kind, DurationModel],
        rng: random.Random,
        hurry: Callable[[], None],
    ) -> None:
        #: What one request shows.
        self.pages: dict[Listing, ListPage] = {}
        self._page_of: dict[TrackedJob, ListPage] = {}
        # Whether the items of lists show the states of jobs of a kind; no entry until one was seen.
        self._show_states: dict[Kind, bool] = {}
        # The page that shows a job, as far as it is known.
        self._listing_of: OrderedDict[JobKey, Listing] = OrderedDict()
        # The lists that were read because of a job, and how many jobs they have shown for the first time, counted from
        # what is expected of the first list.
        self._met: set[JobKey] = set()
        self._found = _EXPECTED
        self._jobs = jobs
        self._polling = polling
        self._poll_queue = poll_queue
        # The loads whose jobs are polled more rarely than the service advises.
        self._stretched: Collection[LoadKey] = ()
        #: How many requests the jobs on pages are expected to take, with requests to spare.
        self.expected: float = 0.0
        # By what factor a request is worth more than then.
        self._scarcity = 1.0
        self._durations = durations
        self._rng = rng
        self._hurry = hurry

    # Where jobs wait

    def place(self, job: TrackedJob) -> None:
        """Have a job wait for its next poll, with its page or alone."""
        listing = self._listing_of.get(job.key) if self._show_states.get(job.kind) else None
        page = self.pages.setdefault(listing, ListPage(listing)) if listing is not None else None
        # A read may be that of a copy of the client, which may wait for the answer for hours.
        if page is not None and not page.reading:
            page.add(job)
            self._page_of[job] = page
        if (together := self.page_of(job)) is None:
            self._poll_queue.enter_cohort(job)
        else:
            for other in together.jobs:
                # The first one has waited alone.
                self._poll_queue.remove(other)

    def displace(self, job: TrackedJob) -> None:
        """Take a job out of the queue and off its page."""
        self._poll_queue.remove(job)
        page = self._page_of.pop(job, None)
        if page is None:
            return
        del page.jobs[job]
        if not page.jobs:
            del self.pages[page.listing]
        elif not page.shared:
            (other,), page.due = page.jobs, math.inf
            if other not in self._polling and other.cohort is None:
                self._poll_queue.enter_cohort(other)

    def page_of(self, job: TrackedJob) -> ListPage | None:
        """Return the page with which a job is polled, or None when it is polled alone."""
        page = self._page_of.get(job)
        return page if page is not None and page.shared else None

    def shared(self) -> Iterator[ListPage]:
        """Give the pages whose jobs are polled together."""
        return (page for page in self.pages.values() if page.shared)

    def allot(self, free: float) -> float:
        """Return how many of the requests that the hour admits now the jobs on pages take."""
        pages = list(self.shared())
        self.expected = sum(page.reads(self._curve(page), self._stretched) for page in pages)
        paged = sum(len(page.jobs) for page in pages)
        share = max(1.0, _SURE * free * paged / sum(map(len, self._jobs.values()))) if paged else math.inf
        # The number of reads falls with the root of what one is worth.
        self._scarcity = max(1.0, self.expected / share) ** 2
        return min(self.expected, share)

    def replan(self, now: float, stretched: Collection[LoadKey]) -> None:
        """Set anew when to read each page, and poll a few jobs to find more pages where that pays.

        Args:
            now: Time of the loop.
            stretched: The loads whose jobs are polled more rarely than the service advises.
        """
        self._stretched = stretched
        self._explore(now)
        for page in self.shared():
            page.time(now, self._curve(page), stretched, self._scarcity)

    # What lists show

    def listed(self, listing: Listing, targets: Sequence[str], *, show_states: bool) -> None:
        """Learn from a page of a list that was read for any reason: the jobs that it shows are polled together."""
        if (page := self.pages.get(listing)) is not None:
            page.reading = False
        kind, known = listing.kind, self._listing_of
        keys = [(kind, target) for target in targets]
        news = show_states and (not self._show_states.get(kind) or any(known.get(key) != listing for key in keys))
        for key in keys:
            known[key] = listing
            known.move_to_end(key)
        while len(known) > _LARGEST_MEMORY:
            known.popitem(last=False)
        self._show_states[kind] = show_states
        if not news:
            return
        shown = [job for key in keys for job in self._jobs.get(key, ())]
        self._found += sum(self.page_of(job) is None for job in shown)
        for job in shown:
            if job not in self._polling and (job.due is None or job.why == _EXPLORING):
                self.displace(job)
                self.place(job)
        self._hurry()

    def read(self, listing: Listing, *, failed: bool = False) -> None:
        """Note that a page was read: jobs that it did not show are polled alone, and all when it fails again."""
        page = self.pages.get(listing)
        if page is not None:
            page.reading, page.failures = False, page.failures + 1 if failed else 0
            missing = [job for job in page.jobs if failed or job.polled_at < page.asked_at]
            for job in missing if page.failures != 1 else ():
                self._listing_of.pop(job.key, None)
                self.displace(job)
                self.place(job)
        self._hurry()

    def may_show_states(self, kind: Kind) -> bool:
        """Tell whether lists show the states of jobs of a kind, or may do so as far as was seen."""
        return bool(kind.list_operation) and self._show_states.get(kind, True)

    @property
    def has_unlisted_jobs(self) -> bool:
        """Whether several jobs run that lists may show, and whose pages are not known."""
        return len(list(itertools.islice(self._unlisted(), 2))) > 1

    def wants(self, job: TrackedJob, parent: str) -> bool:
        """Tell whether the list that shows a job is worth reading, to learn which jobs can be polled together."""
        key = (job.kind, parent)
        if self._show_states.get(job.kind) is False or job.load_key not in self._stretched or key in self._met:
            return False
        if not self.has_unlisted_jobs or self._found_a_list < _WORTHWHILE:
            return False
        self._met.add(key)
        return True

    # How

    def _curve(self, page: ListPage) -> Curve:
        return self._durations[page.listing.kind].last_curve()

    def _unlisted(self) -> Iterator[TrackedJob]:
        known = self._listing_of
        lost = (jobs for key, jobs in self._jobs.items() if key not in known and key[0].list_operation)
        return itertools.chain.from_iterable(lost)

    @property
    def _found_a_list(self) -> float:
        """How many jobs a list is expected to show for the first time."""
        return self._found / (1.0 + len(self._met))

    def _explore(self, now: float) -> None:
        """Poll a few jobs to learn which lists show them, when lists are worth finding."""
        states = self._show_states
        if not any(states.values()) or self._found_a_list < _WORTHWHILE:
            return
        lost = [job for job in self._unlisted() if states.get(job.kind) and job.load_key in self._stretched]
        asked = sum(job.explored and (job.why == _EXPLORING or job in self._polling) for job in lost)
        at_a_time = max(1, round(_AT_A_TIME * len(lost) / self._found_a_list))
        # One poll shows the list of a job, if any does.
        new = [
            job
            for job in lost
            if not job.explored
            and job.failures is None
            and job not in self._polling
            and job.polled_at + job.settings.policy.min_interval <= now
        ]
        for job in self._rng.sample(new, max(0, min(len(new) // 2, at_a_time - asked))):
            job.explored = True
            self.displace(job)
            self._poll_queue.set(job, now, _EXPLORING)
