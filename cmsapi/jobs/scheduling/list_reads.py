"""Poll many jobs with one request: a list may show the state of each (specification 4.5).

The specification does not show the items of a list. When they carry the states of jobs, one request settles up to 100
jobs. So jobs on one page of a list are polled together: when their ends have, together and as far as can be expected,
been unseen for long enough to be worth a request.
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
from cmsapi.jobs.scheduling.durations import Curve, DurationModel
from cmsapi.jobs.scheduling.poll_queue import PollQueue
from cmsapi.jobs.tracked import JobKey, LoadKey, TrackedJob

# A read of a page is worth so many seconds for which ends are unseen, summed over its jobs. It makes about one request
# of four jobs, and lets each wait a few seconds.
WORTH = 40.0
_FEWEST = 2
# Finding a list takes two requests. It is expected to show ten of the jobs, until some were found, and has to show
# three.
_EXPECTED, _WORTHWHILE = 10.0, 3.0
_LARGEST_MEMORY = 50_000
# A page of which nothing is expected is read once an hour all the same.
_LONGEST_UNREAD = 3600.0
_EXPLORED_AT_ONCE = 8


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


@attrs.define(eq=False)
class ListPage:
    """Hold the jobs that one request shows.

    Args:
        listing: The request.
        jobs: The jobs.
        asked_at: When it was last asked for.
        due: When to ask next; infinity while it is being read, and for a single job, which is polled alone.
        reading: Whether it is being read.
        failures: How often in a row it could not be read.
    """

    listing: Listing
    jobs: dict[TrackedJob, None] = attrs.field(factory=dict)
    asked_at: float = -math.inf
    due: float = math.inf
    reading: bool = False
    failures: int = 0

    def time(self, now: float, curve: Curve, stretched: Collection[LoadKey]) -> None:
        """Set when to read it next, unless it is being read.

        Args:
            now: Time of the loop.
            curve: How long such jobs take.
            stretched: The loads whose jobs are polled more rarely than the service advises.
        """
        if self.reading:
            return
        # Clients with different policies may wait for jobs on one page: the least patient one decides.
        policies = {job.settings.policy for job in self.jobs}
        shortest = min(policy.min_interval for policy in policies)
        longest = min(
            _LONGEST_UNREAD if (self.listing.kind, policy) in stretched else policy.max_interval for policy in policies
        )
        # Jobs of nearly the same age count as one of several times the weight.
        alike = Counter((job.seen_running, round(job.started_at)) for job in self.jobs)

        def lateness(quarters: int) -> float:
            at = now + quarters / 4.0
            return sum(count * curve.lateness(known, at - since) for (known, since), count in alike.items())

        worth_it = now + bisect.bisect_left(range(math.ceil(4.0 * longest)), WORTH, key=lateness) / 4.0
        polled = [job.polled_at for job in self.jobs]
        self.due = max(now, self.asked_at + shortest, max(polled) + shortest, min(worth_it, min(polled) + longest))


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
            page.jobs[job], self._page_of[job] = None, page
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
        elif len(page.jobs) == 1:
            (other,), page.due = page.jobs, math.inf
            if other not in self._polling and other.cohort is None:
                self._poll_queue.enter_cohort(other)

    def page_of(self, job: TrackedJob) -> ListPage | None:
        """Return the page with which a job is polled, or None when it is polled alone."""
        page = self._page_of.get(job)
        return page if page is not None and len(page.jobs) >= _FEWEST else None

    def shared(self) -> Iterator[ListPage]:
        """Give the pages with more than one job."""
        return (page for page in self.pages.values() if len(page.jobs) >= _FEWEST)

    def expected(self) -> float:
        """Estimate how many requests the jobs on pages still take."""
        reads = 0.0
        for page in self.shared():
            curve = self._durations[page.listing.kind].curve()
            span = max(curve.quantile(0.95, job.seen_running) for job in page.jobs)
            # Ends that come evenly over the span, seen at the intervals that are best for that.
            reads += math.sqrt(len(page.jobs) * span / (2.0 * WORTH)) + 1.0
        return reads

    def replan(self, now: float, stretched: Collection[LoadKey]) -> None:
        """Set anew when to read each page, and poll a few jobs to find more pages where that pays.

        Args:
            now: Time of the loop.
            stretched: The loads whose jobs are polled more rarely than the service advises.
        """
        self._stretched = stretched
        self._explore(now)
        for page in self.shared():
            page.time(now, self._durations[page.listing.kind].curve(), stretched)

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
            if job not in self._polling and job.due is None:
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

    @property
    def has_unlisted_jobs(self) -> bool:
        """Whether several jobs run that lists may show, and whose pages are not known."""
        return len(list(itertools.islice(self._unlisted(), 2))) > 1

    def wants(self, job: TrackedJob, parent: str) -> bool:
        """Tell whether the list that shows a job is worth reading, to learn which jobs can be polled together."""
        key = (job.kind, parent)
        if self._show_states.get(job.kind) is False or job.load_key not in self._stretched or key in self._met:
            return False
        if not self.has_unlisted_jobs:
            return False
        self._met.add(key)
        return True

    # How

    def _unlisted(self) -> Iterator[TrackedJob]:
        known = self._listing_of
        lost = (jobs for key, jobs in self._jobs.items() if key not in known and key[0].list_operation)
        return itertools.chain.from_iterable(lost)

    def _explore(self, now: float) -> None:
        """Poll a few jobs to learn which lists show them, when lists are worth finding."""
        states = self._show_states
        if not any(states.values()) or self._found / (1.0 + len(self._met)) < _WORTHWHILE:
            return
        lost = [job for job in self._unlisted() if states.get(job.kind) and job.load_key in self._stretched]
        # One poll shows the list of a job, if any does.
        new = [job for job in lost if not job.explored and job.failures is None and job not in self._polling]
        for job in self._rng.sample(new, min(len(new) // 2, _EXPLORED_AT_ONCE)):
            job.explored = True
            self.displace(job)
            due = max(now, job.polled_at + job.settings.policy.min_interval)
            self._poll_queue.set(job, due, "a list may show many such jobs at once")
