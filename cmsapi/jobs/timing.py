"""What decides when one job is polled; the scheduler keeps it, and it outlasts a time without waiters."""

from __future__ import annotations

import math

import attrs

from cmsapi.jobs.kinds.kind import Kind


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


@attrs.define(eq=False, weakref_slot=False)
class Timing:
    """Hold when one job was polled and is polled next. Times are those of the loop.

    Args:
        started_at: From when its age counts.
        age_known: Whether that is the time of its launch, so that its end tells how long such jobs take.
        polled_at: When it was last polled; when it started before the first poll.
        lot: What it drew for the next poll, from 0 to 1: by this it differs from jobs that were launched with it.
        step: Age at the last poll on the scale of ages, rounded up.
        seen_running: Step of the age at which it was last seen running, rounded down.
        scheduled: Whether it is polled.
        due: When it is polled next; infinity while it is polled, or waits for its page of a list.
        why: Why it has a time of its own, which no plan changes; None when it waits as planned.
        page: The page of a list with which it is polled, or None.
        overdue: Whether it was reported because it runs for far longer than nearly all others.
    """

    started_at: float
    age_known: bool
    polled_at: float
    lot: float = 0.0
    step: int = 0
    seen_running: int = 0
    scheduled: bool = False
    due: float = math.inf
    why: str | None = None
    page: Listing | None = None
    overdue: bool = False

    @property
    def polled_age(self) -> float:
        """Age in seconds at the last poll."""
        return self.polled_at - self.started_at
