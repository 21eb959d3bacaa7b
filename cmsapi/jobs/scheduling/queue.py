"""Keep when each job is due, so that a new plan moves rows and not jobs.

Jobs of one kind whose last looks came at the same age stand in one row, in the order of those looks, and wait equally
long: a row is due when its first job is. What does not fit in a row (a first look, a repeat after a failure, a scout)
has a time of its own; what has both is due at the earlier one.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from typing import Protocol, TypeAlias

import attrs

from cmsapi.api.model import Model
from cmsapi.config import PollPolicy
from cmsapi.jobs.kinds.kind import JobKind
from cmsapi.observability.hooks import Hooks

#: Jobs that are treated alike: a kind, under one policy.
LoadKey: TypeAlias = tuple[JobKind, PollPolicy]

# Looks that are due within so many seconds of each other are begun together.
_SLOT = 0.05


class Subject(Protocol):
    """Look at one job, and let it be looked at with others."""

    @property
    def hooks(self) -> Hooks:
        """Who hears of what happens to the job."""
        ...

    def look(self) -> object:
        """Begin a look, and do not wait for the end of it."""
        ...

    def show(self, document: Model, sent_at: float) -> None:
        """Show a document that was read for another reason, and asked for at a loop time."""
        ...

    def read_page(self, listing: Listing) -> object:
        """Begin to read a page of a list on which the job is."""
        ...


@attrs.frozen
class Listing:
    """Name one page of a list whose items show the states of jobs.

    Args:
        kind: The kind of the jobs.
        parent: What the list belongs to, such as the web page whose keywords are listed.
        number: Number of the page of the list, from 1.
    """

    kind: JobKind
    parent: str
    number: int


@attrs.define(eq=False)
class ScheduledPoll:
    """Hold the place of one job in the schedule.

    Args:
        kind: Its kind.
        target: What is looked at.
        policy: How often to look.
        subject: What is looked at.
        since: Loop time from which its age counts.
        launched: Whether that is its launch, so that its end teaches something.
        group: Which share of the price it follows.
        polled_at: When it was last looked at, or `since`.
        step: Age of that look on the scale of ages, rounded up.
        known: Age at which it was last seen running, rounded down.
        failures: Looks that failed since one succeeded.
        refusals: Early reads that were refused.
        explored: Whether it was looked at to learn on which page it is.
        due: A time of its own, if it has one.
        why: Why then.
        row: Where it stands, if it stands in a row.
    """

    kind: JobKind
    target: str
    policy: PollPolicy
    subject: Subject
    since: float
    launched: bool
    group: int
    polled_at: float
    step: int = 0
    known: int = 0
    failures: int = 0
    refusals: int = 0
    explored: bool = False
    due: float | None = None
    why: str = ""
    row: Row | None = None

    @property
    def key(self) -> LoadKey:
        """What it has in common with the jobs that are treated alike."""
        return (self.kind, self.policy)

    @property
    def next_poll(self) -> float:
        """When it is due, infinity when it is not."""
        in_row = self.polled_at + self.row.gap if self.row is not None else math.inf
        return in_row if self.due is None else min(in_row, self.due)


@attrs.define(eq=False)
class Row:
    """Hold jobs that wait equally long after their last look, in the order of those looks.

    Args:
        key: Whose pace it follows.
        step: Age of the last look on the scale of ages.
        group: Share of the price.
        gap: Seconds to wait.
        watches: The jobs.
        queued: When the timetable will ask whether it is due.
    """

    key: LoadKey
    step: int
    group: int
    gap: float
    watches: OrderedDict[ScheduledPoll, None] = attrs.field(factory=OrderedDict)
    queued: float = math.inf

    @property
    def due(self) -> float:
        """When its first job is due."""
        return next(iter(self.watches)).polled_at + self.gap if self.watches else math.inf

    def add(self, watch: ScheduledPoll) -> None:
        """Take up a job, as a rule the one that was looked at last."""
        last = next(reversed(self.watches), watch)
        self.watches[watch] = None
        if watch.polled_at < last.polled_at:
            # Nobody had waited for it for a while.
            self.watches = OrderedDict.fromkeys(sorted(self.watches, key=lambda watch: watch.polled_at))


class PollQueue:
    """Keep the due times of all jobs of an account.

    Args:
        gap: Says how many seconds the jobs of a load wait after a look at a step, for each share of the price.
    """

    def __init__(self, gap: Callable[[LoadKey, int, int], float]) -> None:
        self._gap = gap
        self._rows: dict[tuple[LoadKey, int, int], Row] = {}
        # For each row a time that is not later than its first job; looked up anew when it is reached.
        self._queue: list[tuple[float, int, Row]] = []
        self._own: list[tuple[float, int, ScheduledPoll]] = []
        # Jobs with a time of their own that stand in no row, each with the step under which it is counted.
        self._apart: dict[ScheduledPoll, int] = {}
        self._counts: defaultdict[LoadKey, Counter[int]] = defaultdict(Counter)
        self._order = itertools.count()

    def line_up(self, watch: ScheduledPoll) -> None:
        """Put a job into the row that its last look asks for."""
        key = (watch.key, watch.step, watch.group)
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = Row(*key, gap=self._gap(*key))
        row.add(watch)
        watch.row = row
        if (due := row.due) < row.queued:
            self._ask_at(row, due)
        self._rejoin(watch)

    def set(self, watch: ScheduledPoll, due: float, why: str) -> None:
        """Give a job a time of its own, also besides a row."""
        watch.due, watch.why = due, why
        heapq.heappush(self._own, (due, next(self._order), watch))
        if watch.row is None and watch not in self._apart:
            self._apart[watch] = watch.known
            self._counts[watch.key][watch.known] += 1

    def remove(self, watch: ScheduledPoll) -> None:
        """Take a job out."""
        watch.due = None
        self._rejoin(watch)
        row = watch.row
        if row is not None:
            watch.row = None
            del row.watches[watch]
            if not row.watches:
                del self._rows[row.key, row.step, row.group]

    def replan(self) -> None:
        """Ask for all gaps again."""
        self._queue.clear()
        for key, row in self._rows.items():
            row.gap = self._gap(*key)
            self._ask_at(row, row.due)

    def earliest(self) -> float:
        """Return when something is due next, infinity when nothing is."""
        return min(self._earliest_own(), self._earliest_row())

    def take(self, now: float, room: float = math.inf) -> list[ScheduledPoll]:
        """Take out jobs that are due, first those that are due for longest.

        Args:
            now: The time.
            room: How many at the most.
        """
        taken: list[ScheduledPoll] = []
        ripe = [(row.due, next(self._order), row) for row in self._rows.values() if row.due <= now + _early(row)]
        heapq.heapify(ripe)
        while len(taken) < room:
            due, _, row = ripe[0] if ripe else (math.inf, 0, None)
            if row is not None and row.due != due:
                # Its first job was taken.
                heapq.heappop(ripe)
                if row.due <= now + _early(row):
                    heapq.heappush(ripe, (row.due, next(self._order), row))
                continue
            if self._earliest_own() <= min(now, due):
                watch = heapq.heappop(self._own)[2]
            elif row is not None:
                watch = next(iter(row.watches))
            else:
                break
            taken.append(watch)
            self.remove(watch)
        return taken

    def running(self) -> defaultdict[LoadKey, Counter[int]]:
        """Count the jobs of each load by the step of their last look."""
        counts: defaultdict[LoadKey, Counter[int]] = defaultdict(Counter)
        for row in self._rows.values():
            counts[row.key][row.step] += len(row.watches)
        for key, apart in self._counts.items():
            if apart:
                counts[key].update(apart)
        return counts

    def watches(self) -> Iterator[ScheduledPoll]:
        """Give all jobs."""
        for row in self._rows.values():
            yield from row.watches
        yield from self._apart

    def _rejoin(self, watch: ScheduledPoll) -> None:
        """Count a job that stood apart there no more."""
        counted = self._apart.pop(watch, None)
        if counted is not None:
            counts = self._counts[watch.key]
            counts[counted] -= 1
            if not counts[counted]:
                del counts[counted]

    def _ask_at(self, row: Row, when: float) -> None:
        row.queued = when
        heapq.heappush(self._queue, (when, next(self._order), row))

    def _earliest_row(self) -> float:
        queue = self._queue
        while queue:
            when, _, row = queue[0]
            due = row.due
            if when == row.queued == due:
                return due
            heapq.heappop(queue)
            # Its first job has left since, or all of them have, or there is an earlier entry.
            if when == row.queued and row.watches:
                self._ask_at(row, due)
        return math.inf

    def _earliest_own(self) -> float:
        own = self._own
        # Entries of jobs that were taken out, or set to another time since.
        while own and own[0][2].due != own[0][0]:
            heapq.heappop(own)
        return own[0][0] if own else math.inf


def _early(row: Row) -> float:
    return _SLOT if row.gap >= row.key[1].min_interval + _SLOT else 0.0
