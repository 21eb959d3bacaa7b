"""The search of content ideas (specification 2.6, 3 and 4.6).

A search has an identifier, and the answer to its launch is all that tells it: no request lists searches by name. Two
searches for one keyword are separate requests and are never merged.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import ClassVar, overload

import attrs

from cmsapi.api.model import Model
from cmsapi.api.models.credit_usage import CreditUsage
from cmsapi.api.models.idea_search import ContentIdea, ContentIdeaSearch
from cmsapi.config import WordMap
from cmsapi.display import markup
from cmsapi.display.frames import DataFrame, frame
from cmsapi.errors import DecodeError
from cmsapi.jobs.kinds import evidence
from cmsapi.jobs.kinds.evidence import Charges, Finding
from cmsapi.jobs.kinds.kind import NO_WORDS, Balance, ChargeEvidence, JobHistory, JobKind, Kind
from cmsapi.state.entry import Entry
from cmsapi.transport.call import CallOptions
from cmsapi.transport.caller import LARGEST_PAGE, OperationCaller

logger: logging.Logger = logging.getLogger("cmsapi")

_DIGEST = re.compile("[0-9a-f]{32}")


@attrs.frozen
class ContentIdeas(Sequence[ContentIdea]):
    """Hold a finished search and its ideas; a sequence of the ideas.

    Args:
        search: The search record.
        ideas: Its ideas, in the service's order.
    """

    search: ContentIdeaSearch
    ideas: tuple[ContentIdea, ...]

    @property
    def complete(self) -> bool:
        """Whether there are as many ideas as the search announces; a service may list them late, or never all."""
        return len(self.ideas) >= (self.search.nb_content_ideas or 0)

    @overload
    def __getitem__(self, index: int) -> ContentIdea: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ContentIdea]: ...
    def __getitem__(self, index: int | slice) -> ContentIdea | Sequence[ContentIdea]:
        return self.ideas[index]

    def __len__(self) -> int:
        return len(self.ideas)

    def to_pandas(self) -> DataFrame:
        """Return the ideas as a `pandas.DataFrame`, one row each; needs the extra `notebook`."""
        return frame(self.ideas, ContentIdea)

    def _repr_html_(self) -> str:
        announced = "" if self.complete else f" of {self.search.nb_content_ideas}"
        return markup.listing(f"{len(self)}{announced} ideas for {markup.brief(self.search.keyword)}", self.ideas)


class IdeaSearch(Kind):
    """Describe the search of content ideas; the keyword is the launch's target, the search's identifier the job's."""

    name: ClassVar[JobKind] = JobKind.IDEA_SEARCH
    operation: ClassVar[str] = "get_content_idea_search"
    parameter: ClassVar[str] = "contentIdeaSearchId"
    model: ClassVar[type[Model]] = ContentIdeaSearch
    name_field: ClassVar[str] = "keyword"
    polled_by_id: ClassVar[bool] = True
    result_requests: ClassVar[float] = 1.0
    reads_results_early: ClassVar[bool] = True
    launch_operation: ClassVar[str] = "start_content_idea_search"
    joins: ClassVar[bool] = False
    answer: ClassVar[type[Model] | None] = ContentIdeaSearch
    balance: ClassVar[Balance | None] = Balance("content_idea_search", "content_ideas_searches")
    charge_evidence: ClassVar[ChargeEvidence] = ChargeEvidence.REQUIRED
    where_to_look: ClassVar[str] = "client.credit_usages.list('content_idea_search') shows whether it was charged."

    async def read_result(
        self,
        caller: OperationCaller,
        target: str,
        document: ContentIdeaSearch,
        history: JobHistory,
        options: CallOptions,
    ) -> ContentIdeas:
        """Read the ideas until there are as many as announced, or no more come; a request or more.

        They are paid for: a list that never ends, or that repeats a page, is taken as far as it was read.
        """
        listed = caller.paginate(
            ContentIdea,
            "list_content_ideas",
            {"contentIdeaSearchId": target},
            limit=LARGEST_PAGE,
            options=options,
            announced=document.nb_content_ideas or None,
        )
        ideas: list[ContentIdea] = []
        try:
            async for idea in listed:
                ideas.append(idea)  # noqa: PERF401  what was read counts although the rest cannot be
        except DecodeError as error:
            if not ideas or error.path != "$.pagination":
                raise
            logger.warning("the list of ideas of search %s is taken as far as it goes: %s", target, error)
        return ContentIdeas(document, tuple(ideas))

    def missing(self, result: ContentIdeas) -> str | None:
        """Say how many of the announced ideas there are, unless all are."""
        return None if result.complete else f"{len(result)} of {result.search.nb_content_ideas} ideas"

    def judge(self, entry: Entry, document: None, charges: Charges | None, words: WordMap = NO_WORDS) -> Finding:
        """Say what the usages tell of a search.

        Each search is charged when it is launched (specification 4.6). So there is one charge for each other search
        that was taken for certain, however its keyword is written there, and one that is left over may be that of this
        one.
        """
        if charges is None or charges.since is None:
            return evidence.unproven(charges)
        for usage in charges.ours(charges.before):
            if _may_be_charge_of(usage, entry):
                return evidence.from_before(usage)
        left = charges.ours(charges.since)
        unseen = [other for other in charges.sure if not _take(left, other)]
        for other in charges.perhaps:
            if not any(_may_be_named(other, each) for each in (entry, *unseen)):
                _take(left, other)
        if len(left) < len(unseen):
            return Finding.unknown(
                f"the service shows no charge yet for {len(unseen) - len(left)} searches that it has taken since"
            )
        alike = [usage for usage in left if _may_be_charge_of(usage, entry)]
        others_alike = sum(any(_may_be_charge_of(usage, other) for usage in alike) for other in unseen)
        if len(alike) <= others_alike and sum(abs(usage.amount) for usage in left) <= len(unseen):
            return evidence.absent(charges)
        own = next((usage for usage in left if _is_charge_of(usage, entry)), None)
        if own is not None:
            return Finding.unknown(f"its credit was charged (usage {own.id}), and no request lists searches by name")
        return evidence.unexplained(left[0])


def _may_be_named(other: Entry, search: Entry) -> bool:
    """Tell whether the keyword of one search may be how a service writes that of another one."""
    digests = _DIGEST.fullmatch(other.target) and _DIGEST.fullmatch(search.target)
    return digests is not None or evidence.may_be(other.target, search.target)


def _take(usages: list[CreditUsage], search: Entry) -> bool:
    """Take the charge that names a search off a list, and tell whether there was one."""
    found = next((usage for usage in usages if _is_charge_of(usage, search) and abs(usage.amount) == 1), None)
    if found is not None:
        usages.remove(found)
    return found is not None


def _is_charge_of(usage: CreditUsage, search: Entry) -> bool:
    workspace = getattr(usage.workspace, "id", None)
    return evidence.name_of(evidence.written(usage)) == search.target and workspace == search.facts.get("workspace")


def _may_be_charge_of(usage: CreditUsage, search: Entry) -> bool:
    return _DIGEST.fullmatch(search.target) is not None or evidence.may_be(evidence.written(usage), search.target)
