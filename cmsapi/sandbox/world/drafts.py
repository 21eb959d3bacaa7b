"""The body of a content, and the fields that follow from it (specification, section 2.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmsapi.sandbox.texts import articles

if TYPE_CHECKING:
    from cmsapi.sandbox.world.records import Content
    from cmsapi.sandbox.world.world import World


def write_body(world: World, content: Content, html: str, user_id: str, now: float) -> None:
    """Write the body of a content, and update its word count, score, dates, editor and version."""
    if html != content.html:
        content.html = html
        content.content_updated_at, content.content_updated_by = now, user_id
    content.words_count = articles.count_words(html)
    content.score = score_content(world, content)
    content.updated_at = now
    content.version += 1


def score_content(world: World, content: Content) -> int | None:
    """Score a content from 0 to 100 for the first analysed keyword of its page; None if there is none."""
    keyword = world.store.analyzed_keyword(content.page_id)
    return None if keyword is None else articles.score(keyword.keyword, content.title, content.html)
