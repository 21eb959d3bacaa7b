"""Contents: drafts, their changes and their publication (specification, sections 2.4, 4.3 and 9, rule 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmsapi.sandbox.domain import generations
from cmsapi.sandbox.messages.bodies import moment
from cmsapi.sandbox.messages.resources import show
from cmsapi.sandbox.texts.sanitize import sanitize
from cmsapi.sandbox.world import drafts
from cmsapi.sandbox.world.records import Content
from cmsapi.sandbox.world.refusal import Refusal

if TYPE_CHECKING:
    from cmsapi.sandbox.messages.call import Call
    from cmsapi.sandbox.messages.resources import Document
    from cmsapi.sandbox.world.history import Seen
    from cmsapi.sandbox.world.world import World


def list_contents(call: Call) -> Document:
    """List the contents of a workspace in short form, filtered by assignee, score and status."""
    contents = call.store.of_workspace(call.store.contents, call.workspace().id)
    query = call.query
    if (assignee := query["assignedToId"]) is not None:
        contents = [content for content in contents if content.assigned_to_id == assignee]
    if statuses := query["contentStatusId"]:
        contents = [content for content in contents if content.content_status_id in statuses]
    exact, least, most = (query[f"contentScore{part}"] for part in ("", "[gte]", "[lte]"))
    if (exact, least, most) != (None, None, None):
        contents = [
            content
            for content in contents
            if content.score is not None
            and (exact is None or content.score == exact)
            and (least is None or content.score >= least)
            and (most is None or content.score <= most)
        ]
    return call.page(contents, lambda content: show("ShortContent", content, **_related(call.world, content)))


def create_content(call: Call) -> Document:
    """Create a draft; without `pageId` an empty page is created with it (section 4.3, rule 2)."""
    workspace, body, now = call.workspace(), call.body, call.world.now
    _check_references(call, workspace.id)
    page = call.reference(call.store.pages, workspace.id, body.get("pageId"), "pageId")
    if page is None:
        page = call.world.add_page(workspace.id, None, now)
    content = Content(call.store.new_id("cnt"), workspace.id, page.id, body["title"], now, now)
    statuses = call.store.of_workspace(call.store.content_statuses, workspace.id)
    content.content_status_id = statuses[0].id
    call.store.contents[content.id] = content
    apply_changes(call.world, content, body, call.user.id)
    content.version = 1
    call.target_id = content.id
    return show_content(call.world, call.world.history.present(content))


def get_content(call: Call) -> Document:
    """Show one content."""
    return show_content(call.world, call.view(call.find(call.store.contents, "contentId")))


def update_content(call: Call) -> Document:
    """Change a content under optimistic locking: a stale `version` is a conflict."""
    content = call.find(call.store.contents, "contentId")
    _check_references(call, content.workspace_id)
    if call.body["version"] != content.version:
        raise Refusal(409, f"version: must be the current one, {content.version}, got {call.body['version']}")
    apply_changes(call.world, content, call.body, call.user.id)
    return show_content(call.world, call.world.history.present(content))


def publish_content(call: Call) -> Document:
    """Mark a content as published; nothing is sent to a CMS."""
    content, now = call.find(call.store.contents, "contentId"), call.world.now
    if url := call.body.get("url"):
        call.store.pages[content.page_id].url = url
    content.type, content.published_at, content.published_by = "PUBLISHED", now, call.user.id
    content.updated_at = now
    content.version += 1
    return show_content(call.world, call.world.history.present(content))


def delete_content(call: Call) -> None:
    """Delete a content for good."""
    content = call.find(call.store.contents, "contentId")
    call.world.drop_job(content.id)
    del call.store.contents[content.id]


def apply_changes(world: World, content: Content, changes: Document, user_id: str) -> None:
    """Write changed fields by their names in a request body, and raise the version; null clears a field."""
    if "title" in changes:
        content.title = changes["title"]
    if "metaDescription" in changes:
        content.meta_description = changes["metaDescription"]
    if "dueDate" in changes:
        due = changes["dueDate"]
        content.due_date = None if due is None else moment(due, "dueDate")
    if "assignedToId" in changes:
        content.assigned_to_id = changes["assignedToId"]
    if "contentStatusId" in changes:
        content.content_status_id = changes["contentStatusId"]
    if "folderId" in changes:
        content.folder_id = changes["folderId"]
    drafts.write_body(world, content, changes.get("html", content.html) or "", user_id, world.now)


def show_content(world: World, seen: Seen[Content]) -> Document:
    """Show a content in full (section 2.4): only its generation may be that of an earlier moment."""
    content, generation, users = world.store.contents[seen.record.id], seen.record.generation, world.store.users
    editor, publisher = users.get(content.content_updated_by or ""), users.get(content.published_by or "")
    return show(
        "Content",
        content,
        **_related(world, content),
        content_updated_by=editor and show("Person", editor),
        published_by=publisher and show("Person", publisher),
        html_sanitized=sanitize(content.html),
        is_started=bool(content.html),
        last_generation=generation and show("LastGeneration", generation, status=generations.status(world, seen)),
    )


def _related(world: World, content: Content) -> Document:
    """Return the fields of a content that other records have, by their names in Python."""
    store = world.store
    assignee = store.users.get(content.assigned_to_id or "")
    status = store.content_statuses.get(content.content_status_id or "")
    folder = store.folders.get(content.folder_id or "")
    return {
        "content_score": content.score,
        "assigned_to": assignee and show("Assignee", assignee),
        "content_status": status and show("ContentStatus", status),
        "folder": folder and show("Reference", folder),
        "page": show("PageReference", store.pages[content.page_id]),
    }


def _check_references(call: Call, workspace_id: str) -> None:
    store, body = call.store, call.body
    call.reference(store.folders, workspace_id, body.get("folderId"), "folderId")
    call.reference(store.content_statuses, workspace_id, body.get("contentStatusId"), "contentStatusId")
    assignee = body.get("assignedToId")
    if assignee is not None and assignee not in store.workspaces[workspace_id].member_ids:
        raise Refusal(call.world.behaviour.unknown_reference, "assignedToId: no such member of the workspace")
