"""The state of one service: its records, balances, jobs and clock."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from cmsapi.sandbox.randomness.seeded import seeded_random
from cmsapi.sandbox.world.bookkeeping import Bookkeeper
from cmsapi.sandbox.world.history import History, Identified
from cmsapi.sandbox.world.records import Keyword, Page
from cmsapi.sandbox.world.refusal import Refusal

if TYPE_CHECKING:
    from cmsapi.sandbox.world.behaviour import Behaviour
    from cmsapi.sandbox.world.billing import Credits, Purchase
    from cmsapi.sandbox.world.books import Books
    from cmsapi.sandbox.world.clock import Clock
    from cmsapi.sandbox.world.jobs import Job, Jobs
    from cmsapi.sandbox.world.store import Store


class World:
    """Hold the state that requests read and change.

    Args:
        seed: Seed of every random choice.
        clock: The clock.
        store: The records.
        balances: The balances.
        jobs: The jobs.
        behaviour: The choices where the specification is silent.
        books: How the service books launches.
    """

    def __init__(
        self,
        *,
        seed: object,
        clock: Clock,
        store: Store,
        balances: Credits,
        jobs: Jobs,
        behaviour: Behaviour,
        books: Books,
    ) -> None:
        self.seed = seed
        self.clock = clock
        self.store = store
        self.jobs = jobs
        self.behaviour = behaviour
        self.books = books
        self.bookkeeper: Bookkeeper = Bookkeeper(seed, behaviour, books, balances, store, self.stamp)
        self.forgotten: set[str] = set()
        self.status_words: dict[str, str | None] = {}
        self._dates = itertools.cycle(behaviour.date_ahead)
        self._stamps = itertools.cycle(behaviour.stamps_ahead)
        self.history: History = History(behaviour.replica_lag, clock, jobs)
        self._replicas = seeded_random(seed, "replicas")

    def date(self) -> float:
        """Return the present moment by the clock of the machine that writes the `Date` header."""
        return self.now + next(self._dates)

    def stamp(self, seconds: float) -> float:
        """Return the moment of a reading by the clock of the machine that stores it."""
        return self.clock.moment(seconds) + next(self._stamps)

    @property
    def now(self) -> float:
        """The present moment, in epoch seconds."""
        return self.clock.moment(self.clock.seconds())

    def reading(self) -> float:
        """Return the moment whose state a read shows, in seconds of the clock: now, or earlier on a replica."""
        at, behaviour = self.clock.seconds(), self.behaviour
        if behaviour.replica_lag and self._replicas.random() < behaviour.replica_share:
            return at - behaviour.replica_lag
        return at

    def add_page(self, workspace_id: str, url: str | None, created_at: float) -> Page:
        """Add a page to a workspace; it was never crawled."""
        page = Page(self.store.new_id("pag"), workspace_id, url, None, created_at)
        self.store.pages[page.id] = page
        return page

    def add_keyword(self, page: Page, phrase: str, created_at: float) -> Keyword:
        """Add a keyword to a page; it has the country and language of the workspace, and was never analysed."""
        workspace, id_ = self.store.workspaces[page.workspace_id], self.store.new_id("kwd")
        keyword = Keyword(
            id=id_,
            workspace_id=workspace.id,
            page_id=page.id,
            keyword=phrase,
            country_code=workspace.country_code,
            language_code=workspace.language_code,
            search_volume=seeded_random(self.seed, "volume", id_).randrange(10, 20_000, 10),
            created_at=created_at,
        )
        self.store.keywords[id_] = keyword
        return keyword

    def check_credits(self, purchase: Purchase) -> None:
        """Check that the balance covers a purchase.

        Raises:
            Refusal: The credits are exhausted.
        """
        if not self.bookkeeper.affords(purchase):
            raise Refusal(self.behaviour.refused_launch, f"no {purchase.type} credits left")

    def launch(self, kind: str, target: Identified, purchase: Purchase) -> Job:
        """Start a paid job on a record.

        Raises:
            Refusal: A job runs on the target, or the credits are exhausted.
        """
        if target.id in self.jobs.running:
            raise Refusal(self.behaviour.refused_launch, f"already running on {target.id}")
        self.check_credits(purchase)
        self.history.keep(target)
        job = self.jobs.launch(kind, target.id, self.clock.seconds(), purchase)
        self.bookkeeper.launched(job)
        return job

    def drop_job(self, target_id: str) -> None:
        """End the running job of a deleted target without effect."""
        job = self.jobs.drop(target_id)
        if job is not None:
            self.bookkeeper.dropped(job, self.clock.seconds())

    def shown_status(self, target_id: str, word: str | None) -> str | None:
        """Return the status word to show for a target: the true one as it is written, unless a test sets another."""
        return self.status_words.get(target_id, self.behaviour.words.get(word, word) if word else word)
