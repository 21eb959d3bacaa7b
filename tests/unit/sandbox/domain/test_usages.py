"""Usages spell keywords and countries as the behaviour says (specification, section 2.7)."""

from __future__ import annotations

from typing import Any

import pytest

from cmsapi.sandbox import Behaviour, Sandbox
from tests.support.calling import Caller

pytestmark = pytest.mark.looptime


@pytest.mark.parametrize(
    ("ways", "written"),
    [
        ({}, " E\u0301te\u0301 " + "x" * 300),
        ({"usage_keyword": ["lower"]}, " e\u0301te\u0301 " + "x" * 300),
        ({"usage_keyword": ["trimmed"]}, "E\u0301te\u0301 " + "x" * 300),
        ({"usage_keyword": ["nfc"]}, " \u00c9t\u00e9 " + "x" * 300),
        ({"usage_keyword": ["cut"]}, " E\u0301te\u0301 " + "x" * 248),
        ({"usage_keyword": ["cut", "nfc", "lower", "trimmed"]}, "\u00e9t\u00e9 " + "x" * 251),
    ],
)
async def test_usages_write_keywords_in_their_own_way(ways: dict[str, Any], written: str) -> None:
    """A usage changes the spelling of its keyword; the search keeps the keyword as sent."""
    box = Sandbox(behaviour=Behaviour(**ways))
    call, keyword = Caller(box), " E\u0301te\u0301 " + "x" * 300
    search = await call("POST", f"/v1/workspaces/{box.workspace_id}/content-idea-searches", {"keyword": keyword})
    assert search.json["keyword"] == keyword
    (usage,) = (await call.get("/v1/credit-usages?type=content_idea_search&limit=1"))["data"]
    assert usage["keyword"]["keyword"] == written


async def test_usages_may_write_countries_in_lower_case() -> None:
    """A usage may write the country in lower case; the keyword keeps it."""
    box = Sandbox(behaviour=Behaviour(usage_country="lower"))
    call = Caller(box)
    await call("POST", f"/v1/keywords/{box.keyword_ids[0]}/analyze")
    keyword = await call.get(f"/v1/keywords/{box.keyword_ids[0]}")
    (usage,) = (await call.get("/v1/credit-usages?type=analysis&limit=1"))["data"]
    assert usage["keyword"]["countryCode"] == keyword["countryCode"].lower() != keyword["countryCode"]
