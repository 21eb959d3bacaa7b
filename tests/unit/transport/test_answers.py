"""What each answer becomes: documents and errors (specification 7), decoded through aiohttp's own response."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest

import cmsapi
from cmsapi import errors
from cmsapi.cli.terminal.advice import for_shell
from cmsapi.mcp.wording import reworded
from cmsapi.testing import mocked_aiohttp
from tests.support.connecting import Connect
from tests.support.script import KEY, ME, Script, answer, refusal

BASE = "https://api.example.com"
ONCE = cmsapi.RetryPolicy(max_attempts=1)

TABLE = [
    (400, "bad_request", errors.BadRequestError),
    (401, "unauthorized", errors.UnauthorizedError),
    (403, "forbidden", errors.ForbiddenError),
    (404, "not_found", errors.NotFoundError),
    (409, "conflict", errors.ConflictError),
    (422, "validation_error", errors.ValidationError),
    (429, "rate_limited", errors.RateLimitedError),
    (500, "internal_error", errors.InternalServerError),
    (502, "bad_gateway", errors.BadGatewayError),
    (503, "service_unavailable", errors.ServiceUnavailableError),
]
BROKEN = {
    "html": b"<html><h1>Bad Gateway</h1></html>",
    "truncated": b'{"error": {"code": "confl',
    "a list": b"[]",
    "no error": b'{"data": 1}',
    "error is text": b'{"error": "no"}',
    "code is a number": b'{"error": {"code": 7, "message": "x"}}',
    "code is null": b'{"error": {"code": null, "message": "x"}}',
    "NaN": b'{"error": {"code": "conflict", "message": NaN}}',
    "not UTF-8": b'{"error": {"code": "\xff"}}',
    "a bomb": b"[" * 100_000,
    "empty": b"",
}


async def me(connect: Connect, status: int = 200, body: Any = b"", headers: dict[str, str] | None = None) -> Any:
    """Ask once for the user and be answered so."""
    encoded = body if isinstance(body, bytes) else json.dumps(body).encode()
    with mocked_aiohttp() as answers:
        answers.get(f"{BASE}/v1/me", status=status, body=encoded, headers=headers)
        return await connect(retry=ONCE).me()


def document(code: Any, message: Any = "said the service") -> dict[str, Any]:
    """Give an error document."""
    return {"error": {"code": code, "message": message}}


@pytest.mark.parametrize(("status", "code", "cls"), TABLE)
async def test_each_row_of_the_specification(
    connect: Connect, status: int, code: str, cls: type[errors.APIError]
) -> None:
    """Status and code of each row give its class, with what the service said."""
    with pytest.raises(cls) as caught:
        await me(connect, status, document(code), {"Retry-After": "7"})
    error = caught.value
    assert type(error) is cls
    assert (error.status, error.code, error.message) == (status, code, "said the service")
    assert (error.operation, error.attempts, error.retry_after, error.in_doubt) == ("get_me", 1, 7.0, False)


@pytest.mark.parametrize(("status", "code", "cls"), TABLE)
async def test_the_code_comes_before_the_status(
    connect: Connect, status: int, code: str, cls: type[errors.APIError]
) -> None:
    """A known code decides whatever the status is; it is the stable one of the two."""
    for other in (status, 418, 400, 504):
        with pytest.raises(errors.APIError) as caught:
            await me(connect, other, document(code))
        assert (type(caught.value), caught.value.status) == (cls, other)


@pytest.mark.parametrize(("status", "code", "cls"), TABLE)
async def test_the_status_comes_next(connect: Connect, status: int, code: str, cls: type[errors.APIError]) -> None:
    """With an unknown code the status decides, and the code is kept."""
    with pytest.raises(cls) as caught:
        await me(connect, status, document("brand_new"))
    assert (type(caught.value), caught.value.code) == (cls, "brand_new")


async def test_an_error_has_the_answer_that_it_stands_for(connect: Connect) -> None:
    """Status, headers and body of the answer are at the error, and survive pickle and copy."""
    with pytest.raises(errors.NotFoundError) as caught:
        await me(connect, 404, document("not_found"), {"X-Region": "eu", "X-Request-Id": "req_7"})
    error = caught.value
    for each in (error, pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error), error.fresh()):  # noqa: S301
        assert isinstance(each, errors.NotFoundError)
        assert each.response is not None
        assert (each.response.status, each.response.headers["x-region"]) == (404, "eu")
        assert json.loads(each.response.body) == document("not_found")
        assert (each.request_id, str(each).splitlines()[-1]) == ("req_7", "Request id: req_7")


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        ({"X-Request-Id": "a", "X-Amzn-RequestId": "b"}, "a"),
        ({"Request-Id": "req_stripe"}, "req_stripe"),
        ({"X-Correlation-Id": "c"}, "c"),
        ({"x-ms-request-id": "d", "X-Request-Id": ""}, "d"),
        ({"CF-Ray": "e"}, "e"),
        ({"X-Request-Id": "x" * 5000}, "x" * 200),
        ({"X-Request-Id": "esc\x1b[2J"}, None),
        ({}, None),
    ],
)
async def test_the_request_id_is_found_where_services_put_it(
    connect: Connect, headers: dict[str, str], found: str | None
) -> None:
    """The header that names the request best counts; a long name is cut, and one that cannot be printed is none."""
    with pytest.raises(errors.InternalServerError) as caught:
        await connect(Script(refusal(500, headers=headers)), retry=ONCE).me()
    assert caught.value.request_id == found
    assert ("Request id:" in str(caught.value)) == (found is not None)


@pytest.mark.parametrize("body", [b"not JSON", b'{"status": "ok"}'])
async def test_an_answer_that_cannot_be_read_has_its_request_id(connect: Connect, body: bytes) -> None:
    """The support of the service can find the answer, whether it is no JSON or another document."""
    answer = cmsapi.Response(200, {"X-Request-Id": f"for-{KEY}"}, body)
    with pytest.raises(errors.DecodeError) as caught:
        await connect(Script(answer), retry=ONCE).me()
    assert str(caught.value).splitlines()[-1] == "Request id: for-sk_***"
    assert caught.value.request_id == "for-sk_***"


async def test_an_answer_that_repeats_the_key_is_shown_without_it(connect: Connect) -> None:
    """A debugging server's echo of the request is kept, the key in it is not; of a long body the beginning is kept."""
    headers = {"X-Echo": f"Bearer {KEY}", "X-Request-Id": f"for-{KEY}", "X-Odd": "\udcff"}
    echo = cmsapi.Response(500, headers, f"Authorization: Bearer {KEY}".encode() + b" " * 100_000)
    with pytest.raises(errors.InternalServerError) as caught:
        await connect(Script(echo), retry=ONCE).me()
    response = caught.value.response
    assert response is not None
    assert KEY.encode() not in pickle.dumps(caught.value)
    assert (response.headers["x-echo"], response.headers["x-odd"]) == ("Bearer sk_***", "\udcff")
    assert caught.value.request_id is not None
    assert KEY not in caught.value.request_id
    assert (response.body[:30].strip(), len(response.body)) == (b"Authorization: Bearer sk_***", 64 * 1024)


async def test_the_log_of_a_request_has_its_id(connect: Connect, caplog: pytest.LogCaptureFixture) -> None:
    """Successes and failures alike show in the log what the service calls the request."""
    caplog.set_level("DEBUG", "cmsapi")
    script = Script(refusal(503, headers={"X-Request-Id": "req_1"}), answer(headers={"X-Request-Id": "req_2"}))
    await connect(script, limits=cmsapi.RateLimits.unlimited()).me()
    said = [record.getMessage() for record in caplog.records if "request.finished" in record.getMessage()]
    assert [" request_id=req_1 " in said[0], " request_id=req_2 " in said[1]] == [True, True]


@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("status", [400, 404, 429, 500, 502, 504])
async def test_an_error_without_the_document_is_told_by_its_status(connect: Connect, status: int, body: bytes) -> None:
    """An error page of whatever body is still the error that its status says, without a code."""
    with pytest.raises(errors.APIError) as caught:
        await me(connect, status, body)
    by_status = {row: cls for row, _, cls in TABLE}
    assert (type(caught.value), caught.value.code) == (by_status.get(status, errors.ServerError), None)
    assert f"{len(body)} bytes" in caught.value.message


async def test_an_error_without_words(connect: Connect) -> None:
    """A code without a message, or with one that is no text, is a code."""
    for error in ({"code": "conflict"}, {"code": "conflict", "message": ["x"]}):
        with pytest.raises(errors.ConflictError) as caught:
            await me(connect, 409, {"error": error})
        assert caught.value.message == ""


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (b"<html></html>", "$"),
        (b'{"id": "usr_1", "firs', "$"),
        (b'{"id": NaN}', "$"),
        (b'{"id": 1e999}', "$"),
        (b"[]", "$"),
        (b"null", "$"),
        (b"", "$"),
        (b'"text"', "$"),
        (b"{}", "$"),
        (b'{"status": "ok"}', "$"),
        (b'{"id": "usr_1", "firstName": 7}', "$.firstName"),
    ],
)
async def test_a_success_that_is_none(connect: Connect, body: bytes, path: str) -> None:
    """A 2xx with anything but the promised document is a decode error that names the place."""
    with pytest.raises(errors.DecodeError) as caught:
        await me(connect, 200, body)
    assert (caught.value.path, caught.value.operation, caught.value.attempts) == (path, "get_me", 1)
    assert isinstance(caught.value, ValueError)


async def test_a_success_is_a_success(connect: Connect) -> None:
    """A 2xx with the promised document is read, and an undocumented code is counted as drift."""
    with mocked_aiohttp() as answers:
        for status in (200, 203):
            answers.get(f"{BASE}/v1/me", status=status, payload=ME)
        client = connect()
        assert [(await client.me()).id, (await client.me()).id] == ["usr_1", "usr_1"]
    assert any("get_me 203" in str(deviation) for deviation in client.statistics.drift)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        ("1.5", 1.5),
        ("3600", 3600.0),
        ("1000000", 1_000_000.0),
        ("inf", 3_153_600_000.0),
        ("-1", None),
        ("nan", None),
        ("soon", None),
        ("", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
    ],
)
async def test_retry_after_is_read(connect: Connect, value: str, seconds: float | None) -> None:
    """Seconds are seconds, absurd ones are a century, a date that is over is now, and anything else is not there."""
    limits = cmsapi.RateLimits(max_wait=0.0)
    with mocked_aiohttp() as answers:
        answers.get(f"{BASE}/v1/me", status=503, headers={"Retry-After": value})
        with pytest.raises(errors.ServiceUnavailableError) as caught:
            await connect(retry=ONCE, limits=limits).me()
    assert seconds == caught.value.retry_after


@pytest.mark.parametrize("status", [200, 302, 400, 401, 500, 503])
@pytest.mark.parametrize(
    "page",
    [
        f"<html><pre>GET /v1/me\nAuthorization: Bearer {KEY}\n</pre></html>",
        f"{KEY} is no valid key",
        json.dumps(document("unauthorized", f"the key {KEY} is revoked")),
        json.dumps(document(f"bad {KEY}", f"the key {KEY} is revoked")),
        f'"{"x" * 60}{KEY}"',
        f'{{"key": "{KEY[:-2]}',
        f'{{"key": "{KEY[4:]}',
    ],
)
async def test_no_error_shows_the_key(connect: Connect, status: int, page: str) -> None:
    """An answer that repeats the request, key included, brings neither the key nor a part of it into an error."""
    with pytest.raises(errors.CMSError) as caught:
        await me(connect, status, page.encode())
    error = caught.value
    shown = [str(error), repr(error), repr(error.__dict__), repr(error.__cause__), repr(error.__context__)]
    for text in (*shown, pickle.dumps(error).decode("latin-1")):
        assert KEY not in text
        assert KEY[:12] not in text
        assert KEY[-12:-2] not in text


async def test_an_assumed_route_says_so_when_it_is_missing(connect: Connect) -> None:
    """A 404 on an assumed route tells how to replace it; other errors do not blame the route."""
    shown = {}
    for status in (404, 405, 501, 403):
        with mocked_aiohttp() as answers:
            answers.get(f"{BASE}/v1/contents/c_1", status=status)
            with pytest.raises(errors.APIError) as caught:
                await connect(retry=ONCE).contents.get("c_1")
        shown[status] = "OPERATIONS.override(get_content=" in str(caught.value)
    assert shown == {404: True, 405: True, 501: True, 403: False}


async def test_a_deletion_needs_no_body(connect: Connect) -> None:
    """Whatever the body of a deletion is, the thing is gone."""
    for body in (b"", b"null", b"{}", b"<html>"):
        with mocked_aiohttp() as answers:
            answers.delete(f"{BASE}/v1/contents/c_1", body=body)
            await connect().contents.delete("c_1")


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-RateLimit-Limit": "1000"},
        {"X-RateLimit-Limit": "many", "X-RateLimit-Remaining": "1", "X-RateLimit-Reset": "1"},
        {"X-RateLimit-Limit": "0", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"},
        {"X-RateLimit-Limit": "10", "X-RateLimit-Remaining": "11", "X-RateLimit-Reset": "1"},
        {"X-RateLimit-Limit": "10", "X-RateLimit-Remaining": "-1", "X-RateLimit-Reset": "1"},
        {"X-RateLimit-Limit": "10", "X-RateLimit-Remaining": "1", "X-RateLimit-Reset": "1790000000"},
        {"X-RateLimit-Limit": "10", "X-RateLimit-Remaining": "1", "X-RateLimit-Reset": "nan"},
    ],
    ids=repr,
)
async def test_limit_headers_that_make_no_sense_are_ignored(connect: Connect, headers: dict[str, str]) -> None:
    """The setting holds when the headers are missing, contradict each other or show an epoch."""
    with mocked_aiohttp() as answers:
        answers.get(f"{BASE}/v1/me", payload=ME, headers=headers)
        client = connect()
        await client.me()
    assert (client.rate_limit.limit, client.rate_limit.remaining, client.rate_limit.foreign) == (1000, 999, 0)


async def test_limit_headers_that_make_sense_are_obeyed(connect: Connect) -> None:
    """Limit and remaining of an answer are what is left for us."""
    headers = {"x-ratelimit-limit": "500", "X-RATELIMIT-REMAINING": "100", "X-RateLimit-Reset": "60"}
    with mocked_aiohttp() as answers:
        answers.get(f"{BASE}/v1/me", payload=ME, headers=headers)
        client = connect()
        await client.me()
    assert (client.rate_limit.limit, client.rate_limit.remaining, client.rate_limit.foreign) == (500, 100, 399)


async def test_lists_without_pages_name_their_operation(connect: Connect) -> None:
    """A flat list is read whole (specification 1, convention 5), and an error in it names operation and place."""
    with mocked_aiohttp() as answers:
        answers.get(f"{BASE}/v1/workspaces/w_1/folders", payload={"data": [{"id": "f_1"}, {"id": "f_2"}]})
        answers.get(f"{BASE}/v1/workspaces/w_1/folders", payload={"data": [{"id": "f_1"}, {"id": 2.5}]})
        client = connect()
        assert [folder.id for folder in await client.folders.list("w_1")] == ["f_1", "f_2"]
        with pytest.raises(errors.DecodeError) as caught:
            await client.folders.list("w_1")
    assert (caught.value.path, caught.value.operation) == ("$.data[1].id", "list_folders")


async def test_every_error_of_an_assumed_route_says_so(connect: Connect) -> None:
    """Whether the route is wrong or the shape, the error says that it is an assumption, and how to replace it."""
    service = Script(refusal(400, "bad_request"), answer(200, {"data": 7}))
    client = connect(service)
    with pytest.raises(errors.BadRequestError, match=r"OPERATIONS\.override\(crawl_page="):
        await client.pages.crawl("pag_1")
    with pytest.raises(errors.DecodeError) as caught:
        await client.pages.list("wsp_1")
    assert "OPERATIONS.override(list_pages=" in caught.value.__notes__[0]


async def test_a_message_without_end_is_cut(connect: Connect) -> None:
    """A message and a code of a megabyte become an error that can be read; its `response` has more of them."""
    body = document("x" * 1_000_000, "client.jobs.attach(" * 50_000)
    with pytest.raises(errors.NotFoundError) as caught:
        await connect(Script(answer(404, body))).me()
    assert len(str(caught.value)) < 3_000
    assert "… (950,000 characters)" in caught.value.message
    assert caught.value.response is not None
    assert len(caught.value.response.body) == 64 * 1024
    # Both look for parentheses that never end.
    assert max(len(told(str(caught.value))) for told in (for_shell, reworded)) < 4_000


async def test_a_bomb_is_searched_for_the_key_in_one_go(connect: Connect) -> None:
    """Two million digits that are no answer become an error at once, not after the square of their number."""
    service = Script(cmsapi.Response(200, {}, b"9" * 2_000_000), cmsapi.Response(500, {}, b"9" * 2_000_000))
    client = connect(service, retry=cmsapi.RetryPolicy(max_attempts=1))
    with pytest.raises(errors.DecodeError):
        await client.me()
    with pytest.raises(errors.InternalServerError):
        await client.me()
