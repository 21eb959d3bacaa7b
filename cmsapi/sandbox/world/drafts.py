"""The body of a content: whoever changes it, words, score, dates and version follow (specification, section 2.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmsapi.sandbox.texts import articles

if TYPE_CHECKING:
    from cmsapi.sandbox.world.records import Content
    from cmsapi.sandbox.world.world import World


def write(world: World, content: Content, html: str, user_id: str, now: float) -> None:
    """Give a content its body: words, score, dates, editor and version follow."""
    if html != content.html:
        content.html = html
        content.content_updated_at, content.content_updated_by = now, user_id
    content.words_count = articles.words(html)
    content.score = score(world, content)
    content.updated_at = now
    content.version += 1


def score(world: World, content: Content) -> int | None:
    """Rate a body from 0 to 100 against its page's analysed keywords; None when there are none."""
    keyword = world.store.analyzed_keyword(content.page_id)
    return None if keyword is None else articles.score(keyword.keyword, content.title, content.html)
