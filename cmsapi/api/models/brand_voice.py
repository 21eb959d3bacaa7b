"""Brand voices (specification, section 2.8, which shows no fields)."""

from __future__ import annotations

from datetime import datetime

import attrs

from cmsapi.api.model import PUBLISHED, Model


@attrs.frozen(kw_only=True)
class BrandVoice(Model):
    """Describe an editorial identity that a generation can apply.

    Args:
        id: Identifier.
        name: Name.
        brand_name: Name of the brand.
        target_audience: For whom the brand writes.
        additional_information: Further instructions.
        enabled: Whether it can be used.
        status: State; its words are not shown.
        created_at: When it was created.
    """

    id: str = attrs.field(metadata=PUBLISHED)
    name: str = attrs.field(metadata=PUBLISHED)
    brand_name: str | None = attrs.field(default=None, metadata=PUBLISHED)
    target_audience: str | None = attrs.field(default=None, metadata=PUBLISHED)
    additional_information: str | None = attrs.field(default=None, metadata=PUBLISHED)
    enabled: bool = attrs.field(metadata=PUBLISHED)
    status: str | None = attrs.field(default=None, metadata=PUBLISHED)
    created_at: datetime = attrs.field(metadata=PUBLISHED)
