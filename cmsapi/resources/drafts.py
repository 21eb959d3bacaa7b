"""Changes of a draft: names and values on the wire, and whether a content has them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from cmsapi.api.arguments import moment, optional_text, text, timestamp
from cmsapi.api.models.content import Content
from cmsapi.api.wire.mismatch import excerpt
from cmsapi.api.wire.shape import wire_name
from cmsapi.errors import ArgumentError

LONGEST_TITLE = 255  # specification 8

_FIELDS = ("title", "html", "meta_description", "folder_id", "assigned_to_id", "content_status_id", "due_date")


def wire_changes(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Check changes by Python name and spell them for the wire.

    Raises:
        ArgumentError: There is no such field, or a value breaks a rule.
    """
    body: dict[str, Any] = {}
    for name, value in changes.items():
        if name not in _FIELDS:
            raise ArgumentError(
                f"A change must name a field: {', '.join(_FIELDS)}; got {excerpt(name)}.", parameter=name
            )
        if name == "title":
            value = text(name, value, 1, LONGEST_TITLE)
        elif name == "due_date":
            value = timestamp(name, value)
        else:
            value = optional_text(name, value)
        body[wire_name(name)] = value
    return body


def holds(content: Content, changes: Mapping[str, Any], base_version: int) -> bool:
    """Tell whether a content is newer than a version and has all the values that were sent for it."""
    now = {
        "title": content.title,
        "html": content.html,
        "meta_description": content.meta_description,
        "folder_id": content.folder.id if content.folder else None,
        "assigned_to_id": content.assigned_to.id if content.assigned_to else None,
        "content_status_id": content.content_status.id if content.content_status else None,
        "due_date": content.due_date,
    }
    newer = content.version is not None and content.version > base_version
    return newer and all(_same(now[name], value) for name, value in changes.items())


def _same(now: Any, sent: Any) -> bool:
    if isinstance(now, datetime):
        return now == moment("due_date", sent)
    # What was cleared may come back as an empty text.
    return (now or None) == (sent or None)
