"""The OpenAPI description of the interface: version 1.0.0 (specification, section 9, rule 2)."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from typing import Any

from cmsapi.sandbox.interface import schemas
from cmsapi.sandbox.interface.routes import ROUTES, Route
from cmsapi.sandbox.interface.schemas import Schema, ref
from cmsapi.sandbox.world.billing import TYPES

_ERRORS = {
    "400": "BadRequest",
    "401": "Unauthorized",
    "403": "Forbidden",
    "404": "NotFound",
    "409": "Conflict",
    "422": "ValidationError",
    "429": "RateLimited",
    "500": "InternalError",
    "502": "BadGateway",
    "503": "ServiceUnavailable",
}
_MEANINGS = {
    "BadRequest": "Malformed request",
    "Unauthorized": "The key is missing, malformed, invalid or revoked",
    "Forbidden": "The key is valid, but its user may not do this",
    "NotFound": "The resource does not exist or is not visible to the user",
    "Conflict": "The request conflicts with the current state",
    "ValidationError": "The body violates its schema; the message names the field",
    "RateLimited": "The hourly or the burst limit is exceeded",
    "InternalError": "Unexpected server error",
    "BadGateway": "An upstream service returned an error",
    "ServiceUnavailable": "The service is temporarily unavailable",
}
_WORD: Schema = {"type": "string"}
_IDENTIFIER: Schema = {"type": "string", "pattern": "^[A-Za-z0-9_-]+$"}
_PARAMETERS: dict[str, Schema] = {
    "page": {"type": "integer", "minimum": 1, "default": 1},
    "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 25},
    "contentScore": {"type": "integer"},
    "contentScore[gte]": {"type": "integer"},
    "contentScore[lte]": {"type": "integer"},
    "contentStatusId[]": {"type": "array", "items": _WORD},
    "type": {"type": "string", "enum": list(TYPES)},
}
_RATE_HEADERS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
_OWN_HEADERS = {"401": ("WWW-Authenticate",), "429": ("Retry-After",)}
# Statuses of answers to requests without a valid key, and of faults.
_WITHOUT_SERVICE = frozenset({"401", "500", "502", "503"})


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
        paths.setdefault(route.template, {})[route.method.lower()] = _operation(route)
    html = {"text/html": {"schema": {"type": "string"}}}
    paths["/health"] = {"get": _public("health", "Report that the service is up", _json(ref("Health")))}
    paths["/openapi.json"] = {"get": _public("openapi", "Describe the interface as OpenAPI", _json({"type": "object"}))}
    paths["/docs"] = {"get": _public("docs", "Describe the interface for people", html)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Content Marketing Service API",
            "version": "1.0.0",
            "description": "AI-assisted content marketing and search optimisation.",
        },
        "servers": [{"url": "/", "description": "The server of this description"}],
        "security": [{"apiKey": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"apiKey": {"type": "http", "scheme": "bearer", "description": "Bearer sk_…"}},
            "schemas": {**schemas.REQUESTS, **schemas.RESPONSES},
            "headers": {
                **{name: {"required": True, "schema": {"type": "integer"}} for name in (*_RATE_HEADERS, "Retry-After")},
                "WWW-Authenticate": {"required": True, "schema": {"type": "string"}},
            },
            "responses": {
                name: _error(status, name, rate_headers == "every" or status not in _WITHOUT_SERVICE)
                for status, name in _ERRORS.items()
            },
        },
    }


def summary(route: Route) -> str:
    """Return the summary of an operation, in one sentence."""
    return (route.handler.__doc__ or route.name).splitlines()[0].rstrip(".")


def _operation(route: Route) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": route.name,
        "summary": summary(route),
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": _IDENTIFIER} for name in route.parameters
        ]
        + [_query(name) for name in route.query],
        "responses": {**_successes(route), **_refusals(route)},
    }
    if route.body is not None:
        described["requestBody"] = {"required": not route.optional_body, "content": _json(ref(route.body))}
    return described


def _successes(route: Route) -> dict[str, Any]:
    headers = _header_refs(_RATE_HEADERS)
    if route.answers is None:
        return {
            "200": {"description": "Deleted", "headers": headers, "content": _json({"type": "null"})},
            "204": {"description": "Deleted", "headers": headers},
        }
    return {str(route.status): {"description": "Done", "headers": headers, "content": _json(_answer(route.answers))}}


def _answer(name: str) -> Schema:
    kind, _, item = name.rpartition(" of ")
    if kind == "page":
        return schemas.page_of(item)
    if kind == "list":
        return schemas.shape({"data": schemas.listing(ref(item))})
    return ref(item)


def _refusals(route: Route) -> dict[str, Any]:
    refused = dict(_ERRORS)
    if route.body is None and not route.query:
        del refused["422"]
    return {status: {"$ref": f"#/components/responses/{name}"} for status, name in refused.items()}


def _query(name: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": name == "type", "schema": _PARAMETERS.get(name, _WORD)}


def _public(name: str, text: str, content: dict[str, Any]) -> dict[str, Any]:
    return {
        "operationId": name,
        "summary": text,
        "security": [],
        "responses": {"200": {"description": "Done", "content": content}},
    }


def _error(status: str, name: str, limited: bool) -> dict[str, Any]:
    headers = (*(_RATE_HEADERS if limited else ()), *_OWN_HEADERS.get(status, ()))
    described: dict[str, Any] = {"description": _MEANINGS[name], "content": _json(ref("Error"))}
    if headers:
        described["headers"] = _header_refs(headers)
    return described


def _header_refs(names: Iterable[str]) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def _json(schema: Schema) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
