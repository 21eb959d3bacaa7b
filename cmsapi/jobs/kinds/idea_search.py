"""The search of content ideas (specification 2.6, 3 and 4.6).

A search has an identifier, and the answer to its launch is all that tells it: no request lists searches by name. Two
searches for one keyword are separate requests and are never merged.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import ClassVar, overload

import attrs

from cmsapi.api.model import Model
from cmsapi.api.models.idea_search import ContentIdea, ContentIdeaSearch
from cmsapi.display import markup
from cmsapi.display.frames import DataFrame, frame
from cmsapi.errors import DecodeError
from cmsapi.jobs.kinds.kind import Balance, JobHistory, JobKind, Kind
from cmsapi.transport.call import CallOptions
from cmsapi.transport.caller import LARGEST_PAGE, OperationCaller

logger: logging.Logger = logging.getLogger("cmsapi")


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
    in_usages: ClassVar[bool] = True
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

        They are paid for: a list that never ends, or that repeats a page, is taken as far as it was read. An idea that
        comes again, because the list has moved between two pages, is no other one.
        """
        listed = caller.paginate(
            ContentIdea,
            "list_content_ideas",
            {"contentIdeaSearchId": target},
            limit=LARGEST_PAGE,
            options=options,
            announced=document.nb_content_ideas or None,
        )
        ideas: dict[ContentIdea | int, ContentIdea] = {}
        try:
            async for idea in listed:
                ideas.setdefault(len(ideas) if idea.id is None else idea, idea)
        except DecodeError as error:
            if not ideas or error.path != "$.pagination":
                raise
            logger.warning("the list of ideas of search %s is taken as far as it goes: %s", target, error)
        return ContentIdeas(document, tuple(ideas.values()))

    def missing(self, result: ContentIdeas) -> str | None:
        """Say how many of the announced ideas there are, unless all are."""
        return None if result.complete else f"{len(result)} of {result.search.nb_content_ideas} ideas"
