"""A request that was admitted and checked, as the handlers see it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attrs import field, frozen

from cmsapi.sandbox.documents import Document
from cmsapi.sandbox.jobs import Jobs
from cmsapi.sandbox.refusal import Refusal
from cmsapi.sandbox.store import Record, Store


@frozen
class Call:
    """A checked request.

    Attributes:
        store: Records of the service.
        jobs: Jobs of the service.
        user: Record of the key's user.
        path: Path parameters.
        query: Query parameters, with the defaults of those that are missing.
        body: Parsed body; an empty object if the request has none.
    """

    store: Store
    jobs: Jobs
    user: Record
    path: Mapping[str, str]
    query: Mapping[str, Any] = field(factory=dict)
    body: Mapping[str, Any] = field(factory=dict)

    def get(self, table: str, parameter: str) -> Record:
        """Return the record that a path parameter names.

        Raises:
            Refusal: 404: there is none, or none that the user may see (specification 5.7).
        """
        record = self.store.tables[table].get(self.path[parameter])
        if record is None or record["workspaceId"] not in self.user["workspaceIds"]:
            raise Refusal(404, f"No such resource: {parameter}.")
        return record

    def referenced(self, table: str, name: str, workspace: str) -> str | None:
        """Return an identifier in the body that must belong to a record of a workspace; None if it is missing or null.

        Raises:
            Refusal: 422, naming the field.
        """
        identifier = self.body.get(name)
        if identifier is None:
            return None
        record = self.store.tables[table].get(identifier)
        if record is None or workspace not in (record.get("workspaceIds") or (record["workspaceId"],)):
            raise Refusal(422, f"'{name}' names no such record of this workspace.")
        return str(identifier)

    def page(self, records: Iterable[Record], show: Callable[[Record], Document]) -> Document:
        """Return one page of records as the envelope of specification 1, rule 3."""
        number, limit = self.query["page"], self.query["limit"]
        found = list(records)
        first = (number - 1) * limit
        data = [show(record) for record in found[first : first + limit]]
        pagination = {"total": len(found), "page": number, "limit": limit, "hasMore": first + limit < len(found)}
        return {"data": data, "pagination": pagination}
