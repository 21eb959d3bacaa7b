"""Pages of a tracked website (specification, section 2.8); `Page` is a page of a list."""

from __future__ import annotations

from datetime import datetime

import attrs

from cmsapi.api.model import ASSUMED, REQUIRED, Model


@attrs.frozen(kw_only=True)
class WebPage(Model):
    """Describe an address of the tracked website, to which keywords and contents are attached.

    Args:
        id: Identifier.
        url: Address; the empty page of a blank draft has none (section 4.3, rule 2).
        last_status_code: HTTP status that the page answered last.
        title: Title of the page.
        created_at: When it was imported.
    """

    id: str = attrs.field(metadata=REQUIRED)
    url: str | None = None
    last_status_code: int | None = None
    title: str | None = attrs.field(default=None, metadata=ASSUMED)
    created_at: datetime | None = attrs.field(default=None, metadata=ASSUMED)
