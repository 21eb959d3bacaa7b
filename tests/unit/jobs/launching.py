"""A launch of each kind, and the faults that it may meet."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from cmsapi import Client
from cmsapi.jobs.job import Job
from cmsapi.sandbox import Fault, Sandbox

ANALYSIS, PROMPT, SEARCH, GENERATION, DOCUMENT = KINDS = (
    "analyze_keyword",
    "analyze_prompt",
    "start_content_idea_search",
    "generate_content",
    "create_knowledge_document",
)
WITH_TRACES = (ANALYSIS, PROMPT, GENERATION)
WITHOUT_TRACES = (SEARCH, DOCUMENT)
LAUNCHES: dict[str, Callable[[Client, Sandbox], Awaitable[Job[Any]]]] = {
    ANALYSIS: lambda client, sandbox: client.keywords.analyze(sandbox.keyword_ids[0]),
    PROMPT: lambda client, sandbox: client.prompts.analyze(sandbox.prompt_ids[0]),
    SEARCH: lambda client, sandbox: client.content_ideas.search(sandbox.workspace_id, "tea"),
    GENERATION: lambda client, sandbox: client.contents.generate(sandbox.content_ids[0]),
    DOCUMENT: lambda client, sandbox: client.knowledge_documents.create(sandbox.workspace_id, "Prices", text="Low."),
}


def accepted(sandbox: Sandbox) -> int:
    """Return the number of launches that the service has accepted."""
    return len(sandbox.ledger.launches)


def fail(sandbox: Sandbox, operation: str, **fault: Any) -> None:
    """Have the next request of an operation, or the next ``times`` requests, meet a fault."""
    sandbox.faults.rules.append(Fault(match=operation, **{"times": 1, **fault}))
