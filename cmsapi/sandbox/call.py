"""A request as handlers receive it: admitted by the rate limits, and checked against the schemas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import frozen

from cmsapi.sandbox.documents import Document, Show
from cmsapi.sandbox.jobs import Jobs
from cmsapi.sandbox.refusal import Refusal
from cmsapi.sandbox.store import Record, Store

# The tables that contain the records named by identifiers in paths and bodies.
TABLES: Mapping[str, str] = {
    "workspaceId": "workspaces",
    "folderId": "folders",
    "parentFolderId": "folders",
    "contentId": "contents",
    "contentStatusId": "statuses",
    "assignedToId": "users",
    "pageId": "pages",
    "keywordId": "keywords",
    "promptId": "prompts",
    "brandVoiceId": "voices",
    "knowledgeDocumentId": "knowledge",
    "contentIdeaSearchId": "searches",
}


@frozen
class Call:
    """A request that is within the rate limits and has a valid query and body."""

    store: Store
    jobs: Jobs
    user: Record  # owner of the key
    path: Mapping[str, str]  # one parameter, or none
    query: Mapping[str, Any]  # with defaults for missing parameters
    body: Mapping[str, Any]  # empty if the request has none

    @property
    def record(self) -> Record:
        """The record whose identifier is in the path.

        Raises:
            Refusal: 404 if there is no such record, or the user may not see it (specification 5.7).
        """
        [(parameter, identifier)] = self.path.items()
        record = self.store.tables[TABLES[parameter]].get(identifier)
        if record is None or record["workspaceId"] not in self.user["workspaceIds"]:
            raise Refusal(404, f"No such resource: {parameter}.")
        return record

    def children(self, table: str) -> Iterator[Record]:
        """Return an iterator over the records of ``table`` that belong to `record`, newest first."""
        [parameter] = self.path
        return self.store.find(table, **{parameter: self.record["id"]})

    def referenced(self, name: str) -> str | None:
        """Return the identifier in the body's field ``name``; None if the field is missing or null.

        Raises:
            Refusal: 404 in the same cases as `record`; 422 if the workspace has no record with that identifier.
        """
        identifier, workspace = self.body.get(name), self.record["workspaceId"]
        if identifier is None:
            return None
        record = self.store.tables[TABLES[name]].get(identifier)
        if record is None or workspace not in (record.get("workspaceIds") or (record["workspaceId"],)):
            raise Refusal(422, f"'{name}' names no such record of this workspace.")
        return str(identifier)

    def page(self, records: Iterable[Record], show: Show) -> Document:
        """Return the requested page of ``records``, converted by ``show``, in an envelope (specification 1, rule 3)."""
        number, limit, found = self.query["page"], self.query["limit"], list(records)
        first = (number - 1) * limit
        data = [show(self.store, record) for record in found[first : first + limit]]
        pagination = {"total": len(found), "page": number, "limit": limit, "hasMore": first + limit < len(found)}
        return {"data": data, "pagination": pagination}
