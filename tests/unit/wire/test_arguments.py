"""What cannot be sent is refused, and the rest is written as the service reads it."""

from __future__ import annotations

import pytest

from cmsapi import OPERATIONS, ArgumentError, ConfigError, Keyword
from cmsapi.messages import Response
from tests.unit.transport.scripted import Scripted

pytestmark = pytest.mark.looptime


@pytest.mark.parametrize("value", ["", " ", ".", "..", "a\nb", None, 3, Keyword(id="k")])
async def test_a_wrong_identifier_is_not_sent(value: object) -> None:
    """Anything that would change the path or is no identifier is refused by parameter name."""
    service = Scripted(Response(200))
    async with service.client() as client:
        with pytest.raises(ArgumentError) as caught:
            await client.keywords.get(value)  # type: ignore[arg-type]  # on purpose
    assert caught.value.parameter == "keyword_id"
    assert service.requests == []


@pytest.mark.parametrize(("value", "sent"), [("a/b", "a%2Fb"), ("a?b#c", "a%3Fb%23c"), ("\u00e9", "%C3%A9")])
async def test_identifiers_are_percent_encoded(value: str, sent: str) -> None:
    """An identifier remains one path segment."""
    service = Scripted(Response(200, {}, b'{"id": "k"}'))
    async with service.client() as client:
        await client.keywords.get(value)
    assert service.requests[0].url.endswith(f"/v1/keywords/{sent}")


@pytest.mark.parametrize("path", ["v1/me", "//host/v1/me", "/v1/a b", "/v1/me#x", "/v1/\u00e9"])
async def test_a_free_path_is_checked(path: str) -> None:
    """A path that is not percent-encoded, or leads to another host, is refused."""
    service = Scripted(Response(200))
    async with service.client() as client:
        with pytest.raises(ArgumentError) as caught:
            await client.request("GET", path)
    assert caught.value.parameter == "path"
    assert service.requests == []


async def test_a_route_can_be_replaced() -> None:
    """After an override the operation uses the new route, and errors no longer call it assumed."""
    service = Scripted(Response(200, {}, b'{"id": "c"}'))
    async with service.client(operations=OPERATIONS.override(get_content="GET /v1/articles/{contentId}")) as client:
        await client.contents.get("c")
    assert service.requests[0].url.endswith("/v1/articles/c")
    assert OPERATIONS["get_content"].path == "/v1/contents/{contentId}"


@pytest.mark.parametrize(
    "routes",
    [
        {"get_contend": "GET /v1/contents/{contentId}"},
        {"get_content": "GET /v1/contents"},
        {"get_content": "GET /v1/{a}/{b}"},
        {"get_content": "FETCH /v1/contents/{contentId}"},
        {"get_content": "/v1/contents/{contentId}"},
    ],
)
def test_a_route_that_does_not_fit_is_refused(routes: dict[str, str]) -> None:
    """Unknown names, methods and wrong numbers of parameters are refused when the table is created."""
    with pytest.raises(ConfigError):
        OPERATIONS.override(**routes)
