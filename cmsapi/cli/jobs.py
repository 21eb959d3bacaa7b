"""`cmsapi jobs`: wait for what was launched before."""

from __future__ import annotations

from typing import Any

from cyclopts import App

import cmsapi
from cmsapi.cli.fanning import outcome_document, wait_for
from cmsapi.cli.output import AsCsv, AsJson, Columns, show
from cmsapi.cli.reading import Words

jobs: App = App(name="jobs", help="Wait for jobs that were launched before.")

_COLUMNS: Columns[cmsapi.Outcome[str, Any]] = {
    "id": lambda outcome: outcome.item,
    "kind": lambda outcome: outcome.job.kind.value.replace("_", " ") if outcome.job else None,
    "end": lambda outcome: outcome.job.status.phase.value if outcome.job else None,
    "result": lambda outcome: _result(outcome),
}


@jobs.command
async def watch(tokens: Words, /, *, as_json: AsJson = False, as_csv: AsCsv = False) -> int:
    """Wait for jobs by their tokens and show their results; costs no credit.

    Args:
        tokens: Tokens as other commands print them; - reads them from standard input, @FILE from a file.
    """
    async with cmsapi.Client() as client:
        harvest = await wait_for(client, [client.jobs.attach(token) for token in tokens])
        show(harvest.outcomes, _COLUMNS, as_json=as_json, as_csv=as_csv, document=_document)
        await harvest.tell("")
    return harvest.code


def _result(outcome: cmsapi.Outcome[str, Any]) -> str:
    match outcome.value:
        case cmsapi.Keyword() | cmsapi.Prompt() as analysed:
            return str(analysed.analysis_status)
        case cmsapi.ContentIdeas() as ideas:
            return f"{len(ideas)} ideas"
        case cmsapi.GenerationReview() as review:
            return f"{review.generation.status}: cmsapi contents review {review.content_id}"
        case cmsapi.KnowledgeDocument() as document:
            return str(document.status)
        case _:
            return type(outcome.error).__name__


def _document(outcome: cmsapi.Outcome[str, Any]) -> dict[str, Any]:
    match outcome.value:
        case cmsapi.ContentIdeas() as ideas:
            result: Any = {"search": cmsapi.to_dict(ideas.search), "ideas": cmsapi.to_dict(ideas)}
        case cmsapi.GenerationReview() as review:
            result = {"contentId": review.content_id, "generation": cmsapi.to_dict(review.generation)}
        case None:
            result = None
        case model:
            result = cmsapi.to_dict(model)
    return outcome_document(outcome, result)
