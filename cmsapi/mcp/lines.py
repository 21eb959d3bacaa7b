"""Turn models of the SDK into what the tools answer."""

from __future__ import annotations

import cmsapi
from cmsapi.mcp.answers import Article, ContentDocument, IdeaLine, Ideas, JobLine, KeywordLine
from cmsapi.mcp.wording import money, told

# More ideas than this take much room in the context of an assistant.
FIRST_IDEAS = 20


def content_document(content: cmsapi.Content, *, with_html: bool) -> ContentDocument:
    """Return a content with its body."""
    html = (content.html_sanitized or content.html) if with_html else None
    return ContentDocument.model_validate(content).model_copy(update={"html": html})


def ideas_line(ideas: cmsapi.ContentIdeas, first: int = 0, count: int = FIRST_IDEAS) -> Ideas:
    """Return some of the ideas of a search."""
    return Ideas(
        search_id=ideas.search.id,
        seed=ideas.search.keyword,
        status=ideas.search.status,
        total=len(ideas),
        ideas=[IdeaLine.model_validate(idea) for idea in ideas.ideas[first : first + count]],
    )


def job_line(job: cmsapi.Job[object], problem: BaseException | None = None) -> JobLine:
    """Return a job, with its result if it has one."""
    status = job.status
    if job.done() and problem is None:
        problem = job.exception()
    result = job.result() if job.done() and problem is None else None
    return JobLine(
        kind=job.kind.value,
        target=job.target,
        name=job.name,
        token=job.token,
        state=status.phase.value,
        done=status.done,
        elapsed=round(status.elapsed),
        expected_end=status.eta,
        keyword=KeywordLine.model_validate(result) if isinstance(result, cmsapi.Keyword) else None,
        ideas=ideas_line(result) if isinstance(result, cmsapi.ContentIdeas) else None,
        article=Article.model_validate(result) if isinstance(result, cmsapi.GenerationReview) else None,
        problem=None if problem is None else f"{told(problem)} {money(problem, 'launches')}",
    )
