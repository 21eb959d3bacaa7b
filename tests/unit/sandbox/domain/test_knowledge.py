"""Knowledge documents (specification, sections 2.5b and 4.6b)."""

from __future__ import annotations

import asyncio

import pytest

from cmsapi.sandbox import Fixed, Sandbox
from tests.support.calling import Caller

pytestmark = pytest.mark.looptime


async def test_documents_are_processed_for_free() -> None:
    """A new document is pending, then it has a summary; it costs nothing."""
    box = Sandbox(durations={"knowledge_document": Fixed(20.0)})
    call, path = Caller(box), f"/v1/workspaces/{box.workspace_id}/knowledge-documents"
    text = (await call("POST", path, {"name": "Tone", "text": "Short sentences."})).json
    page = (await call("POST", path, {"name": "About", "url": "https://northwind.example"})).json
    assert [
        (document["type"], document["url"], document["status"], document["summary"]) for document in (text, page)
    ] == [("text", None, "pending", None), ("url", "https://northwind.example", "pending", None)]
    await asyncio.sleep(20)
    text, page = [await call.get(f"/v1/knowledge-documents/{document['id']}") for document in (text, page)]
    assert (text["status"], text["summary"]) == ("success", "Short sentences.")
    assert page["summary"]
    assert [page, text] == (await call.get(f"{path}?limit=2"))["data"]
    assert box.credits.analysis == 10_000


async def test_a_document_may_fail(box: Sandbox, call: Caller) -> None:
    """A failed document has no summary."""
    path = f"/v1/workspaces/{box.workspace_id}/knowledge-documents"
    document = (await call("POST", path, {"name": "Tone", "text": "Short."})).json
    box.finish(document["id"], "failed")
    failed = await call.get(f"/v1/knowledge-documents/{document['id']}")
    assert (failed["status"], failed["summary"]) == ("failed", None)
