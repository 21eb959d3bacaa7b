"""Functions that convert records to the JSON documents that clients see (specification 2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from cmsapi.sandbox.store import Record, Store

Document: TypeAlias = dict[str, Any]
Show: TypeAlias = Callable[[Store, Record], Document]

PERSON = ["id", "firstName", "lastName"]
MEMBER = [*PERSON, "email", "jobTitle", "profileImageUrl", "createdAt"]
STATUS = ["id", "label", "color", "position", "isReadOnly"]
DATES = ["createdAt", "updatedAt", "contentUpdatedAt", "publishedAt", "dueDate"]
PLACE = ["countryCode", "languageCode"]


def _pick(record: Record, *names: str) -> Document:
    return {name: record[name] for name in names}


def _fields(*names: str) -> Show:
    return lambda store, record: _pick(record, *names)


def _related(store: Store, table: str, identifier: str | None, *names: str) -> Document | None:
    """Return the named fields of a related record; None if ``identifier`` is None."""
    return None if identifier is None else _pick(store.tables[table][identifier], *names)


page: Show = _fields("id", "url", "lastStatusCode")
keyword: Show = _fields("id", "keyword", "analysisStatus", "lastAnalyzedAt", "searchVolume", *PLACE, "pageId")
prompt: Show = _fields("id", "prompt", "analysisStatus", "lastAnalyzedAt")
generation: Show = _fields("id", "status")
search: Show = _fields("id", "createdAt", "keyword", "nbContentIdeas", "searchVolume", "status")
idea: Show = _fields("id", "keyword", "searchVolume", "createdAt")
content_status: Show = _fields(*STATUS)
brand_voice: Show = _fields(
    "id", "name", "brandName", "targetAudience", "additionalInformation", "enabled", "status", "createdAt"
)
member: Show = _fields(*MEMBER, "role")


def user(store: Store, record: Record, balances: Mapping[str, int]) -> Document:
    """Return the document of a user, with the organization and its credit ``balances`` (specification 2.1)."""
    organization = store.tables["organizations"][record["organizationId"]]
    return {
        **_pick(record, *MEMBER, "languageCode"),
        "organization": {
            **_pick(organization, "id", "name", "createdAt", "brandName", "brandImageUrl"),
            "credits": dict(balances),
            "usersCount": len(store.tables["users"]),
            "workspacesCount": len(store.tables["workspaces"]),
        },
    }


def workspace_member(store: Store, record: Record) -> Document:
    """Return the document of a workspace member; ``role`` is the role in the workspace, not in the organization."""
    return {**member(store, record), "role": record["workspaceRole"]}


def workspace(store: Store, record: Record) -> Document:
    """Return the document of a workspace (specification 2.2)."""
    return {
        **_pick(record, "id", "name", "websiteUrl", "countryName", *PLACE, "createdAt"),
        "organization": _related(store, "organizations", record["organizationId"], "id", "name"),
    }


def folder(store: Store, record: Record) -> Document:
    """Return the document of a folder; ``depth`` is the number of folders above it (specification 2.3)."""
    depth, parent = 0, record["parentFolderId"]
    while parent is not None:
        depth, parent = depth + 1, store.tables["folders"][parent]["parentFolderId"]
    contents = sum(1 for _ in store.find("contents", folderId=record["id"]))
    return {**_pick(record, "id", "name", "parentFolderId"), "depth": depth, "nbAssociatedContents": contents}


def content_summary(store: Store, record: Record) -> Document:
    """Return the document of a content item as it appears in lists."""
    return {
        **_pick(record, "id", "title", "type", "contentScore", "wordsCount", *DATES),
        "assignedTo": _related(store, "users", record["assignedToId"], *PERSON, "email", "profileImageUrl"),
        "contentStatus": _related(store, "statuses", record["contentStatusId"], *STATUS),
        "folder": _related(store, "folders", record["folderId"], "id", "name"),
        "page": page(store, store.tables["pages"][record["pageId"]]),
    }


def content(store: Store, record: Record) -> Document:
    """Return the full document of a content item (specification 2.4)."""
    return {
        **content_summary(store, record),
        **_pick(record, "html", "htmlSanitized", "metaDescription", "version"),
        "isStarted": bool(record["html"]),
        "contentUpdatedBy": _related(store, "users", record["contentUpdatedById"], *PERSON),
        "publishedBy": _related(store, "users", record["publishedById"], *PERSON),
        "lastGeneration": _related(store, "generations", record["generationId"], "id", "status", "type"),
    }


def listed_keyword(store: Store, record: Record) -> Document:
    """Return the document of a keyword as it appears in lists, with the fields that `Choices.keyword_items` allows."""
    hidden = {"full": (), "status": ("lastAnalyzedAt",), "neither": ("lastAnalyzedAt", "analysisStatus")}
    names = hidden[store.choices.keyword_items]
    return {name: value for name, value in keyword(store, record).items() if name not in names}


def knowledge_document(store: Store, record: Record) -> Document:
    """Return the JSON document of a knowledge document (specification 2.5b)."""
    return {
        **_pick(record, "id", "name", "createdAt", "status", "summary", "type", "url"),
        "workspace": _related(store, "workspaces", record["workspaceId"], "id", "name", "websiteUrl"),
    }


def credit_usage(store: Store, record: Record) -> Document:
    """Return the document of a credit usage (specification 2.7)."""
    place = store.tables["workspaces"][record["workspaceId"]]
    return {
        **_pick(record, "id", "createdAt", "amount", "remainingCredits", "type"),
        "keyword": {"keyword": record["keyword"], **_pick(place, *PLACE)},
        "user": _related(store, "users", record["userId"], *PERSON),
        "workspace": _pick(place, "id", "name"),
    }
