"""What a server offers: tools with schemas and hints, resources, and instructions for the model."""

from __future__ import annotations

import json
import re

import pytest

import cmsapi
from cmsapi.sandbox import Sandbox
from tests.support.assistants import assisted

pytestmark = pytest.mark.looptime

LAUNCH = {"analyze_keywords", "search_ideas", "generate_article"}
DECIDE = {"confirm_article", "cancel_article"}


async def test_without_credits_it_only_reads(client: cmsapi.Client) -> None:
    """By default each tool is marked as reading, none launches or decides, and the instructions say so."""
    async with assisted(client) as assistant:
        tools = (await assistant.protocol.list_tools()).tools
        assert "only reads" in assistant.protocol.instructions
        assert all(tool.annotations.read_only_hint for tool in tools)
        assert not {tool.name for tool in tools} & (LAUNCH | DECIDE)
        assert "Unknown tool" in await assistant.refused("analyze_keywords", keyword_ids=["kw"])


async def test_hints_say_what_a_tool_does(client: cmsapi.Client) -> None:
    """Deciding is destructive, launching is not, and each tool may be repeated."""
    async with assisted(client, max_credits=3) as assistant:
        tools = {tool.name: tool for tool in (await assistant.protocol.list_tools()).tools}
        assert "at most 3 credits" in assistant.protocol.instructions
    assert {name for name, tool in tools.items() if not tool.annotations.read_only_hint} == LAUNCH | DECIDE
    assert {name for name, tool in tools.items() if tool.annotations.destructive_hint} == DECIDE
    assert all(tool.annotations.idempotent_hint for tool in tools.values())


async def test_texts_are_written_for_a_model(client: cmsapi.Client) -> None:
    """Each tool says what it costs, each argument and each answer has a schema, and none can raise the bound."""
    async with assisted(client, max_credits=3) as assistant:
        tools = (await assistant.protocol.list_tools()).tools
    for tool in tools:
        assert "credit" in tool.description.lower(), tool.name
        assert tool.output_schema["type"] == "object", tool.name
        for name, argument in tool.input_schema["properties"].items():
            assert argument.get("description"), f"{tool.name} does not say what {name} is"
        assert "context" not in tool.input_schema["properties"]
        assert not any("credit" in name for name in tool.input_schema["properties"])


async def test_contents_are_resources(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """A content is read by its identifier, with its facts or as a body alone; a wrong one is an error."""
    wanted = await client.contents.get(sandbox.content_ids[0])
    async with assisted(client) as assistant:
        templates = (await assistant.protocol.list_resource_templates()).resource_templates
        assert [each.uri_template for each in templates] == [
            "cmsapi://contents/{content_id}",
            "cmsapi://contents/{content_id}/html",
        ]
        (document,) = (await assistant.protocol.read_resource(f"cmsapi://contents/{wanted.id}")).contents
        assert json.loads(document.text)["title"] == wanted.title
        (body,) = (await assistant.protocol.read_resource(f"cmsapi://contents/{wanted.id}/html")).contents
        assert (body.mime_type, body.text) == ("text/html", wanted.html_sanitized)
        with pytest.raises(Exception, match="does not exist"):
            await assistant.protocol.read_resource("cmsapi://contents/cnt_none")


async def test_clients_of_older_versions_are_served(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """With the handshake of older versions everything is the same: schemas, errors, progress."""
    async with assisted(client, max_credits=1, mode="legacy") as assistant:
        assert assistant.protocol.protocol_version < "2026"
        assert "at most 1 credit " in assistant.protocol.instructions
        assert len((await assistant.protocol.list_tools()).tools) > len(LAUNCH | DECIDE)
        await assistant.call("analyze_keywords", keyword_ids=[sandbox.keyword_ids[0]])
        waited = await assistant.call("wait_for_jobs", seconds=300)
        assert waited["jobs"][0]["state"] == "succeeded"
        assert assistant.told[-1] == (1, 1, "1 of 1 jobs finished")
        assert "Money:" in await assistant.refused("get_content", content_id="cnt_none")


async def test_wrong_arguments_are_told_in_our_words(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """The message names each argument, what it must be and what was given, without an address; nothing is sent."""
    async with assisted(client) as assistant:
        seen = len(sandbox.ledger)
        missing = await assistant.refused("get_keyword")
        wrong = await assistant.refused("plan_jobs", kind="keyword_analysis", count="many")
        other = await assistant.refused("plan_jobs", kind="analysis", count=1)
        assert len(sandbox.ledger) == seen
    assert missing.startswith("`keyword_id` is missing. The schema of the tool says")
    assert "`count` must be a valid integer" in wrong
    assert "got 'many'." in wrong
    assert "`kind` must be 'keyword_analysis', " in other
    for said in (missing, wrong, other):
        assert said.endswith("Nothing was sent or charged.")
        assert "pydantic" not in said
        assert "http" not in said


async def test_an_error_and_its_price_are_sentences(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """The request id ends before the sentence about money begins, and numbers have no fractions of seconds."""
    async with assisted(client, max_credits=3) as assistant:
        said = await assistant.refused("analyze_keywords", keyword_ids=["kwd_0"])
        assert re.search(r"Request id: \w+\. Nothing was charged for it\.", said)
        plan = await assistant.call("plan_jobs", kind="keyword_analysis", count=7)
        assert all(isinstance(each, int) for each in (plan["seconds"], *plan["seconds_range"]))
