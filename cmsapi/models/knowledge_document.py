"""Knowledge documents (specification 2.5b)."""

from __future__ import annotations

from datetime import datetime

from attrs import frozen

from cmsapi.models.base import Model
from cmsapi.models.references import WorkspaceReference


@frozen(kw_only=True, slots=False)
class KnowledgeDocument(Model):
    """A document that generations of articles may use.

    Attributes:
        status: State of its processing: ``pending``, ``success`` or ``failed``.
        type: ``text``, ``url`` or ``file``.
    """

    id: str
    name: str | None = None
    created_at: datetime | None = None
    status: str | None = None
    summary: str | None = None
    type: str | None = None
    url: str | None = None
    workspace: WorkspaceReference | None = None
