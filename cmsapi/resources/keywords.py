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
    """Read, import and delete pages, and have them crawled. The specification shows only the deletion."""

    def list(self, workspace_id: str, *, page: int = 1, limit: int = MAX_LIMIT) -> Paginator[WebPage]:
        """List the pages of a workspace; one request for each page of the list, no credit.

        Args:
            workspace_id: Identifier of the workspace.
            page: Number of the first page of the list to read, from 1.
            limit: Pages of the website per page of the list, 1 to 100.
        """
        return self._pipeline.list("list_pages", WebPage, workspace_id, page=page, limit=limit)

    async def get(self, page_id: str) -> WebPage:
        """Return a page; one request, no credit.

        Raises:
            NotFoundError: The page does not exist, or is not visible to this key.
        """
        return await self._pipeline.call("get_page", WebPage, page_id)

    async def create(self, workspace_id: str, url: str) -> WebPage:
        """Import a page of the website by its address; one request, no credit.

        Args:
            workspace_id: Identifier of the workspace.
            url: Address of the page, at least one character.

        Raises:
            OutcomeUnknownError: The response was lost, and the page may exist: list the pages before you call again.
        """
        return await self._pipeline.call("import_page", WebPage, workspace_id, json={"url": check_text("url", url)})

    async def crawl(self, page_id: str) -> None:
        """Ask the service to crawl a page again, which it does later; one request, no credit."""
        await self._pipeline.call("crawl_page", NoneType, page_id)

    async def delete(self, page_id: str) -> None:
        """Delete a page and **all its contents** for good; one request, no credit (specification 4.3).

        After a lost response, the request is repeated; a page that no longer exists then counts as deleted.

        Raises:
            NotFoundError: The page does not exist, or is not visible to this key.
        """
        await self._pipeline.call("delete_page", NoneType, page_id)


class Keywords(Resource):
    """Read, add and analyze keywords, and score texts for them. The specification shows only `get` and `analyze`."""

    def list(self, page_id: str, *, page: int = 1, limit: int = MAX_LIMIT) -> Paginator[Keyword]:
        """List the keywords of a page; one request for each page of the list, no credit.

        Args:
            page_id: Identifier of the page of the website.
            page: Number of the first page of the list to read, from 1.
            limit: Keywords per page of the list, 1 to 100.
        """
        return self._pipeline.list("list_keywords", Keyword, page_id, page=page, limit=limit)

    async def get(self, keyword_id: str) -> Keyword:
        """Return a keyword; one request, no credit (specification 4.5).

        Raises:
            NotFoundError: The keyword does not exist, or is not visible to this key.
        """
        return await self._pipeline.call("get_keyword", Keyword, keyword_id)

    async def create(self, page_id: str, keyword: str) -> Keyword:
        """Track a keyword for a page; one request, no credit.

        Args:
            page_id: Identifier of the page of the website.
            keyword: Search term, at least one character.

        Raises:
            OutcomeUnknownError: The response was lost, and the keyword may exist: list keywords before you call again.
        """
        body = {"keyword": check_text("keyword", keyword)}
        return await self._pipeline.call("add_keyword", Keyword, page_id, json=body)

    async def analyze(self, keyword_id: str) -> Job[Keyword]:
        """Launch the analysis of a keyword; one request and one analysis credit (specification 4.5).

        If the state has a running job for the keyword, that job is returned instead, and nothing is charged, unless
        `LaunchPolicy.dedupe` is ``"off"``.

        Args:
            keyword_id: Identifier of the keyword.

        Returns:
            The job; ``await job`` returns the analyzed keyword.

        Raises:
            OutOfCreditsError: No credit is left, or ``max_credits`` is reached.
            LaunchUnknownError: It is unknown whether the launch was accepted. A credit may have been charged.
            ConflictError: The service refused the launch for another reason.
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
        """Score a content item or text for a keyword, and return the report; one request, no credit.

        Args:
            keyword_id: Identifier of a keyword that has been analyzed.
            content_id: Identifier of the content to score, instead of ``title`` and ``html``.
            title: Title of the text to score.
            html: Body of the text to score.
            meta_description: Description for search engines, which is scored as well.

        Raises:
            ArgumentError: The text is incomplete or given twice. Pass ``content_id``, or ``title`` and ``html``.
        """
        body = scored(content_id, title, html, meta_description)
        return await self._pipeline.call("score_keyword", Report, keyword_id, json=body)


class Prompts(Resource):
    """Read, add and analyze prompts, and score texts for them. The specification does not show these calls."""

    def list(self, keyword_id: str, *, page: int = 1, limit: int = MAX_LIMIT) -> Paginator[Prompt]:
        """List the prompts of a keyword; one request per page, no credit.

        Args:
            keyword_id: Identifier of the keyword.
            page: Number of the first page to read, from 1.
            limit: Prompts per page, 1 to 100.
        """
        return self._pipeline.list("list_prompts", Prompt, keyword_id, page=page, limit=limit)

    async def get(self, prompt_id: str) -> Prompt:
        """Return a prompt; one request, no credit.

        Raises:
            NotFoundError: The prompt does not exist, or is not visible to this key.
        """
        return await self._pipeline.call("get_prompt", Prompt, prompt_id)

    async def create(self, keyword_id: str, prompt: str) -> Prompt:
        """Add a prompt to a keyword; one request, no credit.

        Args:
            keyword_id: Identifier of the keyword.
            prompt: The question, at least one character.

        Raises:
            OutcomeUnknownError: The response was lost, and the prompt may exist: list prompts before you call again.
        """
        body = {"prompt": check_text("prompt", prompt)}
        return await self._pipeline.call("add_prompt", Prompt, keyword_id, json=body)

    async def analyze(self, prompt_id: str) -> Job[Prompt]:
        """Launch the analysis of a prompt; one request and, presumably, one analysis credit.

        If the state has a running job for the prompt, that job is returned instead, and nothing is charged, unless
        `LaunchPolicy.dedupe` is ``"off"``.

        Args:
            prompt_id: Identifier of the prompt.

        Returns:
            The job; ``await job`` returns the analyzed prompt.

        Raises:
            OutOfCreditsError: No credit is left, or ``max_credits`` is reached.
            LaunchUnknownError: It is unknown whether the launch was accepted. A credit may have been charged.
            ConflictError: The service refused the launch for another reason.
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
        """Score a content item or text for a prompt, and return a report per AI answer engine; one request, no credit.

        Args:
            prompt_id: Identifier of a prompt; there are no reports before the prompt has been analyzed.
            content_id: Identifier of the content to score, instead of ``title`` and ``html``.
            title: Title of the text to score.
            html: Body of the text to score.
            meta_description: Description for search engines, which is scored as well.

        Raises:
            ArgumentError: The text is incomplete or given twice. Pass ``content_id``, or ``title`` and ``html``.
        """
        body = scored(content_id, title, html, meta_description)
        return await self._pipeline.call("score_prompt", PromptReport, prompt_id, json=body)


def scored(content_id: str | None, title: str | None, html: str | None, meta_description: str | None) -> dict[str, str]:
    """Return the JSON body of a request to score a content item or a text.

    Raises:
        ArgumentError: The text is incomplete or given twice. Pass ``content_id``, or ``title`` and ``html``.
    """
    if content_id is None:
        check_text("title", title, minimum=0)
        check_text("html", html, minimum=0)
    elif title is not None or html is not None:
        raise ArgumentError("content_id", "must not be given together with title or html")
    return texts(content_id=content_id, title=title, html=html, meta_description=meta_description)
