"""Pages, to which keywords and contents belong (specification, sections 2.8 and 4.3)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cmsapi.sandbox.messages.resources import show
from cmsapi.sandbox.world.refusal import Refusal

if TYPE_CHECKING:
    from cmsapi.sandbox.messages.call import Call
    from cmsapi.sandbox.messages.resources import Document


def list_pages(call: Call) -> Document:
    """List the pages of a workspace."""
    return call.page(call.store.of_workspace(call.store.pages, call.workspace().id), partial(show, "Page"))


def import_page(call: Call) -> Document:
    """Import a URL of the website; a crawl fetches it."""
    workspace = call.workspace()
    page = call.world.add_page(workspace.id, call.body["url"], call.world.now)
    call.target_id = page.id
    return show("Page", page)


def get_page(call: Call) -> Document:
    """Show one page."""
    return show("Page", call.find(call.store.pages, "pageId"))


def crawl_page(call: Call) -> Document:
    """Fetch the URL of a page; a page without one gives 409."""
    page = call.find(call.store.pages, "pageId")
    if page.url is None:
        raise Refusal(409, "the page has no URL")
    page.last_status_code = 200
    return {"message": "Crawl started"}


def delete_page(call: Call) -> None:
    """Delete a page with its contents, keywords and prompts."""
    store, page = call.store, call.find(call.store.pages, "pageId")
    for content in store.contents.of(page.id):
        call.world.drop_job(content.id)
    for keyword in store.keywords.of(page.id):
        call.world.drop_job(keyword.id)
        for prompt in store.prompts.of(keyword.id):
            call.world.drop_job(prompt.id)
    store.delete_page(page.id)
