"""Prompts: questions asked to AI answer engines (specification 2.8 and 4.8)."""

from __future__ import annotations

from typing import overload

from cmsapi.api.arguments import text
from cmsapi.api.models.keyword import Prompt
from cmsapi.api.models.report import ScoreReport
from cmsapi.api.page import Page
from cmsapi.api.pagination import Paginator
from cmsapi.jobs import Job, JobKind
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.jobs.launching.request import LaunchRequest
from cmsapi.resources.keywords import scored
from cmsapi.resources.resource import Resource
from cmsapi.transport.caller import LARGEST_PAGE


class Prompts(Resource):
    """Read, add, analyse and score prompts."""

    def list(self, keyword_id: str, *, page: int = 1, limit: int = LARGEST_PAGE) -> Paginator[Prompt, Page[Prompt]]:
        """List the prompts of a keyword; one request a page, no credit."""
        return self._caller.paginate(Prompt, "list_prompts", {"keywordId": keyword_id}, page=page, limit=limit)

    async def create(self, keyword_id: str, prompt: str) -> Prompt:
        """Track another prompt for a keyword; one request, no credit.

        Raises:
            OutcomeUnknownError: No answer came. It may have been added; list the prompts before you repeat the call.
            ServerError: The service failed; the same holds.
        """
        body = {"prompt": text("prompt", prompt)}
        return await self._caller.call(Prompt, "add_prompt", {"keywordId": keyword_id}, body=body)

    async def get(self, prompt_id: str) -> Prompt:
        """Read a prompt; one request, no credit."""
        return await self._caller.call(Prompt, "get_prompt", {"promptId": prompt_id})

    async def analyze(self, prompt_id: str) -> Job[Prompt]:
        """Launch the analysis of a prompt; one request and, as is assumed, **one analysis credit**.

        An analysis of the same prompt is joined while it runs, and not paid again. With a shared state the first launch
        of a client takes one request more, which reads whose launches they are.

        Returns:
            The job; `await` it for the prompt as it is after the analysis.

        Raises:
            LaunchUnknownError: The launch may have happened, and no evidence tells whether it did.
            OutOfCreditsError: The service says that no credits are left.
            ConflictError: The service refuses for another reason.
        """
        target = text("prompt_id", prompt_id)
        return await self._open_launcher().launch(
            LaunchRequest(kind=KINDS[JobKind.PROMPT_ANALYSIS], target=target, path={"promptId": target})
        )

    @overload
    async def score(self, prompt_id: str, *, content_id: str, meta_description: str | None = None) -> ScoreReport: ...
    @overload
    async def score(
        self, prompt_id: str, *, title: str, html: str, meta_description: str | None = None
    ) -> ScoreReport: ...
    async def score(
        self,
        prompt_id: str,
        *,
        content_id: str | None = None,
        title: str | None = None,
        html: str | None = None,
        meta_description: str | None = None,
    ) -> ScoreReport:
        """Score how well a content, or a text, answers the prompt; one request, no credit.

        Args:
            prompt_id: An analysed prompt.
            content_id: The content to score; or
            title: a title and
            html: a body.
            meta_description: With either.

        Returns:
            The report; its `chatgpt` is None while there is none.

        Raises:
            ArgumentError: Neither or both were given.
        """
        body = scored(content_id, title, html, meta_description)
        return await self._caller.call(ScoreReport, "score_prompt", {"promptId": prompt_id}, body=body)
