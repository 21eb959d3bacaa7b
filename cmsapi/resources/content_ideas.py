"""Searches for content ideas (specification 2.6, 4.6)."""

from __future__ import annotations

from cmsapi.jobs.job import Job
from cmsapi.jobs.kinds import JobKind
from cmsapi.models import ContentIdea, ContentIdeas, ContentIdeaSearch
from cmsapi.resources.base import Resource
from cmsapi.wire.arguments import MAX_LIMIT, check_text
from cmsapi.wire.paging import Paginator


class ContentIdeaSearches(Resource):
    """Launch searches for content ideas, and read searches and the ideas that they found."""

    async def search(self, workspace_id: str, keyword: str) -> Job[ContentIdeas]:
        """Launch a search for content ideas; one request and one content-idea-search credit (specification 4.6).

        A repeated search costs a credit again. If the balance is unknown, it is read first, with one more request.

        Args:
            workspace_id: Identifier of the workspace.
            keyword: Keyword or topic, at least one character.

        Returns:
            The job; ``await job`` returns the `ContentIdeas`, with the search in the attribute ``search``.

        Raises:
            OutOfCreditsError: No credit is left, or ``max_credits`` is reached.
            LaunchUnknownError: No response confirmed the launch; the search may have been launched and charged.
            ConflictError: The service refused the launch for another reason.
        """
        body = {"keyword": check_text("keyword", keyword)}
        return await self._launcher.launch(JobKind.SEARCH, workspace_id, name=keyword, body=body)

    async def get(self, search_id: str) -> ContentIdeaSearch:
        """Return a search with its status; one request, no credit (specification 4.6).

        Raises:
            NotFoundError: The search does not exist, or is not visible to this key.
        """
        return await self._pipeline.call("get_content_idea_search", ContentIdeaSearch, search_id)

    def ideas(self, search_id: str, *, page: int = 1, limit: int = MAX_LIMIT) -> Paginator[ContentIdea]:
        """List the ideas of a search; one request per page, no credit (specification 4.6).

        Args:
            search_id: A search whose status is ``success``.
            page: Number of the first page to read, from 1.
            limit: Ideas per page, 1 to 100.

        Raises:
            ConflictError: The search has not succeeded.
        """
        return self._pipeline.list("list_content_ideas", ContentIdea, search_id, page=page, limit=limit)
