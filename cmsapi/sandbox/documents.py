"""Documents: what clients see of records (specification 2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from cmsapi.sandbox.store import Record, Store

Document: TypeAlias = dict[str, Any]

PERSON = ["id", "firstName", "lastName"]
MEMBER = [*PERSON, "email", "jobTitle", "profileImageUrl", "createdAt"]
DATES = ["createdAt", "updatedAt", "contentUpdatedAt", "publishedAt", "dueDate"]
CONTENT = ["id", "title", "type", "contentScore", "wordsCount", *DATES]
STATUS = ["id", "label", "color", "position", "isReadOnly"]
KEYWORD = ["id", "keyword", "analysisStatus", "lastAnalyzedAt", "searchVolume", "countryCode", "languageCode", "pageId"]
KEYWORD_ITEMS = {
    "full": KEYWORD,
    "status": [name for name in KEYWORD if name != "lastAnalyzedAt"],
    "neither": [name for name in KEYWORD if name not in {"lastAnalyzedAt", "analysisStatus"}],
}
VOICE = ["id", "name", "brandName", "targetAudience", "additionalInformation", "enabled", "status", "createdAt"]
KNOWLEDGE = ["id", "name", "createdAt", "status", "summary", "type", "url"]
SEARCH = ["id", "createdAt", "keyword", "nbContentIdeas", "searchVolume", "status"]


def pick(record: Record, names: Iterable[str]) -> Document:
    """Return some fields of a record."""
    return {name: record[name] for name in names}


def related(store: Store, table: str, identifier: str | None, names: Iterable[str]) -> Document | None:
    """Return some fields of the record that another one refers to, or None if it refers to none."""
    return None if identifier is None else pick(store.tables[table][identifier], names)


def user(store: Store, record: Record, balances: Mapping[str, int]) -> Document:
    """Return the user of a key, with the organization and its credits (specification 2.1)."""
    organization = store.tables["organizations"][record["organizationId"]]
    return {
        **pick(record, MEMBER),
        "languageCode": record["languageCode"],
        "organization": {
            **pick(organization, ("id", "name", "createdAt", "brandName", "brandImageUrl")),
            "credits": dict(balances),
            "usersCount": len(store.tables["users"]),
            "workspacesCount": len(store.tables["workspaces"]),
        },
    }


def workspace(store: Store, record: Record) -> Document:
    """Return a workspace (specification 2.2)."""
    names = ("id", "name", "websiteUrl", "countryCode", "countryName", "languageCode", "createdAt")
    organization = related(store, "organizations", record["organizationId"], ("id", "name"))
    return {**pick(record, names), "organization": organization}


def folder(store: Store, record: Record) -> Document:
    """Return a folder; its depth is the number of folders above it (specification 2.3)."""
    depth, parent = 0, record["parentFolderId"]
    while parent is not None:
        depth, parent = depth + 1, store.tables["folders"][parent]["parentFolderId"]
    contents = sum(content["folderId"] == record["id"] for content in store.tables["contents"].values())
    return {**pick(record, ("id", "name", "parentFolderId")), "depth": depth, "nbAssociatedContents": contents}


def content_summary(store: Store, record: Record) -> Document:
    """Return a content as lists show it."""
    return {
        **pick(record, CONTENT),
        "assignedTo": related(store, "users", record["assignedToId"], (*PERSON, "email", "profileImageUrl")),
        "contentStatus": related(store, "statuses", record["contentStatusId"], STATUS),
        "folder": related(store, "folders", record["folderId"], ("id", "name")),
        "page": related(store, "pages", record["pageId"], ("id", "url", "lastStatusCode")),
    }


def content(store: Store, record: Record) -> Document:
    """Return a content (specification 2.4)."""
    return {
        **content_summary(store, record),
        **pick(record, ("html", "htmlSanitized", "metaDescription", "version")),
        "isStarted": bool(record["html"]),
        "contentUpdatedBy": related(store, "users", record["contentUpdatedById"], PERSON),
        "publishedBy": related(store, "users", record["publishedById"], PERSON),
        "lastGeneration": related(store, "generations", record["generationId"], ("id", "status", "type")),
    }


def knowledge_document(store: Store, record: Record) -> Document:
    """Return a knowledge document (specification 2.5b)."""
    source = related(store, "workspaces", record["workspaceId"], ("id", "name", "websiteUrl"))
    return {**pick(record, KNOWLEDGE), "workspace": source}


def credit_usage(store: Store, record: Record) -> Document:
    """Return a credit usage (specification 2.7)."""
    place = store.tables["workspaces"][record["workspaceId"]]
    return {
        **pick(record, ("id", "createdAt", "amount", "remainingCredits", "type")),
        "keyword": {"keyword": record["keyword"], **pick(place, ("countryCode", "languageCode"))},
        "user": related(store, "users", record["userId"], PERSON),
        "workspace": pick(place, ("id", "name")),
    }
