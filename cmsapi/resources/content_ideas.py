"""Searches for content ideas (specification 2.6, 4.6)."""

from __future__ import annotations

from cmsapi.jobs.job import Job
from cmsapi.jobs.kinds import JobKind
from cmsapi.models import ContentIdea, ContentIdeas, ContentIdeaSearch
from cmsapi.resources.base import Resource
from cmsapi.wire.arguments import MAX_LIMIT, check_text
from cmsapi.wire.paging import Paginator


class ContentIdeaSearches(Resource):
    """Launch and read searches for content ideas."""

    async def search(self, workspace_id: str, keyword: str) -> Job[ContentIdeas]:
        """Launch a search; one request and one content-idea-search credit (specification 4.6).

        A second search for the same keyword costs another credit. The first search of a program costs one more request.

        Args:
            workspace_id: The workspace.
            keyword: Keyword or topic, at least one character.

        Returns:
            The job; ``await job`` returns the search with its ideas.

        Raises:
            OutOfCreditsError: No credit is left, or ``max_credits`` is reached.
            LaunchUnknownError: The answer was lost; nothing shows whether the search was launched.
            ConflictError: The service refused for another reason.
        """
        body = {"keyword": check_text("keyword", keyword)}
        return await self._launcher.launch(JobKind.SEARCH, workspace_id, name=keyword, body=body)

    async def get(self, search_id: str) -> ContentIdeaSearch:
        """Return a search with its status; one request, no credit (specification 4.6).

        Raises:
            NotFoundError: It does not exist, or is not visible to this key.
        """
        return await self._pipeline.call("get_content_idea_search", ContentIdeaSearch, search_id)

    def ideas(self, search_id: str, *, page: int = 1, limit: int = MAX_LIMIT) -> Paginator[ContentIdea]:
        """List the ideas of a search; one request per page, no credit (specification 4.6).

        Args:
            search_id: A search whose status is ``success``.
            page: Number of the first page to read, from 1.
            limit: Ideas per page, 1 to 100.

        Raises:
            ConflictError: The search has not finished.
        """
        return self._pipeline.list("list_content_ideas", ContentIdea, search_id, page=page, limit=limit)
