"""Content-idea searches for a seed keyword (specification 2.6 and 4.6)."""

from __future__ import annotations

from cmsapi.api.arguments import text
from cmsapi.api.models.idea_search import ContentIdea, ContentIdeaSearch
from cmsapi.api.page import Page
from cmsapi.api.pagination import Paginator
from cmsapi.jobs import ContentIdeas, Job, JobKind
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.jobs.launching.request import LaunchRequest
from cmsapi.resources.resource import Resource
from cmsapi.transport.caller import LARGEST_PAGE


class ContentIdeaSearches(Resource):
    """Search for content ideas, and read searches again."""

    async def search(self, workspace_id: str, keyword: str) -> Job[ContentIdeas]:
        """Launch a search; one request and **one content-ideas-searches credit**.

        Two searches for one keyword are separate requests and are never merged. The first launch of a client takes one
        request more, which reads the balances; so does one that comes after 100 launches or 10 minutes
        (`LaunchPolicy(baseline=)`).

        Args:
            workspace_id: The workspace.
            keyword: Seed keyword or topic, at least one character.

        Returns:
            The job; `await` it for the search record and its ideas.

        Raises:
            LaunchUnknownError: The launch may have happened, and no evidence tells whether it did.
            OutOfCreditsError: The service says that no credits are left.
            ConflictError: The service refuses for another reason.
        """
        target = text("keyword", keyword)
        path, body = {"workspaceId": workspace_id}, {"keyword": target}
        return await self._open_launcher().launch(
            LaunchRequest(kind=KINDS[JobKind.IDEA_SEARCH], target=target, path=path, body=body)
        )

    async def get(self, content_idea_search_id: str) -> ContentIdeaSearch:
        """Read a search record; one request, no credit."""
        path = {"contentIdeaSearchId": content_idea_search_id}
        return await self._caller.call(ContentIdeaSearch, "get_content_idea_search", path)

    def list(
        self, content_idea_search_id: str, *, page: int = 1, limit: int = LARGEST_PAGE
    ) -> Paginator[ContentIdea, Page[ContentIdea]]:
        """Read the ideas of a search that succeeded; one request a page, no credit."""
        path = {"contentIdeaSearchId": content_idea_search_id}
        return self._caller.paginate(ContentIdea, "list_content_ideas", path, page=page, limit=limit)
