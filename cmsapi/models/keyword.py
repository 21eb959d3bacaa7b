"""Pages of the tracked website, their keywords, the keywords' prompts, and reports (specification 2.8, 4.5, 4.8)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from attrs import frozen

from cmsapi.models.base import Model


@frozen(kw_only=True, slots=False)
class WebPage(Model):
    """A page of the tracked website. Each keyword and each content item belongs to a page.

    Attributes:
        url: Address; None if the service added the page because a draft was created without one (specification 4.3).
        last_status_code: HTTP status of the service's last visit.
    """

    id: str
    url: str | None = None
    last_status_code: int | None = None


@frozen(kw_only=True, slots=False)
class Keyword(Model):
    """A search term that is tracked for a page.

    Attributes:
        analysis_status: ``queued``, ``pending``, ``success`` or ``failed``; None before the first analysis.
        search_volume: Searches per month.
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


@frozen(kw_only=True, slots=False)
class ReportSource(Model):
    """A source that an AI answer engine names."""

    category: str | None = None
    domain: str | None = None
    organic_position: int | None = None
    position: int | None = None
    title: str | None = None
    type: str | None = None
    url: str | None = None


@frozen(kw_only=True, slots=False)
class ReportBrand(Model):
    """A brand that an AI answer engine names."""

    category: str | None = None
    count: int | None = None
    name: str | None = None


@frozen(kw_only=True, slots=False)
class Report(Model):
    """How well a text follows the recommendations for a keyword or a prompt.

    Attributes:
        score: 0.0 to 1.0, unlike the ``content_score`` of a content item, which is 0 to 100.
        recommendations: What to improve, as the service sends it.
        preview: Preview, as the service sends it; its meaning is not specified.
    """

    score: float | None = None
    recommendations: Any = None
    sources: tuple[ReportSource, ...] | None = None
    brands: tuple[ReportBrand, ...] | None = None
    preview: Any = None


@frozen(kw_only=True, slots=False)
class PromptReport(Model):
    """Reports on a text for a prompt, one for each AI answer engine. Engines without an attribute are in ``extra``.

    Attributes:
        chatgpt: The report for ChatGPT; None if there is none.
    """

    chatgpt: Report | None = None
