"""One request as handlers see it: authenticated, within the limits, and parsed."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from cmsapi.sandbox.messages.resources import Document
from cmsapi.sandbox.world.history import Identified
from cmsapi.sandbox.world.refusal import Refusal

if TYPE_CHECKING:
    from cmsapi.sandbox.world.history import Seen
    from cmsapi.sandbox.world.records import User, Workspace
    from cmsapi.sandbox.world.store import InWorkspace, Store
    from cmsapi.sandbox.world.world import World

_Item = TypeVar("_Item")
_Record = TypeVar("_Record", bound="InWorkspace")
_Identified = TypeVar("_Identified", bound=Identified)


class Call:
    """One request of an operation.

    Args:
        world: State of the service.
        user: Owner of the API key.
        params: Path parameters, decoded.
        query: Query parameters by their names, as they are described; None for one that is absent.
        body: Parsed and validated body; empty if the operation takes none.
        operation: Name of the operation.
    """

    __slots__ = ("_reading", "body", "operation", "params", "query", "target_id", "user", "world")

    def __init__(
        self, world: World, user: User, params: dict[str, str], query: Document, body: Document, operation: str
    ) -> None:
        self.world: World = world
        self.user: User = user
        self.params: dict[str, str] = params
        self.query: Document = query
        self.body: Document = body
        self.operation: str = operation
        self.target_id: str | None = None
        self._reading: float | None = None

    @property
    def store(self) -> Store:
        """The records of the service."""
        return self.world.store

    @property
    def reading(self) -> float:
        """The moment whose state the request reads, in seconds of the clock: now, or earlier on a replica that lags."""
        if self._reading is None:
            self._reading = self.world.reading()
        return self._reading

    def view(self, record: _Identified) -> Seen[_Identified]:
        """Return a record as the request reads it.

        Raises:
            Refusal: The record did not exist at the moment that the request reads.
        """
        seen = self.world.history.seen(record, self.reading)
        if seen is None:
            raise Refusal(404, f"{record.id}: no such resource")
        return seen

    def find(self, table: dict[str, _Record], param: str) -> _Record:
        """Return the record that a path parameter names.

        Raises:
            Refusal: The record does not exist, or belongs to a workspace without the user.
        """
        record = self._known(table, param)
        self._check_membership(self.store.workspaces[record.workspace_id], param)
        return record

    def workspace(self) -> Workspace:
        """Return the workspace of the path.

        Raises:
            Refusal: The workspace does not exist, or the user is not a member.
        """
        workspace = self._known(self.store.workspaces, "workspaceId")
        self._check_membership(workspace, "workspaceId")
        return workspace

    def reference(self, table: dict[str, _Record], workspace_id: str, value: str | None, field: str) -> _Record | None:
        """Return the record of the same workspace that a field of the body names, or None.

        Raises:
            Refusal: The workspace has no such record; the message names the field.
        """
        if value is None:
            return None
        record = table.get(value)
        if record is None or record.workspace_id != workspace_id or value in self.world.forgotten:
            raise Refusal(self.world.behaviour.unknown_reference, f"{field}: no such resource")
        return record

    def page(
        self,
        items: Sequence[_Item],
        show: Callable[[_Item], Document],
        *,
        largest: int | None = None,
        last: int | None = None,
    ) -> Document:
        """Return the page of a collection that the query names, as the behaviour shows it (section 1, rules 3 and 4).

        Args:
            items: All items, oldest first.
            show: Returns the document of an item.
            largest: Largest number of items on a page, whatever the query asks for; None for that.
            last: Number of the last page; None for as many as there are.
        """
        behaviour, total = self.world.behaviour, len(items)
        page, limit = self.query["page"], self.query["limit"]
        limit = limit if largest is None else min(limit, largest)
        start, endless = (page - 1) * limit, self.operation in behaviour.endless_lists
        end = start + limit if endless and total else min(start + limit, total)
        data = []
        for place in range(start, end if last is None or page <= last else start):
            rounds, place_in_list = divmod(place, total)
            shown = show(items[place_in_list] if behaviour.order == "oldest" else items[-1 - place_in_list])
            if rounds:
                shown["id"] += f"-{rounds}"
            if how := behaviour.item_ids.get(self.operation):
                _hide_id(shown, how)
            data.append(shown)
        pagination: Document = {"page": page, "limit": limit}
        if behaviour.total == "told":
            pagination["total"] = total
        if behaviour.has_more != "absent":
            more = (endless or start + limit < total) and (last is None or page < last)
            pagination["hasMore"] = more if behaviour.has_more == "told" else None
        return {"data": data, "pagination": pagination}

    def _known(self, table: dict[str, _Item], param: str) -> _Item:
        id_ = self.params[param]
        if id_ not in table or id_ in self.world.forgotten:
            raise Refusal(404, f"{param}: no such resource")
        return table[id_]

    def _check_membership(self, workspace: Workspace, param: str) -> None:
        if self.user.id in workspace.member_ids:
            return
        # Section 5, rules 6 and 7: a foreign workspace is forbidden, or hidden as if it did not exist.
        if self.world.behaviour.foreign_workspace == 403:
            raise Refusal(403, "not a member of this workspace")
        raise Refusal(404, f"{param}: no such resource")


def _hide_id(document: Document, how: str) -> None:
    id_ = document.pop("id")
    if how == "null":
        document["id"] = None
    elif how == "number":
        document["id"] = zlib.crc32(id_.encode())
