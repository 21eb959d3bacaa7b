"""The fields of section 2 of the specification, row by row: what the sandbox sends and what the models read."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

import pytest

from cmsapi import Client
from cmsapi.sandbox import Sandbox
from tests.support.spec import spec
from tests.support.wire import Wire

pytestmark = pytest.mark.looptime

PERSON = {"id": str, "firstName": str, "lastName": str}
NAMED = {"id": str, "name": str}
FIELDS: dict[str, dict[str, Any]] = {
    "2.1": {
        **PERSON,
        "email": str,
        "profileImageUrl": (str, None),
        "jobTitle": str,
        "languageCode": str,
        "organization": dict,
        "createdAt": datetime,
        "organization.id": str,
        "organization.name": str,
        "organization.createdAt": datetime,
        "organization.brandName": (str, None),
        "organization.brandImageUrl": (str, None),
        "organization.credits": {"analysis": int, "aiWriting": int, "contentIdeasSearches": int},
        "organization.usersCount": int,
        "organization.workspacesCount": int,
    },
    "2.2": {
        **NAMED,
        "websiteUrl": str,
        "countryCode": str,
        "countryName": str,
        "languageCode": str,
        "createdAt": datetime,
        "organization": NAMED,
    },
    "2.3": {**NAMED, "depth": int, "nbAssociatedContents": int, "parentFolderId": str},
    "2.4": {
        "id": str,
        "title": str,
        "type": {"DRAFT", "PUBLISHED", "ORIGINAL"},
        "contentScore": range(101),
        "wordsCount": int,
        "createdAt": datetime,
        "updatedAt": datetime,
        "contentUpdatedAt": datetime,
        "publishedAt": datetime,
        "dueDate": datetime,
        "assignedTo": {**PERSON, "email": str, "profileImageUrl": str},
        "contentStatus": {"id": str, "label": str, "color": str, "position": int, "isReadOnly": bool},
        "folder": NAMED,
        "page": {"id": str, "url": str, "lastStatusCode": int},
        "contentUpdatedBy": PERSON,
        "publishedBy": PERSON,
        "html": str,
        "htmlSanitized": str,
        "isStarted": bool,
        "metaDescription": str,
        "lastGeneration": {"id": str, "status": str, "type": str},
        "version": int,
    },
    "2.5": {"id": str, "status": str},
    "2.5b": {
        **NAMED,
        "createdAt": datetime,
        "status": {"pending", "success", "failed"},
        "summary": str,
        "type": {"text", "url", "file"},
        "url": str,
        "workspace": {**NAMED, "websiteUrl": str},
    },
    "2.6": {
        "id": str,
        "createdAt": datetime,
        "keyword": str,
        "nbContentIdeas": int,
        "searchVolume": int,
        "status": {"pending", "success", "failed"},
    },
    "2.7": {
        "id": str,
        "createdAt": datetime,
        "amount": int,
        "remainingCredits": int,
        "type": {"analysis", "ai_writing", "content_idea_search"},
        "keyword": {"keyword": str, "countryCode": str, "languageCode": str},
        "user": PERSON,
        "workspace": NAMED,
    },
}
TABLES = [pytest.param(table, marks=spec(*(f"{table}:{name}" for name in FIELDS[table])), id=table) for table in FIELDS]


async def _user(wire: Wire, _: Sandbox) -> Any:
    return await wire.get("/v1/me")


async def _workspace(wire: Wire, sandbox: Sandbox) -> Any:
    return await wire.get(f"/v1/workspaces/{sandbox.workspace_id}")


async def _folder(wire: Wire, sandbox: Sandbox) -> Any:
    path = f"/v1/workspaces/{sandbox.workspace_id}/folders"
    parent = await wire.post(path, {"name": "Guides"})
    folder = await wire.post(path, {"name": "Shoes", "parentFolderId": parent["id"]})
    return {"workspaceId": sandbox.workspace_id, **folder}


async def _generated(wire: Wire, sandbox: Sandbox) -> Any:
    """Return a content with a value in each optional field and its generation in review."""
    workspace = f"/v1/workspaces/{sandbox.workspace_id}"
    keyword = f"/v1/keywords/{sandbox.keyword_ids[0]}"
    await wire.post(f"{keyword}/analyze")
    analysed = await wire.until(keyword, "analysisStatus", "success")
    content = await wire.post(
        f"{workspace}/contents",
        {
            "title": "Trail shoes",
            "html": "<p>Some <mark data-fact-check='1'>words</mark></p>",
            "metaDescription": "Which shoes to buy",
            "dueDate": "2031-05-01T12:00:00Z",
            "folderId": (await _folder(wire, sandbox))["id"],
            "pageId": analysed["pageId"],
            "assignedToId": (await wire.get("/v1/me"))["id"],
            "contentStatusId": (await wire.get(f"{workspace}/content-statuses"))["data"][0]["id"],
        },
    )
    await wire.post(f"/v1/contents/{content['id']}/atomic", {"settings": {}})
    await wire.until(f"/v1/contents/{content['id']}/generation", "status", "review")
    return content


async def _content(wire: Wire, sandbox: Sandbox) -> Any:
    path = f"/v1/contents/{(await _generated(wire, sandbox))['id']}"
    await wire.post(f"{path}/generation/confirm")
    await wire.post(f"{path}/publish", {})
    return await wire.get(path)


async def _generation(wire: Wire, sandbox: Sandbox) -> Any:
    content = await _generated(wire, sandbox)
    return {"contentId": content["id"], **await wire.get(f"/v1/contents/{content['id']}/generation")}


async def _document(wire: Wire, sandbox: Sandbox) -> Any:
    path = f"/v1/workspaces/{sandbox.workspace_id}/knowledge-documents"
    document = await wire.post(path, {"name": "Tone", "url": "https://northwind.example/tone"})
    return await wire.until(f"/v1/knowledge-documents/{document['id']}", "status", "success")


async def _search(wire: Wire, sandbox: Sandbox) -> Any:
    path = f"/v1/workspaces/{sandbox.workspace_id}/content-idea-searches"
    search = await wire.post(path, {"keyword": "trail running"})
    return await wire.until(f"/v1/content-idea-searches/{search['id']}", "status", "success")


async def _usage(wire: Wire, sandbox: Sandbox) -> Any:
    await _search(wire, sandbox)
    return (await wire.get("/v1/credit-usages?type=content_idea_search"))["data"][0]


DOCUMENTS = {
    "2.1": _user,
    "2.2": _workspace,
    "2.3": _folder,
    "2.4": _content,
    "2.5": _generation,
    "2.5b": _document,
    "2.6": _search,
    "2.7": _usage,
}


READS: dict[str, Callable[[Client, Any], Awaitable[Any]]] = {
    "2.1": lambda client, _: client.me(),
    "2.2": lambda client, document: client.workspaces.get(document["id"]),
    "2.3": lambda client, document: _listed_folder(client, document),
    "2.4": lambda client, document: client.contents.get(document["id"]),
    "2.5": lambda client, document: client.contents.generation(document["contentId"]),
    "2.5b": lambda client, document: client.knowledge_documents.get(document["id"]),
    "2.6": lambda client, document: client.content_ideas.get(document["id"]),
    "2.7": lambda client, document: _newest_usage(client, document["type"]),
}


async def _listed_folder(client: Client, document: Any) -> Any:
    folders = await client.folders.list(document["workspaceId"])
    return next(folder for folder in folders if folder.id == document["id"])


async def _newest_usage(client: Client, credit_type: Any) -> Any:
    return (await client.credit_usages.list(credit_type)).data[0]


def fits(value: Any, kind: Any) -> bool:
    """Return True if a JSON value fits: a type, several types, a set of words, a range or an object's fields."""
    if kind is datetime:
        return isinstance(value, str) and bool(datetime.fromisoformat(value))
    if isinstance(kind, dict):
        return isinstance(value, dict) and all(fits(value.get(name), part) for name, part in kind.items())
    if isinstance(kind, tuple):
        return value is None or fits(value, kind[0])
    return type(value) is kind if isinstance(kind, type) else type(value) in (str, int) and value in kind


def reads(attribute: Any, value: Any, kind: Any) -> bool:
    """Return True if a model's attribute means the same as the JSON value."""
    if kind is datetime:
        return bool(attribute == datetime.fromisoformat(value))
    if isinstance(kind, dict):
        return all(reads(getattr(attribute, snake(name)), value[name], part) for name, part in kind.items())
    return bool(attribute == value)


def snake(name: str) -> str:
    """Return the attribute's name for a field."""
    return re.sub("([A-Z])", r"_\1", name).lower()


@pytest.mark.parametrize("table", TABLES)
async def test_the_sandbox_sends_each_field_and_the_model_reads_it(
    client: Client, sandbox: Sandbox, table: str
) -> None:
    """The response contains the field with its specified type, and the attribute has its value."""
    wire = Wire(sandbox)
    document = await DOCUMENTS[table](wire, sandbox)
    model = await READS[table](client, document)
    for name, kind in FIELDS[table].items():
        value, attribute = document, model
        for part in name.split("."):
            attribute, value = getattr(attribute, snake(part)), value[part]
        assert fits(value, kind), (name, value)
        assert kind is dict or reads(attribute, value, kind), (name, attribute)
