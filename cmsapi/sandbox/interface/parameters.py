"""The parameters of the operations: `/openapi.json` describes them, and queries are read by the same table."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qsl

from cmsapi.sandbox.messages.resources import RESOURCES
from cmsapi.sandbox.messages.shapes import INTEGER, STRING, Schema, about, identifier, like, listing, ref
from cmsapi.sandbox.world.refusal import Refusal

_INTEGER = re.compile(r"-?[0-9]{1,4000}", re.ASCII)
_REQUIRED = frozenset({"type"})
_QUERY: dict[str, tuple[Schema, str]] = {
    "page": ({**INTEGER, "minimum": 1, "default": 1}, "Number of the page, from 1."),
    "limit": ({**INTEGER, "minimum": 1, "maximum": 100, "default": 25}, "Largest number of items on a page."),
    "assignedToId": (identifier("usr"), "Only contents of this member."),
    "contentScore": (like(INTEGER, 64), "Only contents with exactly this score."),
    "contentScore[gte]": (like(INTEGER, 50), "Only contents with at least this score."),
    "contentScore[lte]": (like(INTEGER, 80), "Only contents with at most this score."),
    "contentStatusId": (
        listing(identifier("cst")),
        "Only contents with one of these workflow statuses. `contentStatusId[]` is another spelling of the name.",
    ),
    "type": (ref("CreditType"), "The balance whose usages to list."),
    "q": (like(STRING, "shoes"), "Only usages whose keyword contains this text; case does not matter."),
}


def path(name: str) -> dict[str, Any]:
    """Describe a parameter of a path."""
    resource = name.removesuffix("Id")
    known = RESOURCES.get(f"{resource[0].upper()}{resource[1:]}")
    schema = {**(known["properties"]["id"] if known else identifier("id")), "pattern": r"^[^\u0000-\u001f\u007f]+$"}
    noun = re.sub("([A-Z])", r" \1", resource).lower()
    return _parameter(name, "path", schema, f"Identifier of the {noun}.", required=True)


def query(name: str) -> dict[str, Any]:
    """Describe a parameter of a query string."""
    schema, description = _QUERY.get(name, (STRING, f"The parameter `{name}`."))
    described = _parameter(name, "query", schema, description, required=name in _REQUIRED)
    # Each value has the name before it.
    return {**described, "style": "form", "explode": True} if schema.get("type") == "array" else described


def read_query(text: str, names: tuple[str, ...], malformed: int) -> dict[str, Any]:
    """Return the values of parameters by their names; the last of several values counts, except in a list.

    Args:
        text: Raw query string.
        names: Names of the parameters to read; others are ignored.
        malformed: Status for a value of the wrong type or out of its range; none is ever clamped.

    Raises:
        Refusal: The query string is not percent-encoded UTF-8, a required parameter is missing (400, section 7), or a
            value is malformed.
    """
    given: dict[str, list[str]] = {}
    try:
        for name, value in parse_qsl(text, keep_blank_values=True, errors="strict"):
            given.setdefault(name.removesuffix("[]"), []).append(value)
    except ValueError:
        raise Refusal(400, "query: must be percent-encoded UTF-8") from None
    found: dict[str, Any] = {}
    for name in names:
        schema, values = _QUERY.get(name, (STRING, ""))[0], given.get(name, [])
        if schema.get("type") == "array":
            found[name] = values
        elif values:
            found[name] = _read(values[-1], name, schema, malformed)
        elif name in _REQUIRED:
            raise Refusal(400, f"{name}: required query parameter is missing")
        else:
            found[name] = schema.get("default")
    return found


def _read(text: str, name: str, schema: Schema, malformed: int) -> str | int:
    schema = RESOURCES[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    if text not in (options := schema.get("enum", [text])):
        raise Refusal(malformed, f"{name}: must be one of {', '.join(options)}")
    if schema["type"] != "integer":
        return text
    if not _INTEGER.fullmatch(text):
        raise Refusal(malformed, f"{name}: must be an integer")
    value = int(text)
    if value < schema.get("minimum", value):
        raise Refusal(malformed, f"{name}: must be at least {schema['minimum']}")
    if value > schema.get("maximum", value):
        raise Refusal(malformed, f"{name}: must be at most {schema['maximum']}")
    return value


def _parameter(name: str, place: str, schema: Schema, description: str, *, required: bool) -> dict[str, Any]:
    # Pages show the description of the parameter, and generators of clients that of its schema.
    described = about(schema, description)
    return {"name": name, "in": place, "required": required, "description": description, "schema": described}
