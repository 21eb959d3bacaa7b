"""Malformed requests are 400, schema violations 422, unknown things 404 (specification, section 7)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from cmsapi.sandbox import Behaviour, Limits, Sandbox
from tests.support.calling import Caller
from tests.support.examples import examples

PATHS = ("contents", "folders", "pages", "knowledge-documents", "content-idea-searches")


@pytest.mark.parametrize(
    "raw",
    [
        None,
        b"",
        b"{",
        b"{'keyword': 1}",
        b"\xff\xfe",
        b'{"keyword": NaN}',
        b'{"keyword": -Infinity}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"version": ' + b"9" * 5000 + b"}",
    ],
    ids=["none", "empty", "cut", "quotes", "utf8", "nan", "infinity", "lists", "objects", "digits"],
)
async def test_a_body_that_is_no_json_is_a_bad_request(box: Sandbox, call: Caller, raw: bytes | None) -> None:
    """An unparsable body is a 400, never a 500."""
    for part in PATHS:
        answer = await call("POST", f"/v1/workspaces/{box.workspace_id}/{part}", raw=raw)
        assert (answer.status, answer.code) == (400, "bad_request")


@pytest.mark.parametrize("body", [None, [], "text", 1, True])
async def test_a_body_that_is_no_object_fails_validation(box: Sandbox, call: Caller, body: Any) -> None:
    """Valid JSON of another type is a 422."""
    for part in PATHS:
        answer = await call("POST", f"/v1/workspaces/{box.workspace_id}/{part}", body)
        assert (answer.status, answer.code) == (422, "validation_error")


@pytest.mark.parametrize(
    ("part", "body", "field"),
    [
        ("contents", {}, "title"),
        ("contents", {"title": ""}, "title"),
        ("contents", {"title": "x" * 256}, "title"),
        ("contents", {"title": None}, "title"),
        ("contents", {"title": 7}, "title"),
        ("contents", {"title": "x", "html": None}, "html"),
        ("contents", {"title": "x", "dueDate": "tomorrow"}, "dueDate"),
        ("contents", {"title": "x", "dueDate": "0001-01-01T00:00:00+23:00"}, "dueDate"),
        ("folders", {"name": ""}, "name"),
        ("pages", {"url": "javascript:alert(1)"}, "url"),
        ("knowledge-documents", {"name": "x"}, "text"),
        ("knowledge-documents", {"name": "x", "text": "x", "url": "https://x.example"}, "text"),
        ("content-idea-searches", {}, "keyword"),
        ("content-idea-searches", {"keyword": ""}, "keyword"),
        ("content-idea-searches", {"keyword": None}, "keyword"),
        ("content-idea-searches", {"keyword": "x", "country": "US"}, "country"),
    ],
)
async def test_validation_names_the_failing_field(box: Sandbox, call: Caller, part: str, body: Any, field: str) -> None:
    """A schema violation is a 422 whose message names the field; an extra property of a search is one."""
    answer = await call("POST", f"/v1/workspaces/{box.workspace_id}/{part}", body)
    assert (answer.status, answer.code) == (422, "validation_error")
    assert field == answer.message.split(":")[0]


async def test_nested_fields_are_named_by_their_path(box: Sandbox, call: Caller) -> None:
    """A setting of a generation is named with its parent."""
    path = f"/v1/contents/{box.content_ids[0]}/atomic"
    answer = await call("POST", path, {"settings": {"factCheckingEnabled": "yes"}})
    assert answer.message.split(":")[0] == "settings.factCheckingEnabled"
    assert (await call("POST", path, {})).message.split(":")[0] == "settings"


async def test_extra_properties_are_ignored_elsewhere(box: Sandbox, call: Caller) -> None:
    """Only the body of a search refuses unknown properties."""
    body = {"title": "x" * 255, "colour": "red"}
    assert (await call("POST", f"/v1/workspaces/{box.workspace_id}/contents", body)).status == 201


@pytest.mark.parametrize("status", [400, 422])
@pytest.mark.parametrize("query", ["limit=0", "limit=101", "limit=abc", "limit=", "page=0", "page=-1", "limit=1.5"])
async def test_paging_is_never_clamped(status: int, query: str) -> None:
    """`limit` and `page` out of range are a 400, or a 422 with that setting."""
    box = Sandbox(behaviour=Behaviour(malformed_query=status))  # type: ignore[arg-type]
    answer = await Caller(box)("GET", f"/v1/workspaces?{query}")
    assert status == answer.status
    assert query.split("=")[0] == answer.message.split(":")[0]


async def test_the_credit_type_is_required_and_known(call: Caller) -> None:
    """A missing or unknown credit type is a 400."""
    for query in ("", "?limit=5", "?type=writing", "?type="):
        answer = await call("GET", f"/v1/credit-usages{query}")
        assert (answer.status, answer.code) == (400, "bad_request")
    unprocessable = Caller(Sandbox(behaviour=Behaviour(malformed_query=422)))
    assert (await unprocessable("GET", "/v1/credit-usages?type=writing")).status == 422
    assert (await unprocessable("GET", "/v1/credit-usages")).status == 400


@pytest.mark.parametrize("path", ["/v1/keywords/%FF", "/v1/keywords/a%00b", "/v1/contents/%0A", "/v1/me?q=%FF"])
async def test_what_cannot_be_decoded_is_a_bad_request(call: Caller, path: str) -> None:
    """A path parameter or a query that is not UTF-8 or contains control characters is a 400."""
    answer = await call("GET", path.replace("/v1/me", "/v1/workspaces"))
    assert (answer.status, answer.code) == (400, "bad_request")


@pytest.mark.parametrize("path", ["/", "/v1", "/v2/me", "/v1/keywords/", "/v1/keywords/a/b", "/v1/keywords/none", ""])
async def test_unknown_paths_and_resources_are_not_found(call: Caller, path: str) -> None:
    """Unknown paths and resources are a 404."""
    answer = await call("GET", path)
    assert (answer.status, answer.code) == (404, "not_found")


async def test_another_method_of_a_known_path_is_not_found(box: Sandbox, call: Caller) -> None:
    """Another method is a 404, because section 7 has no 405; it counts, and its message lists the methods."""
    for number, method in enumerate(("PUT", "HEAD", "OPTIONS"), start=1):
        answer = await call(method, f"/v1/contents/{box.content_ids[0]}")
        assert (answer.status, answer.code) == (404, "not_found")
        assert answer.message.endswith("DELETE, GET, PATCH")
        assert str(1000 - number) == answer.headers["X-RateLimit-Remaining"]


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "", None])
async def test_a_body_that_is_not_sent_as_json_is_a_bad_request(
    box: Sandbox, call: Caller, content_type: str | None
) -> None:
    """Section 1, convention 1: the content type of a body is `application/json`; parameters make no difference."""
    path = f"/v1/workspaces/{box.workspace_id}/folders"
    refused = await call("POST", path, {"name": "New"}, content_type=content_type)
    assert (refused.status, refused.code) == (400, "bad_request")
    assert (await call("POST", path, {"name": "New"}, content_type="Application/JSON; charset=utf-8")).status == 201
    assert (await call("POST", f"/v1/keywords/{box.keyword_ids[0]}/analyze", content_type=None)).status == 202


@given(st.text(st.characters(codec=None, categories=None), min_size=1, max_size=60), st.integers())
@settings(max_examples=examples(10), suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_no_text_breaks_the_service(text: str, number: int) -> None:
    """NUL, control characters and lone surrogates come back unchanged."""
    box = Sandbox(limits=Limits.unlimited(), keywords=1, contents=1)
    call, path = Caller(box), f"/v1/workspaces/{box.workspace_id}"
    body = {"title": text, "html": text, "metaDescription": text}
    created = (await call("POST", f"{path}/contents", body)).json
    assert [text, text, text] == [created["title"], created["html"], created["metaDescription"]]
    assert text == (await call("POST", f"{path}/content-idea-searches", {"keyword": text})).json["keyword"]
    report = await call("POST", f"/v1/prompts/{box.prompt_ids[0]}/report", {"title": text, "html": text})
    assert report.json == {"chatgpt": None}
    assert (await call("POST", f"{path}/contents", {"title": number})).status == 422
    assert (await call("POST", f"{path}/content-idea-searches", {"keyword": text, text + "x": 1})).status == 422
