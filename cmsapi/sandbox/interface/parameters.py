"""The parameters of the operations, as `/openapi.json` describes them."""

from __future__ import annotations

import re
from typing import Any

from cmsapi.sandbox.messages.resources import RESOURCES
from cmsapi.sandbox.messages.shapes import INTEGER, STRING, Schema, about, identifier, like, listing, ref

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
    described = _parameter(name, "query", schema, description, required=name == "type")
    # Each value has the name before it.
    return {**described, "style": "form", "explode": True} if schema.get("type") == "array" else described


def _parameter(name: str, place: str, schema: Schema, description: str, *, required: bool) -> dict[str, Any]:
    # Pages show the description of the parameter, and generators of clients that of its schema.
    described = about(schema, description)
    return {"name": name, "in": place, "required": required, "description": description, "schema": described}
