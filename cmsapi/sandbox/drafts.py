"""Drafts of contents: creating and changing them, removing markers, counting words, scoring (specification 2.4)."""

from __future__ import annotations

import re
from typing import Any

from cmsapi.sandbox.store import Record, Store

WORDS_OF_FULL_SCORE = 800  # number of words from which a content item scores 100; the real formula is unknown
TAG = re.compile(r"<!--.*?-->|<(/?)(span|mark)\b([^>]*)>", re.DOTALL | re.IGNORECASE)
MARKERS = {"span": re.compile(r"\sdata-comment\b"), "mark": re.compile(r"\sdata-fact-check\b")}


def add(store: Store, **fields: Any) -> Record:
    """Insert a draft with the given ``fields`` and an empty body, and return it."""
    content = store.add("contents", type="DRAFT", version=1, html="", htmlSanitized="", wordsCount=0, contentScore=None)
    empty = ("metaDescription", "assignedToId", "contentStatusId", "folderId", "generationId", "dueDate")
    changes = ("publishedAt", "publishedById", "contentUpdatedAt", "contentUpdatedById")
    content.update(dict.fromkeys((*empty, *changes)), updatedAt=content["createdAt"])
    content.update(fields)
    return content


def write(store: Store, content: Record, html: str, user: str) -> None:
    """Set the body of a content item to ``html``, and update the derived fields. Do nothing if the body is the same."""
    if html == content["html"]:
        return
    sanitized = sanitize(html)
    words = count_words(sanitized)
    content.update(html=html, htmlSanitized=sanitized, wordsCount=words, contentScore=score(words))
    content.update(contentUpdatedAt=store.clock.stamp(), contentUpdatedById=user)


def touch(store: Store, content: Record) -> None:
    """Increment the version of ``content`` after a change, and set its ``updatedAt`` (specification 9, rule 4)."""
    content["version"] += 1
    content["updatedAt"] = store.clock.stamp()


def sanitize(html: str) -> str:
    """Return ``html`` without comments and the editor's markers; text inside markers remains (specification 2.4)."""
    opened: dict[str, list[bool]] = {name: [] for name in MARKERS}

    def replace(tag: re.Match[str]) -> str:
        if tag[2] is None:
            return ""
        name = tag[2].lower()
        if tag[1]:
            is_marker = bool(opened[name]) and opened[name].pop()
        else:
            is_marker = MARKERS[name].search(tag[3]) is not None
            opened[name].append(is_marker)
        return "" if is_marker else tag[0]

    return TAG.sub(replace, html)


def count_words(html: str) -> int:
    """Return the number of words in a sanitized body."""
    return len(re.sub(r"<[^>]*>", " ", html).split())


def score(words: int) -> int | None:
    """Return the content score, from 0 to 100, of a body with ``words`` words; None if ``words`` is 0."""
    return min(100, 100 * words // WORDS_OF_FULL_SCORE) if words else None


def article(title: str, keyword: str, *, fact_checks: bool) -> str:
    """Return the body of a generated article; ``fact_checks`` adds the editor's fact-check markers."""
    sentence = f"A paragraph about {keyword} that helps readers to choose, compare and decide. "
    claim = f"Most readers of {keyword} pages look at prices first."
    if fact_checks:
        claim = f'<mark data-fact-check="1">{claim}</mark>'
    parts = (f"<h2>{part}</h2><p>{sentence * 6}{claim}</p>" for part in ("Overview", "Comparison", "Advice"))
    return f"<h1>{title}</h1>{''.join(parts)}"
