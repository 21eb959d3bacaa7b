"""The organization's users and credits; a workspace's statuses, folders and knowledge (specification 4.1, 4.2, 4.7)."""

from __future__ import annotations

from cmsapi.sandbox import documents
from cmsapi.sandbox.call import Call
from cmsapi.sandbox.documents import Document
from cmsapi.sandbox.jobs import Outcome
from cmsapi.sandbox.store import Record

SUMMARY_WORDS = 12  # number of words that a summary takes from its text


def get_me(call: Call) -> Document:
    """Return the user of the API key, with the organization and its credits."""
    return documents.user(call.store, call.user, call.jobs.credits.balances)


def list_users(call: Call) -> Document:
    """List the members of the organization."""
    return call.page(call.store.find("users"), documents.member)


def list_workspaces(call: Call) -> Document:
    """List the workspaces that the user of the API key can see."""
    visible = [each for each in call.store.find("workspaces") if each["id"] in call.user["workspaceIds"]]
    return call.page(visible, documents.workspace)


def list_workspace_members(call: Call) -> Document:
    """List the members of a workspace."""
    workspace = call.record["id"]
    members = [user for user in call.store.find("users") if workspace in user["workspaceIds"]]
    return call.page(members, documents.workspace_member)


def list_credit_usages(call: Call) -> Document:
    """List the credit usages with the given ``type``; if ``q`` is given, only those whose keyword contains ``q``."""
    text, usages = call.query.get("q", "").lower(), call.store.find("usages", type=call.query["type"])
    return call.page((usage for usage in usages if text in usage["keyword"].lower()), documents.credit_usage)


def list_content_statuses(call: Call) -> Document:
    """Return all workflow statuses of a workspace, in order of position."""
    shown = [documents.content_status(call.store, status) for status in call.children("statuses")]
    return {"data": sorted(shown, key=lambda status: status["position"])}


def list_folders(call: Call) -> Document:
    """Return all folders of a workspace as a flat list (specification 1, rule 5)."""
    return {"data": [documents.folder(call.store, folder) for folder in call.children("folders")]}


def create_folder(call: Call) -> Document:
    """Create a folder, inside ``parentFolderId`` or at the top level."""
    workspace, parent = call.record["id"], call.referenced("parentFolderId")
    folder = call.store.add("folders", workspaceId=workspace, name=call.body["name"], parentFolderId=parent)
    return documents.folder(call.store, folder)


def delete_folder(call: Call) -> None:
    """Delete a folder. Its contents then have no folder; its sub-folders move to the top level (specification 4.2)."""
    folder = call.record["id"]
    for content in call.children("contents"):
        content["folderId"] = None
    for child in call.store.find("folders", parentFolderId=folder):
        child["parentFolderId"] = None
    del call.store.tables["folders"][folder]


def create_knowledge_document(call: Call) -> Document:
    """Create a knowledge document and launch its processing. The summary is null until the processing succeeds."""
    workspace, name, url = call.record["id"], call.body["name"], call.body.get("url")
    text, kind = call.body.get("text") or f"Text of {url}", "url" if url else "text"

    def summarize(document: Record, at: float, outcome: Outcome) -> None:
        if outcome.word == "success":
            document["summary"] = " ".join(text.split()[:SUMMARY_WORDS])

    document = call.store.add("knowledge", workspaceId=workspace, name=name, type=kind, url=url, summary=None)
    call.jobs.launch("knowledge_document", document, user=call.user, target=name, keyword=name, finished=summarize)
    return documents.knowledge_document(call.store, document)
