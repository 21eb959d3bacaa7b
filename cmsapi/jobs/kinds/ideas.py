"""The result of a content-idea search (specification 2.6 and 4.6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

import attrs

from cmsapi.api.models import ContentIdea, ContentIdeaSearch
from cmsapi.display import markup


@attrs.frozen
class ContentIdeas(Sequence[ContentIdea]):
    """Hold a finished search and its ideas; a sequence of the ideas.

    Args:
        search: The search record.
        ideas: All of its ideas, in the service's order.
    """

    search: ContentIdeaSearch
    ideas: tuple[ContentIdea, ...]

    @overload
    def __getitem__(self, index: int) -> ContentIdea: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ContentIdea]: ...
    def __getitem__(self, index: int | slice) -> ContentIdea | Sequence[ContentIdea]:
        return self.ideas[index]

    def __len__(self) -> int:
        return len(self.ideas)

    def __iter__(self) -> Iterator[ContentIdea]:
        return iter(self.ideas)

    def _repr_html_(self) -> str:
        return markup.listing(f"{len(self)} ideas for {markup.brief(self.search.keyword)}", self.ideas)
