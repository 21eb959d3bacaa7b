"""Naughty strings as every string argument: they arrive as they are, or are refused before anything is sent."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import attrs
import pytest

import cmsapi
from cmsapi import GenerationSettings, Request
from tests.support.naughty.strings import HALVES, STRINGS
from tests.support.script import KEY, Script, answer, refusal

pytestmark = pytest.mark.looptime

URL = "https://api.example.com"
UNLIMITED = cmsapi.RateLimits.unlimited()
RESOURCES = (
    "users",
    "workspaces",
    "folders",
    "contents",
    "pages",
    "keywords",
    "prompts",
    "brand_voices",
    "knowledge_documents",
    "content_ideas",
    "credit_usages",
)
# What an argument does not go without, beside those that have no default.
COMPANIONS = {
    "knowledge_documents.create name": {"text": "t"},
    "keywords.score keyword_id": {"content_id": "c"},
    "keywords.score title": {"html": "h"},
    "keywords.score html": {"title": "t"},
    "keywords.score meta_description": {"content_id": "c"},
    "knowledge_documents.create workspace_id": {"text": "t"},
}
COMPANIONS |= {name.replace("keyword", "prompt"): rest for name, rest in COMPANIONS.items() if "score" in name}
EXAMPLES = {"type": "analysis", "change": lambda _: {"title": "t"}, "version": 1}
# Where only a few words, or times, are taken.
CLOSED = {"type", "kind", "token", "method", "due_date", "since", "until"}
CHANGES = ("title", "html", "meta_description", "folder_id", "assigned_to_id", "content_status_id", "due_date")


@attrs.frozen
class Place:
    """Name a string argument.

    Args:
        call: The method, as `resource.method`.
        parameter: The argument.
        put: Calls the method of a client with a string in this place.
    """

    call: str
    parameter: str
    put: Callable[[cmsapi.Client, str], Any]

    def __str__(self) -> str:
        return f"{self.call} {self.parameter}"


def places() -> Iterator[Place]:
    """Yield every string argument that methods of resources have, by their signatures."""
    client = cmsapi.Client(KEY, base_url=URL)
    for resource in RESOURCES:
        for method, function in inspect.getmembers(getattr(client, resource), inspect.ismethod):
            if not method.startswith("_"):
                yield from _of_method(resource, method, inspect.signature(function).parameters)
    for name in CHANGES:
        yield Place("contents.update", name, lambda c, s, name=name: c.contents.update("c", 1, **{name: s}))  # type: ignore[misc]
    for name in (*CHANGES[1:], "page_id"):
        yield Place("contents.create", name, lambda c, s, name=name: c.contents.create("w", "t", **{name: s}))  # type: ignore[misc]
    for name in ("brand_voice_id", "custom_instructions"):
        yield Place(
            "contents.generate",
            "settings",
            lambda c, s, name=name: c.contents.generate("c", GenerationSettings(**{name: s})),  # type: ignore[misc]
        )
    yield Place(
        "contents.generate", "settings", lambda c, s: c.contents.generate("c", GenerationSettings(extra={s: s}))
    )
    yield Place("contents.list", "content_status_id", lambda c, s: c.contents.list("w", content_status_id=["a", s]))
    yield Place("jobs.watch", "kind", lambda c, s: c.jobs.watch(s, "x"))  # type: ignore[call-overload]
    yield Place("jobs.watch", "id", lambda c, s: c.jobs.watch("generation", s).refresh())
    yield Place("jobs.attach", "token", lambda c, s: c.jobs.attach(s))
    yield Place("client.request", "method", lambda c, s: c.request(s, "/v1/me"))
    yield Place("client.request", "path", lambda c, s: c.request("GET", f"/v1/{s}"))
    yield Place("client.request", "q", lambda c, s: c.request("GET", "/v1/me", params={"q": s}))
    yield Place("client.request", "json", lambda c, s: c.request("POST", "/v1/me", json=[s, {s: s}]))


def _of_method(resource: str, method: str, parameters: Any) -> Iterator[Place]:
    required = {
        name: EXAMPLES.get(name, "x")
        for name, each in parameters.items()
        if each.default is each.empty and each.kind is not each.VAR_KEYWORD
    }
    for name, each in parameters.items():
        if "str" not in re.findall(r"\w+", str(each.annotation)) or each.kind is each.VAR_KEYWORD:
            continue
        arguments = required | COMPANIONS.get(f"{resource}.{method} {name}", {})
        if method == "update":
            arguments["title"] = "t"

        def put(client: cmsapi.Client, value: str, name: str = name, arguments: dict[str, Any] = arguments) -> Any:
            return getattr(getattr(client, resource), method)(**arguments | {name: value})

        yield Place(f"{resource}.{method}", name, put)


PLACES = list(places())


def test_the_places_are_found() -> None:
    """Every resource has string arguments, in paths, queries and bodies, and none of them was overlooked."""
    assert len(PLACES) > 80
    assert {place.call.split(".")[0] for place in PLACES} == {*RESOURCES, "client", "jobs"} - {"users"}


@pytest.mark.parametrize("place", PLACES, ids=str)
async def test_every_string_arrives_or_is_refused(place: Place) -> None:
    """A string is in the request as it was given, once that is decoded as HTTP and JSON say; or its name is told."""
    service = Script(refusal(400, "bad_request"))
    # Without reading what was there before, which has no settings.
    launch = cmsapi.LaunchPolicy(baseline="none")
    async with cmsapi.Client(KEY, base_url=URL, limits=UNLIMITED, launch=launch, transport=service) as client:
        for value in (*STRINGS, *HALVES):
            before = len(service.requests)
            error = await ending(client, place, value)
            if isinstance(error, cmsapi.ArgumentError):
                assert error.parameter == place.parameter
                assert len(service.requests) == before
                assert len(str(error)) < 400
                assert str(error).isprintable()
            else:
                assert isinstance(error, cmsapi.BadRequestError), repr(value)
                assert value not in HALVES
                # In a whole path the caller has encoded what needs it.
                told = unquote(value, errors="strict") if place.parameter == "path" else value
                assert told in strings_of(service.requests[-1]), repr(value)
    assert service.requests or place.parameter in CLOSED


async def ending(client: cmsapi.Client, place: Place, value: str) -> Exception | None:
    """Return how a call ended."""
    try:
        stream = place.put(client, value)
        if inspect.isawaitable(stream):
            await stream
        else:
            await anext(aiter(stream))
    except (cmsapi.CMSError, ValueError) as error:
        return error
    return None


def strings_of(request: Request) -> set[str]:
    """Read every string of a request: segments of the path, values of the query, what the body holds."""
    parts = urlsplit(request.url)
    assert f"{parts.scheme}://{parts.netloc}" == URL
    assert parts.path.startswith("/v1/")
    assert request.url.isascii()
    assert request.url.isprintable()
    found = {unquote(segment, errors="strict") for segment in parts.path.split("/")}
    # The path of a free request may have several segments.
    found.add(unquote(parts.path.removeprefix("/v1/"), errors="strict"))
    found |= {value for _, value in parse_qsl(parts.query, keep_blank_values=True, errors="strict")}
    return found | set(_leaves(json.loads(request.body or b"null")))


def _leaves(document: Any) -> Iterator[str]:
    match document:
        case str():
            yield document
        case dict():
            for name, value in document.items():
                yield name
                yield from _leaves(value)
        case list():
            for value in document:
                yield from _leaves(value)


def _nested(depth: int) -> Any:
    document: Any = []
    for _ in range(depth):
        document = [document]
    return document


@pytest.mark.parametrize("bomb", [_nested(100_000), 10**5000, float("nan"), float("inf"), b"x", object()], ids=type)
async def test_what_json_cannot_hold_is_refused(bomb: Any) -> None:
    """Nesting without end, integers of too many digits and what is no JSON are refused, wherever JSON is taken."""
    service = Script(answer())
    async with cmsapi.Client(KEY, base_url=URL, transport=service) as client:
        with pytest.raises(cmsapi.ArgumentError) as caught:
            await client.request("POST", "/v1/me", json={"x": bomb})
        assert caught.value.parameter == "json"
        with pytest.raises(cmsapi.ArgumentError) as caught:
            await client.contents.generate("c", GenerationSettings(extra={"x": bomb}))
        assert caught.value.parameter == "settings"
    assert service.requests == []


@pytest.mark.parametrize("value", [*STRINGS, *HALVES], ids=lambda value: ascii(value)[:24])
async def test_keys_and_addresses_are_refused_when_they_are_set(value: str) -> None:
    """No naughty string is a key or a base URL with which a header could be ended or another host be meant."""
    for key, url in ((value, URL), (f"sk_{value}", URL), (KEY, value)):
        service = Script(answer())
        try:
            client = cmsapi.Client(key, base_url=url, transport=service)
        except cmsapi.ConfigError:
            continue
        async with client:
            await client.me()
        (request,) = service.requests
        assert request.url == f"{url.rstrip('/')}/v1/me"
        assert request.headers["authorization"] == f"Bearer {key}"
        assert key.isascii()
        assert key.isprintable()
