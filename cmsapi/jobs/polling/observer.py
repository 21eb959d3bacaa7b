"""Look for free: whatever anybody reads tells something about the jobs that it concerns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from cmsapi.api.model import Model
from cmsapi.api.models import Content, ContentIdeaSearch, GenerationStatus, Keyword, KnowledgeDocument, Prompt, User
from cmsapi.jobs.journal.balances import BalanceReadings
from cmsapi.jobs.kinds.registry import JobKind
from cmsapi.jobs.scheduling.queue import Listing
from cmsapi.jobs.scheduling.scheduler import Scheduler

_KINDS: Mapping[type[Model], JobKind] = {
    Keyword: JobKind.KEYWORD_ANALYSIS,
    Prompt: JobKind.PROMPT_ANALYSIS,
    ContentIdeaSearch: JobKind.IDEA_SEARCH,
    KnowledgeDocument: JobKind.KNOWLEDGE_DOCUMENT,
    Content: JobKind.GENERATION,
}


class ResponseObserver:
    """Show documents that were read to the jobs that they concern.

    Args:
        find_scheduler: Finds the schedule of the account.
        balances: Remembers balances.
    """

    def __init__(self, find_scheduler: Callable[[], Scheduler], balances: BalanceReadings) -> None:
        self._find_scheduler = find_scheduler
        self._marks = balances

    def read(self, document: Model, sent_at: float) -> None:
        """Take note of one document.

        Args:
            document: The document.
            sent_at: Loop time at which it was asked for; it tells nothing of jobs that were launched later.
        """
        if isinstance(document, User):
            self._marks.saw(document, sent_at)
        kind = _KINDS.get(type(document))
        if kind is None or (isinstance(document, Content) and not _may_be_over(document)):
            return
        target = getattr(document, "id", None)
        for watch in self._find_scheduler().watching(kind, str(target)):
            watch.subject.show(document, sent_at)

    def listed(self, documents: Sequence[Model], path: Mapping[str, str], number: int | None, sent_at: float) -> None:
        """Take note of a page of a list.

        Args:
            documents: Its items.
            path: Path parameters of the request.
            number: Number of the page, None when it is not one of the largest pages.
            sent_at: Loop time at which it was asked for.
        """
        if not documents or type(documents[0]) not in _KINDS:
            return
        keywords = [item for item in documents if isinstance(item, Keyword)]
        if keywords and number is not None and (page_id := path.get("pageId")) is not None:
            shown = "analysisStatus" not in (keywords[0]._absent or ())
            self._find_scheduler().listed(Listing(page_id, number), [item.id for item in keywords], show_states=shown)
        for document in documents:
            self.read(document, sent_at)


def _may_be_over(content: Content) -> bool:
    generation = content.last_generation
    return generation is not None and generation.status != GenerationStatus.QUEUED
