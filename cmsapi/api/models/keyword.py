"""Keywords tracked for a page (specification, sections 2.8 and 4.5)."""

from __future__ import annotations

from datetime import datetime

import attrs

from cmsapi.api.model import ASSUMED, Model
from cmsapi.api.models.analysis import AnalysisStatus


@attrs.frozen(kw_only=True)
class Keyword(Model):
    """Describe a search term; the specification shows only its `analysis_status`.

    Args:
        id: Identifier.
        keyword: The search term.
        analysis_status: State of the last analysis; None before the first one.
        last_analyzed_at: When the last analysis ended.
        search_volume: Searches per month.
        country_code: Country, ISO 3166-1 alpha-2.
        language_code: Language, ISO 639-1.
        page_id: The page for which it is tracked.
    """

    id: str = attrs.field(metadata=ASSUMED)
    keyword: str | None = attrs.field(default=None, metadata=ASSUMED)
    analysis_status: AnalysisStatus | None = None
    last_analyzed_at: datetime | None = attrs.field(default=None, metadata=ASSUMED)
    search_volume: int | None = attrs.field(default=None, metadata=ASSUMED)
    country_code: str | None = attrs.field(default=None, metadata=ASSUMED)
    language_code: str | None = attrs.field(default=None, metadata=ASSUMED)
    page_id: str | None = attrs.field(default=None, metadata=ASSUMED)
