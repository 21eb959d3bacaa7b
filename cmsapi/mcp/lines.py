"""Turn models of the SDK into what the tools answer."""

from __future__ import annotations

import cmsapi
from cmsapi.mcp.answers import Article, ContentDocument, ContentLine, IdeaLine, Ideas, JobLine, KeywordLine
from cmsapi.mcp.wording import money, told

# More ideas than this take much room in the context of an assistant.
FIRST_IDEAS = 20


def content_line(content: cmsapi.Content | cmsapi.ContentSummary) -> ContentLine:
    """Return a content without its body."""
    person = content.assigned_to
    return ContentLine(
        id=content.id,
        title=content.title,
        type=_word(content.type),
        score=content.content_score,
        words=content.words_count,
        status=content.content_status.label if content.content_status else None,
        folder=content.folder.name if content.folder else None,
        page_url=content.page.url if content.page else None,
        assigned_to=f"{person.first_name} {person.last_name}" if person else None,
        due=content.due_date,
        updated=content.updated_at,
    )


def content_document(content: cmsapi.Content, *, with_html: bool) -> ContentDocument:
    """Return a content with its body."""
    last = content.last_generation
    return ContentDocument(
        **content_line(content).model_dump(),
        meta_description=content.meta_description,
        page_id=content.page.id if content.page else None,
        generation=_word(last.status) if last else None,
        html=(content.html_sanitized or content.html) if with_html else None,
    )


def keyword_line(keyword: cmsapi.Keyword) -> KeywordLine:
    """Return a keyword."""
    return KeywordLine(
        id=keyword.id,
        keyword=keyword.keyword,
        analysis=_word(keyword.analysis_status),
        analysed=keyword.last_analyzed_at,
        search_volume=keyword.search_volume,
        country=keyword.country_code,
        language=keyword.language_code,
        page_id=keyword.page_id,
    )


def ideas_line(ideas: cmsapi.ContentIdeas, first: int = 0, count: int = FIRST_IDEAS) -> Ideas:
    """Return some of the ideas of a search."""
    return Ideas(
        search_id=ideas.search.id,
        seed=ideas.search.keyword,
        status=_word(ideas.search.status),
        total=len(ideas),
        ideas=[
            IdeaLine(id=idea.id, keyword=idea.keyword, search_volume=idea.search_volume)
            for idea in ideas.ideas[first : first + count]
        ],
    )


def generation_name(review: cmsapi.GenerationReview) -> str:
    """Return what names a generation in a tool; a service may not show its identifier."""
    return review.generation.id or "not shown"


def article_line(review: cmsapi.GenerationReview) -> Article:
    """Return a generated article."""
    return Article(
        content_id=review.content_id,
        generation_id=generation_name(review),
        status=str(review.generation.status.value),
        decision=review.decision if review.decision != "leave" else None,
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
        keyword=keyword_line(result) if isinstance(result, cmsapi.Keyword) else None,
        ideas=ideas_line(result) if isinstance(result, cmsapi.ContentIdeas) else None,
        article=article_line(result) if isinstance(result, cmsapi.GenerationReview) else None,
        problem=None if problem is None else f"{told(problem)} {money(problem, 'launches')}",
    )


def _word(word: str | None) -> str | None:
    """Return a word of the service as a plain string."""
    return None if word is None else str.__str__(word)
