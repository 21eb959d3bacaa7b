"""Prompts: questions asked to AI answer engines (specification, section 2.8, which shows no fields)."""

from __future__ import annotations

from datetime import datetime

import attrs

from cmsapi.api.model import PUBLISHED, Model
from cmsapi.api.models.analysis import AnalysisStatus


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
