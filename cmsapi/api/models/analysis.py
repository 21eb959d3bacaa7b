"""State of an analysis of a keyword or a prompt (specification, section 3, whose values are not shown)."""

from __future__ import annotations

from cmsapi.api.open_enum import OpenEnum


class AnalysisStatus(OpenEnum):
    """List the words of `analysisStatus`; it is None before the first analysis.

    Published for prompts; assumed to be the same for keywords.
    """

    QUEUED = "queued"
    PENDING = "pending"
    SUCCESS = "success"
    FAILED = "failed"
