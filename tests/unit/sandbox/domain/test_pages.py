"""Pages: import, crawl and deletion (specification, sections 2.8 and 4.3)."""

from __future__ import annotations

from cmsapi.sandbox import Sandbox
from tests.support.calling import Caller


async def test_deleting_a_page_deletes_its_contents_and_keywords(box: Sandbox, call: Caller) -> None:
    """Deleting a page deletes its contents, keywords and prompts, and ends their jobs."""
    content_id, keyword_id, prompt_id = box.content_ids[0], box.analyzed_keyword_ids[0], box.prompt_ids[0]
    page_id = (await call.get(f"/v1/contents/{content_id}"))["page"]["id"]
    for path in (f"/v1/keywords/{keyword_id}/analyze", f"/v1/prompts/{prompt_id}/analyze"):
        assert (await call("POST", path)).status == 202
    assert (await call("POST", f"/v1/contents/{content_id}/atomic", {"settings": {}})).status == 202
    assert (await call("DELETE", f"/v1/pages/{page_id}")).status == 200
    for path in (f"pages/{page_id}", f"contents/{content_id}", f"keywords/{keyword_id}", f"prompts/{prompt_id}"):
        assert (await call("GET", f"/v1/{path}")).status == 404
    assert {True} == {job.done for job in box.jobs}


async def test_an_empty_page_cannot_be_crawled(box: Sandbox, call: Caller) -> None:
    """The page of a blank draft has no URL."""
    draft = (await call("POST", f"/v1/workspaces/{box.workspace_id}/contents", {"title": "Blank"})).json
    assert (await call("POST", f"/v1/pages/{draft['page']['id']}/crawl")).status == 409
