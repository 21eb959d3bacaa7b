"""Bookkeeping: when a launch is charged, what its usage says, and whether its credit comes back.

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
from cmsapi.sandbox.world.records import Usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from cmsapi.sandbox.world.behaviour import Behaviour
    from cmsapi.sandbox.world.billing import Credits, Purchase
    from cmsapi.sandbox.world.books import Books
    from cmsapi.sandbox.world.jobs import Job
    from cmsapi.sandbox.world.store import Store


class Bookkeeper:
    """Charge jobs to the balances as the settings say, and write their usages.

    Args:
        seed: Seed of the launches that cost nothing, and of those whose credit comes back.
        behaviour: When launches are charged, and whether failures are refunded.
        books: How charges and refunds are booked.
        balances: The balances, which each charge changes.
        store: Store of the usages.
        stamp: Returns the moment that a usage shows for a reading of the clock.
    """

    def __init__(
        self,
        seed: object,
        behaviour: Behaviour,
        books: Books,
        balances: Credits,
        store: Store,
        stamp: Callable[[float], float],
    ) -> None:
        self.balances = balances
        #: How many launches were charged, whether or not it is booked yet.
        self.charges: int = 0
        #: When something is to be booked next, in seconds of the clock.
        self.next_due: float = math.inf
        self._seed = seed
        self._behaviour = behaviour
        self._books = books
        self._store = store
        self._stamp = stamp
        # What is charged later: no launch may use these credits.
        self._reserved: Counter[str] = Counter()
        self._launches: Counter[str] = Counter()
        # What is charged and not booked yet, and whether its credit will come back.
        self._unbooked: dict[Purchase, bool] = {}
        self._due: list[tuple[float, int, Callable[[float], None]]] = []
        self._numbers = itertools.count()

    def affords(self, purchase: Purchase) -> bool:
        """Whether the balance covers a purchase beside the reserved ones."""
        return self.balances.of(purchase.type) - self._reserved[purchase.type] >= purchase.amount

    def launched(self, job: Job) -> None:
        """Charge a job, or reserve what it will cost at its completion."""
        purchase = job.purchase
        if purchase is None:
            return
        if self._is_charged_at_launch(purchase):
            self._charge(job, purchase, job.launched_at)
        else:
            self._reserved[purchase.type] += purchase.amount

    def ended(self, job: Job) -> None:
        """Charge a job at its completion, or refund its failure, as the behaviour says."""
        purchase, failed = job.purchase, job.outcome == FAILED
        if purchase is None:
            return
        if not self._is_charged_at_launch(purchase):
            self._reserved[purchase.type] -= purchase.amount
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
            self._reserved[job.purchase.type] -= job.purchase.amount
        elif self._books.booked_after == "end":
            self._book(job.purchase, at)

    def book_due(self, at: float) -> None:
        """Book what is due by now."""
        while self.next_due <= at:
            due, _, book = heapq.heappop(self._due)
            book(due)
            self._note_next()

    def charge(self, purchase: Purchase, moment: float) -> None:
        """Take the credits and write the usage."""
        remaining = self.balances.add(purchase.type, -purchase.amount)
        purchase.charged = True
        if purchase.amount:
            purchase.usage = self._usage(purchase, purchase.amount, remaining, moment)
            self._store.usages[purchase.type].append(purchase.usage)

    def _usage(self, purchase: Purchase, amount: int, remaining: int, moment: float) -> Usage:
        return Usage(
            id=self._store.new_id("use"),
            created_at=moment,
            amount=amount if self._behaviour.amounts == "positive" else -amount,
            remaining_credits=remaining,
            type=purchase.type,
            keyword=purchase.keyword,
            user=purchase.user,
            workspace=purchase.workspace,
        )

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
        self._reserved[purchase.type] += purchase.amount
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
        self._reserved[purchase.type] -= purchase.amount
        self.charge(purchase, self._stamp(at))
        if comes_back:
            self._later(at + self._books.refunded_after, partial(self._refund, purchase))

    def _refund(self, purchase: Purchase, at: float) -> None:
        """Return the credits of a purchase, or never book it."""
        if self._unbooked.pop(purchase, None) is not None:
            self._reserved[purchase.type] -= purchase.amount
        elif purchase.charged:
            purchase.charged = False
            remaining = self.balances.add(purchase.type, purchase.amount)
            usages = self._store.usages[purchase.type]
            if purchase.usage is not None and self._books.refund == "row":
                usages.append(self._usage(purchase, -purchase.amount, remaining, self._stamp(at)))
            elif purchase.usage is not None and self._books.refund == "deleted":
                usages.remove(purchase.usage)

    def _later(self, due: float, book: Callable[[float], None]) -> None:
        heapq.heappush(self._due, (due, next(self._numbers), book))
        self._note_next()

    def _note_next(self) -> None:
        self.next_due = self._due[0][0] if self._due else math.inf
