"""Learn which jobs one request shows: a list may show the state of each of its items (specification 4.5).

The specification does not show the items of a list. When they carry the states of jobs, one request settles up to 100
jobs. So jobs on one page of a list are polled together, as often as `list_page.py` says.
"""

from __future__ import annotations

import itertools
import logging
import math
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence

from cmsapi.jobs.kinds.kind import Kind
from cmsapi.jobs.scheduling.list_page import ListPage
from cmsapi.jobs.timing import Listing, Timing
from cmsapi.jobs.tracked import JobKey, TrackedJob

logger: logging.Logger = logging.getLogger("cmsapi")

# A page is expected to show ten jobs for the first time, until some were read. A list has to show three, and the pages
# that follow in a long list as many as is expected at first.
_EXPECTED, _WORTHWHILE = 10.0, 3.0
_LARGEST_MEMORY = 50_000
# What lists show is not specified. So while they show no ends, the oldest job of a page is polled itself: when it is a
# minute old, and again after two minutes, or as long as it was old then.
_FIRST_CHECK, _CHECK_EVERY = 60.0, 120.0


class Listings:
    """Know the pages of lists that show jobs.

    Args:
        jobs: The jobs that are polled, by kind and target.
        place: Has a job wait for its next poll, with its page or alone.
    """

    def __init__(
        self, jobs: Mapping[JobKey, Mapping[TrackedJob, Timing]], place: Callable[[TrackedJob, Timing], None]
    ) -> None:
        #: The pages with jobs that are polled.
        self.pages: dict[Listing, ListPage] = {}
        # Whether the items of lists show the states of jobs of a kind; no entry until one was seen.
        self._show_states: dict[Kind, bool] = {}
        # The kinds whose lists were seen to lag far behind the jobs themselves.
        self._lagging: set[Kind] = set()
        # From when on a job is polled itself again to check the list that shows it.
        self._check_at: dict[Kind, float] = {}
        # The page that shows a job, as far as it is known.
        self._listing_of: OrderedDict[JobKey, Listing] = OrderedDict()
        # The lists that were read because of a job.
        self._met: set[JobKey] = set()
        # Pages that were read to find jobs, and jobs that pages have shown for the first time.
        self._read, self._found = 1, _EXPECTED
        self._jobs = jobs
        self._place = place

    # Where jobs wait

    def add(self, job: TrackedJob, timing: Timing) -> ListPage | None:
        """Have a job wait for its page where that is known, and return the page if its jobs are polled together."""
        listing = self._listing_of.get(job.key) if self._show_states.get(job.kind) else None
        if listing is None:
            return None
        page = self.pages.setdefault(listing, ListPage(listing))
        # A read may be that of a copy of the client, which may wait for the answer for hours.
        if page.reading:
            return None
        page.add(job, timing)
        timing.page = listing
        return page if page.shared else None

    def remove(self, job: TrackedJob, timing: Timing) -> ListPage | None:
        """Take a job off its page, and return the page if the other one on it is polled alone from now on."""
        page = None if timing.page is None else self.pages[timing.page]
        if page is None:
            return None
        timing.page = None
        del page.jobs[job]
        if not page.jobs:
            del self.pages[page.listing]
        return page if page.jobs and not page.shared else None

    def page_of(self, timing: Timing) -> ListPage | None:
        """Return the page with which a job is polled, or None when it is polled alone."""
        page = None if timing.page is None else self.pages[timing.page]
        return page if page is not None and page.shared else None

    def shared(self) -> Iterator[ListPage]:
        """Give the pages whose jobs are polled together."""
        return (page for page in self.pages.values() if page.shared)

    # What lists show

    def to_check(self, listing: Listing) -> TrackedJob | None:
        """Return a job against which to check what its page has just shown, when it is time for that."""
        if (page := self.pages.get(listing)) is None:
            return None
        job, timing = min(page.jobs.items(), key=lambda each: each[1].started_at)
        age = page.asked_at - timing.started_at
        if age < _FIRST_CHECK or page.asked_at < self._check_at.get(listing.kind, -math.inf):
            return None
        self._check_at[listing.kind] = page.asked_at + max(_CHECK_EVERY, age)
        return job

    def saw_end(self, job: TrackedJob, timing: Timing, now: float) -> None:
        """Note the end of a job: its page has shown it and needs no check for now, or has to show it, too."""
        if timing.page is not None:
            self._check_at[job.kind] = now + max(_CHECK_EVERY, now - timing.started_at)
        elif (listing := self._listing_of.get(job.key)) is not None and listing in self.pages:
            self.pages[listing].ended[job.target] = now

    def listed(
        self, listing: Listing, targets: Sequence[str], *, show_states: bool, running: Sequence[str] = ()
    ) -> bool:
        """Learn from a page of a list that was read for any reason, and tell whether that shows anything new.

        Args:
            listing: The page.
            targets: What it shows.
            show_states: Whether it shows the states of jobs.
            running: Those of the targets whose jobs it shows as running.
        """
        kind, known = listing.kind, self._listing_of
        if (page := self.pages.get(listing)) is not None and page.lags(running):
            self._distrust(kind)
        show_states = show_states and kind not in self._lagging
        keys = [(kind, target) for target in targets]
        news = show_states and (not self._show_states.get(kind) or any(known.get(key) != listing for key in keys))
        for key in keys:
            known[key] = listing
            known.move_to_end(key)
        while len(known) > _LARGEST_MEMORY:
            known.popitem(last=False)
        self._show_states[kind] = show_states
        if news:
            shown = {job: timing for key in keys for job, timing in self._jobs.get(key, {}).items()}
            self._found += sum(self.page_of(timing) is None for timing in shown.values())
            for job, timing in shown.items():
                self._place(job, timing)
        return news

    def _distrust(self, kind: Kind) -> None:
        """Have the jobs of a kind polled one by one from now on, because a list shows ended ones as running."""
        logger.warning(
            "the list that %s answers shows jobs as running that have ended: they are polled one by one",
            kind.list_operation,
        )
        self._lagging.add(kind)
        self._show_states[kind] = False
        for job, timing in [each for page in self.pages.values() for each in page.jobs.items()]:
            if job.kind is kind:
                self._place(job, timing)

    def read(self, listing: Listing, *, failed: bool = False) -> None:
        """Note that a page was read: jobs that it did not show are polled alone, and all when it fails again."""
        if (page := self.pages.get(listing)) is None:
            return
        page.reading, page.failures = False, page.failures + 1 if failed else 0
        if page.failures != 1:
            for job, timing in tuple(page.jobs.items()):
                if failed or timing.polled_at < page.asked_at:
                    self._listing_of.pop(job.key, None)
                    self._place(job, timing)

    def shows_states(self, kind: Kind) -> bool:
        """Tell whether lists were seen to show the states of jobs of a kind."""
        return self._show_states.get(kind, False)

    def may_show_states(self, kind: Kind) -> bool:
        """Tell whether lists show the states of jobs of a kind, or may do so as far as was seen."""
        return bool(kind.list_operation) and self._show_states.get(kind, True)

    def wants(self, kind: Kind, parent: str, *, stretched: bool) -> bool:
        """Tell whether a list that shows a job is worth reading, to learn which jobs can be polled together.

        Args:
            kind: The kind of the job.
            parent: What the list belongs to.
            stretched: Whether such jobs are polled more rarely than the service advises.
        """
        known = self._show_states.get(kind)
        if known is False or (kind, parent) in self._met or not (known or stretched) or not self._wants(_WORTHWHILE):
            return False
        self._met.add((kind, parent))
        return True

    def wants_next(self) -> bool:
        """Tell whether the page after one that was read is worth reading, too, to find more jobs."""
        return self._wants(_EXPECTED)

    def _wants(self, jobs: float) -> bool:
        """Tell whether one more page is expected to show a number of jobs for the first time, and count it if so."""
        unlisted = (jobs for key, jobs in self._jobs.items() if key not in self._listing_of and key[0].list_operation)
        several = len(list(itertools.islice(itertools.chain.from_iterable(unlisted), 2))) == 2
        wanted = several and self._found / self._read >= jobs
        self._read += wanted
        return wanted
