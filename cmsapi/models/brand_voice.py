"""Brand voices (specification 2.8)."""

from __future__ import annotations

from datetime import datetime

from attrs import frozen

from cmsapi.models.base import Model


@frozen(kw_only=True, slots=False)
class BrandVoice(Model):
    """An editorial identity for generated articles; its ``id`` goes into `GenerationSettings`."""

    id: str
    name: str | None = None
    brand_name: str | None = None
    target_audience: str | None = None
    additional_information: str | None = None
    enabled: bool | None = None
    status: str | None = None
    created_at: datetime | None = None
