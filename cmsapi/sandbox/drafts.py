"""Contents as records: a new draft, its body, its version."""

from __future__ import annotations

from typing import Any

from cmsapi.sandbox.html import count_words, sanitize, score
from cmsapi.sandbox.store import Record, Store


def add(store: Store, **fields: Any) -> Record:
    """Insert a draft without a body and return it."""
    content = store.add("contents", type="DRAFT", version=1, html="", htmlSanitized="", wordsCount=0, contentScore=None)
    empty = ("metaDescription", "assignedToId", "contentStatusId", "folderId", "generationId", "dueDate")
    changes = ("publishedAt", "publishedById", "contentUpdatedAt", "contentUpdatedById")
    content.update(dict.fromkeys((*empty, *changes)), updatedAt=content["createdAt"])
    content.update(fields)
    return content


def write(store: Store, content: Record, html: str, user: str) -> None:
    """Replace the body of a content, with all that follows from the body."""
    if html == content["html"]:
        return
    sanitized = sanitize(html)
    words = count_words(sanitized)
    content.update(html=html, htmlSanitized=sanitized, wordsCount=words, contentScore=score(words))
    content.update(contentUpdatedAt=store.clock.stamp(), contentUpdatedById=user)


def touch(store: Store, content: Record) -> None:
    """Give a changed content its next version (specification 9, rule 4)."""
    content["version"] += 1
    content["updatedAt"] = store.clock.stamp()
