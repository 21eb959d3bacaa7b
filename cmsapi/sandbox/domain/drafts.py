"""The body of a content: whoever changes it, words, score, dates and version follow (specification, section 2.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cmsapi.sandbox.messages.bodies import moment
from cmsapi.sandbox.texts import articles

if TYPE_CHECKING:
    from cmsapi.sandbox.world.records import Content
    from cmsapi.sandbox.world.world import World


def apply(world: World, content: Content, changes: dict[str, Any], user_id: str) -> None:
    """Write changed fields, by their names in a body; null clears; the version rises."""
    if "title" in changes:
        content.title = changes["title"]
    if "metaDescription" in changes:
        content.meta_description = changes["metaDescription"]
    if "dueDate" in changes:
        due = changes["dueDate"]
        content.due_date = None if due is None else moment(due, "dueDate")
    if "assignedToId" in changes:
        content.assigned_to_id = changes["assignedToId"]
    if "contentStatusId" in changes:
        content.content_status_id = changes["contentStatusId"]
    if "folderId" in changes:
        content.folder_id = changes["folderId"]
    write(world, content, changes.get("html", content.html) or "", user_id, world.now)


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
