"""The public face: what a new sandbox contains."""

from __future__ import annotations

import asyncio
import re

import pytest

from cmsapi.sandbox import Sandbox
from tests.unit.sandbox.conftest import CheckedWire

pytestmark = pytest.mark.looptime


async def test_identifiers_name_records(sandbox: Sandbox, wire: CheckedWire) -> None:
    """Each of the sandbox's identifiers leads to a record of its kind."""
    ids = [*sandbox.page_ids, *sandbox.keyword_ids, *sandbox.prompt_ids, *sandbox.content_ids]
    ids += [sandbox.workspace_id, *sandbox.brand_voice_ids, *sandbox.knowledge_document_ids]
    paths = {"wsp": "workspaces", "pag": "pages", "kwd": "keywords", "prm": "prompts", "cnt": "contents"}
    paths |= {"voi": "brand-voices", "kdc": "knowledge-documents"}
    for identifier in ids:
        await asyncio.sleep(0.1)
        assert re.fullmatch(r"\w{3}_01hx\w{22}", identifier)
        assert (await wire.get(f"/v1/{paths[identifier[:3]]}/{identifier}"))["id"] == identifier


@pytest.mark.parametrize(("keywords", "contents"), [(0, 0), (3, 2), (250, 1), (["a", "b"], 0)])
async def test_has_as_much_as_is_asked_for(keywords: int | list[str], contents: int) -> None:
    """Keywords are given by number or by text; none was analyzed, and every content can have a generation."""
    sandbox = Sandbox(keywords=keywords, contents=contents)
    wire = CheckedWire(sandbox)
    assert len(sandbox.keyword_ids) == (keywords if isinstance(keywords, int) else len(keywords))
    assert len(sandbox.content_ids) == contents
    for identifier in sandbox.keyword_ids[-1:]:
        assert (await wire.get(f"/v1/keywords/{identifier}"))["lastAnalyzedAt"] is None
    for identifier in sandbox.content_ids:
        assert await wire.status("POST", f"/v1/contents/{identifier}/atomic", {"settings": {}}) == 202


def test_a_seed_makes_the_same_sandbox() -> None:
    """Keys and identifiers depend on the seed alone."""
    first, second, other = Sandbox(seed=1), Sandbox(seed=1), Sandbox(seed=2)
    assert (first.api_key, first.content_ids) == (second.api_key, second.content_ids)
    assert first.api_key != other.api_key
    assert first.content_ids != other.content_ids


async def test_the_ledger_counts(sandbox: Sandbox, wire: CheckedWire, member: CheckedWire) -> None:
    """Requests are counted by operation and status, launches by target."""
    await wire.send("GET", "/v1/me")
    await asyncio.sleep(5)
    await member.send("GET", "/v1/users")
    for _ in range(2):
        await wire.post(f"{wire.workspace}/content-idea-searches", {"keyword": "shoes"})
    ledger = sandbox.ledger
    assert [(each.time, each.key, each.status) for each in ledger.requests[:2]] == [
        (0, "admin", 200),
        (5, "member", 403),
    ]
    assert (ledger.count(), ledger.count("list_*"), ledger.count("list_*", 200), ledger.count("get_me")) == (4, 1, 0, 1)
    assert [(each.kind, each.number) for each in ledger.launches_of("shoes")] == [("search", 1), ("search", 2)]
