"""Describe documents in JSON Schema (2020-12), made from the classes that write them.

Keys without a description are allowed everywhere, because the service may add some, and what came in goes out.
"""

from __future__ import annotations

import enum
import inspect
import re
import types
import typing
from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeAlias

import attrs

from cmsapi.api.model import Model, OpenEnum
from cmsapi.api.wire.shape import wire_name

Schema: TypeAlias = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_SCALARS: dict[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    datetime: {"type": "string", "format": "date-time"},
    type(None): {"type": "null"},
    Any: {},
}
# A name of a documented argument, and its text with the indented lines that follow.
_ARGUMENT = re.compile(r"^    (\w+): (.+(?:\n {8}.+)*)", re.MULTILINE)


class Definitions:
    """Collect the schemas of classes, so that each is written once."""

    def __init__(self) -> None:
        self._schemas: dict[str, Schema] = {}

    def of(self, type_: Any) -> Schema:
        """Return the schema of a type: a model, another attrs class, a vocabulary, or what they are made of.

        Raises:
            TypeError: The type has no form in JSON.
        """
        if type_ in _SCALARS:
            return dict(_SCALARS[type_])
        origin, arguments = typing.get_origin(type_), typing.get_args(type_)
        if origin in (typing.Union, types.UnionType):
            return nullable(self.of(arguments[0])) if type(None) in arguments else {"anyOf": [*map(self.of, arguments)]}
        if origin is tuple and arguments[-1] is Ellipsis:
            return array(self.of(arguments[0]))
        if origin is tuple:
            items = [*map(self.of, arguments)]
            return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
        if isinstance(type_, type) and issubclass(type_, enum.Enum):
            return _words(type_)
        if isinstance(type_, type) and attrs.has(type_):
            return self._reference(type_)
        raise TypeError(f"{type_!r} has no form in JSON")

    def document(self, title: str, schema: Schema) -> Schema:
        """Return a whole schema with the definitions that it refers to."""
        definitions = {"$defs": dict(sorted(self._schemas.items()))} if self._schemas else {}
        return {"$schema": DIALECT, "title": title, **schema, **definitions}

    def _reference(self, class_: type[Any]) -> Schema:
        name = class_.__name__
        if name not in self._schemas:
            # A class may refer to itself.
            self._schemas[name] = {}
            self._schemas[name] |= self._object(class_)
        return {"$ref": f"#/$defs/{name}"}

    def _object(self, class_: type[Any]) -> Schema:
        hints, texts = typing.get_type_hints(class_), described(class_)
        common = attrs.fields_dict(Model) if issubclass(class_, Model) else {}
        fields = [field for field in attrs.fields(class_) if field.name not in common]
        properties = {}
        for field in fields:
            text = texts.get(field.name)
            properties[wire_name(field.name)] = self.of(hints[field.name]) | ({"description": text} if text else {})
        required = [wire_name(field.name) for field in fields if field.default is attrs.NOTHING]
        summary = inspect.cleandoc(class_.__doc__ or "").partition("\n\n")[0].replace("\n", " ")
        what = summary.removeprefix("Describe ")
        return {
            "type": "object",
            "description": what[:1].upper() + what[1:],
            "properties": properties,
            "required": required,
        }


def described(class_: type[Any]) -> Mapping[str, str]:
    """Return what a class says of its arguments, by their names."""
    _, _, arguments = inspect.cleandoc(class_.__doc__ or "").partition("Args:\n")
    return {name: " ".join(text.split()) for name, text in _ARGUMENT.findall(arguments)}


def nullable(schema: Schema) -> Schema:
    """Return the schema of a value that may be null."""
    if isinstance(schema.get("type"), str) and "enum" not in schema:
        return {**schema, "type": [schema["type"], "null"]}
    return schema and {"anyOf": [schema, {"type": "null"}]}


def array(items: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": items}


def record(description: str, **properties: Schema) -> Schema:
    """Return the schema of an object that always has all of its keys."""
    return {
        "type": "object",
        "description": description,
        "properties": properties,
        "required": list(properties),
    }


def _words(class_: type[enum.Enum]) -> Schema:
    words = [word.value for word in class_]
    if issubclass(class_, OpenEnum):
        return {"type": "string", "description": "Other words may come.", "examples": words}
    return {"type": "string", "enum": words}
