"""Pages of the website are imported, read, crawled and deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cmsapi import ArgumentError, Client, NotFoundError
from tests.support.spec import spec

if TYPE_CHECKING:
    from cmsapi.sandbox import Sandbox

pytestmark = pytest.mark.looptime


async def test_an_imported_page_is_listed_and_crawled(client: Client, sandbox: Sandbox) -> None:
    """A page has the address that it was imported with, and a status after a crawl."""
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


async def test_a_page_without_an_address_is_not_sent(client: Client, sandbox: Sandbox) -> None:
    """An empty address is refused."""
    with pytest.raises(ArgumentError) as caught:
        await client.pages.create(sandbox.workspace_id, "")
    assert caught.value.parameter == "url"
    assert sandbox.ledger.requests == []
