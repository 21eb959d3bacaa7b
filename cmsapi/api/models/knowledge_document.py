"""Knowledge documents that feed a generation (specification, section 2.5b)."""

from __future__ import annotations

from datetime import datetime

import attrs

from cmsapi.api.model import Model, OpenEnum


class KnowledgeStatus(OpenEnum):
    """List the states of a knowledge document's processing."""

    PENDING = "pending"
    SUCCESS = "success"
    FAILED = "failed"


class KnowledgeType(OpenEnum):
    """List the origins of a knowledge document."""

    TEXT = "text"
    URL = "url"
    FILE = "file"


@attrs.frozen(kw_only=True)
class KnowledgeWorkspace(Model):
    """Name the workspace of a knowledge document.

    Args:
        id: Identifier.
        name: Name.
        website_url: Root address of the tracked website.
    """

    id: str
    name: str
    website_url: str


@attrs.frozen(kw_only=True)
class KnowledgeDocument(Model):
    """Describe a document that a generation can draw on.

    Args:
        id: Identifier.
        name: Name.
        created_at: When it was created.
        status: State of its processing.
        summary: Summary of its content.
        type: Text, address or file.
        url: Source, for a document made from an address.
        workspace: Its workspace.
    """

    id: str
    name: str
    created_at: datetime
    status: KnowledgeStatus | None = None
    summary: str | None = None
    type: KnowledgeType | None = None
    url: str | None = None
    workspace: KnowledgeWorkspace
