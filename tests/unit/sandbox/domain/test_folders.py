"""Folders: the flat list, creation and deletion (specification, sections 2.3 and 4.2)."""

from __future__ import annotations

from typing import Any

import pytest

from cmsapi.sandbox import Behaviour, Sandbox
from tests.support.calling import Caller


async def folders(call: Caller) -> dict[str, Any]:
    """Return the folders by identifier."""
    listed = await call.get(f"/v1/workspaces/{call.sandbox.workspace_id}/folders")
    assert list(listed) == ["data"]
    return {folder["id"]: folder for folder in listed["data"]}


@pytest.mark.parametrize("where", ["top_level", "parent"])
async def test_deleting_a_folder_keeps_what_is_inside(where: str) -> None:
    """Contents have no folder then; sub-folders move to the top level, or to the parent with that setting."""
    box = Sandbox(behaviour=Behaviour(subfolders=where))  # type: ignore[arg-type]
    call = Caller(box)
    top, _, middle, deep, _ = box.folder_ids
    inside = [
        item["id"]
        for item in (await call.get(f"/v1/workspaces/{box.workspace_id}/contents"))["data"]
        if item["folder"] and item["folder"]["id"] == middle
    ]
    assert len(inside) == (await folders(call))[middle]["nbAssociatedContents"] > 0
    answer = await call("DELETE", f"/v1/folders/{middle}")
    assert (answer.status, answer.body) == (200, b"null")
    assert {None} == {(await call.get(f"/v1/contents/{id_}"))["folder"] for id_ in inside}
    assert (None if where == "top_level" else top) == (await folders(call))[deep]["parentFolderId"]
    assert (await call("DELETE", f"/v1/folders/{middle}")).status == 404
