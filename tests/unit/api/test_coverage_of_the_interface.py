"""The SDK's table of operations against the service's own description, in both directions."""

from __future__ import annotations

import json

import pytest

import cmsapi
from cmsapi.api.operations import OPERATIONS
from cmsapi.message import Request
from cmsapi.sandbox import Sandbox

UNLISTED = {"GET /health", "GET /openapi.json", "GET /docs"}


async def described(sandbox: Sandbox) -> dict[str, dict[str, object]]:
    """Return the operations of the service's description by method and path."""
    answer = await sandbox.transport.send(Request("GET", f"{sandbox.base_url}/openapi.json"))
    paths = json.loads(answer.body)["paths"]
    return {
        f"{method.upper()} {path}": operation
        for path, methods in paths.items()
        for method, operation in methods.items()
    }


async def test_the_table_and_the_description_have_the_same_operations(sandbox: Sandbox) -> None:
    """Every row of the table is in the description, and nothing there is missing from the table."""
    routes = {operation.route for operation in OPERATIONS.values()}
    assert routes | UNLISTED == set(await described(sandbox))
    assert len(routes) == len(OPERATIONS)


async def test_the_table_and_the_description_use_the_same_names(sandbox: Sandbox) -> None:
    """Each row has the name that the description gives the operation, and its documented success is there."""
    known = await described(sandbox)
    for name, operation in OPERATIONS.items():
        there = known[operation.route]
        assert (name, operation.name) == (there["operationId"],) * 2
        answers = there["responses"]
        assert isinstance(answers, dict)
        assert {str(code) for code in operation.success} <= set(answers)


def test_each_path_begins_with_the_version() -> None:
    """Every endpoint starts with /v1 (specification 9, rule 1)."""
    assert all(operation.path.startswith("/v1/") for operation in OPERATIONS.values())


@pytest.mark.looptime
async def test_every_operation_has_a_method_that_calls_it(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """Walking through all methods of a client leaves every operation of the table in the ledger, successful."""
    workspace, page, keyword = sandbox.workspace_id, sandbox.page_ids[0], sandbox.keyword_ids[0]
    await client.me()
    await client.users.list()
    await client.workspaces.list()
    await client.workspaces.get(workspace)
    await client.workspaces.members(workspace)
    await client.workspaces.content_statuses(workspace)
    await client.folders.list(workspace)
    await client.folders.delete((await client.folders.create(workspace, "New")).id)
    await client.contents.list(workspace)
    content = await client.contents.create(workspace, "A draft", page_id=page)
    content = await client.contents.edit(content.id, lambda _: {"html": "<p>Text</p>"})
    await client.contents.publish(content.id)
    for decision in ("confirm", "cancel"):
        job = await client.contents.generate(content.id)
        await client.contents.generation(content.id)
        await getattr(await job, decision)()
    await client.contents.delete(content.id)
    await client.pages.list(workspace)
    created = await client.pages.create(workspace, "https://northwind.example/new")
    await client.pages.get(created.id)
    await client.pages.crawl(created.id)
    await client.keywords.list(page)
    await client.keywords.create(created.id, "new shoes")
    await client.pages.delete(created.id)
    await (await client.keywords.analyze(keyword))
    await client.keywords.score(keyword, title="A title", html="<p>Text</p>")
    prompt = await client.prompts.create(keyword, "What are the best shoes?")
    await client.prompts.list(keyword)
    await (await client.prompts.analyze(prompt.id))
    await client.prompts.score(prompt.id, title="A title", html="<p>Text</p>")
    await client.brand_voices.list(workspace)
    await client.brand_voices.get(sandbox.brand_voice_ids[0])
    await client.knowledge_documents.list(workspace)
    processing = await client.knowledge_documents.create(workspace, "Tone", text="Plain")
    await client.knowledge_documents.get(processing.id)
    await (await client.content_ideas.search(workspace, "tents"))
    await client.credit_usages.list("analysis")
    assert {entry.operation for entry in sandbox.ledger} == set(OPERATIONS)
    # Before a launch it is read which generation there is; before the first one there is none.
    refused = {entry.operation for entry in sandbox.ledger if entry.outcome != "ok"}
    assert refused == {"get_generation"}
