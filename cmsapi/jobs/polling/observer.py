"""Observe responses: a document that is read for any reason tells something about the jobs that it concerns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cmsapi.api.model import Model
from cmsapi.api.models.user import User
from cmsapi.jobs.journal.balances import BalanceReadings
from cmsapi.jobs.kinds.kind import Shown
from cmsapi.jobs.kinds.registry import kinds_shown_by
from cmsapi.jobs.scheduling.list_reads import Listing
from cmsapi.jobs.scheduling.scheduler import Scheduler


class ResponseObserver:
    """Show documents that were read to the jobs that they concern.

    Args:
        scheduler: The scheduler of the account.
        balances: Remembers balances.
    """

    def __init__(self, scheduler: Scheduler, balances: BalanceReadings) -> None:
        self._scheduler = scheduler
        self._balances = balances

    def read(self, document: Model, sent_at: float) -> None:
        """Take note of one document.

        Args:
            document: The document.
            sent_at: Loop time at which it was asked for; it tells nothing of jobs that were launched later.
        """
        if isinstance(document, User):
            self._balances.saw(document, sent_at)
        for kind in kinds_shown_by(type(document)):
            self._scheduler.show(kind, str(getattr(document, "id", None)), document, sent_at)

    def listed(self, documents: Sequence[Model], path: Mapping[str, str], number: int | None, sent_at: float) -> None:
        """Take note of a page of a list.

        Args:
            documents: Its items.
            path: Path parameters of the request.
            number: Number of the page, None when it is not one of the largest pages.
            sent_at: Loop time at which it was asked for.
        """
        if not documents or not (kinds := kinds_shown_by(type(documents[0]))):
            return
        for kind in kinds:
            parent = path.get(kind.list_parameter) if kind.list_operation else None
            if parent is not None and number is not None:
                targets = [str(getattr(document, "id", None)) for document in documents]
                states = kind.shown(documents[0]) is not Shown.NOTHING
                self._scheduler.list_reads.listed(Listing(kind, parent, number), targets, show_states=states)
        for document in documents:
            self.read(document, sent_at)
