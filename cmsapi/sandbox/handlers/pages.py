"""Pages of the tracked website (specification 2.8, 4.3)."""

from __future__ import annotations

from cmsapi.sandbox import documents
from cmsapi.sandbox.call import Call
from cmsapi.sandbox.documents import Document


def import_page(call: Call) -> Document:
    """Import a page, which has no status before a crawl."""
    workspace = call.record["id"]
    page = call.store.add("pages", workspaceId=workspace, url=call.body["url"], lastStatusCode=None)
    return documents.page(call.store, page)


def crawl_page(call: Call) -> Document:
    """Crawl a page at once."""
    page = call.record
    page["lastStatusCode"] = 200 if page["url"] else None
    return {"message": "Crawl started."}


def delete_page(call: Call) -> None:
    """Delete a page with its contents, keywords and their prompts."""
    page, tables = call.record["id"], call.store.tables
    for content in list(call.children("contents")):
        del tables["contents"][content["id"]]
    for keyword in list(call.children("keywords")):
        for prompt in list(call.store.find("prompts", keywordId=keyword["id"])):
            del tables["prompts"][prompt["id"]]
        del tables["keywords"][keyword["id"]]
    del tables["pages"][page]
