"""Contents: drafts and their publication (specification 2.4, 4.3, 9.4)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from cmsapi.sandbox import documents, drafts
from cmsapi.sandbox.call import Call
from cmsapi.sandbox.clock import iso
from cmsapi.sandbox.documents import Document
from cmsapi.sandbox.refusal import Refusal
from cmsapi.sandbox.store import Record


def list_contents(call: Call) -> Document:
    """Return a page of summaries of the workspace's contents that match the filters in the query."""
    query, statuses = call.query, call.query.get("contentStatusId")
    exact, least, most = query.get("contentScore"), query.get("contentScore[gte]"), query.get("contentScore[lte]")

    def matches(content: Record) -> bool:
        value = content["contentScore"]
        return (
            query.get("assignedToId") in (None, content["assignedToId"])
            and (not statuses or content["contentStatusId"] in statuses)
            and (exact is None or value == exact)
            and (least is None or (value is not None and value >= least))
            and (most is None or (value is not None and value <= most))
        )

    return call.page(filter(matches, call.children("contents")), documents.content_summary)


def create_content(call: Call) -> Document:
    """Create a draft on the given page, or else on a new page without a URL (specification 4.3, rules 1 and 2)."""
    workspace, store = call.record["id"], call.store
    page, fields = call.referenced("pageId"), _fields(call)
    if page is None:
        page = store.add("pages", workspaceId=workspace, url=None, lastStatusCode=None)["id"]
    content = drafts.add(store, workspaceId=workspace, pageId=page, **fields)
    drafts.write(store, content, call.body.get("html", ""), call.user["id"])
    return documents.content(store, content)


def update_content(call: Call) -> Document:
    """Change fields and increment the version; refuse with 409 if ``version`` is not current (specification 9.4)."""
    content, body = call.record, call.body
    if body["version"] != content["version"]:
        raise Refusal(409, f"The version is {content['version']}; read the content again.")
    content.update(_fields(call))
    if "html" in body:
        drafts.write(call.store, content, body["html"] or "", call.user["id"])
    drafts.touch(call.store, content)
    return documents.content(call.store, content)


def publish_content(call: Call) -> Document:
    """Mark a content item as published; its page gets the address ``url``, if given. Nothing is sent to a CMS."""
    content = call.record
    if "url" in call.body:
        call.store.tables["pages"][content["pageId"]]["url"] = call.body["url"]
    content.update(type="PUBLISHED", publishedAt=call.store.clock.stamp(), publishedById=call.user["id"])
    drafts.touch(call.store, content)
    return documents.content(call.store, content)


def delete_content(call: Call) -> None:
    """Delete a content item permanently, but not its page (specification 4.3)."""
    del call.store.tables["contents"][call.record["id"]]


def _fields(call: Call) -> dict[str, Any]:
    """Validate the body's fields, and return them in stored form, without ``html``, ``pageId`` and ``version``."""
    body, references = call.body, ("assignedToId", "contentStatusId", "folderId")
    fields = {name: body[name] for name in ("title", "metaDescription") if name in body}
    fields |= {name: call.referenced(name) for name in references if name in body}
    if "dueDate" in body:
        fields["dueDate"] = None if body["dueDate"] is None else _due_date(body["dueDate"])
    return fields


def _due_date(text: str) -> str:
    try:
        given = datetime.fromisoformat(text)
        return iso((given if given.tzinfo else given.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        raise Refusal(422, "'dueDate' is not a date.") from None
