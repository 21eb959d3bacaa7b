"""Pages are imported, crawled and deleted; keywords and prompts are added, read and scored against."""

from __future__ import annotations

from typing import Any

import pytest

from cmsapi import ArgumentError, Client, ConflictError, NotFoundError
from cmsapi.sandbox import Sandbox
from tests.support.spec import spec

pytestmark = pytest.mark.looptime
TEXT = {"title": "Trail shoes", "html": "<p>Shoes for trails</p>"}


@spec("4.5:get_keyword")
async def test_a_new_keyword_is_listed_and_not_analyzed(client: Client, sandbox: Sandbox) -> None:
    """A keyword belongs to its page and has no status before an analysis."""
    keyword = await client.keywords.create(sandbox.page_ids[0], "trail shoes")
    assert (keyword.keyword, keyword.page_id) == ("trail shoes", sandbox.page_ids[0])
    assert (await client.keywords.get(keyword.id)).analysis_status is None
    assert keyword.id in [each.id async for each in client.keywords.list(sandbox.page_ids[0])]


async def test_a_new_prompt_is_listed_and_not_analyzed(client: Client, sandbox: Sandbox) -> None:
    """A prompt belongs to its keyword and has no status before an analysis."""
    prompt = await client.prompts.create(sandbox.keyword_ids[0], "Which trail shoes last?")
    assert prompt == await client.prompts.get(prompt.id)
    assert (prompt.prompt, prompt.analysis_status) == ("Which trail shoes last?", None)
    assert prompt in [each async for each in client.prompts.list(sandbox.keyword_ids[0])]


async def test_a_text_is_scored_against_an_analyzed_keyword(client: Client, sandbox: Sandbox) -> None:
    """A report gives a score from 0 to 1 for a content and for a text; without an analysis there is none."""
    keyword, content = sandbox.keyword_ids[0], sandbox.content_ids[0]
    with pytest.raises(ConflictError):
        await client.keywords.score(keyword, content_id=content)
    await client.request("POST", f"/v1/keywords/{keyword}/analyze")
    sandbox.finish(keyword)
    for report in (
        await client.keywords.score(keyword, content_id=content),
        await client.keywords.score(keyword, **TEXT, meta_description="Shoes"),
    ):
        assert report.score is not None
        assert 0 <= report.score <= 1
        assert report.sources


async def test_a_text_is_scored_against_an_analyzed_prompt(client: Client, sandbox: Sandbox) -> None:
    """A prompt has no report before its analysis, and one for ChatGPT after it."""
    prompt = await client.prompts.create(sandbox.keyword_ids[0], "Which trail shoes last?")
    assert (await client.prompts.score(prompt.id, **TEXT)).chatgpt is None
    await client.request("POST", f"/v1/prompts/{prompt.id}/analyze")
    sandbox.finish(prompt.id)
    report = (await client.prompts.score(prompt.id, content_id=sandbox.content_ids[0])).chatgpt
    assert report is not None
    assert report.brands


@pytest.mark.parametrize(
    ("text", "parameter"),
    [
        ({}, "title"),
        ({"title": "Trail shoes"}, "html"),
        ({"html": "<p>Shoes</p>"}, "title"),
        ({"content_id": "1", "html": "<p>Shoes</p>"}, "content_id"),
        ({"content_id": 1}, "content_id"),
    ],
)
async def test_a_score_needs_a_content_or_a_text(
    client: Client, sandbox: Sandbox, text: dict[str, Any], parameter: str
) -> None:
    """Either a content or both title and html must be given."""
    for score in (client.keywords.score, client.prompts.score):
        with pytest.raises(ArgumentError) as caught:
            await score("1", **text)
        assert caught.value.parameter == parameter
    assert sandbox.ledger.requests == []


async def test_an_imported_page_is_listed_and_crawled(client: Client, sandbox: Sandbox) -> None:
    """A page has the address with which it was imported, and a status after a crawl."""
    page = await client.pages.create(sandbox.workspace_id, "https://shop.example/shoes")
    assert page.url == "https://shop.example/shoes"
    await client.pages.crawl(page.id)
    crawled = await client.pages.get(page.id)
    assert crawled.last_status_code == 200
    assert crawled in [each async for each in client.pages.list(sandbox.workspace_id)]


@spec("4.3:delete_page")
async def test_a_page_takes_its_contents_along(client: Client, sandbox: Sandbox) -> None:
    """Neither the page nor a content that was attached to it can be read after the deletion."""
    content = await client.contents.create(sandbox.workspace_id, "Title", page_id=sandbox.page_ids[0])
    await client.pages.delete(sandbox.page_ids[0])
    with pytest.raises(NotFoundError):
        await client.pages.get(sandbox.page_ids[0])
    with pytest.raises(NotFoundError):
        await client.contents.get(content.id)
