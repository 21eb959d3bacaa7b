"""The state of one service: its records, balances, jobs and clock, and what is shown instead of the truth."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from cmsapi.sandbox.world.billing import CONTENT_IDEA_SEARCH
from cmsapi.sandbox.world.jobs import FAILED
from cmsapi.sandbox.world.refusal import Refusal

if TYPE_CHECKING:
    from cmsapi.sandbox.world.behaviour import Behaviour
    from cmsapi.sandbox.world.billing import Billing, Purchase
    from cmsapi.sandbox.world.clock import Clock
    from cmsapi.sandbox.world.jobs import Job, Jobs
    from cmsapi.sandbox.world.store import Store


class World:
    """Hold everything that a request may read or change.

    Args:
        seed: Seed of every random choice.
        clock: Where time comes from.
        store: The records.
        billing: The balances.
        jobs: What runs.
        behaviour: What the specification leaves open.
    """

    def __init__(
        self, *, seed: object, clock: Clock, store: Store, billing: Billing, jobs: Jobs, behaviour: Behaviour
    ) -> None:
        self.seed = seed
        self.clock = clock
        self.store = store
        self.billing = billing
        self.jobs = jobs
        self.behaviour = behaviour
        self.forgotten: set[str] = set()
        self.status_words: dict[str, str | None] = {}
        self._dates = itertools.cycle(behaviour.date_ahead)
        self._stamps = itertools.cycle(behaviour.stamps_ahead)

    def date(self) -> float:
        """Return the present moment by the clock of the machine that answers."""
        return self.now + next(self._dates)

    def stamp(self, seconds: float) -> float:
        """Return the moment of a reading by the clock of the machine that writes it down."""
        return self.clock.moment(seconds) + next(self._stamps)

    @property
    def now(self) -> float:
        """The present moment, in epoch seconds."""
        return self.clock.moment(self.clock.seconds())

    def check_credits(self, purchase: Purchase) -> None:
        """Refuse when the balance does not cover a purchase."""
        if not self.billing.affords(purchase):
            raise Refusal(self.behaviour.refused_launch, f"no {purchase.type} credits left")

    def launch(self, kind: str, target_id: str, purchase: Purchase) -> Job:
        """Start a paid job.

        Raises:
            Refusal: One runs on the target already, or the credits are exhausted.
        """
        if target_id in self.jobs.running:
            raise Refusal(self.behaviour.refused_launch, f"already running on {target_id}")
        self.check_credits(purchase)
        at = self.clock.seconds()
        # The specification charges a search at its launch (section 4.6); of the others it says nothing.
        if self.behaviour.charged == "launch" or purchase.type == CONTENT_IDEA_SEARCH:
            self.billing.charge(purchase, self.stamp(at))
        else:
            self.billing.reserve(purchase)
        return self.jobs.launch(kind, target_id, at, purchase)

    def settle_purchase(self, job: Job) -> None:
        """Charge what was to be charged at completion, and refund a failure where that is the behaviour."""
        purchase = job.purchase
        if purchase is None:
            return
        failed = job.outcome == FAILED
        if not purchase.charged:
            self.billing.release(purchase)
            if not failed:
                self.billing.charge(purchase, self.stamp(job.ends_at))
        elif failed and self.behaviour.refunded:
            self.billing.refund(purchase)

    def drop_job(self, target_id: str) -> None:
        """Let the job on a target end without effect, because the target is gone."""
        job = self.jobs.drop(target_id)
        if job is not None and job.purchase is not None and not job.purchase.charged:
            self.billing.release(job.purchase)

    def shown_status(self, target_id: str, word: str | None) -> str | None:
        """Return the status word to show for a target: the true one unless another was set."""
        return self.status_words.get(target_id, word)
