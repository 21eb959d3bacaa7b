"""Sources for generated articles: brand voices and knowledge documents (specification 2.5b, 2.8)."""

from __future__ import annotations

from datetime import datetime

from attrs import frozen

from cmsapi.models.base import Model, Reference


@frozen(kw_only=True, slots=False)
class BrandVoice(Model):
    """An editorial identity for generated articles; pass its ``id`` to `GenerationSettings` as ``brand_voice_id``."""

    id: str
    name: str | None = None
    brand_name: str | None = None
    target_audience: str | None = None
    additional_information: str | None = None
    enabled: bool | None = None
    status: str | None = None
    created_at: datetime | None = None


@frozen(kw_only=True, slots=False)
class WorkspaceReference(Reference):
    """The workspace of a knowledge document (specification 2.5b)."""

    website_url: str | None = None


@frozen(kw_only=True, slots=False)
class KnowledgeDocument(Model):
    """A document that the service may use when it generates articles.

    Attributes:
        status: ``pending``, ``success`` or ``failed``: whether the service has processed the document.
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
