"""Prompts of a keyword (specification 2.8, 4.8)."""

from __future__ import annotations

from cmsapi.jobs.job import Job
from cmsapi.jobs.kinds import JobKind
from cmsapi.models import Prompt, PromptReport
from cmsapi.resources.base import Resource, scored
from cmsapi.wire.arguments import MAX_LIMIT, check_text
from cmsapi.wire.paging import Paginator


class Prompts(Resource):
    """Read and add prompts, and score texts against them. The specification shows none of this."""

    def list(self, keyword_id: str, *, page: int = 1, limit: int = MAX_LIMIT) -> Paginator[Prompt]:
        """List the prompts of a keyword; one request a page, no credit.

        Args:
            keyword_id: The keyword.
            page: Number of the first page to read, from 1.
            limit: Prompts a page, 1 to 100.
        """
        return self._pipeline.list("list_prompts", Prompt, keyword_id, page=page, limit=limit)

    async def get(self, prompt_id: str) -> Prompt:
        """Return a prompt; one request, no credit."""
        return await self._pipeline.call("get_prompt", Prompt, prompt_id)

    async def create(self, keyword_id: str, prompt: str) -> Prompt:
        """Add a prompt to a keyword; one request, no credit.

        Raises:
            OutcomeUnknownError: The prompt may exist; list the prompts before repeating the call.
        """
        body = {"prompt": check_text("prompt", prompt)}
        return await self._pipeline.call("add_prompt", Prompt, keyword_id, json=body)

    async def analyze(self, prompt_id: str) -> Job[Prompt]:
        """Launch the analysis of a prompt; one request and, as is assumed, one analysis credit.

        While an analysis of the prompt runs, its job is returned, and nothing is paid. The specification does not show
        this call.

        Returns:
            The job; ``await job`` gives the prompt as it is after the analysis.

        Raises:
            OutOfCreditsError: No credit is left, or ``max_credits`` is reached.
            LaunchUnknownError: The answer was lost, and the prompt does not show whether the analysis was launched.
            ConflictError: The service refuses for another reason.
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
        """Score a content, or a text, against what answer engines say to a prompt; one request, no credit.

        Args:
            prompt_id: A prompt; without an analysis it has no report.
            content_id: The content to score; or
            title: the title and
            html: the body to score.
            meta_description: Description for search engines to score.

        Raises:
            ArgumentError: Neither a content nor title and html are given, or both are.
        """
        body = scored(content_id, title, html, meta_description)
        return await self._pipeline.call("score_prompt", PromptReport, prompt_id, json=body)
