"""Knowledge documents, which feed AI generation (specification, sections 2.5b and 4.6b)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cmsapi.sandbox.messages.resources import show
from cmsapi.sandbox.world import jobs
from cmsapi.sandbox.world.records import KnowledgeDocument
from cmsapi.sandbox.world.refusal import Refusal

if TYPE_CHECKING:
    from cmsapi.sandbox.messages.call import Call
    from cmsapi.sandbox.messages.resources import Document
    from cmsapi.sandbox.world.history import Seen
    from cmsapi.sandbox.world.jobs import Job
    from cmsapi.sandbox.world.world import World

KIND = "knowledge_document"
SUMMARY_LENGTH = 200


def list_knowledge_documents(call: Call) -> Document:
    """List the knowledge documents of a workspace."""
    documents = call.store.of_workspace(call.store.knowledge_documents, call.workspace().id)
    seen = filter(None, (call.world.history.seen(record, call.reading) for record in documents))
    return call.page(list(seen), lambda each: _show(call.world, each))


def create_knowledge_document(call: Call) -> Document:
    """Add a text or a URL, but not both; processing it costs no credits."""
    workspace, body, world = call.workspace(), call.body, call.world
    if ("text" in body) == ("url" in body):
        raise Refusal(422, "text: exactly one of text and url is required")
    record = KnowledgeDocument(
        id=call.store.new_id("kdo"),
        workspace_id=workspace.id,
        name=body["name"],
        type="text" if "text" in body else "url",
        created_at=world.now,
        url=body.get("url"),
        summary=body.get("text", "")[:SUMMARY_LENGTH] or None,
    )
    call.store.knowledge_documents[record.id] = record
    world.history.keep_absence(record)
    world.jobs.launch(KIND, record.id, world.clock.seconds())
    call.target_id = record.id
    return _show(world, world.history.present(record))


def get_knowledge_document(call: Call) -> Document:
    """Show one knowledge document."""
    return _show(call.world, call.view(call.find(call.store.knowledge_documents, "knowledgeDocumentId")))


def complete(world: World, job: Job) -> None:
    """End the processing of a document and write its summary."""
    record = world.store.knowledge_documents[job.target_id]
    world.history.keep(record, job)
    record.status = job.outcome
    if job.outcome == jobs.SUCCESS and record.summary is None:
        record.summary = f"What {record.url} says about {record.name}."[:SUMMARY_LENGTH]


def _show(world: World, seen: Seen[KnowledgeDocument]) -> Document:
    record = seen.record
    return show(
        "KnowledgeDocument",
        record,
        status=world.shown_status(record.id, record.status),
        summary=record.summary if record.status == jobs.SUCCESS else None,
        workspace=show("WorkspaceReference", world.store.workspaces[record.workspace_id]),
    )
