"""Poll many jobs with one request: a list may show the state of each (specification 4.5).

The specification does not show the items of a list. When they carry the states of jobs, one request settles up to 100
jobs. So jobs on one page of a list are polled together, as often as `list_page.py` says.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from cmsapi.jobs.kinds.kind import Kind
from cmsapi.jobs.planning.durations import Curve, DurationModel
from cmsapi.jobs.scheduling.list_page import Listing, ListPage
from cmsapi.jobs.scheduling.poll_queue import PollQueue
from cmsapi.jobs.tracked import JobKey, LoadKey, TrackedJob

# Reads may take this much more than expected by chance, and this many times more before any end was seen.
_CHANCE, _DOUBT = 2.0, 2.0
# Finding a list takes two requests. It is expected to show ten of the jobs, until some were found, and has to show
# three.
_EXPECTED, _WORTHWHILE = 10.0, 3.0
# Of the pages that follow others in long lists, one in vain is read for so many jobs.
_A_PAGE_IN_VAIN = 10.0
_EXPLORING = "a list may show many such jobs at once"
# Of the lists that are to be found, so many are looked for at a time: of more, several would be the same one.
_AT_A_TIME = 0.15
_LARGEST_MEMORY = 50_000


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
        jobs: Mapping[JobKey, Collection[TrackedJob]],
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
        # The lists that were read because of a job.
        self._met: set[JobKey] = set()
        #: How many jobs lists have shown for the first time, counted from what is expected of the first list.
        self.found: float = _EXPECTED
        # How many pages that follow others have shown no job for the first time.
        self._in_vain = 0
        self._jobs = jobs
        self._polling = polling
        self._poll_queue = poll_queue
        # The loads whose jobs are polled more rarely than the service advises.
        self._stretched: Collection[LoadKey] = ()
        #: How many requests the jobs on pages are expected to take, with requests to spare.
        self.expected: float = 0.0
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
            self._poll_queue.wait_as_planned(job)
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
            if other not in self._polling and self._poll_queue.next_poll(other) == math.inf:
                self._poll_queue.wait_as_planned(other)

    def page_of(self, job: TrackedJob) -> ListPage | None:
        """Return the page with which a job is polled, or None when it is polled alone."""
        page = self._page_of.get(job)
        return page if page is not None and page.shared else None

    def shared(self) -> Iterator[ListPage]:
        """Give the pages whose jobs are polled together."""
        return (page for page in self.pages.values() if page.shared)

    def reads(self, price: float | None) -> float:
        """Estimate how many requests the jobs on pages take at a price."""
        return sum(page.reads(self._curve(page), price) * self._doubt(page) for page in self.shared())

    def replan(self, now: float, stretched: Collection[LoadKey], price: float | None) -> None:
        """Set anew when to read each page, and poll a few jobs to find more pages where that pays.

        Args:
            now: Time of the loop.
            stretched: The loads whose jobs are polled more rarely than the service advises.
            price: What a request costs, in seconds for which ends are unseen; None with requests to spare.
        """
        self._stretched = stretched
        self.expected = self.reads(price)
        self._explore(now)
        for page in self.shared():
            page.time(now, self._curve(page), price)

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
        self.found += sum(self.page_of(job) is None for job in shown)
        for job in shown:
            if job not in self._polling and self._poll_queue.why(job) in (None, _EXPLORING):
                self.displace(job)
                self.place(job)
        self._hurry()

    def read_in_vain(self) -> None:
        """Note that a page was read because it follows another, and has shown no job for the first time."""
        self._in_vain += 1

    @property
    def reads_on(self) -> bool:
        """Whether the page after one that was read may show several jobs whose pages are not known."""
        return self._has_unlisted(max(2, math.ceil(_A_PAGE_IN_VAIN * self._in_vain - self.found)))

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

    def wants(self, job: TrackedJob, parent: str) -> bool:
        """Tell whether the list that shows a job is worth reading, to learn which jobs can be polled together."""
        key, known = (job.kind, parent), self._show_states.get(job.kind)
        if known is False or key in self._met or not (known or job.load_key in self._stretched):
            return False
        if not self._has_unlisted(2) or self._found_a_list < _WORTHWHILE:
            return False
        self._met.add(key)
        return True

    # How

    def _curve(self, page: ListPage) -> Curve:
        return self._durations[page.listing.kind].last_curve()

    def _doubt(self, page: ListPage) -> float:
        return _CHANCE * (1.0 + _DOUBT / (1.0 + self._durations[page.listing.kind].ends))

    def _has_unlisted(self, count: int) -> bool:
        """Tell whether so many jobs run that lists may show, and whose pages are not known."""
        return len(list(itertools.islice(self._unlisted(), count))) == count

    def _unlisted(self) -> Iterator[TrackedJob]:
        known = self._listing_of
        lost = (jobs for key, jobs in self._jobs.items() if key not in known and key[0].list_operation)
        return itertools.chain.from_iterable(lost)

    @property
    def _found_a_list(self) -> float:
        """How many jobs a list is expected to show for the first time."""
        return self.found / (1.0 + len(self._met))

    def _explore(self, now: float) -> None:
        """Poll a few jobs to learn which lists show them, when lists are worth finding."""
        states = self._show_states
        if not any(states.values()) or self._found_a_list < _WORTHWHILE:
            return
        lost = [job for job in self._unlisted() if states.get(job.kind)]
        asked = sum(job.explored and (self._poll_queue.why(job) == _EXPLORING or job in self._polling) for job in lost)
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
