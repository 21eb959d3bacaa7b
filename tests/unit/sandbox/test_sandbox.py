"""The sandbox: seeds, initial data, keys and settings."""

from __future__ import annotations

import re
from typing import Any

import pytest

from cmsapi.sandbox import Fault, Faults, Sandbox
from tests.support.calling import Caller

NAMES = [
    "api_key",
    "member_key",
    "revoked_key",
    "workspace_id",
    "foreign_workspace_id",
    "folder_ids",
    "page_ids",
    "keyword_ids",
    "analyzed_keyword_ids",
    "prompt_ids",
    "content_ids",
    "brand_voice_ids",
    "knowledge_document_ids",
    "content_status_ids",
    "user_ids",
]


async def picture(box: Sandbox) -> list[Any]:
    """Return some answers of a sandbox."""
    call = Caller(box)
    path = f"/v1/workspaces/{box.workspace_id}"
    paths = ("/v1/me", f"{path}/contents", f"{path}/folders", f"/v1/contents/{box.content_ids[1]}")
    return [await call.get(path) for path in paths]


async def test_the_same_seed_gives_the_same_box() -> None:
    """Identifiers, keys and data depend on the seed alone."""
    one, same, other = Sandbox(seed=7), Sandbox(seed=7), Sandbox(seed="8")
    assert [getattr(one, name) for name in NAMES] == [getattr(same, name) for name in NAMES]
    assert not [name for name in NAMES if getattr(one, name) == getattr(other, name)]
    assert await picture(one) == await picture(same)
    assert one.base_url != same.base_url


async def test_as_much_is_seeded_as_asked_for() -> None:
    """Keywords never analysed, and contents each ready for a generation."""
    box = Sandbox(keywords=33, contents=7)
    call = Caller(box)
    assert tuple(
        len(set(ids)) for ids in (box.keyword_ids, box.content_ids, box.analyzed_keyword_ids, box.prompt_ids)
    ) == (33, 7, 7, 7)
    for content_id in box.content_ids:
        assert (await call("POST", f"/v1/contents/{content_id}/atomic", {"settings": {}})).status == 202
    assert (await call.get(f"/v1/keywords/{box.keyword_ids[-1]}"))["analysisStatus"] is None
    assert (await call.get(f"/v1/keywords/{box.analyzed_keyword_ids[-1]}"))["analysisStatus"] == "success"
    empty = Sandbox(keywords=0, contents=0)
    assert (empty.keyword_ids, empty.content_ids, len(empty.analyzed_keyword_ids)) == ((), (), 1)


def test_seeded_keywords_differ() -> None:
    """Texts of keywords are unique, however many."""
    box = Sandbox(keywords=1500, contents=1)
    assert len(set(box.keyword_ids)) == 1500


def test_identifiers_and_keys_have_their_form(box: Sandbox) -> None:
    """Identifiers are a prefix and 26 characters; keys begin with `sk_`."""
    for id_ in (*box.user_ids, *box.content_ids, box.workspace_id):
        assert re.fullmatch(r"[a-z]{3}_01hx[0-9a-z]{22}", id_)
    assert all(key.startswith("sk_") for key in (box.api_key, box.member_key, box.revoked_key))


async def test_durations_and_faults_take_the_short_form() -> None:
    """A number is a fixed duration, and one fault or several need no `Faults`."""
    fault = Fault(match="GET /v1/me", status=503)
    for faults in (fault, [fault], Faults(rules=(fault,))):
        box = Sandbox(durations=5, faults=faults)
        caller = Caller(box)
        assert (await caller("GET", "/v1/me")).status == 503
        await caller("POST", f"/v1/keywords/{box.keyword_ids[0]}/analyze")
        assert box.durations_of("keyword_analysis") == pytest.approx([5.0])
    with pytest.raises(TypeError, match="a duration must be a number"):
        Sandbox(durations="long")  # type: ignore[arg-type]  # what is refused


def test_the_other_keys_depend_on_the_chosen_one() -> None:
    """Two services with different keys share no key and no organisation, and have the same data."""
    one, same, other = (Sandbox(api_key=key) for key in ("sk_one", "sk_one", "sk_two"))
    keys = [{box.api_key, box.member_key, box.revoked_key} for box in (one, same, other, Sandbox())]
    assert keys[0] == keys[1]
    assert len(set.union(*keys)) == 9
    assert one.keyword_ids == other.keyword_ids == Sandbox().keyword_ids


@pytest.mark.parametrize("key", ["", "sk_", "key", "sk_a b", "sk_ä"])
def test_a_key_has_its_form(key: str) -> None:
    """A key that a client cannot send is refused."""
    with pytest.raises(ValueError, match="an API key must be sk_"):
        Sandbox(api_key=key)
