"""The analysis of a keyword (specification 3 and 4.5)."""

from __future__ import annotations

from typing import ClassVar

from cmsapi.api.model import Model
from cmsapi.api.models.keyword import Keyword
from cmsapi.jobs.kinds.analysis import Analysis
from cmsapi.jobs.kinds.kind import JobKind


class KeywordAnalysis(Analysis):
    """Describe the analysis of a keyword; the keyword is the target, and the result."""

    name: ClassVar[JobKind] = JobKind.KEYWORD_ANALYSIS
    operation: ClassVar[str] = "get_keyword"
    parameter: ClassVar[str] = "keywordId"
    model: ClassVar[type[Model]] = Keyword
    name_field: ClassVar[str] = "keyword"
    list_operation: ClassVar[str] = "list_keywords"
    list_parameter: ClassVar[str] = "pageId"
    launch_operation: ClassVar[str] = "analyze_keyword"
    in_usages: ClassVar[bool] = True
    where_to_look: ClassVar[str] = "client.keywords.get shows whether it runs; client.jobs.watch waits for it."

    def list_of(self, document: Keyword) -> str | None:
        """Return the web page whose list has the keyword."""
        return document.page_id
