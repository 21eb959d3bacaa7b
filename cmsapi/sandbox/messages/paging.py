"""Pages of a collection (specification, section 1, rules 3 and 4), and what a careless service leaves out of them."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from cmsapi.sandbox.world.behaviour import Behaviour

_Item = TypeVar("_Item")


def make_page(
    items: Sequence[_Item],
    show: Callable[[_Item], dict[str, Any]],
    *,
    page: int,
    limit: int,
    last: int | None,
    operation: str,
    behaviour: Behaviour,
) -> dict[str, Any]:
    """Return one page, in the order that the behaviour says.

    Args:
        items: All items, oldest first.
        show: Returns the document of an item.
        page: Number of the page, from 1.
        limit: Largest number of items on it.
        last: Number of the last page; None for as many as there are.
        operation: Name of the operation.
        behaviour: What the service shows of its lists.
    """
    start, total = (page - 1) * limit, len(items)
    endless = operation in behaviour.endless_lists
    end = start + limit if endless and total else min(start + limit, total)
    data = []
    for place in range(start, end if last is None or page <= last else start):
        rounds, place_in_list = divmod(place, total)
        shown = show(items[place_in_list] if behaviour.order == "oldest" else items[-1 - place_in_list])
        if rounds:
            shown["id"] += f"-{rounds}"
        if how := behaviour.item_ids.get(operation):
            _hide_id(shown, how)
        data.append(shown)
    pagination: dict[str, Any] = {"page": page, "limit": limit}
    if behaviour.total == "told":
        pagination["total"] = total
    if behaviour.has_more != "absent":
        more = (endless or start + limit < total) and (last is None or page < last)
        pagination["hasMore"] = more if behaviour.has_more == "told" else None
    return {"data": data, "pagination": pagination}


def _hide_id(document: dict[str, Any], how: str) -> None:
    id_ = document.pop("id")
    if how == "null":
        document["id"] = None
    elif how == "number":
        document["id"] = zlib.crc32(id_.encode())
