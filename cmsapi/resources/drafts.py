"""Fields of a draft: their types, their values on the wire, and whether a content has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import Any, TypedDict

from cmsapi.api.arguments import known, moment, optional_text, text, timestamp, wrong
from cmsapi.api.models.content import Content
from cmsapi.api.wire.shape import wire_name

LONGEST_TITLE = 255  # specification 8


class ContentFields(TypedDict, total=False):
    """Describe what a new content can have and a change can change.

    What is left out stays untouched. None stands for no value: a change clears the field, and a new content lacks it.

    Args:
        html: The body.
        meta_description: The meta description.
        folder_id: The folder that it is in.
        assigned_to_id: The user to whom it is assigned.
        content_status_id: Its workflow status.
        due_date: When it is due: an aware datetime, a date, which means its first moment in UTC, or either as a text in
            ISO 8601.
    """

    html: str | None
    meta_description: str | None
    folder_id: str | None
    assigned_to_id: str | None
    content_status_id: str | None
    due_date: date | datetime | str | None


class NewContent(ContentFields, total=False):
    """Describe what a new content can have besides its title: the fields of `ContentFields`, and one more.

    Args:
        page_id: The imported page to attach it to; without one a blank page is created.
    """

    page_id: str | None


class ContentChanges(ContentFields, total=False):
    """Describe a change of a content: the fields of `ContentFields`, and one more.

    Args:
        title: The title, 1 to 255 characters; it cannot be cleared.
    """

    title: str


def wire_fields(fields: Mapping[str, object], names: Iterable[str]) -> dict[str, str | None]:
    """Check fields by Python name and spell them for the wire.

    Raises:
        ArgumentError: There is no such field, or a value breaks a rule.
    """
    known(fields, names)
    return {wire_name(name): _wire_value(name, value) for name, value in fields.items()}


def _wire_value(name: str, value: object) -> str | None:
    if name == "due_date":
        return timestamp(name, value)
    if name != "title":
        return optional_text(name, value)
    if value is None:
        raise wrong(name, "be a string", "None", " It cannot be cleared; leave it out to keep it.")
    return text(name, value, 1, LONGEST_TITLE)


def holds(content: Content, changes: Mapping[str, Any], base_version: int) -> bool:
    """Tell whether a content is newer than a version and has all the values that were sent for it."""
    newer = content.version is not None and content.version > base_version
    return newer and all(_same(_value(content, name), value) for name, value in changes.items())


def _value(content: Content, name: str) -> Any:
    """Return what a content has now, by the name of a change: of a reference that is the identifier."""
    value = getattr(content, name.removesuffix("_id"))
    return value.id if value is not None and name.endswith("_id") else value


def _same(now: Any, sent: Any) -> bool:
    if isinstance(now, datetime):
        return now == moment("due_date", sent)
    # What was cleared may come back as an empty text.
    return (now or None) == (sent or None)
