"""Keywords of a page (specification 2.8, 4.5, 4.8)."""

from __future__ import annotations

from cmsapi.jobs.job import Job
from cmsapi.jobs.kinds import JobKind
from cmsapi.models import Keyword, Report
from cmsapi.resources.base import Resource, scored
from cmsapi.wire.arguments import MAX_LIMIT, check_text
from cmsapi.wire.paging import Paginator


class Keywords(Resource):
    """Read, add and analyze keywords, and score texts against their recommendations."""

    def list(self, page_id: str, *, page: int = 1, limit: int = MAX_LIMIT) -> Paginator[Keyword]:
        """List the keywords of a page; one request a page of the list, no credit.

        Args:
            page_id: The page of the website.
            page: Number of the first page of the list to read, from 1.
            limit: Keywords a page of the list, 1 to 100.
        """
        return self._pipeline.list("list_keywords", Keyword, page_id, page=page, limit=limit)

    async def get(self, keyword_id: str) -> Keyword:
        """Return a keyword; one request, no credit (specification 4.5)."""
        return await self._pipeline.call("get_keyword", Keyword, keyword_id)

    async def create(self, page_id: str, keyword: str) -> Keyword:
        """Track a keyword for a page; one request, no credit.

        Raises:
            OutcomeUnknownError: The keyword may be tracked; list the keywords before repeating the call.
        """
        body = {"keyword": check_text("keyword", keyword)}
        return await self._pipeline.call("add_keyword", Keyword, page_id, json=body)

    async def analyze(self, keyword_id: str) -> Job[Keyword]:
        """Launch the analysis of a keyword; one request and one analysis credit (specification 4.5).

        While an analysis of the keyword runs, its job is returned, and nothing is paid.

        Returns:
            The job; ``await job`` gives the keyword as it is after the analysis.

        Raises:
            OutOfCreditsError: No credit is left, or ``max_credits`` is reached.
            LaunchUnknownError: The answer was lost, and the keyword does not show whether the analysis was launched.
            ConflictError: The service refuses for another reason.
        """
        return await self._launcher.launch(JobKind.ANALYSIS, keyword_id)

    async def score(
        self,
        keyword_id: str,
        *,
        content_id: str | None = None,
        title: str | None = None,
        html: str | None = None,
        meta_description: str | None = None,
    ) -> Report:
        """Score a content, or a text, against the recommendations for a keyword; one request, no credit.

        Args:
            keyword_id: A keyword that has been analyzed.
            content_id: The content to score; or
            title: the title and
            html: the body to score.
            meta_description: Description for search engines to score.

        Raises:
            ArgumentError: Neither a content nor title and html are given, or both are.
        """
        body = scored(content_id, title, html, meta_description)
        return await self._pipeline.call("score_keyword", Report, keyword_id, json=body)
