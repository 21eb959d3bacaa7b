"""Searches for content ideas (specification 2.6, 4.6)."""

from __future__ import annotations

from cmsapi.models import ContentIdea, ContentIdeaSearch
from cmsapi.resources.base import Resource
from cmsapi.wire.arguments import MAX_LIMIT
from cmsapi.wire.paging import Paginator


class ContentIdeaSearches(Resource):
    """Read searches for content ideas, and what they found."""

    async def get(self, search_id: str) -> ContentIdeaSearch:
        """Return a search with its status; one request, no credit (specification 4.6)."""
        return await self._pipeline.call("get_content_idea_search", ContentIdeaSearch, search_id)

    def ideas(self, search_id: str, *, page: int = 1, limit: int = MAX_LIMIT) -> Paginator[ContentIdea]:
        """List the ideas of a search; one request a page, no credit (specification 4.6).

        Args:
            search_id: A search whose status is ``success``.
            page: Number of the first page to read, from 1.
            limit: Ideas a page, 1 to 100.

        Raises:
            ConflictError: The search has not finished.
        """
        return self._pipeline.list("list_content_ideas", ContentIdea, search_id, page=page, limit=limit)
