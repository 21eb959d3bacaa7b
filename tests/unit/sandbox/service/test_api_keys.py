"""Keys, roles and foreign workspaces (specification, section 5)."""

from __future__ import annotations

import re

import pytest

from cmsapi.message import Request, Response
from cmsapi.sandbox import Behaviour, Sandbox
from tests.support.calling import Caller


async def send(box: Sandbox, headers: dict[str, str], path: str = "/v1/me", method: str = "GET") -> Response:
    """Send a request with exactly these headers."""
    return await box.transport.send(Request(method, box.base_url + path, headers))


async def test_a_valid_key_shows_its_owner(box: Sandbox, call: Caller) -> None:
    """`/v1/me` verifies a key."""
    assert box.user_ids[0] == (await call.get("/v1/me"))["id"]
    assert box.user_ids[1] == (await Caller(box, box.member_key).get("/v1/me"))["id"]


@pytest.mark.parametrize(
    "value", [None, "", "Bearer", "Bearer ", "Bearer xx_1", "Bearer sk_unknown", "Basic sk_1", "sk_1", "bearer sk_1"]
)
async def test_a_bad_key_is_unauthorized_and_not_counted(box: Sandbox, call: Caller, value: str | None) -> None:
    """A missing, malformed or unknown key is a 401 that does not count; like each answer it has the rate headers."""
    answer = await send(box, {} if value is None else {"Authorization": value})
    assert answer.status == 401
    assert b'"unauthorized"' in answer.body
    told = [answer.headers[f"x-ratelimit-{name}"] for name in ("limit", "remaining", "reset")]
    assert told == ["1000", "1000", "0"]
    assert (await call("GET", "/v1/me")).headers["X-RateLimit-Remaining"] == "999"


async def test_a_valid_key_without_bearer_is_refused(box: Sandbox) -> None:
    """The header's value starts exactly with `Bearer sk_`."""
    for value in (box.api_key, f"bearer {box.api_key}", f"Bearer  {box.api_key}"):
        assert (await send(box, {"Authorization": value})).status == 401


async def test_keys_are_revoked_and_restored(box: Sandbox, call: Caller) -> None:
    """A revoked key is a 401 until it is restored."""
    assert (await Caller(box, box.revoked_key)("GET", "/v1/me")).status == 401
    box.revoke(box.api_key)
    assert (await call("GET", "/v1/me")).status == 401
    box.restore(box.api_key)
    assert (await call("GET", "/v1/me")).status == 200
    assert box.statistics.unauthorized == 2


async def test_what_is_for_administrators_is_a_setting() -> None:
    """The operations for administrators can be set."""
    box = Sandbox(behaviour=Behaviour(admin_only=frozenset({"get_me"})))
    member = Caller(box, box.member_key)
    assert (await member("GET", "/v1/me")).status == 403
    assert (await member("GET", "/v1/users")).status == 200


async def test_some_paths_need_no_key_and_count_nowhere(box: Sandbox, call: Caller) -> None:
    """`/health`, `/openapi.json` and `/docs` are open and never limited (section 8, rule 3)."""
    for _ in range(30):
        for path in ("/health", "/openapi.json", "/docs"):
            answer = await send(box, {}, path)
            assert answer.status == 200
            assert "x-ratelimit-limit" not in answer.headers
    assert (await send(box, {}, "/health", "POST")).status == 404
    page = (await send(box, {}, "/docs")).body
    assert b"/v1/keywords/{keywordId}/analyze" in page
    assert all(source.startswith(b"/_sandbox/") for source in re.findall(rb'(?:src|stylesheet" href)="([^"]*)', page))
    assert (await call("GET", "/v1/me")).headers["X-RateLimit-Remaining"] == "999"
