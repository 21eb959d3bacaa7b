"""Show the outcomes of jobs: the same columns for every command that waits for jobs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import cmsapi
from cmsapi.cli.terminal.output import Columns

_Outcome = cmsapi.Outcome[str, Any]


def _result(outcome: _Outcome) -> str:
    """Return the service's own word for the end, what was found, or the class of the error."""
    match outcome.value:
        case cmsapi.Keyword() | cmsapi.Prompt() as analysed:
            return str(analysed.analysis_status)
        case cmsapi.ContentIdeas() as ideas:
            return f"{len(ideas)} ideas"
        case cmsapi.GenerationReview() as review:
            return str(review.generation.status)
        case cmsapi.KnowledgeDocument() as document:
            return str(document.status)
        case _:
            return type(outcome.error).__name__


def _search_volume(outcome: _Outcome) -> int | None:
    return outcome.value.search_volume if isinstance(outcome.value, cmsapi.Keyword) else None


def _analysed(outcome: _Outcome) -> datetime | None:
    value = outcome.value
    return value.last_analyzed_at if isinstance(value, cmsapi.Keyword | cmsapi.Prompt) else None


#: The columns, the most important first.
OUTCOME_COLUMNS: Columns[_Outcome] = {
    "id": lambda outcome: outcome.item,
    "name": lambda outcome: outcome.job.name if outcome.job else None,
    "result": _result,
    "search volume": _search_volume,
    "analysed": _analysed,
    "kind": lambda outcome: outcome.job.kind.value.replace("_", " ") if outcome.job else None,
}
