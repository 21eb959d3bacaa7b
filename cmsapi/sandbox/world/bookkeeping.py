"""Bookkeeping: when a launch is charged, and whether its credit comes back.

Like the ends of jobs, what is due later is applied after the clock has passed it, with its own moment.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from cmsapi.sandbox.randomness.seeded import seeded_random
from cmsapi.sandbox.world.billing import CONTENT_IDEA_SEARCH
from cmsapi.sandbox.world.jobs import FAILED

if TYPE_CHECKING:
    from collections.abc import Callable

    from cmsapi.sandbox.world.behaviour import Behaviour
    from cmsapi.sandbox.world.billing import Billing, Purchase
    from cmsapi.sandbox.world.books import Books
    from cmsapi.sandbox.world.jobs import Job


class Bookkeeper:
    """Charge jobs to the balances as the settings say.

    Args:
        seed: Seed of the launches that cost nothing, and of those whose credit comes back.
        behaviour: When launches are charged, and whether failures are refunded.
        books: How charges and refunds are booked.
        billing: The balances and usage entries.
        stamp: Returns the moment that a usage shows for a reading of the clock.
    """

    def __init__(
        self, seed: object, behaviour: Behaviour, books: Books, billing: Billing, stamp: Callable[[float], float]
    ) -> None:
        #: How many launches were charged, whether or not it is booked yet.
        self.charges: int = 0
        #: When something is to be booked next, in seconds of the clock.
        self.next_due: float = math.inf
        self._seed = seed
        self._behaviour = behaviour
        self._books = books
        self._billing = billing
        self._stamp = stamp
        self._launches: Counter[str] = Counter()
        # What is charged and not booked yet, and whether its credit will come back.
        self._unbooked: dict[Purchase, bool] = {}
        self._due: list[tuple[float, int, Callable[[float], None]]] = []
        self._numbers = itertools.count()

    def launched(self, job: Job) -> None:
        """Charge a job, or reserve what it will cost at its completion."""
        purchase = job.purchase
        if purchase is None:
            return
        if self._is_charged_at_launch(purchase):
            self._charge(job, purchase, job.launched_at)
        else:
            self._billing.reserve(purchase)

    def ended(self, job: Job) -> None:
        """Charge a job at its completion, or refund its failure, as the behaviour says."""
        purchase, failed = job.purchase, job.outcome == FAILED
        if purchase is None:
            return
        if not self._is_charged_at_launch(purchase):
            self._billing.release(purchase)
            if not failed:
                self._charge(job, purchase, job.ends_at)
        if self._books.booked_after == "end":
            self._book(purchase, job.ends_at)
        if failed and self._behaviour.refunded:
            self._refund(purchase, job.ends_at)

    def dropped(self, job: Job, at: float) -> None:
        """Charge no job whose target was deleted, unless it was charged before."""
        if job.purchase is None:
            return
        if not self._is_charged_at_launch(job.purchase):
            self._billing.release(job.purchase)
        elif self._books.booked_after == "end":
            self._book(job.purchase, at)

    def book_due(self, at: float) -> None:
        """Book what is due by now."""
        while self.next_due <= at:
            due, _, book = heapq.heappop(self._due)
            book(due)
            self._note_next()

    def _is_charged_at_launch(self, purchase: Purchase) -> bool:
        # The specification charges a search at its launch (section 4.6); about the other jobs it is silent.
        return self._behaviour.charged == "launch" or purchase.type == CONTENT_IDEA_SEARCH

    def _charge(self, job: Job, purchase: Purchase, at: float) -> None:
        """Decide what becomes of a charge, and book it when the books say."""
        rng = seeded_random(self._seed, "books", job.kind, job.target_id, self._launches[job.target_id])
        self._launches[job.target_id] += 1
        free, comes_back = rng.random() < self._books.free, rng.random() < self._books.refunded
        if free:
            return
        self.charges += bool(purchase.amount)
        self._billing.reserve(purchase)
        self._unbooked[purchase] = comes_back
        after = self._books.booked_after
        if after == 0:
            self._book(purchase, at)
        elif after != "end":
            self._later(at + after, partial(self._book, purchase))

    def _book(self, purchase: Purchase, at: float) -> None:
        """Take the credits and write the usage of what was charged, unless that was done or revoked."""
        if (comes_back := self._unbooked.pop(purchase, None)) is None:
            return
        self._billing.release(purchase)
        self._billing.charge(purchase, self._stamp(at))
        if comes_back:
            self._later(at + self._books.refunded_after, partial(self._refund, purchase))

    def _refund(self, purchase: Purchase, at: float) -> None:
        """Return the credits of a purchase, or never book it."""
        if self._unbooked.pop(purchase, None) is not None:
            self._billing.release(purchase)
        elif purchase.charged:
            self._billing.refund(purchase, self._stamp(at))

    def _later(self, due: float, book: Callable[[float], None]) -> None:
        heapq.heappush(self._due, (due, next(self._numbers), book))
        self._note_next()

    def _note_next(self) -> None:
        self.next_due = self._due[0][0] if self._due else math.inf
