"""What an answer says, rule by rule, at the edges of each rule."""

from __future__ import annotations

import pytest

from cmsapi import errors
from cmsapi.api.operations import OPERATIONS
from cmsapi.config import Account
from cmsapi.errors import DecodeError
from cmsapi.message import Headers, Request, Response
from cmsapi.observability.redaction import masked
from cmsapi.ratelimit.permits import Quota
from cmsapi.transport.answers import (
    error_from,
    read_date,
    read_document,
    read_quota,
    read_retry_after,
    without_key,
)
from cmsapi.transport.requests import RequestBuilder
from tests.support.script import KEY

ME = OPERATIONS["get_me"]
LIMIT, REMAINING, RESET = "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"


def builder() -> RequestBuilder:
    """Make a builder of the account that tests use."""
    return RequestBuilder(Account(api_key=KEY, base_url="https://api.example.com"), "1.2.3")


REQUEST = builder().build("GET", "/v1/me")


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("{key}", "sk_***"),
        ("a {key} b {key} c", "a sk_*** b sk_*** c"),
        ("long before {key}", "long before sk_***"),
        ("word-{end}, after", "sk_***, after"),
        ("(word-{end})", "(sk_***)"),
        ("{start}.", "sk_***."),
        ("x{start}", "xsk_***"),
        ("a{key}b", "ask_***"),
        ("{key}{key}", "sk_***"),
        ("{end}, {key}; {end}", "sk_***, sk_***; sk_***"),
        ("{end}{key}", "sk_***sk_***"),
        ("[{start}rest-of_it] {end}!", "[sk_***] sk_***!"),
        ("nothing", "nothing"),
        ("", ""),
    ],
)
def test_a_key_is_masked_and_nothing_else(said: str, shown: str) -> None:
    """What stands around a key stays as it is; of a word that ends or begins with a part of the key nothing is left."""
    text = said.format(key=KEY, start=KEY[:10], end=KEY[-10:])
    assert masked(text.encode(), KEY.encode()).decode() == shown


def test_the_end_of_a_long_key_is_enough() -> None:
    """Ten letters tell which key it is, however long that is."""
    key = "sk_" + "abcdefghij" * 3 + "0123456789"
    assert masked(f"... {key[-10:]}".encode(), key.encode()) == b"... sk_***"
    assert masked(f"{key[:10]} ...".encode(), key.encode()) == b"sk_*** ..."


def test_no_key_masks_nothing() -> None:
    """Without a key there is nothing to hide."""
    assert masked(b"a text", b"") == b"a text"
    bare = Request("GET", "https://api.example.com", Headers({}))
    assert without_key(b"None, a text", bare) == b"None, a text"


def test_a_text_that_holds_the_key_of_its_request_is_masked() -> None:
    """The key is that of the request, however its header is spaced; a text without it stays as it is."""
    assert without_key(f"<{KEY}>".encode(), REQUEST) == b"<sk_***>"
    assert without_key(b"{}", REQUEST) == b"{}"
    spaced = Request("GET", "https://api.example.com", Headers({"Authorization": f"Bearer  {KEY}"}))
    assert without_key(KEY[:12].encode(), spaced) == b"sk_***"


def test_what_is_no_json_is_told_with_its_operation() -> None:
    """The error names the operation and shows the beginning; where the key is in it, only what is not the key."""
    with pytest.raises(DecodeError) as caught:
        read_document(Response(200, {}, b"<html>"), ME, REQUEST)
    assert (caught.value.operation, caught.value.excerpt) == ("get_me", "b'<html>'")
    with pytest.raises(DecodeError) as caught:
        read_document(Response(200, {}, f"<{KEY}>{'x' * 300}".encode()), ME, REQUEST)
    assert caught.value.args == ("Expected JSON",)
    assert caught.value.operation == "get_me"
    assert caught.value.excerpt.startswith("b'<sk_***>xxx")
    assert len(caught.value.excerpt) <= 80
    assert read_document(Response(200, {}, b""), ME, REQUEST) is None


@pytest.mark.parametrize(
    ("limit", "remaining", "reset", "sensible"),
    [
        ("1", "0", "0", True),
        ("1", "1", "0.5", True),
        ("2", "1", "86400", True),
        ("0", "0", "0", False),
        ("1", "2", "0", False),
        ("1", "-1", "0", False),
        ("1", "1", "-0.1", False),
        ("1", "1", "86400.1", False),
        ("1", "1", "nan", False),
        ("1.5", "1", "1", False),
    ],
)
def test_limits_that_make_sense(limit: str, remaining: str, reset: str, sensible: bool) -> None:
    """A limit is at least one, what remains is none of it to all of it, and it comes back within a day."""
    expected = Quota(int(float(limit)), int(remaining), float(reset)) if sensible else None
    assert read_quota({LIMIT: limit, REMAINING: remaining, RESET: reset}) == expected


def test_headers_are_read_by_their_names_in_small_letters() -> None:
    """Headers of answers have names in small letters; each of the three limits has to be there."""
    whole = {LIMIT: "3", REMAINING: "2", RESET: "1"}
    assert read_quota(whole) == Quota(3, 2, 1.0)
    for name in whole:
        assert read_quota({key: value for key, value in whole.items() if key != name}) is None
    assert read_retry_after({"retry-after": "7"}) == 7.0
    assert read_retry_after({"retry-after": "0"}) == 0.0
    assert read_retry_after({"retry-after": "86401"}) == 86_401.0
    assert read_date({"date": "Thu, 01 Jan 1970 00:01:00 GMT"}) == 60.0
    assert read_date({"date": "Thu, 01 Jan 1970 01:01:00 +0100"}) == 60.0
    assert read_date({"date": "Thu, 01 Jan 1970 00:01:00 -0000"}) == 60.0
    for absurd in (
        "yesterday",
        "Thu, 01 Jan 99999999999999999999 00:00:00 GMT",
        "Fri, 31 Dec 9999 23:59:59 GMT",
        "Thu, 01 Jan 2026 00:00:00 +99999999999999",
        "Wed, 31 Dec 1969 23:59:59 GMT",
        "Thu, 01 Jan 2026 00:00:00 " + "G" * 1000,
    ):
        assert read_date({"date": absurd}) is None
    assert read_date({}) is None
    assert (read_quota({}), read_retry_after({})) == (None, None)


@pytest.mark.parametrize(
    ("status", "cls", "redirect"),
    [
        (299, errors.APIError, False),
        (300, errors.APIError, True),
        (302, errors.APIError, True),
        (399, errors.APIError, True),
        (402, errors.APIError, False),
        (405, errors.APIError, False),
        (418, errors.APIError, False),
        (499, errors.APIError, False),
        (504, errors.ServerError, False),
        (500, errors.InternalServerError, False),
        (510, errors.ServerError, False),
        (599, errors.ServerError, False),
    ],
)
def test_statuses_at_the_edges(status: int, cls: type[errors.APIError], redirect: bool) -> None:
    """From 500 on it is the server's error, whatever the code; a redirect says that base_url is wrong."""
    hint = "The interface has no redirects, and following one could show the key to another host: check base_url."
    for body in (b"", b'{"error": {"code": "brand_new"}}', b'{"error": {"code": ""}}'):
        error = error_from(Response(status, {}, body), ME, REQUEST, attempts=2)
        assert type(error) is cls
        assert error.hint == (hint if redirect else None)
        assert (error.operation, error.attempts, error.in_doubt) == ("get_me", 2, False)


@pytest.mark.parametrize(
    ("headers", "kind"),
    [
        ({}, "no content type"),
        ({"content-type": "text/html"}, "text/html"),
        ({"content-type": "text/html; charset=utf-8"}, "text/html"),
        ({"content-type": "a b;c"}, "a b"),
    ],
)
def test_a_page_is_described_and_not_quoted(headers: dict[str, str], kind: str) -> None:
    """Of what is no error document, the error tells the length and the content type."""
    error = error_from(Response(502, headers, b"<html>"), ME, REQUEST, attempts=1)
    assert error.message == f"the body is not the service's error document (6 bytes, {kind})"


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ("title must have at least 1 character", "title"),
        ("body.title: String should have at least 1 character", "title"),
        ("'title' is too long", "title"),
        ("the html of title is bad", "html"),
        ("Title is too long", None),
        ("limit: too big", "limit"),
        ("the `contentScore` is none", "contentScore"),
        ("of", "of"),
        ("something is wrong", None),
    ],
)
def test_a_field_is_found_among_what_was_sent(message: str, field: str | None) -> None:
    """The first word of a message that names something sent, in the body or the query, is the field."""
    query = {"q": "", "limit": 200, "contentScore[gte]": 5, "of": ["a"]}
    sent = builder().build("POST", "/v1/things", query, {"title": "", "settings": {"html": ""}})
    said = f'{{"error": {{"code": "validation_error", "message": "{message}"}}}}'.encode()
    for request, found in ((sent, field), (REQUEST, None)):
        error = error_from(Response(422, {}, said), ME, request, attempts=1)
        assert isinstance(error, errors.ValidationError)
        assert error.field == found
