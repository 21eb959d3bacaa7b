"""Pages of the tracked website (specification 2.8, 4.3)."""

from __future__ import annotations

from cmsapi.sandbox import documents
from cmsapi.sandbox.call import Call
from cmsapi.sandbox.documents import Document

PAGE = ["id", "url", "lastStatusCode"]


def list_pages(call: Call) -> Document:
    """List the pages of a workspace."""
    pages = call.store.find("pages", workspaceId=call.get("workspaces", "workspaceId")["id"])
    return call.page(pages, lambda page: documents.pick(page, PAGE))


def import_page(call: Call) -> Document:
    """Import a page, which has no status before a crawl."""
    workspace = call.get("workspaces", "workspaceId")["id"]
    page = call.store.add("pages", workspaceId=workspace, url=call.body["url"], lastStatusCode=None)
    return documents.pick(page, PAGE)


def get_page(call: Call) -> Document:
    """Return a page."""
    return documents.pick(call.get("pages", "pageId"), PAGE)


def crawl_page(call: Call) -> Document:
    """Crawl a page at once."""
    page = call.get("pages", "pageId")
    page["lastStatusCode"] = 200 if page["url"] else None
    return {"message": "Crawl started."}


def delete_page(call: Call) -> None:
    """Delete a page with its contents, keywords and their prompts."""
    page, tables = call.get("pages", "pageId")["id"], call.store.tables
    for content in list(call.store.find("contents", pageId=page)):
        del tables["contents"][content["id"]]
    for keyword in list(call.store.find("keywords", pageId=page)):
        for prompt in list(call.store.find("prompts", keywordId=keyword["id"])):
            del tables["prompts"][prompt["id"]]
        del tables["keywords"][keyword["id"]]
    del tables["pages"][page]
