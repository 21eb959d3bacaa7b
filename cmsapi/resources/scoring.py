"""The body of a request for a score, of a keyword or a prompt: a stored content, or a text that is not stored."""

from __future__ import annotations

from typing import Any

from cmsapi.api.arguments import texts
from cmsapi.errors import ArgumentError


def scored(content_id: str | None, title: str | None, html: str | None, meta_description: str | None) -> dict[str, Any]:
    """Make the body of a report.

    Raises:
        ArgumentError: Neither a content nor title and html were given, or both were.
    """
    loose = title is not None or html is not None
    if (content_id is not None) == loose:
        raise ArgumentError("Either content_id, or title and html, must be given, not both.", parameter="content_id")
    for name, value in (("title", title), ("html", html)):
        if loose and value is None:
            raise ArgumentError(f"title and html must be given together; {name} is missing.", parameter=name)
    return texts(content_id=content_id, title=title, html=html, meta_description=meta_description)
