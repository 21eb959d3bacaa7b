"""What the page on assistants shows is what a server offers."""

from __future__ import annotations

import json
import re

import pytest

import cmsapi
from cmsapi.cli.running import parse
from tests.support.assistants import assisted
from tests.support.pages import ROOT

PAGE = (ROOT / "docs/how-to/assistants.md").read_text()


@pytest.mark.looptime
async def test_the_page_names_each_tool_and_what_it_does(client: cmsapi.Client) -> None:
    """The table has each tool once, those that launch with their credits, and each resource."""
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| .* \| (.+) \|$", PAGE, re.MULTILINE)
    named = {name: price for names, price in rows for name in re.findall(r"`(\w+)`", names)}
    async with assisted(client, max_credits=1) as assistant:
        tools = {tool.name: tool for tool in (await assistant.protocol.list_tools()).tools}
        templates = (await assistant.protocol.list_resource_templates()).resource_templates
    assert list(named) == [name for name in named if name in tools]
    assert set(named) == set(tools)
    assert {name for name, price in named.items() if price.startswith("1")} == {
        name for name, tool in tools.items() if "COSTS ONE" in tool.description
    }
    assert all(f"`{template.uri_template}`" in PAGE for template in templates)


def test_the_configurations_are_commands() -> None:
    """Each configuration is JSON, and its arguments are a command line that exists."""
    blocks = [json.loads(block) for block in re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)]
    assert len(blocks) == 3
    for block in blocks:
        (server,) = block.get("mcpServers", block.get("servers")).values()
        assert server["command"].endswith("/cmsapi")
        parse(server["args"])
