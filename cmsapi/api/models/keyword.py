"""Keywords and prompts, and their analysis (specification, sections 2.8, 3 and 4.5, which show few of the fields)."""

from __future__ import annotations

from datetime import datetime

import attrs

from cmsapi.api.model import ASSUMED, PUBLISHED, Model, OpenEnum


class AnalysisStatus(OpenEnum):
    """List the words of `analysisStatus`; it is None before the first analysis.

    Published for prompts; assumed to be the same for keywords.
    """

    QUEUED = "queued"
    PENDING = "pending"
    SUCCESS = "success"
    FAILED = "failed"


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


@attrs.frozen(kw_only=True)
class Prompt(Model):
    """Describe a question asked to AI answer engines.

    Args:
        id: Identifier.
        prompt: The question.
        analysis_status: State of the last analysis; None before the first one.
        last_analyzed_at: When the last analysis ended.
    """

    id: str = attrs.field(metadata=PUBLISHED)
    prompt: str = attrs.field(metadata=PUBLISHED)
    analysis_status: AnalysisStatus | None = attrs.field(default=None, metadata=PUBLISHED)
    last_analyzed_at: datetime | None = attrs.field(default=None, metadata=PUBLISHED)


@attrs.frozen(kw_only=True)
class Acknowledgement(Model):
    """Describe the answer to a launch; it carries no identifier of a job.

    Args:
        message: The service's own words; not stable.
    """

    message: str
