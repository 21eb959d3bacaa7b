"""The OpenAPI description of the interface: version 1.0.0 (specification, section 9, rule 2)."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from cmsapi.sandbox.interface import descriptions, parameters
from cmsapi.sandbox.interface.descriptions import CONFLICTS, DESCRIPTIONS, TAGS
from cmsapi.sandbox.interface.requests import REQUESTS
from cmsapi.sandbox.interface.routes import ROUTES, Route
from cmsapi.sandbox.messages.answers import CODES
from cmsapi.sandbox.messages.resources import RESOURCES
from cmsapi.sandbox.messages.shapes import COUNT, STRING, Schema, about, example, listing, ref, shape

_COMPONENTS: dict[str, Schema] = {**REQUESTS, **RESOURCES}
# What each status means. All errors may come from each operation, unless it is described otherwise.
_STATUSES = {
    200: "The answer",
    201: "Created",
    202: "Accepted; the work goes on",
    204: "Deleted",
    400: "Malformed request.",
    401: "The key is missing, malformed, invalid or revoked.",
    403: "The key is valid, but its user may not do this.",
    404: "The resource does not exist or is not visible to the user.",
    409: "The request conflicts with the current state.",
    422: "The body violates its schema; the message names the field.",
    429: "The hourly or the burst limit is exceeded.",
    500: "Unexpected server error.",
    502: "An upstream service returned an error.",
    503: "The service is temporarily unavailable.",
}
_FAULTS = (500, 502, 503)
_HEADERS: dict[str, Schema] = {
    "X-Request-Id": about(STRING, "What the service calls the request in its own log."),
    "X-RateLimit-Limit": about(COUNT, "Requests that a key may send in 60 minutes."),
    "X-RateLimit-Remaining": about(COUNT, "Requests left in the rolling 60 minutes."),
    "X-RateLimit-Reset": about(COUNT, "Seconds until the oldest request leaves the 60 minutes."),
    "Retry-After": about(COUNT, "Seconds to wait before the next request."),
    "WWW-Authenticate": about(STRING, "The scheme of authentication: `Bearer`."),
}
_OWN_HEADERS = {401: "WWW-Authenticate", 429: "Retry-After"}


@functools.cache
def encoded(routes: tuple[Route, ...], rate_headers: str) -> bytes:
    """Return the document as JSON."""
    return json.dumps(document(routes, rate_headers), indent=1).encode()


def document(routes: tuple[Route, ...] = ROUTES, rate_headers: str = "every") -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of all operations.

    Args:
        routes: The operations.
        rate_headers: Which answers have the rate headers, as in `Behaviour`.
    """
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.template, {})[route.method.lower()] = _operation(route, routes)
    paths["/health"] = {"get": _public("health", "Report that the service is up", _json(ref("Health")))}
    paths["/openapi.json"] = {"get": _public("openapi", "Describe the interface as OpenAPI", _json(ref("Description")))}
    html = {"text/html": {"schema": STRING}}
    paths["/docs"] = {"get": _public("docs", "Describe the interface for people", html)}
    tags = dict.fromkeys([*map(_tag, routes), "service"])
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Content Marketing Service API",
            "version": "1.0.0",
            "description": descriptions.SERVICE,
            "contact": {"name": "The cmsapi authors"},
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/", "description": "The server of this description"}],
        "security": [{"apiKey": []}],
        "tags": [{"name": descriptions.title(tag), "description": TAGS.get(tag, "Other operations.")} for tag in tags],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "apiKey": {
                    "type": "http",
                    "scheme": "bearer",
                    "bearerFormat": "sk_…",
                    "description": "An API key: `Authorization: Bearer sk_…`.",
                }
            },
            "schemas": _schemas(routes),
            "headers": {
                name: {"required": True, "description": schema["description"], "schema": schema}
                for name, schema in _HEADERS.items()
            },
            "responses": {
                # A key that is not valid has no limits, and a fault may come from before the service.
                _error_name(status): _error(status, limited=rate_headers == "every" or status not in (401, *_FAULTS))
                for status in CODES
            },
        },
    }


def _tag(route: Route) -> str:
    return descriptions.tag(route.template)


def _operation(route: Route, routes: Iterable[Route]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": route.name,
        "tags": [descriptions.title(_tag(route))],
        "summary": descriptions.summary(route.handler),
        "description": DESCRIPTIONS.get(route.name, ""),
        "parameters": [parameters.path(name) for name in route.parameters]
        + [parameters.query(name) for name in route.query],
        "responses": _responses(route),
    }
    if links := _links(route, routes):
        described["responses"][str(route.status)]["links"] = links
    if route.body is not None:
        described["requestBody"] = {"required": not route.optional_body, "content": _body(route.body)}
    return described


def _body(name: str) -> dict[str, Any]:
    alternatives = [each["$ref"].rpartition("/")[2] for each in REQUESTS[name].get("oneOf", ())]
    if not alternatives:
        return _json(ref(name))
    examples = {each: {"value": example(ref(each), _COMPONENTS)} for each in alternatives}
    return {"application/json": {"schema": ref(name), "examples": examples}}


def _responses(route: Route) -> dict[str, Any]:
    refs: dict[str, Any] = {str(status): _error_ref(status) for status in CODES}
    if not route.parameters:
        del refs["404"]
    if reason := CONFLICTS.get(route.name):
        refs["409"]["description"] = reason
    elif route.name in DESCRIPTIONS:
        del refs["409"]
        if route.body is None and not route.query:
            del refs["422"]
    if route.answers is None:
        deleted = {"200": _response(204, _json({"type": "null"})), "204": _response(204)}
        return {**deleted, **refs}
    name, schema = _named_schema(route.answers)
    return {str(route.status): _response(route.status, _json(ref(name), schema)), **refs}


def _response(status: int, content: dict[str, Any] | None = None, *, limited: bool = True) -> dict[str, Any]:
    """Describe an answer.

    Args:
        status: Its status.
        content: Its body by media types; None without one.
        limited: Whether it has the rate headers.
    """
    own = _OWN_HEADERS.get(status)
    headers: dict[str, Any] = {
        name: {"$ref": f"#/components/headers/{name}"}
        for name in _HEADERS
        if name in ("X-Request-Id", own) or (limited and name.startswith("X-RateLimit"))
    }
    if status in _FAULTS:
        schema = _HEADERS["Retry-After"]
        headers["Retry-After"] = {"description": f"{schema['description']} It may be absent.", "schema": schema}
    described = {"description": _STATUSES[status], "headers": headers}
    return described if content is None else {**described, "content": content}


def _links(route: Route, routes: Iterable[Route]) -> dict[str, Any]:
    """Say which operations take the identifier that a creation answers with, or show what a launch works on."""
    if route.answers is None or route.status not in (HTTPStatus.CREATED, HTTPStatus.ACCEPTED):
        return {}
    created = f"{route.answers[0].lower()}{route.answers[1:]}Id"
    links = {
        each.name: _link(each, created, "$response.body#/id")
        for each in routes
        if each.parameters == [created] and each.parameters != route.parameters
    }
    if links:
        return links
    # What is launched has no path of its own: it is polled at its target, or below it.
    return {
        each.name: _link(each, name, f"$request.path.{name}")
        for each in routes
        for name in route.parameters
        if each.method == "GET" and each.parameters == route.parameters and " of " not in str(each.answers)
    }


def _link(route: Route, parameter: str, value: str) -> dict[str, Any]:
    return {
        "operationId": route.name,
        "parameters": {parameter: value},
        "description": descriptions.summary(route.handler),
    }


def _named_schema(answers: str) -> tuple[str, Schema]:
    """Return name and schema of an answer: a resource, or the envelope of a collection (section 1, rules 3 and 5)."""
    kind, _, item = answers.rpartition(" of ")
    data = {"data": listing(ref(item))}
    if kind == "page":
        return f"{item}List", shape({**data, "pagination": ref("Pagination")}, "A page of a collection.")
    if kind == "list":
        return f"{item}List", shape(data, "A whole collection.")
    return item, _COMPONENTS.get(item, {})


def _schemas(routes: Iterable[Route]) -> dict[str, Schema]:
    """Return the schemas of all answers and bodies; what a subclass of the sandbox adds may be any JSON."""
    shown = [route.answers for route in routes if route.answers]
    unknown: dict[str, Schema] = {each.rpartition(" of ")[2]: {} for each in shown}
    return {**unknown, **_COMPONENTS, **dict(map(_named_schema, shown))}


def _public(name: str, text: str, content: dict[str, Any]) -> dict[str, Any]:
    return {
        "operationId": name,
        "tags": [descriptions.title("service")],
        "summary": text,
        "description": DESCRIPTIONS[name],
        "security": [],
        "responses": {
            "200": _response(200, content, limited=False),
            "400": _error_ref(400),
            **{str(status): _error(status, limited=False) for status in _FAULTS},
        },
    }


def _error(status: int, *, limited: bool) -> dict[str, Any]:
    told = {"error": {"code": CODES[status], "message": _STATUSES[status]}}
    return _response(status, {"application/json": {"schema": ref("Error"), "example": told}}, limited=limited)


def _error_name(status: int) -> str:
    return CODES[status].title().replace("_", "")


def _error_ref(status: int) -> dict[str, str]:
    return {"$ref": f"#/components/responses/{_error_name(status)}"}


def _json(schema: Schema, shown: Schema | None = None) -> dict[str, Any]:
    """Describe a JSON body by a schema, with the example of that or of the schema that it refers to."""
    return {"application/json": {"schema": schema, "example": example(shown or schema, _COMPONENTS)}}
