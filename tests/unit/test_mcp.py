"""The tools of the assistants' server, in virtual time and once as a process."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import rich.logging  # noqa: F401  here, because a server imports it where that would block
from mcp import Client as Assistant, StdioServerParameters

from cmsapi import Client
from cmsapi.mcp import make_server
from cmsapi.sandbox import Fault, Sandbox

Ask = Callable[..., Awaitable[dict[str, Any]]]


@pytest.fixture
def sandbox() -> Sandbox:
    """Return a service whose jobs take a minute."""
    return Sandbox(durations=60)


@pytest.fixture
def ask(client: Client) -> Ask:
    """Return a function that calls a tool on a server with three credits, over its own connection."""
    server = make_server(client, 3)

    async def ask(tool: str, **arguments: Any) -> dict[str, Any]:
        async with Assistant(server) as assistant:
            answer: Any = await assistant.call_tool(tool, arguments)
        return {"error": answer.content[0].text} if answer.is_error else answer.structured_content

    return ask


@pytest.mark.looptime
@pytest.mark.parametrize(("max_credits", "launching"), [(0, 0), (1, 4)])
async def test_a_server_without_credits_only_reads(client: Client, max_credits: int, launching: int) -> None:
    """Tools declare whether they change anything, and none takes the bound as an argument."""
    async with Assistant(make_server(client, max_credits)) as assistant:
        tools = (await assistant.list_tools()).tools
    assert len(tools) == 6 + launching
    assert sum(not (tool.annotations and tool.annotations.read_only_hint) for tool in tools) == launching
    assert not any("credits" in name for tool in tools for name in tool.input_schema["properties"])


@pytest.mark.looptime
async def test_reading_tools_lead_to_a_report(ask: Ask, sandbox: Sandbox) -> None:
    """Each response contains the identifiers that the next call takes; none contains the key."""
    account = await ask("account")
    workspace = account["workspaces"][0]["id"]
    content = (await ask("list_contents", workspace_id=workspace, limit=1))["data"][0]
    keyword = (await ask("list_keywords", page_id=content["page"]["id"]))["data"][0]
    report = await ask("keyword_report", keyword_id=keyword["id"], content_id=content["id"])
    shown = [await ask("show_content", content_id=content["id"], with_text=each) for each in (False, True)]
    assert (await ask("list_pages", workspace_id=workspace, page=9))["data"] == []
    assert ["html" in each for each in shown] == [False, True]
    assert 0 <= report["score"] <= 1
    assert sandbox.api_key not in f"{account}{report}{shown}"


@pytest.mark.looptime
async def test_the_same_call_waits_on_and_pays_once(ask: Ask, sandbox: Sandbox) -> None:
    """A wait is bounded; later calls return the result for free, and a higher attempt pays again."""
    call = {"tool": "search_ideas", "workspace_id": sandbox.workspace_id, "keyword": "boots"}
    both = await asyncio.gather(ask(**call, wait=30), ask(**call, wait=30))
    assert [answer["boots"]["status"] for answer in both] == ["running, or not launched yet"] * 2
    for _ in range(2):
        assert (await ask(**call))["boots"]["status"] == "succeeded"
    assert len(sandbox.ledger.launches) == 1
    await ask(**call, attempt=2)
    assert len(sandbox.ledger.launches) == 2


@pytest.mark.looptime
async def test_the_bound_holds_for_all_calls(ask: Ask, sandbox: Sandbox) -> None:
    """With three credits the fourth launch is refused, unsent, and says so."""
    first, second = sandbox.keyword_ids[:2], sandbox.keyword_ids[2:4]
    answers = await asyncio.gather(
        *(ask("analyze_keywords", keyword_ids=list(ids), wait=99) for ids in (first, second))
    )
    found = {name: answer for each in answers for name, answer in each.items()}
    (refused,) = (answer for answer in found.values() if answer["status"] != "succeeded")
    assert (len(found), len(sandbox.ledger.launches)) == (4, 3)
    assert "max_credits" in refused["error"]


@pytest.mark.looptime
async def test_an_unknown_launch_is_not_repeated(ask: Ask, sandbox: Sandbox) -> None:
    """It is reported as such, also by a repeated call and by the account."""
    sandbox.faults.rules.append(Fault(match="start_content_idea_search", drop="after"))
    for _ in range(2):
        answer = await ask("search_ideas", workspace_id=sandbox.workspace_id, keyword="boots")
        assert answer["boots"]["status"] == "unknown"
    assert len((await ask("account"))["unknown_launches"]) == len(sandbox.ledger.launches) == 1


@pytest.mark.looptime
async def test_an_article_waits_for_its_decision(ask: Ask, sandbox: Sandbox) -> None:
    """A decision names the generation that was shown, and is remembered."""
    content = sandbox.content_ids[0]
    shown = (await ask("generate_article", content_id=content, wait=99))[content]
    decide = {"tool": "decide_review", "content_id": content, "choice": "confirm"}
    assert "nothing was decided" in (await ask(**decide, generation_id="gen_other"))["error"]
    assert (await ask(**decide, generation_id=shown["generation_id"]))["status"] == "confirm"
    assert (await ask("generate_article", content_id=content))[content]["status"] == "confirm"
    assert (await ask("show_content", content_id=content, with_text=True))["html"]


@pytest.mark.looptime
async def test_errors_are_told(ask: Ask) -> None:
    """What the service or the client refuses reaches the assistant in its own words."""
    assert "not_found" in (await ask("show_content", content_id="cnt_unknown"))["error"]
    assert "limit" in (await ask("list_pages", workspace_id="w", limit=101))["error"]


@pytest.mark.slow
async def test_it_serves_on_standard_input(sandbox: Sandbox) -> None:
    """An assistant starts the server as a process and calls its tools."""
    async with sandbox.serve() as url:
        environment = {"CMSAPI_API_KEY": sandbox.api_key, "CMSAPI_BASE_URL": url}
        command = StdioServerParameters(command=sys.executable, args=["-m", "cmsapi.mcp"], env=environment)
        async with Assistant(command) as assistant:
            answer: Any = await assistant.call_tool("account", {})
    assert answer.structured_content["user"]["firstName"] == "Ada"
