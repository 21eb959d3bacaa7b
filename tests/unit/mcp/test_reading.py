"""Tools that read."""

from __future__ import annotations

import pytest

import cmsapi
from cmsapi.sandbox import Fault, Sandbox
from tests.support.assistants import assisted

pytestmark = pytest.mark.looptime


async def test_everything_is_found_from_the_key_alone(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """Workspaces lead to folders, pages, keywords and contents, and nothing is spent."""
    async with assisted(client) as assistant:
        account = await assistant.call("show_account")
        assert account["requests_limit"] == 1000
        assert account["bound"] == {"max_credits": 0, "spent": 0, "left": 0}
        (workspace,) = (await assistant.call("list_workspaces"))["workspaces"]
        place = {"workspace_id": workspace["id"]}
        folders = (await assistant.call("list_folders", **place))["folders"]
        assert {folder["id"] for folder in folders} == set(sandbox.folder_ids)
        assert any(folder["path"].count("/") == 2 for folder in folders)
        pages = await assistant.call("list_pages", **place, limit=3)
        assert len(pages["pages"]) == 3
        assert pages["has_more"]
        keywords = (await assistant.call("list_keywords", **place, unanalysed=True))["keywords"]
        assert {keyword["id"] for keyword in keywords} == set(sandbox.keyword_ids)
        assert (await assistant.call("get_keyword", keyword_id=keywords[0]["id"])) == keywords[0]
        contents = await assistant.call("list_contents", **place, min_score=50)
        assert 0 < len(contents["contents"]) < len(sandbox.content_ids)
        content = await assistant.call("get_content", content_id=contents["contents"][0]["id"])
        assert content["html"].startswith("<h1>")
        lean = await assistant.call("get_content", content_id=content["id"], with_html=False)
        assert lean == content | {"html": None}
    assert sandbox.ledger.launches() == []


async def test_a_large_website_is_read_in_parts(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """One call reads the keywords of twenty pages at most, and says how to go on; one page takes one request."""
    addresses = [f"https://northwind.example/more/{number}" for number in range(30)]
    pages = [await client.pages.create(sandbox.workspace_id, address) for address in addresses]
    for page in pages:
        await client.keywords.create(page.id, f"keyword of {page.id}")
    async with assisted(client) as assistant:
        found, number, more = [], 0, True
        while more:
            number += 1
            before = client.statistics.requests
            part = await assistant.call("list_keywords", workspace_id=sandbox.workspace_id, page=number)
            assert client.statistics.requests - before <= 21
            found += part["keywords"]
            more = part["has_more"]
        assert number > 1
        assert len({keyword["id"] for keyword in found}) == len(found) >= 30
        before = client.statistics.requests
        alone = await assistant.call("list_keywords", workspace_id=sandbox.workspace_id, page_id=pages[0].id)
        assert [keyword["keyword"] for keyword in alone["keywords"]] == [f"keyword of {pages[0].id}"]
        assert client.statistics.requests - before == 1


async def test_texts_are_scored_without_saving(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """A content or a text has a score; without either the error says what to give."""
    keyword = sandbox.analyzed_keyword_ids[0]
    async with assisted(client) as assistant:
        term = (await client.keywords.get(keyword)).keyword
        text = await assistant.call("score_text", keyword_id=keyword, title=term, html=f"<p>{term}</p>")
        saved = await assistant.call("score_text", keyword_id=keyword, content_id=sandbox.content_ids[0])
        assert 0 <= saved["score"] < text["score"] <= 1
        assert "must be given" in await assistant.refused("score_text", keyword_id=keyword)


async def test_errors_say_what_they_mean_for_money(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """An error of the service is an error of the tool: what happened, what it means for money, no Python to write."""
    async with assisted(client) as assistant:
        text = await assistant.refused("get_content", content_id="cnt_none")
        assert "NotFoundError: 404" in text
        assert "Money: Reading costs no credit" in text
        assert "Client(" not in text
        sandbox.add_fault(Fault(status=500, times=None))
        assert "Money: Reading costs no credit" in await assistant.refused("list_workspaces")


async def test_a_plan_launches_nothing(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """A plan has credits, requests and time, compares them with the bound, and says what to do."""
    async with assisted(client) as assistant:
        plan = await assistant.call("plan_jobs", kind="keyword_analysis", count=3)
        assert (plan["credits"], plan["within_bound"]) == (3, False)
        assert "--max-credits" in plan["next"]
    async with assisted(client, max_credits=3) as assistant:
        plan = await assistant.call("plan_jobs", kind="generation", count=3)
        assert plan["within_bound"]
        assert "Show the person" in plan["next"]
        assert "3 credits left" in (await assistant.call("plan_jobs", kind="idea_search", count=4))["next"]
    assert sandbox.ledger.launches() == []
