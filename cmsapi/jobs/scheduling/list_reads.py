"""Look at many analyses with one request: the lists of keywords may show the state of each (specification 4.5).

The specification does not show the items of a list. When they carry `analysisStatus`, one request settles up to 100
analyses. So jobs whose keywords stand on one page of a list are looked at together: when their ends have, together and
as far as can be expected, been unseen for long enough to be worth a request.
"""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence

import attrs

from cmsapi.jobs.kinds.kind import JobKind
from cmsapi.jobs.scheduling.durations import Curve, DurationModel
from cmsapi.jobs.scheduling.queue import Listing, ScheduledPoll

# A look at a page is worth so many seconds for which ends are unseen, summed over its jobs. It makes about one request
# of four jobs, and lets each wait a few seconds.
WORTH = 40.0
_FEWEST = 2
# Finding a list takes two requests. It is expected to show ten of the jobs, until some were found, and has to show
# three.
_EXPECTED, _WORTHWHILE = 10.0, 3.0
_LARGEST_MEMORY = 50_000
_PRECISION = 0.25


@attrs.define(eq=False)
class Page:
    """Hold the jobs that one request shows.

    Args:
        listing: The request.
        watches: The jobs.
        asked_at: When it was last asked for.
        due: When to ask next.
        reading: Whether it is being asked for.
        failures: How often in a row it could not be read.
    """

    listing: Listing
    watches: dict[ScheduledPoll, None] = attrs.field(factory=dict)
    asked_at: float = -math.inf
    due: float = math.inf
    reading: bool = False
    failures: int = 0

    def time(self, now: float, curve: Curve, shortest: float, longest: float) -> None:
        """Set when to read it next, unless it is being read.

        Args:
            now: Time of the loop.
            curve: How long analyses take.
            shortest: Seconds between two reads at the least.
            longest: Seconds between two looks at a job at the most.
        """
        if self.reading:
            return
        # Jobs of nearly the same age count as one of several times the weight.
        alike = Counter((watch.known, round(watch.since)) for watch in self.watches)

        def lateness(at: float) -> float:
            return sum(count * curve.lateness(known, at - since) for (known, since), count in alike.items())

        low, high = now, now + shortest
        while lateness(high) < WORTH and high - now < longest:
            low, high = high, now + 2.0 * (high - now)
        while high - low > _PRECISION:
            middle = (low + high) / 2.0
            low, high = (low, middle) if lateness(middle) >= WORTH else (middle, high)
        seen = [watch.polled_at for watch in self.watches]
        self.due = max(now, self.asked_at + shortest, max(seen) + shortest, min(high, min(seen) + longest))


class Pages:
    """Remember which keyword stands where, and which jobs are looked at together."""

    def __init__(self) -> None:
        #: Whether the items of lists show the states of jobs of a kind; no entry until one was seen.
        self.show_states: dict[JobKind, bool] = {}
        self._places: OrderedDict[tuple[JobKind, str], Listing] = OrderedDict()
        self._pages: dict[Listing, Page] = {}
        self._of: dict[ScheduledPoll, Page] = {}
        self._met: set[tuple[JobKind, str]] = set()
        self._found = _EXPECTED

    def listed(self, listing: Listing, targets: Sequence[str], *, show_states: bool) -> bool:
        """Learn from a list that was read, and tell whether that was news."""
        kind = listing.kind
        keys = [(kind, target) for target in targets]
        news = show_states and (not self.show_states.get(kind) or any(self._places.get(key) != listing for key in keys))
        for key in keys:
            self._places[key] = listing
            self._places.move_to_end(key)
        while len(self._places) > _LARGEST_MEMORY:
            self._places.popitem(last=False)
        self.show_states[kind] = show_states
        return news

    @property
    def worth_finding(self) -> bool:
        """Whether lists show the states, and enough jobs each to be looked for."""
        return any(self.show_states.values()) and self._found / (1.0 + len(self._met)) >= _WORTHWHILE

    def found(self, jobs: int) -> None:
        """Note how many jobs a list has shown that nobody had known to be there."""
        self._found += jobs

    def knows(self, watch: ScheduledPoll) -> bool:
        """Tell whether it is known which list shows a job."""
        return (watch.kind, watch.target) in self._places

    def met(self, kind: JobKind, parent: str) -> bool:
        """Tell whether a list is new, so that it may be worth reading."""
        if self.show_states.get(kind) is False or (kind, parent) in self._met:
            return False
        self._met.add((kind, parent))
        return True

    def join(self, watch: ScheduledPoll) -> Page | None:
        """Add a job to the page that shows it, if there is one."""
        listing = self._places.get((watch.kind, watch.target))
        if listing is None or not self.show_states.get(watch.kind):
            return None
        page = self._pages.get(listing)
        if page is None:
            page = self._pages[listing] = Page(listing)
        page.watches[watch] = None
        self._of[watch] = page
        return page

    def leave(self, watch: ScheduledPoll) -> Page | None:
        """Take a job off its page, and return that."""
        page = self._of.pop(watch, None)
        if page is not None:
            del page.watches[watch]
            if not page.watches:
                del self._pages[page.listing]
        return page

    def forget(self, watch: ScheduledPoll) -> None:
        """Forget which list shows a job, because it was not seen there."""
        self._places.pop((watch.kind, watch.target), None)

    def of(self, watch: ScheduledPoll) -> Page | None:
        """Return the page that a job is looked at with, or None when it is looked at alone."""
        page = self._of.get(watch)
        return page if page is not None and len(page.watches) >= _FEWEST else None

    def shared(self) -> Iterator[Page]:
        """Give the pages that more than one job waits for."""
        return (page for page in self._pages.values() if len(page.watches) >= _FEWEST)

    def page(self, listing: Listing) -> Page | None:
        """Return the jobs that a request shows."""
        return self._pages.get(listing)

    def expected_reads(self, durations: Mapping[JobKind, DurationModel]) -> float:
        """Estimate how many requests the jobs on pages still take."""
        reads = 0.0
        for page in self.shared():
            curve = durations[page.listing.kind].curve()
            span = max(curve.quantile(0.95, watch.known) for watch in page.watches)
            # Ends that come evenly over the span, seen at the intervals that are best for that.
            reads += math.sqrt(len(page.watches) * span / (2.0 * WORTH)) + 1.0
        return reads
