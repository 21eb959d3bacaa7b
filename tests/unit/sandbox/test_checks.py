"""How the service answers malformed and invalid requests."""

from __future__ import annotations

from typing import Any

import pytest

from cmsapi.messages import Request, Response
from cmsapi.sandbox import Choices, Sandbox
from tests.support.spec import spec
from tests.support.wire import Wire
from tests.unit.sandbox.conftest import CheckedWire

pytestmark = pytest.mark.looptime

QUERIES = ["", "type=other", *(f"type=analysis&{rest}" for rest in ["limit=0", "limit=101", "limit=abc", "page=0"])]
INVALID = [
    ("contents", {"title": ""}, "title"),
    ("contents", {"title": "x" * 256}, "title"),
    ("contents", {"title": None}, "title"),
    ("contents", {}, "title"),
    ("contents", {"title": "x", "dueDate": "tomorrow"}, "dueDate"),
    *(("contents", {"title": "x", name: "none"}, name) for name in ("folderId", "pageId", "assignedToId")),
    ("contents", {"title": "x", "contentStatusId": "none"}, "contentStatusId"),
    ("content-idea-searches", {"keyword": ""}, "keyword"),
    ("content-idea-searches", {"keyword": "x", "country": "GB"}, "country"),
    ("content-idea-searches", [], "body"),
]
BOOLEANS = "factChecking knowledgeBase knowledgeFiles knowledgeWebSearch knowledgeWebsite"
SETTINGS = ["brandVoiceId", "customInstructions", *(f"{name}Enabled" for name in BOOLEANS.split())]
NOT_JSON = [b"{", b"\xff", b"[" * 100_000, b'{"title": NaN}', b"9" * 5000, b"", b'{"title": "x"} {}']
OTHER_TYPES = [None, "text/plain", "application/octet-stream", "application/x-www-form-urlencoded"]


async def post(wire: CheckedWire, path: str, body: bytes | None, media_type: str | None) -> Response:
    """Return the response to a body of a media type."""
    headers = wire.headers if media_type is None else {**wire.headers, "Content-Type": media_type}
    return await wire.sandbox.transport.send(Request("POST", wire.sandbox.base_url + path, headers, body))


@spec("1.4", "4.7:limit", "4.7:page", "4.7:type", "7:400", "8:page-size")
@pytest.mark.parametrize("query", QUERIES)
async def test_malformed_queries_are_bad_requests(wire: CheckedWire, query: str) -> None:
    """A missing parameter, an unknown word and a number out of range give a 400 that names the parameter."""
    status, code, message = await wire.refusal("GET", f"/v1/credit-usages?{query}")
    assert (status, code) == (400, "bad_request")
    assert message.split("'")[1] in ("type", "limit", "page")
    other = Wire(Sandbox(choices=Choices(malformed_query=422)))  # of a missing one it stays 400
    assert (await other.send("GET", f"/v1/credit-usages?{query}")).status == (422 if query else 400)


@spec("7:422", "4.3.4", "4.3:title", "8:title", "4.6:keyword", "4.6:strict")
@pytest.mark.parametrize(("path", "body", "field"), INVALID)
async def test_invalid_bodies_name_the_field(wire: CheckedWire, path: str, body: Any, field: str) -> None:
    """A body that fails its schema or names a missing record gives a 422 whose message quotes the field first."""
    status, code, message = await wire.refusal("POST", f"{wire.workspace}/{path}", body)
    assert (status, code, message.split("'")[1]) == (422, "validation_error", field)


@spec("4.4:brandVoiceId", "4.4:customInstructions", "4.4:factCheckingEnabled", "4.4:knowledgeBaseEnabled")
@spec("4.4:knowledgeFilesEnabled", "4.4:knowledgeWebSearchEnabled", "4.4:knowledgeWebsiteEnabled")
@pytest.mark.parametrize("name", SETTINGS)
async def test_settings_of_a_generation_are_checked(wire: CheckedWire, name: str) -> None:
    """An invalid setting is named with its path, and settings are required."""
    path = f"/v1/contents/{wire.sandbox.content_ids[0]}/atomic"
    bodies: dict[str, Any] = {f"settings.{name}": {"settings": {name: []}}, "settings": {}}
    for field, body in bodies.items():
        status, _, message = await wire.refusal("POST", path, body)
        assert (status, message.split("'")[1]) == (422, field)


@spec("7:400", "1.1")
@pytest.mark.parametrize("body", NOT_JSON, ids=range(len(NOT_JSON)))
async def test_bodies_that_are_not_json_are_bad_requests(wire: CheckedWire, body: bytes) -> None:
    """Text that no JSON parser should accept gives a 400."""
    answer = await post(wire, f"{wire.workspace}/contents", body, "application/json")
    assert (answer.status, answer.json()["error"]["code"]) == (400, "bad_request")


@pytest.mark.parametrize("media_type", OTHER_TYPES)
async def test_bodies_of_another_media_type_are_refused(wire: CheckedWire, media_type: str | None) -> None:
    """JSON must be declared as JSON; parameters and a +json suffix are accepted, too."""
    path, body = f"{wire.workspace}/folders", b'{"name": "x"}'
    answer = await post(wire, path, body, media_type)
    assert (answer.status, answer.json()["error"]["code"]) == (415, "unsupported_media_type")
    for accepted in ("application/json; charset=utf-8", "application/merge-patch+json"):
        assert (await post(wire, path, body, accepted)).status == 201


@pytest.mark.parametrize("text", ["\x00", "\ud800", "'\"<>"], ids=["NUL", "surrogate", "quotes"])
async def test_odd_characters_come_back(wire: CheckedWire, text: str) -> None:
    """NUL, lone surrogates and quotes are stored and returned."""
    assert (await wire.post(f"{wire.workspace}/contents", {"title": text}))["title"] == text
    assert await wire.status("GET", "/v1/contents/%00%ED%A0%80") == 404
    assert await wire.status("GET", "/v1/credit-usages?type=analysis&q=%00%ED%A0%80") == 200
