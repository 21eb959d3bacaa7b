"""The parts that JSON Schemas are made of."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

STRING: Schema = {"type": "string"}
FILLED: Schema = {"type": "string", "minLength": 1}
MOMENT: Schema = {"type": "string", "format": "date-time", "examples": ["2026-01-01T09:30:00.000Z"]}
BOOLEAN: Schema = {"type": "boolean"}
INTEGER: Schema = {"type": "integer"}
COUNT: Schema = {"type": "integer", "minimum": 0}
ADDRESS: Schema = {"type": "string", "pattern": "^https?://[^/]", "examples": ["https://northwind.example/trail-shoes"]}


def ref(name: str) -> Schema:
    """Refer to a schema of the components."""
    return {"$ref": f"#/components/schemas/{name}"}


def like(schema: Schema, example: object, description: str = "") -> Schema:
    """Add an example and a description to a schema."""
    return about({**schema, "examples": [example]}, description)


def text(example: object, description: str = "") -> Schema:
    """Describe a text by an example."""
    return like(STRING, example, description)


def words(description: str, *options: str) -> Schema:
    """Describe a text that is one of the words that the specification lists."""
    return {"type": "string", "enum": list(options), "description": description}


def about(schema: Schema, description: str) -> Schema:
    """Add a description to a schema."""
    return {**schema, "description": description} if description else schema


def identifier(prefix: str, description: str = "") -> Schema:
    """Describe an identifier; its prefix is only an example."""
    return text(f"{prefix}_01hxk3m9q2v7c5t8w4b6n1d0zr", description)


def nullable(schema: Schema) -> Schema:
    """Allow null beside a schema."""
    described = {name: value for name, value in schema.items() if name != "description"}
    return about({"anyOf": [described, {"type": "null"}]}, schema.get("description", ""))


def absent(schema: Schema) -> Schema:
    """Allow null beside a schema, and show null as the example."""
    return {**nullable(schema), "examples": [None]}


def listing(schema: Schema) -> Schema:
    """Describe a list."""
    return {"type": "array", "items": schema}


def shape(
    properties: dict[str, Schema], description: str = "", *, optional: dict[str, Schema] | None = None, **more: Any
) -> Schema:
    """Describe an object whose properties are required, except the optional ones."""
    known = {**properties, **(optional or {})}
    return about({"type": "object", "properties": known, "required": list(properties), **more}, description)


def example(schema: Schema, components: dict[str, Schema]) -> Any:
    """Return an example of a schema, made of the examples of its parts.

    Args:
        schema: The schema.
        components: The schemas that it may refer to, by name.
    """
    if "$ref" in schema:
        schema = components.get(schema["$ref"].rpartition("/")[2], {})
    for key in ("examples", "enum", "anyOf", "oneOf"):
        if key in schema:
            first = schema[key][0]
            return first if key in ("examples", "enum") else example(first, components)
    if schema.get("type") == "array":
        return [example(schema["items"], components)]
    if schema.get("type") == "object":
        return {name: example(each, components) for name, each in schema.get("properties", {}).items()}
    return {"boolean": True, "integer": schema.get("minimum", 1)}.get(schema.get("type", ""))
