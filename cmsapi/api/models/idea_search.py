"""Searches of content ideas and their results (specification, section 2.6)."""

from __future__ import annotations

from datetime import datetime

import attrs

from cmsapi.api.model import ASSUMED, LENIENT, Model, OpenEnum


class SearchStatus(OpenEnum):
    """List the states of a search of content ideas."""

    PENDING = "pending"
    SUCCESS = "success"
    FAILED = "failed"


@attrs.frozen(kw_only=True)
class ContentIdeaSearch(Model):
    """Describe an asynchronous search of content ideas; starting one consumes one credit.

    Args:
        id: Identifier.
        created_at: When it was started.
        keyword: Seed keyword.
        nb_content_ideas: Number of ideas found.
        search_volume: Searches per month of the seed keyword.
        status: State.
    """

    # A search is paid for, and its identifier is all that it takes to get its ideas.
    id: str
    created_at: datetime = attrs.field(metadata=LENIENT)
    keyword: str | None = attrs.field(default=None, metadata=LENIENT)
    # Without it the end of the ideas cannot be told.
    nb_content_ideas: int | None = None
    search_volume: int | None = attrs.field(default=None, metadata=LENIENT)
    status: SearchStatus | None = attrs.field(default=None, metadata=LENIENT)


@attrs.frozen(kw_only=True)
class ContentIdea(Model):
    """Describe a result of a search; the specification shows none of its fields, so expect more in `extra`.

    Args:
        id: Identifier, or None where the service shows none.
        keyword: Keyword of the idea.
        search_volume: Searches per month.
        created_at: When it was found.
    """

    id: str | None = attrs.field(default=None, metadata=ASSUMED)
    keyword: str | None = attrs.field(default=None, metadata=ASSUMED)
    search_volume: int | None = attrs.field(default=None, metadata=ASSUMED)
    created_at: datetime | None = attrs.field(default=None, metadata=ASSUMED)
