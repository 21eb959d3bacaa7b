"""What each method of a resource costs: its docstring says it, the sandbox counts it, and the reference shows it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable
from typing import Any

import attrs

import cmsapi
from cmsapi.sandbox import Fixed, Sandbox
from tests.support.resources import client_of, operations, resources

RESOURCES = resources()
METHODS = {
    f"{resource}.{name}": each
    for resource, owner in RESOURCES.items()
    for name, each in vars(owner).items()
    if not name.startswith("_")
}
NUMBERS = {"one": 1, "two": 2, "three": 3}
POOLS = {"analysis": "analysis", "AI-writing": "ai_writing", "content-ideas-searches": "content_ideas_searches"}
LOST = {
    cmsapi.Replay.SAFE: "repeat",
    cmsapi.Replay.IDEMPOTENT: "repeat",
    cmsapi.Replay.CREATES: "raise",
    cmsapi.Replay.COSTS_CREDIT: "reconcile",
}

# One call of each method. A method that names another one before it needs what that call has made.
CALLS: dict[str, Callable[[cmsapi.Client, Sandbox], Awaitable[Any]]] = {
    "users.list": lambda client, box: client.users.list(),
    "workspaces.list": lambda client, box: client.workspaces.list(),
    "workspaces.get": lambda client, box: client.workspaces.get(box.workspace_id),
    "workspaces.members": lambda client, box: client.workspaces.members(box.workspace_id),
    "workspaces.content_statuses": lambda client, box: client.workspaces.content_statuses(box.workspace_id),
    "folders.list": lambda client, box: client.folders.list(box.workspace_id),
    "folders.create": lambda client, box: client.folders.create(box.workspace_id, "Hats"),
    "folders.delete": lambda client, box: client.folders.delete(box.folder_ids[0]),
    "contents.list": lambda client, box: client.contents.list(box.workspace_id),
    "contents.create": lambda client, box: client.contents.create(box.workspace_id, "Hats"),
    "contents.get": lambda client, box: client.contents.get(box.content_ids[1]),
    "contents.update": lambda client, box: client.contents.update(box.content_ids[1], 1, title="Hats"),
    "contents.edit": lambda client, box: client.contents.edit(box.content_ids[1], lambda content: {"title": "Hat"}),
    "contents.publish": lambda client, box: client.contents.publish(box.content_ids[1]),
    "contents.delete": lambda client, box: client.contents.delete(box.content_ids[1]),
    "contents.generate": lambda client, box: client.contents.generate(box.content_ids[0]),
    "contents.generation": lambda client, box: client.contents.generation(box.content_ids[0]),
    "contents.review": lambda client, box: client.contents.review(box.content_ids[0]),
    "pages.list": lambda client, box: client.pages.list(box.workspace_id),
    "pages.create": lambda client, box: client.pages.create(box.workspace_id, "https://example.com/hats"),
    "pages.get": lambda client, box: client.pages.get(box.page_ids[0]),
    "pages.crawl": lambda client, box: client.pages.crawl(box.page_ids[0]),
    "pages.delete": lambda client, box: client.pages.delete(box.page_ids[0]),
    "keywords.list": lambda client, box: client.keywords.list(box.page_ids[0]),
    "keywords.create": lambda client, box: client.keywords.create(box.page_ids[0], "hats"),
    "keywords.get": lambda client, box: client.keywords.get(box.keyword_ids[0]),
    "keywords.analyze": lambda client, box: client.keywords.analyze(box.keyword_ids[0]),
    "keywords.score": lambda client, box: client.keywords.score(box.analyzed_keyword_ids[0], title="a", html="b"),
    "prompts.list": lambda client, box: client.prompts.list(box.keyword_ids[0]),
    "prompts.create": lambda client, box: client.prompts.create(box.keyword_ids[0], "Which hat?"),
    "prompts.get": lambda client, box: client.prompts.get(box.prompt_ids[0]),
    "prompts.analyze": lambda client, box: client.prompts.analyze(box.prompt_ids[0]),
    "prompts.score": lambda client, box: client.prompts.score(box.prompt_ids[0], title="a", html="b"),
    "brand_voices.list": lambda client, box: client.brand_voices.list(box.workspace_id),
    "brand_voices.get": lambda client, box: client.brand_voices.get(box.brand_voice_ids[0]),
    "knowledge_documents.list": lambda client, box: client.knowledge_documents.list(box.workspace_id),
    "knowledge_documents.create": lambda client, box: client.knowledge_documents.create(
        box.workspace_id, "Hats", text="On hats"
    ),
    "knowledge_documents.get": lambda client, box: client.knowledge_documents.get(box.knowledge_document_ids[0]),
    "content_ideas.search": lambda client, box: client.content_ideas.search(box.workspace_id, "hats"),
    "content_ideas.get": lambda client, box: client.content_ideas.get("search"),
    "content_ideas.list": lambda client, box: client.content_ideas.list("search"),
    "credit_usages.list": lambda client, box: client.credit_usages.list("analysis"),
    "credit_usages.report": lambda client, box: client.credit_usages.report(),
}


@attrs.frozen
class Cost:
    """What a docstring says of the cost of a call."""

    requests: int
    per: str
    credits: str | None

    @classmethod
    def of(cls, method: Callable[..., Any]) -> Cost:
        """Read it from a docstring."""
        said = " ".join((inspect.getdoc(method) or "").split())
        requests = re.search(r"(at least )?\b(one|two|three) requests?( a page and type| a page)?", said)
        credit = re.search(r"no credit|\*\*(?:one )?([\w-]+) credits?\*\*", said)
        assert requests is not None, f"{method.__qualname__} does not say how many requests it takes."
        assert credit is not None, f"{method.__qualname__} does not say which credits it takes."
        return cls(
            NUMBERS[requests[2]],
            f"{requests[1] or ''}{NUMBERS[requests[2]]}{requests[3] or ''}",
            POOLS[credit[1]] if credit[1] else None,
        )


async def measured(name: str) -> tuple[list[str], dict[str, int]]:
    """Call a method; return its operations in order, and the credits that it took."""
    box = Sandbox(durations=Fixed(10), credits=None)
    async with client_of(box) as client:
        if name in ("contents.generation", "contents.review"):
            await client.contents.generate(box.content_ids[0])
        call = CALLS[name]
        if name in ("content_ideas.get", "content_ideas.list"):
            search = (await (await client.content_ideas.search(box.workspace_id, "hats"))).search.id
            resource, method = name.split(".")
            call = lambda client, box: getattr(getattr(client, resource), method)(search)  # noqa: E731
        before = (await client.me()).organization.credits
        begin = len(box.ledger)
        await call(client, box)
        sent = [str(operation) for operation in operations(box)[begin:]]
        after = (await client.me()).organization.credits
    pools = {pool: getattr(before, pool) - getattr(after, pool) for pool in POOLS.values()}
    return sent, {pool: taken for pool, taken in pools.items() if taken}


def row(name: str, sent: list[str]) -> str:
    """Return the row of a method in the table of costs, given the operations that it sends."""
    said = Cost.of(METHODS[name])
    last = cmsapi.OPERATIONS[sent[-1]]
    names = ", ".join(f"`{operation}`" for operation in dict.fromkeys(sent))
    price = f"1 `{said.credits}`" if said.credits else "0"
    return f"| `{name}` | {said.per} | {price} | {names} | {LOST[last.replay]} | {last.section} |"
