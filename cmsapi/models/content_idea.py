"""Searches for content ideas, and the ideas that they find (specification 2.6)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import overload

from attrs import frozen

from cmsapi.models.base import Model


@frozen(kw_only=True, slots=False)
class ContentIdeaSearch(Model):
    """A search for content ideas.

    Attributes:
        status: ``pending``, ``success`` or ``failed``.
    """

    id: str
    created_at: datetime | None = None
    keyword: str | None = None
    nb_content_ideas: int | None = None
    search_volume: int | None = None
    status: str | None = None


@frozen(kw_only=True, slots=False)
class ContentIdea(Model):
    """A content idea. The specification does not describe its fields. JSON keys without a field are in ``extra``."""

    id: str | None = None
    keyword: str | None = None
    search_volume: int | None = None
    created_at: datetime | None = None


@frozen(kw_only=True)
class ContentIdeas(Sequence[ContentIdea]):
    """The ideas that a finished search found, as a sequence.

    Attributes:
        complete: False if the service listed fewer ideas than it announced.
    """

    search: ContentIdeaSearch
    ideas: tuple[ContentIdea, ...]
    complete: bool

    def __len__(self) -> int:
        return len(self.ideas)

    @overload
    def __getitem__(self, index: int) -> ContentIdea: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[ContentIdea, ...]: ...
    def __getitem__(self, index: int | slice) -> ContentIdea | tuple[ContentIdea, ...]:
        return self.ideas[index]
