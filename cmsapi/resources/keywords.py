"""Keywords tracked for a page, and their analysis (specification 4.5 and 4.8)."""

from __future__ import annotations

from functools import partial
from typing import Any, overload

from cmsapi.api.arguments import text, texts, within, wrong
from cmsapi.api.models.keyword import Keyword
from cmsapi.api.models.report import Report
from cmsapi.api.models.web_page import WebPage
from cmsapi.api.page import Page
from cmsapi.api.pagination import Paginator
from cmsapi.errors import ArgumentError
from cmsapi.jobs import Job, JobKind
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.jobs.launching.request import LaunchRequest
from cmsapi.resources.resource import Resource
from cmsapi.resources.workspace_keywords import WorkspaceKeywords
from cmsapi.transport.caller import LARGEST_PAGE


class Keywords(Resource):
    """Read, add, analyse and score keywords."""

    @overload
    def list(self, page_id: str, *, page: int = 1, limit: int = LARGEST_PAGE) -> Paginator[Keyword, Page[Keyword]]: ...
    @overload
    def list(
        self, *, workspace_id: str, page: int = 1, limit: int = LARGEST_PAGE
    ) -> Paginator[Keyword, Page[Keyword]]: ...
    def list(
        self, page_id: str | None = None, *, workspace_id: str | None = None, page: int = 1, limit: int = LARGEST_PAGE
    ) -> Paginator[Keyword, Page[Keyword]]:
        """List the keywords of a page, or of all pages of a workspace; one request a page of the list, no credit.

        The service has no list of a workspace's keywords, so the lists of its pages are read one after the other: one
        request for each hundred pages, and at least one for each of them. Beginning with a later page of the list
        costs the requests of those before it as well.

        Args:
            page_id: The page, with its identifier; or
            workspace_id: the workspace.
            page: Number of the page of the list to begin with.
            limit: Keywords a page of the list, 1 to 100.

        Raises:
            ArgumentError: Neither or both were given.
        """
        if (page_id is None) == (workspace_id is None):
            raise ArgumentError(
                "Either `page_id` or `workspace_id` must be given, not both. Nothing was sent.", parameter="page_id"
            )
        if workspace_id is None:
            path = {"pageId": text("page_id", page_id)}
            return self._caller.paginate(Keyword, "list_keywords", path, page=page, limit=limit)
        within("page", page, 1)
        within("limit", limit, 1, LARGEST_PAGE)
        path = {"workspaceId": text("workspace_id", workspace_id)}
        web_pages = self._caller.paginate(WebPage, "list_pages", path, limit=LARGEST_PAGE)
        return WorkspaceKeywords(web_pages, partial(self.list, limit=limit), page=page, limit=limit)

    async def create(self, page_id: str, keyword: str) -> Keyword:
        """Track another keyword for a page; one request, no credit.

        Raises:
            OutcomeUnknownError: No answer came. It may have been added; list the keywords before you repeat the call.
            ServerError: The service failed; the same holds.
        """
        body = {"keyword": text("keyword", keyword)}
        return await self._caller.call(Keyword, "add_keyword", {"pageId": page_id}, body=body)

    async def get(self, keyword_id: str) -> Keyword:
        """Read a keyword; one request, no credit."""
        return await self._caller.call(Keyword, "get_keyword", {"keywordId": keyword_id})

    async def analyze(self, keyword_id: str) -> Job[Keyword]:
        """Launch the analysis of a keyword; one request and **one analysis credit**.

        An analysis of the same keyword is joined while it runs, and not paid again. The first launch of a
        client takes one request more, which reads the balances; so does one that comes after 100 launches or 10 minutes
        (`LaunchPolicy(baseline=)`).

        Returns:
            The job; `await` it for the keyword as it is after the analysis.

        Raises:
            LaunchUnknownError: The launch may have happened, and no evidence tells whether it did.
            OutOfCreditsError: The service says that no credits are left.
            ConflictError: The service refuses for another reason.
        """
        target = text("keyword_id", keyword_id)
        path = {"keywordId": target}
        return await self._open_launcher().launch(
            LaunchRequest(kind=KINDS[JobKind.KEYWORD_ANALYSIS], target=target, path=path)
        )

    @overload
    async def score(self, keyword_id: str, *, content_id: str, meta_description: str | None = None) -> Report: ...
    @overload
    async def score(self, keyword_id: str, *, title: str, html: str, meta_description: str | None = None) -> Report: ...
    async def score(
        self,
        keyword_id: str,
        *,
        content_id: str | None = None,
        title: str | None = None,
        html: str | None = None,
        meta_description: str | None = None,
    ) -> Report:
        """Score a content, or a text, against the keyword's recommendations; one request, no credit.

        Args:
            keyword_id: An analysed keyword.
            content_id: The content to score; or
            title: a title and
            html: a body.
            meta_description: With either.

        Returns:
            The report.

        Raises:
            ArgumentError: Neither or both were given.
        """
        body = scored(content_id, title, html, meta_description)
        return await self._caller.call(Report, "score_keyword", {"keywordId": keyword_id}, body=body)


def scored(content_id: str | None, title: str | None, html: str | None, meta_description: str | None) -> dict[str, Any]:
    """Return the body of a request for a score, of a keyword or a prompt.

    Raises:
        ArgumentError: Neither a content nor title and html were given, or both were.
    """
    loose = title is not None or html is not None
    if (content_id is not None) == loose:
        raise ArgumentError(
            "Either `content_id`, or `title` and `html`, must be given, not both. Nothing was sent.",
            parameter="content_id",
        )
    for name, value in (("title", title), ("html", html)):
        if loose and value is None:
            raise wrong(name, "be given where `title` or `html` is", "None")
    return texts(content_id=content_id, title=title, html=html, meta_description=meta_description)
