"""The service's keys, permissions, errors and headers."""

from __future__ import annotations

import re

import pytest

from cmsapi.sandbox import Choices, Fault, Sandbox
from tests.support.spec import spec
from tests.unit.sandbox.conftest import CheckedWire

pytestmark = pytest.mark.looptime

BAD_KEYS = ["", "{key}", "Bearer", "Bearer sk_unknown", "Bearer pk_1", "bearer {key}", "Basic {key}"]
CODES = """400 bad_request, 401 unauthorized, 403 forbidden, 404 not_found, 409 conflict, 422 validation_error,
429 rate_limited, 500 internal_error, 502 bad_gateway, 503 service_unavailable"""


@spec("7:401", "5.5", "5.1", "5.2", "5.8")
@pytest.mark.parametrize("value", BAD_KEYS)
async def test_refuses_bad_keys_without_counting_them(sandbox: Sandbox, wire: CheckedWire, value: str) -> None:
    """A missing, malformed or unknown key gives a 401 without rate headers, which counts in no window."""
    good, wire.headers = wire.headers, {"authorization": value.format(key=sandbox.api_key)} if value else {}
    answer = await wire.send("GET", "/v1/me")
    assert (answer.status, answer.json()["error"]["code"]) == (401, "unauthorized")
    assert "x-ratelimit-limit" not in answer.headers
    assert sandbox.api_key not in answer.body.decode()
    wire.headers = good
    assert (await wire.send("GET", "/v1/me")).headers["x-ratelimit-remaining"] == "999"


@spec("5.3", "5.6", "7:403")
async def test_forbids_members_what_only_administrators_may_do(sandbox: Sandbox, member: CheckedWire) -> None:
    """A member may neither list the users nor delete a page or a folder, and nothing is deleted."""
    page = f"/v1/pages/{sandbox.page_ids[0]}"
    for method, path in [("GET", "/v1/users"), ("DELETE", page), ("DELETE", f"/v1/folders/{sandbox.folder_ids[0]}")]:
        assert (await member.refusal(method, path))[:2] == (403, "forbidden")
    assert await member.status("GET", page) == 200


@spec("5.7", "7:404")
async def test_hides_the_workspace_of_others(sandbox: Sandbox, wire: CheckedWire, member: CheckedWire) -> None:
    """Resources in a workspace that the user does not belong to are not found, as if they did not exist."""
    path = f"/v1/workspaces/{sandbox.private_workspace_id}"
    (content,) = (await wire.get(f"{path}/contents"))["data"]
    for hidden in [path, f"{path}/contents", f"/v1/contents/{content['id']}", "/v1/contents/cnt_unknown"]:
        assert (await member.refusal("GET", hidden))[:2] == (404, "not_found")
    assert [each["id"] for each in (await member.get("/v1/workspaces"))["data"]] == [sandbox.workspace_id]


@spec("7:404", "9.1")
async def test_unknown_paths_and_methods_have_the_shape_of_errors(wire: CheckedWire) -> None:
    """An unknown path gives a 404 and a wrong method a 405 that names the right ones; both count."""
    for path in ["/v1/nothing", "/v2/me", "/me", "/v1/keywords//analyze"]:
        assert (await wire.refusal("GET", path))[:2] == (404, "not_found")
    answer = await wire.send("PUT", f"{wire.workspace}/folders")
    assert (answer.status, answer.json()["error"]["code"]) == (405, "method_not_allowed")
    assert (answer.headers["allow"], answer.headers["x-ratelimit-remaining"]) == ("GET, POST", "995")


@spec("7:500", "7:502", "7:503", "9.3")
@pytest.mark.parametrize("row", CODES.split(","))
async def test_every_status_has_its_code(row: str) -> None:
    """An error with each status has the code from the specification."""
    status, code = row.split()
    wire = CheckedWire(Sandbox(faults=Fault(status=int(status))))
    refusal = await wire.refusal("PATCH", f"/v1/contents/{wire.sandbox.content_ids[0]}", {"version": 1})
    assert refusal[:2] == (int(status), code)


@spec("8.2", "5.4")
async def test_answers_carry_their_headers(sandbox: Sandbox, wire: CheckedWire) -> None:
    """Successes and errors carry the state of the hour, an identifier and the date, and set no cookie."""
    answers = [await wire.send("GET", path) for path in ("/v1/me", "/v1/nothing")]
    names = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"]
    told = [[answer.headers[name] for name in names] for answer in answers]
    assert told == [["1000", "999", "3600"], ["1000", "998", "3600"]]
    assert len({answer.headers["x-request-id"] for answer in answers}) == 2
    assert re.fullmatch(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT", answers[0].headers["date"])
    assert "set-cookie" not in answers[0].headers


@spec("8.3", "9.2")
async def test_public_paths_need_no_key_and_count_nowhere(wire: CheckedWire) -> None:
    """Health, description and documentation are open, unlimited, and carry no rate headers."""
    wire.headers = {}
    for path in ["/health", "/openapi.json", "/docs"] * 10:
        answer = await wire.send("GET", path)
        assert (answer.status, "x-ratelimit-limit" in answer.headers) == (200, False)
    assert (await wire.get("/openapi.json"))["info"]["version"] == "1.0.0"


@pytest.mark.parametrize(("choices", "body"), [(Choices(), b"null"), (Choices(deletion=204), b"")])
async def test_deletions_answer_null_or_nothing(choices: Choices, body: bytes) -> None:
    """A deletion gives a 200 with null, or a 204 without a body if so chosen."""
    wire = CheckedWire(Sandbox(choices=choices))
    answer = await wire.send("DELETE", f"/v1/contents/{wire.sandbox.content_ids[0]}")
    assert (answer.status, answer.body) == (choices.deletion, body)
