"""Contents: drafts and articles attached to a page (specification, section 2.4).

Which fields of a content may be null is not shown, so every field but `id` may be None. Lists carry a shorter form.
"""

from __future__ import annotations

import reprlib
from datetime import datetime

import attrs

from cmsapi.api.model import PUBLISHED, REQUIRED, Model, OpenEnum
from cmsapi.api.models.generation import LastGeneration
from cmsapi.api.models.user import UserRef


class ContentType(OpenEnum):
    """List what a content can be."""

    DRAFT = "DRAFT"
    PUBLISHED = "PUBLISHED"
    ORIGINAL = "ORIGINAL"


@attrs.frozen(kw_only=True)
class Assignee(Model):
    """Describe the user to whom a content is assigned.

    Args:
        id: Identifier.
        first_name: First name.
        last_name: Last name.
        email: Address for mail.
        profile_image_url: Address of the portrait; null for a user (section 2.1) without one.
    """

    id: str
    first_name: str
    last_name: str
    email: str
    profile_image_url: str | None = None


@attrs.frozen(kw_only=True)
class ContentStatus(Model):
    """Describe a step of a workspace's workflow.

    Args:
        id: Identifier.
        label: Name of the step.
        color: Colour in which the application shows it.
        position: Place among the steps.
        is_read_only: Whether the step itself can be changed.
    """

    id: str
    label: str
    color: str
    position: int
    is_read_only: bool


@attrs.frozen(kw_only=True)
class FolderRef(Model):
    """Name the folder of a content.

    Args:
        id: Identifier.
        name: Name, which a folder may lack.
    """

    id: str
    name: str | None = None


@attrs.frozen(kw_only=True)
class PageRef(Model):
    """Name the page of a content.

    Args:
        id: Identifier.
        url: Address; a blank draft has an empty page without one (section 4.3, rule 2).
        last_status_code: HTTP status that the page answered last.
    """

    id: str
    url: str | None = None
    last_status_code: int | None = None


@attrs.frozen(kw_only=True)
class Content(Model):
    """Describe a content in full.

    Args:
        id: Identifier.
        title: Title, 1 to 255 characters.
        type: Draft, published or original.
        content_score: Quality for search engines, 0 to 100.
        words_count: Number of words.
        created_at: When it was created.
        updated_at: When anything of it last changed.
        content_updated_at: When its body last changed.
        published_at: When it was marked as published.
        due_date: When it is due.
        assigned_to: Who works on it.
        content_status: Step of the workflow.
        folder: Its folder; None for an unorganized content.
        page: The page to which it is attached.
        content_updated_by: Who last edited the body.
        published_by: Who published it.
        html: Body as authored; may contain editor-only markers.
        html_sanitized: Body without the markers: the one to publish.
        is_started: Whether there is any body.
        meta_description: Description for search engines.
        last_generation: The last generation with AI.
        version: Version for optimistic locking (section 9, rule 4).
    """

    id: str = attrs.field(metadata=REQUIRED)
    title: str | None = None
    type: ContentType | None = None
    content_score: int | None = None
    words_count: int | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    content_updated_at: datetime | None = None
    published_at: datetime | None = None
    due_date: datetime | None = None
    assigned_to: Assignee | None = None
    content_status: ContentStatus | None = None
    folder: FolderRef | None = None
    page: PageRef | None = None
    content_updated_by: UserRef | None = None
    published_by: UserRef | None = None
    html: str | None = attrs.field(default=None, repr=reprlib.repr)
    html_sanitized: str | None = attrs.field(default=None, repr=reprlib.repr)
    is_started: bool | None = None
    meta_description: str | None = None
    last_generation: LastGeneration | None = None
    version: int | None = None


@attrs.frozen(kw_only=True)
class ContentSummary(Model):
    """Describe a content as lists show it; `contents.get` reads the rest.

    Args:
        id: Identifier.
        title: Title, 1 to 255 characters.
        type: Draft, published or original.
        content_score: Quality for search engines, 0 to 100.
        words_count: Number of words.
        created_at: When it was created.
        updated_at: When anything of it last changed.
        content_updated_at: When its body last changed.
        published_at: When it was marked as published.
        due_date: When it is due.
        assigned_to: Who works on it.
        content_status: Step of the workflow.
        folder: Its folder; None for an unorganized content.
        page: The page to which it is attached.
    """

    id: str = attrs.field(metadata={**PUBLISHED, **REQUIRED})
    title: str | None = attrs.field(default=None, metadata=PUBLISHED)
    type: ContentType | None = attrs.field(default=None, metadata=PUBLISHED)
    content_score: int | None = attrs.field(default=None, metadata=PUBLISHED)
    words_count: int | None = attrs.field(default=None, metadata=PUBLISHED)
    created_at: datetime | None = attrs.field(default=None, metadata=PUBLISHED)
    updated_at: datetime | None = attrs.field(default=None, metadata=PUBLISHED)
    content_updated_at: datetime | None = attrs.field(default=None, metadata=PUBLISHED)
    published_at: datetime | None = attrs.field(default=None, metadata=PUBLISHED)
    due_date: datetime | None = attrs.field(default=None, metadata=PUBLISHED)
    assigned_to: Assignee | None = attrs.field(default=None, metadata=PUBLISHED)
    content_status: ContentStatus | None = attrs.field(default=None, metadata=PUBLISHED)
    folder: FolderRef | None = attrs.field(default=None, metadata=PUBLISHED)
    page: PageRef | None = attrs.field(default=None, metadata=PUBLISHED)
