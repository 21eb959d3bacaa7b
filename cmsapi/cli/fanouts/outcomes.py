"""Show the outcomes of jobs: the same columns and documents for every command that waits for jobs."""

from __future__ import annotations

from collections.abc import Callable
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


#: The columns, the most important first.
OUTCOME_COLUMNS: Columns[_Outcome] = {
    "id": lambda outcome: outcome.item,
    "name": lambda outcome: outcome.job.name if outcome.job else None,
    "result": _result,
    "search volume": lambda outcome: getattr(outcome.value, "search_volume", None),
    "analysed": lambda outcome: getattr(outcome.value, "last_analyzed_at", None),
    "kind": lambda outcome: outcome.job.kind.value.replace("_", " ") if outcome.job else None,
}


def result_document(outcome: _Outcome) -> Any:
    """Return the JSON document of the result of a job of any kind; None without a result."""
    match outcome.value:
        case cmsapi.ContentIdeas() as ideas:
            return {"search": cmsapi.to_dict(ideas.search), "ideas": cmsapi.to_dict(ideas)}
        case cmsapi.GenerationReview() as review:
            return {"contentId": review.content_id, "generation": cmsapi.to_dict(review.generation)}
        case None:
            return None
        case model:
            return cmsapi.to_dict(model)


def outcome_document(outcome: _Outcome, document: Callable[[_Outcome], Any] = result_document) -> dict[str, Any]:
    """Return an outcome as a JSON document.

    Args:
        outcome: The outcome of an item.
        document: Returns the document of its result.
    """
    error = outcome.error
    return {
        "item": outcome.item,
        "result": document(outcome),
        "error": None if error is None else {"type": type(error).__name__, "message": str(error)},
        "token": outcome.job.token if outcome.job else None,
    }
