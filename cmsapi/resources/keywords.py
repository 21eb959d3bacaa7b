"""Pages of the tracked website, their keywords, and the keywords' prompts (specification 2.8, 4.3, 4.5, 4.8)."""

from __future__ import annotations

from types import NoneType

from cmsapi.errors import ArgumentError
from cmsapi.jobs.job import Job
from cmsapi.jobs.kinds import JobKind
from cmsapi.models import Keyword, Prompt, PromptReport, Report, WebPage
from cmsapi.resources.base import Resource, texts
from cmsapi.wire.arguments import MAX_LIMIT, check_text
from cmsapi.wire.paging import Paginator


class Pages(Resource):
    """Read, import, crawl and delete pages. Only the deletion is in the specification."""

    def list(self, workspace_id: str, *, page: int = 1, limit: int = MAX_LIMIT) -> Paginator[WebPage]:
        """List the pages of a workspace; one request for each page of the list, no credit.

        Args:
            workspace_id: The workspace.
            page: Number of the first page of the list to read, from 1.
            limit: Pages of the website per page of the list, 1 to 100.
        """
        return self._pipeline.list("list_pages", WebPage, workspace_id, page=page, limit=limit)

    async def get(self, page_id: str) -> WebPage:
        """Return a page; one request, no credit.

        Raises:
            NotFoundError: It does not exist, or is not visible to this key.
        """
        return await self._pipeline.call("get_page", WebPage, page_id)

    async def create(self, workspace_id: str, url: str) -> WebPage:
        """Import a page of the website by its address; one request, no credit.

        Args:
            workspace_id: The workspace.
            url: Address of the page, at least one character.

        Raises:
            OutcomeUnknownError: The page may have been imported; list the pages before repeating the call.
        """
        return await self._pipeline.call("import_page", WebPage, workspace_id, json={"url": check_text("url", url)})

    async def crawl(self, page_id: str) -> None:
        """Ask the service to visit a page again, which it does later; one request, no credit."""
        await self._pipeline.call("crawl_page", NoneType, page_id)

    async def delete(self, page_id: str) -> None:
        """Delete a page and **all its contents** for good; one request, no credit (specification 4.3).

        If an answer is lost, the request is repeated; a page that is gone by then counts as deleted.

        Raises:
            NotFoundError: It does not exist, or is not visible to this key.
        """
        await self._pipeline.call("delete_page", NoneType, page_id)


class Keywords(Resource):
    """Read, add and analyze keywords, and score texts against their recommendations."""

    def list(self, page_id: str, *, page: int = 1, limit: int = MAX_LIMIT) -> Paginator[Keyword]:
        """List the keywords of a page; one request for each page of the list, no credit.

        Args:
            page_id: The page of the website.
            page: Number of the first page of the list to read, from 1.
            limit: Keywords per page of the list, 1 to 100.
        """
        return self._pipeline.list("list_keywords", Keyword, page_id, page=page, limit=limit)

    async def get(self, keyword_id: str) -> Keyword:
        """Return a keyword; one request, no credit (specification 4.5).

        Raises:
            NotFoundError: It does not exist, or is not visible to this key.
        """
        return await self._pipeline.call("get_keyword", Keyword, keyword_id)

    async def create(self, page_id: str, keyword: str) -> Keyword:
        """Track a keyword for a page; one request, no credit.

        Args:
            page_id: The page of the website.
            keyword: Search term, at least one character.

        Raises:
            OutcomeUnknownError: The keyword may have been added; list the keywords before repeating the call.
        """
        body = {"keyword": check_text("keyword", keyword)}
        return await self._pipeline.call("add_keyword", Keyword, page_id, json=body)

    async def analyze(self, keyword_id: str) -> Job[Keyword]:
        """Launch the analysis of a keyword; one request and one analysis credit (specification 4.5).

        While an analysis of the keyword is running, its job is returned, and nothing is charged.

        Args:
            keyword_id: The keyword.

        Returns:
            The job; ``await job`` returns the keyword as it is after the analysis.

        Raises:
            OutOfCreditsError: No credit is left, or ``max_credits`` is reached.
            LaunchUnknownError: The answer was lost, and the keyword does not show whether the analysis was launched.
            ConflictError: The service refused for another reason.
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
        """Score a content or a text against the recommendations for a keyword; one request, no credit.

        Args:
            keyword_id: A keyword that has been analyzed.
            content_id: The content to score, instead of title and html.
            title: Title of the text to score.
            html: Body of the text to score.
            meta_description: Description for search engines, which is scored, too.

        Raises:
            ArgumentError: Without ``content_id``, title or html is missing; or with it, one of them is given.
        """
        body = scored(content_id, title, html, meta_description)
        return await self._pipeline.call("score_keyword", Report, keyword_id, json=body)


class Prompts(Resource):
    """Read, add and analyze prompts, and score texts against them. The specification does not show these calls."""

    def list(self, keyword_id: str, *, page: int = 1, limit: int = MAX_LIMIT) -> Paginator[Prompt]:
        """List the prompts of a keyword; one request per page, no credit.

        Args:
            keyword_id: The keyword.
            page: Number of the first page to read, from 1.
            limit: Prompts per page, 1 to 100.
        """
        return self._pipeline.list("list_prompts", Prompt, keyword_id, page=page, limit=limit)

    async def get(self, prompt_id: str) -> Prompt:
        """Return a prompt; one request, no credit.

        Raises:
            NotFoundError: It does not exist, or is not visible to this key.
        """
        return await self._pipeline.call("get_prompt", Prompt, prompt_id)

    async def create(self, keyword_id: str, prompt: str) -> Prompt:
        """Add a prompt to a keyword; one request, no credit.

        Args:
            keyword_id: The keyword.
            prompt: Question, at least one character.

        Raises:
            OutcomeUnknownError: The prompt may exist; list the prompts before repeating the call.
        """
        body = {"prompt": check_text("prompt", prompt)}
        return await self._pipeline.call("add_prompt", Prompt, keyword_id, json=body)

    async def analyze(self, prompt_id: str) -> Job[Prompt]:
        """Launch the analysis of a prompt; one request and, presumably, one analysis credit.

        While an analysis of the prompt is running, its job is returned, and nothing is charged. The specification does
        not show this call.

        Args:
            prompt_id: The prompt.

        Returns:
            The job; ``await job`` returns the prompt as it is after the analysis.

        Raises:
            OutOfCreditsError: No credit is left, or ``max_credits`` is reached.
            LaunchUnknownError: The answer was lost, and the prompt does not show whether the analysis was launched.
            ConflictError: The service refused for another reason.
        """
        return await self._launcher.launch(JobKind.PROMPT, prompt_id)

    async def score(
        self,
        prompt_id: str,
        *,
        content_id: str | None = None,
        title: str | None = None,
        html: str | None = None,
        meta_description: str | None = None,
    ) -> PromptReport:
        """Score a content or a text against the answers of AI answer engines to a prompt; one request, no credit.

        Args:
            prompt_id: A prompt; before its analysis it has no report.
            content_id: The content to score, instead of title and html.
            title: Title of the text to score.
            html: Body of the text to score.
            meta_description: Description for search engines, which is scored, too.

        Raises:
            ArgumentError: Without ``content_id``, title or html is missing; or with it, one of them is given.
        """
        body = scored(content_id, title, html, meta_description)
        return await self._pipeline.call("score_prompt", PromptReport, prompt_id, json=body)


def scored(content_id: str | None, title: str | None, html: str | None, meta_description: str | None) -> dict[str, str]:
    """Return the body of a request for a score.

    Raises:
        ArgumentError: Without ``content_id``, title or html is missing; or with it, one of them is given.
    """
    if content_id is None:
        check_text("title", title, minimum=0)
        check_text("html", html, minimum=0)
    elif title is not None or html is not None:
        raise ArgumentError("content_id", "must not be given together with title or html")
    return texts(content_id=content_id, title=title, html=html, meta_description=meta_description)
