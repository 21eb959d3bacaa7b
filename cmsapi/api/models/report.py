"""Reports that score a content against recommendations (specification, section 4.8, which shows no shape)."""

from __future__ import annotations

from typing import Any

import attrs

from cmsapi.api.model import PUBLISHED, Model


def _tuple(values: Any) -> Any:
    # A list that came as null stays None, although no declaration shows it.
    return None if values is None else tuple(values)


@attrs.frozen(kw_only=True)
class ReportSource(Model):
    """Describe a page that an answer engine cites.

    Args:
        category: Kind of website.
        domain: Domain of the page.
        organic_position: Rank among the organic search results.
        position: Rank among the sources.
        title: Title of the page.
        type: Kind of source.
        url: Address of the page.
    """

    category: str | None = attrs.field(default=None, metadata=PUBLISHED)
    domain: str | None = attrs.field(default=None, metadata=PUBLISHED)
    organic_position: int | None = attrs.field(default=None, metadata=PUBLISHED)
    position: int | None = attrs.field(default=None, metadata=PUBLISHED)
    title: str | None = attrs.field(default=None, metadata=PUBLISHED)
    type: str | None = attrs.field(default=None, metadata=PUBLISHED)
    url: str | None = attrs.field(default=None, metadata=PUBLISHED)


@attrs.frozen(kw_only=True)
class ReportBrand(Model):
    """Describe a brand that an answer engine mentions.

    Args:
        category: Kind of brand.
        count: Number of mentions.
        name: Name of the brand.
    """

    category: str | None = attrs.field(default=None, metadata=PUBLISHED)
    count: int | None = attrs.field(default=None, metadata=PUBLISHED)
    name: str | None = attrs.field(default=None, metadata=PUBLISHED)


@attrs.frozen(kw_only=True)
class Report(Model):
    """Describe how well a content follows the recommendations.

    Args:
        score: 0.0 to 1.0.
        recommendations: What to improve, as the JSON value that came, or None; its shape is not shown.
        sources: Pages that the answer engine cites.
        brands: Brands that it mentions.
        preview: A preview of the answer, as a JSON value, or None.
    """

    score: float = attrs.field(metadata=PUBLISHED)
    # Neither a recommendation nor the preview has a shown shape: they may be unhashable.
    recommendations: Any = attrs.field(default=None, hash=False, metadata=PUBLISHED)
    sources: tuple[ReportSource, ...] = attrs.field(default=(), converter=_tuple, metadata=PUBLISHED)
    brands: tuple[ReportBrand, ...] = attrs.field(default=(), converter=_tuple, metadata=PUBLISHED)
    preview: Any = attrs.field(default=None, hash=False, metadata=PUBLISHED)


@attrs.frozen(kw_only=True)
class ScoreReport(Model):
    """Describe the answer to a scoring, per answer engine.

    Args:
        chatgpt: The report, or None when there is none yet.
    """

    chatgpt: Report | None = attrs.field(default=None, metadata=PUBLISHED)
