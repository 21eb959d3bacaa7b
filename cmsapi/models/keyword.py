"""Keywords of a page, and their prompts (specification 2.8, 4.5)."""

from __future__ import annotations

from datetime import datetime

from attrs import frozen

from cmsapi.models.base import Model


@frozen(kw_only=True, slots=False)
class Keyword(Model):
    """A search term that is tracked for a page.

    Attributes:
        analysis_status: ``queued``, ``pending``, ``success`` or ``failed``; None before the first analysis.
        search_volume: Searches a month.
    """

    id: str
    keyword: str | None = None
    analysis_status: str | None = None
    last_analyzed_at: datetime | None = None
    search_volume: int | None = None
    country_code: str | None = None
    language_code: str | None = None
    page_id: str | None = None


@frozen(kw_only=True, slots=False)
class Prompt(Model):
    """A question that people ask AI answer engines.

    Attributes:
        analysis_status: ``queued``, ``pending``, ``success`` or ``failed``; None before the first analysis.
    """

    id: str
    prompt: str | None = None
    analysis_status: str | None = None
    last_analyzed_at: datetime | None = None
