"""Records of the service (specification, section 2). Times are moments: epoch seconds."""

from __future__ import annotations

from typing import Any

import attrs


@attrs.define(eq=False)
class Organization:
    """The customer: owner of users, workspaces and credits."""

    id: str
    name: str
    created_at: float
    brand_name: str | None = None
    brand_image_url: str | None = None


@attrs.define(eq=False)
class User:
    """A member of an organisation, `Admin` or `Member`."""

    id: str
    first_name: str
    last_name: str
    email: str
    job_title: str
    role: str
    workspace_role: str
    organization: Organization
    created_at: float
    profile_image_url: str | None = None
    language_code: str = "en"


@attrs.define(eq=False)
class Workspace:
    """A tracked website."""

    id: str
    name: str
    website_url: str
    country_code: str
    country_name: str
    language_code: str
    organization: Organization
    created_at: float
    member_ids: list[str] = attrs.field(factory=list)


@attrs.define(eq=False)
class ContentStatus:
    """A workflow status."""

    id: str
    workspace_id: str
    label: str
    color: str
    position: int
    is_read_only: bool


@attrs.define(eq=False)
class Folder:
    """A folder; without a parent it is at the top level."""

    id: str
    workspace_id: str
    name: str
    parent_id: str | None
    created_at: float


@attrs.define(eq=False)
class Page:
    """A URL of the tracked website; the page of a draft may have no URL yet."""

    id: str
    workspace_id: str
    url: str | None
    last_status_code: int | None
    created_at: float


@attrs.define(eq=False)
class Keyword:
    """A search term tracked for a page."""

    id: str
    workspace_id: str
    page_id: str
    keyword: str
    country_code: str
    language_code: str
    search_volume: int
    created_at: float
    analysis_status: str | None = None
    last_analyzed_at: float | None = None
    analyzed: bool = False


@attrs.define(eq=False)
class Prompt:
    """A question asked to AI answer engines."""

    id: str
    workspace_id: str
    keyword_id: str
    prompt: str
    created_at: float
    analysis_status: str | None = None
    last_analyzed_at: float | None = None
    analyzed: bool = False


@attrs.frozen(eq=False)
class Generation:
    """One run of Atomic Content on a draft; `word` is its last status. Another status is another object."""

    id: str
    word: str
    settings: dict[str, Any]
    type: str = "optimize"
    html: str = ""


@attrs.define(eq=False)
class Content:
    """An article attached to a page."""

    id: str
    workspace_id: str
    page_id: str
    title: str
    created_at: float
    updated_at: float
    type: str = "DRAFT"
    html: str = ""
    meta_description: str | None = None
    due_date: float | None = None
    content_updated_at: float | None = None
    content_updated_by: str | None = None
    published_at: float | None = None
    published_by: str | None = None
    assigned_to_id: str | None = None
    content_status_id: str | None = None
    folder_id: str | None = None
    generation: Generation | None = None
    score: int | None = None
    words_count: int = 0
    version: int = 1


@attrs.define(eq=False)
class Idea:
    """One result of a content-idea search."""

    id: str
    keyword: str
    search_volume: int
    created_at: float


@attrs.define(eq=False)
class IdeaSearch:
    """A content-idea search for a seed keyword; `ended_at` is in seconds of the sandbox's clock."""

    id: str
    workspace_id: str
    keyword: str
    created_at: float
    status: str = "pending"
    search_volume: int | None = None
    ideas: list[Idea] = attrs.field(factory=list)
    ended_at: float = 0.0


@attrs.define(eq=False)
class BrandVoice:
    """An editorial identity."""

    id: str
    workspace_id: str
    name: str
    brand_name: str | None
    target_audience: str | None
    additional_information: str | None
    created_at: float
    enabled: bool = True
    status: str | None = "success"


@attrs.define(eq=False)
class KnowledgeDocument:
    """A source that feeds AI generation."""

    id: str
    workspace_id: str
    name: str
    type: str
    created_at: float
    status: str = "pending"
    summary: str | None = None
    url: str | None = None


@attrs.define(eq=False)
class Usage:
    """One consumption of credits."""

    id: str
    created_at: float
    amount: int
    remaining_credits: int
    type: str
    keyword: str
    user: User
    workspace: Workspace
