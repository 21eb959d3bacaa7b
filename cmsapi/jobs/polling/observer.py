"""Observe responses: a document that is read for any reason may show the state of jobs, and the names of targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cmsapi.api.model import Model
from cmsapi.api.models.user import User
from cmsapi.jobs.journal.balances import BalanceReadings
from cmsapi.jobs.kinds.kind import Kind, Shown
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.jobs.scheduling.scheduler import Scheduler
from cmsapi.jobs.status import Phase
from cmsapi.jobs.timing import Listing
from cmsapi.jobs.tracked import JobKey

# Names that are kept, and characters of each: a few megabytes at most. The oldest ones go first.
MOST_NAMES, LONGEST_NAME = 10_000, 200


class ResponseObserver:
    """Show documents that were read to the jobs that they concern.

    Args:
        scheduler: The scheduler of the account.
        balances: Remembers balances.
    """

    def __init__(self, scheduler: Scheduler, balances: BalanceReadings) -> None:
        self._scheduler = scheduler
        self._balances = balances
        # The kinds by the class of the documents that show something of them.
        self._kinds: dict[type[Model], list[Kind]] = {}
        # The kinds by the class of the documents that name their targets.
        self._naming: dict[type[Model], list[Kind]] = {}
        #: What the targets of jobs are called, as far as their documents were read.
        self.names: dict[JobKey, str] = {}
        for kind in KINDS.values():
            self._kinds.setdefault(kind.shown_by or kind.model, []).append(kind)
            for model in kind.named_by or (kind.model,):
                self._naming.setdefault(model, []).append(kind)

    def observe(
        self, documents: Sequence[Model], sent_at: float, path: Mapping[str, str] | None, page: int | None
    ) -> None:
        """Take note of documents of one class.

        Args:
            documents: The documents; at least one.
            sent_at: Loop time at which they were asked for; they tell nothing of jobs that were launched later.
            path: Path parameters of the request for a list, None for a single document.
            page: Number of the page of the list, None when it is not one of the largest pages.
        """
        model = type(documents[0])
        # A document without an identifier tells of no job.
        named = [(target, document) for document in documents if (target := getattr(document, "id", None)) is not None]
        for kind in self._naming.get(model, ()):
            self._note_names(kind, named)
        for document in documents:
            if isinstance(document, User):
                self._balances.saw(document, sent_at)
        for kind in self._kinds.get(model, ()):
            if path is not None and page is not None and (parent := path.get(kind.list_parameter)) is not None:
                states = kind.shown(documents[0]) is not Shown.NOTHING
                listing, targets = Listing(kind, parent, page), [target for target, _ in named]
                running = [target for target, document in named if _runs(kind, document)]
                self._scheduler.policy.listed(listing, targets, show_states=states, running=running)
            for target, document in named:
                self._scheduler.show(kind, target, document, sent_at)

    def _note_names(self, kind: Kind, named: Sequence[tuple[str, Model]]) -> None:
        names = self.names
        for target, document in named:
            name, key = getattr(document, kind.name_field, None), (kind, target)
            if isinstance(name, str) and name:
                if key not in names and len(names) >= MOST_NAMES:
                    del names[next(iter(names))]
                names[key] = name[:LONGEST_NAME]


def _runs(kind: Kind, document: Model) -> bool:
    return kind.of_word(getattr(document, kind.state_field)).phase is Phase.RUNNING
