"""Contents, their workflow statuses and their generations (specification 2.4, 2.5, 4.4)."""

from __future__ import annotations

import reprlib
from datetime import datetime

from attrs import field, frozen

from cmsapi.models.base import Model, Reference, UserReference
from cmsapi.models.keyword import WebPage


@frozen(kw_only=True, slots=False)
class ContentStatus(Model):
    """A status in a workspace's workflow."""

    id: str | None = None
    label: str | None = None
    color: str | None = None
    position: int | None = None
    is_read_only: bool | None = None


@frozen(kw_only=True, slots=False)
class ContentSummary(Model):
    """A content item without its text, as it appears in lists.

    Attributes:
        type: ``DRAFT``, ``PUBLISHED`` or ``ORIGINAL``.
        content_score: How well the text follows the recommendations for its keyword, 0 to 100; None if not known.
        updated_at: When anything in the content last changed.
        content_updated_at: When the body of the content last changed.
        folder: The folder that contains the content; None if it is in no folder.
    """

    id: str
    title: str | None = None
    type: str | None = None
    content_score: int | None = None
    words_count: int | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    content_updated_at: datetime | None = None
    published_at: datetime | None = None
    due_date: datetime | None = None
    assigned_to: UserReference | None = None
    content_status: ContentStatus | None = None
    folder: Reference | None = None
    page: WebPage | None = None


@frozen(kw_only=True, slots=False)
class Generation(Model):
    """A generation of an article for a content item.

    Attributes:
        status: ``queued`` after the launch, ``review`` when the article awaits a decision; others are not specified.
        type: Kind of generation; set only in `Content.last_generation`.
    """

    id: str | None = None
    status: str | None = None
    type: str | None = None


@frozen(kw_only=True, slots=False)
class Content(ContentSummary):
    """A content item with its text. It also has the attributes of `ContentSummary`.

    Attributes:
        html: Body as the editor stores it, with comments and fact-check marks. Publish ``html_sanitized`` instead.
        html_sanitized: Body to publish, without the editor's marks.
        version: Number to pass to `contents.update`, so that the update cannot overwrite a newer change.
    """

    html: str | None = field(default=None, repr=reprlib.repr)
    html_sanitized: str | None = field(default=None, repr=reprlib.repr)
    is_started: bool | None = None
    meta_description: str | None = None
    content_updated_by: UserReference | None = None
    published_by: UserReference | None = None
    last_generation: Generation | None = None
    version: int | None = None


@frozen(kw_only=True, slots=False)
class GenerationSettings(Model):
    """Settings for a generation (specification 4.4). If a setting is None, the service chooses its value."""

    brand_voice_id: str | None = None
    custom_instructions: str | None = field(default=None, repr=reprlib.repr)
    fact_checking_enabled: bool | None = None
    knowledge_base_enabled: bool | None = None
    knowledge_files_enabled: bool | None = None
    knowledge_web_search_enabled: bool | None = None
    knowledge_website_enabled: bool | None = None
