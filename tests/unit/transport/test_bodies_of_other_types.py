"""What `client.request` gives when the service does not answer with JSON."""

from __future__ import annotations

import pytest

import cmsapi
from cmsapi.sandbox import Sandbox
from tests.support.script import KEY, Script

pytestmark = pytest.mark.looptime


def client_of(content_type: str | None, body: bytes, status: int = 200) -> cmsapi.Client:
    """Make a client of a service with one answer."""
    headers = {} if content_type is None else {"Content-Type": content_type}
    service = Script(cmsapi.Response(status, headers, body))
    return cmsapi.Client(KEY, base_url="https://texts.example.com", transport=service)


async def test_the_documentation_of_the_service_is_a_text() -> None:
    """`/docs` is HTML, and `request` gives it."""
    sandbox = Sandbox()
    async with cmsapi.Client(sandbox.api_key, base_url=sandbox.base_url, transport=sandbox.transport) as client:
        assert "<html" in await client.request("GET", "/docs")
        assert isinstance(await client.request("GET", "/openapi.json"), dict)


@pytest.mark.parametrize(
    ("content_type", "body", "expected"),
    [
        ("text/html; charset=utf-8", "<p>Hüte</p>".encode(), "<p>Hüte</p>"),
        ("text/plain; charset=iso-8859-1", "Hüte".encode("latin-1"), "Hüte"),
        ("text/plain; charset=nowhere", b"hats", "hats"),
        ("text/csv", b"id,title\n\xff", "id,title\n�"),
        ("text/plain", b'{"done": true}', {"done": True}),
        ("application/problem+json", b'{"done": true}', {"done": True}),
        (None, b'{"done": true}', {"done": True}),
        ("text/html", b"", None),
    ],
)
async def test_a_body_that_is_not_json_is_a_text(content_type: str | None, body: bytes, expected: object) -> None:
    """The text is decoded as the service says, and what is JSON is read all the same."""
    async with client_of(content_type, body) as client:
        assert await client.request("GET", "/v1/things") == expected


@pytest.mark.parametrize("content_type", ["application/json", "application/hal+json; charset=utf-8", None])
async def test_broken_json_is_an_error(content_type: str | None) -> None:
    """What calls itself JSON, or nothing, is no text."""
    async with client_of(content_type, b'{"done"') as client:
        with pytest.raises(cmsapi.DecodeError):
            await client.request("GET", "/v1/things")


async def test_operations_have_documents() -> None:
    """The sign-in page of a network in place of a document stays an error, and so does a refusal in HTML."""
    async with client_of("text/html", b"<p>Sign in") as client:
        with pytest.raises(cmsapi.DecodeError):
            await client.me()
    async with client_of("text/html", b"<p>No", 403) as client:
        with pytest.raises(cmsapi.ForbiddenError):
            await client.request("GET", "/docs")
