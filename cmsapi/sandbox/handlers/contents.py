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

REFERENCES = {"assignedToId": "users", "contentStatusId": "statuses", "folderId": "folders"}


def list_contents(call: Call) -> Document:
    """List contents in short form, with filters."""
    query, workspace = call.query, call.get("workspaces", "workspaceId")["id"]
    statuses = query.get("contentStatusId")
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

    contents = filter(matches, call.store.find("contents", workspaceId=workspace))
    return call.page(contents, lambda content: documents.content_summary(call.store, content))


def create_content(call: Call) -> Document:
    """Create a draft on the given page, or on a new page without an address (specification 4.3, rules 1 and 2)."""
    workspace, store = call.get("workspaces", "workspaceId")["id"], call.store
    page, fields = call.referenced("pages", "pageId", workspace), _fields(call, workspace)
    if page is None:
        page = store.add("pages", workspaceId=workspace, url=None, lastStatusCode=None)["id"]
    content = drafts.add(store, workspaceId=workspace, pageId=page, **fields)
    drafts.write(store, content, call.body.get("html", ""), call.user["id"])
    return documents.content(store, content)


def get_content(call: Call) -> Document:
    """Return a content."""
    return documents.content(call.store, call.get("contents", "contentId"))


def update_content(call: Call) -> Document:
    """Change the given fields if the version is the current one, and increase it (specification 9, rule 4)."""
    content, body = call.get("contents", "contentId"), call.body
    if body["version"] != content["version"]:
        raise Refusal(409, f"The version is {content['version']}; read the content again.")
    content.update(_fields(call, content["workspaceId"]))
    if "html" in body:
        drafts.write(call.store, content, body["html"] or "", call.user["id"])
    drafts.touch(call.store, content)
    return documents.content(call.store, content)


def publish_content(call: Call) -> Document:
    """Mark a content as published, at the address of its page if the body gives one; nothing is sent to a CMS."""
    content = call.get("contents", "contentId")
    if "url" in call.body:
        call.store.tables["pages"][content["pageId"]]["url"] = call.body["url"]
    content.update(type="PUBLISHED", publishedAt=call.store.clock.stamp(), publishedById=call.user["id"])
    drafts.touch(call.store, content)
    return documents.content(call.store, content)


def delete_content(call: Call) -> None:
    """Delete a content for good (specification 4.3)."""
    del call.store.tables["contents"][call.get("contents", "contentId")["id"]]


def _fields(call: Call, workspace: str) -> dict[str, Any]:
    """Return the fields of a body that are stored as they are, checked."""
    body = call.body
    fields = {name: body[name] for name in ("title", "metaDescription") if name in body}
    fields |= {name: call.referenced(table, name, workspace) for name, table in REFERENCES.items() if name in body}
    if "dueDate" in body:
        fields["dueDate"] = None if body["dueDate"] is None else _timestamp("dueDate", body["dueDate"])
    return fields


def _timestamp(name: str, text: str) -> str:
    try:
        given = datetime.fromisoformat(text)
        return iso((given if given.tzinfo else given.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        raise Refusal(422, f"'{name}' is not a date.") from None
