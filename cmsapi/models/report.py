"""Reports that score a text against the recommendations of a keyword or a prompt (specification 4.8)."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from cmsapi.models.base import Model


@frozen(kw_only=True, slots=False)
class ReportSource(Model):
    """A source that an answer engine names."""

    category: str | None = None
    domain: str | None = None
    organic_position: int | None = None
    position: int | None = None
    title: str | None = None
    type: str | None = None
    url: str | None = None


@frozen(kw_only=True, slots=False)
class ReportBrand(Model):
    """A brand that an answer engine names."""

    category: str | None = None
    count: int | None = None
    name: str | None = None


@frozen(kw_only=True, slots=False)
class Report(Model):
    """How well a text follows the recommendations of a keyword or a prompt.

    Attributes:
        score: 0.0 to 1.0; the ``content_score`` of a content is 0 to 100 instead.
        recommendations: What to improve, as the service sends it.
        preview: Preview of the answer, as the service sends it.
    """

    score: float | None = None
    recommendations: Any = None
    sources: tuple[ReportSource, ...] | None = None
    brands: tuple[ReportBrand, ...] | None = None
    preview: Any = None


@frozen(kw_only=True, slots=False)
class PromptReport(Model):
    """Reports of a prompt by answer engine; engines without an attribute are in ``extra``.

    Attributes:
        chatgpt: The report for ChatGPT; None without one.
    """

    chatgpt: Report | None = None
