"""What a workspace offers to contents: workflow statuses, folders, brand voices, knowledge documents."""

from __future__ import annotations

from cmsapi.sandbox import documents
from cmsapi.sandbox.call import Call
from cmsapi.sandbox.documents import Document
from cmsapi.sandbox.jobs import Outcome
from cmsapi.sandbox.store import Record

SUMMARY_WORDS = 12  # words of a text that become its summary


def list_content_statuses(call: Call) -> Document:
    """List the workflow statuses in order."""
    statuses = call.store.find("statuses", workspaceId=call.get("workspaces", "workspaceId")["id"])
    shown = [documents.pick(status, documents.STATUS) for status in statuses]
    return {"data": sorted(shown, key=lambda status: status["position"])}


def list_folders(call: Call) -> Document:
    """List all folders flat (specification 1, rule 5)."""
    folders = call.store.find("folders", workspaceId=call.get("workspaces", "workspaceId")["id"])
    return {"data": [documents.folder(call.store, folder) for folder in folders]}


def create_folder(call: Call) -> Document:
    """Create a folder."""
    workspace = call.get("workspaces", "workspaceId")["id"]
    parent = call.referenced("folders", "parentFolderId", workspace)
    folder = call.store.add("folders", workspaceId=workspace, name=call.body["name"], parentFolderId=parent)
    return documents.folder(call.store, folder)


def delete_folder(call: Call) -> None:
    """Delete a folder: its contents become unorganized, its sub-folders top-level (specification 4.2)."""
    folder = call.get("folders", "folderId")["id"]
    for content in call.store.find("contents", folderId=folder):
        content["folderId"] = None
    for child in call.store.find("folders", parentFolderId=folder):
        child["parentFolderId"] = None
    del call.store.tables["folders"][folder]


def list_brand_voices(call: Call) -> Document:
    """List the brand voices of a workspace."""
    voices = call.store.find("voices", workspaceId=call.get("workspaces", "workspaceId")["id"])
    return call.page(voices, lambda voice: documents.pick(voice, documents.VOICE))


def get_brand_voice(call: Call) -> Document:
    """Return a brand voice."""
    return documents.pick(call.get("voices", "brandVoiceId"), documents.VOICE)


def list_knowledge_documents(call: Call) -> Document:
    """List the knowledge documents of a workspace."""
    found = call.store.find("knowledge", workspaceId=call.get("workspaces", "workspaceId")["id"])
    return call.page(found, lambda document: documents.knowledge_document(call.store, document))


def create_knowledge_document(call: Call) -> Document:
    """Create a document, whose summary comes with the success of its processing."""
    workspace, url = call.get("workspaces", "workspaceId")["id"], call.body.get("url")
    text = call.body.get("text") or f"Text of {url}"

    def summarize(document: Record, at: float, outcome: Outcome) -> None:
        if outcome.word == "success":
            document["summary"] = " ".join(text.split()[:SUMMARY_WORDS])

    name, kind = call.body["name"], "url" if url else "text"
    document = call.store.add("knowledge", workspaceId=workspace, name=name, type=kind, url=url, summary=None)
    call.jobs.launch(
        "knowledge_document", document, user=call.user["id"], target=name, keyword=name, finished=summarize
    )
    return documents.knowledge_document(call.store, document)


def get_knowledge_document(call: Call) -> Document:
    """Return a knowledge document."""
    return documents.knowledge_document(call.store, call.get("knowledge", "knowledgeDocumentId"))
