"""The fields of a model as they are on the wire, read from its class.

The wire name is the field's name in camel case, and the metadata give its provenance. Reading and writing documents
both use this table.
"""

from __future__ import annotations

import functools
import re
import types
import typing
from datetime import datetime
from typing import Any

import attrs

from cmsapi.api.model import Model, OpenEnum
from cmsapi.api.operations import Provenance

_WORD = re.compile("(?<=[a-z])[A-Z]")

SCALARS: dict[Any, str] = {str: "a string", int: "an integer", float: "a number", bool: "a boolean"}


@attrs.frozen
class Field:
    """Describe a field of a model.

    Args:
        name: Name in Python.
        wire: Name on the wire.
        type: Type of the value, or of each item where `many`.
        many: Whether it is a list.
        nullable: Whether the declaration shows a null.
        promised: Whether the specification shows the key.
        required: Whether the document is useless without it.
        strict: Whether a value of another type is an error.
        identifies: Whether it is the identifier of the document.
        names: Whether it is an identifier, of the document or of another one.
    """

    name: str
    wire: str
    type: Any
    many: bool
    nullable: bool
    promised: bool
    required: bool
    strict: bool
    identifies: bool
    names: bool


@functools.cache
def shape(model: Any) -> tuple[Field, ...]:
    """Return the fields of a class of models in order; those that every model has are left out."""
    common = attrs.fields_dict(Model)
    hints = typing.get_type_hints(model)
    return tuple(_field(at, hints[at.name]) for at in attrs.fields(model) if at.name not in common)


def wire_name(name: str) -> str:
    """Return the name on the wire of a field or parameter: it is in camel case."""
    head, *tail = name.split("_")
    return head + "".join(part.capitalize() for part in tail)


def python_name(wire: str) -> str:
    """Return the name in Python of a field or parameter on the wire."""
    return _WORD.sub(r"_\g<0>", wire).lower()


def is_model(type_: object) -> bool:
    """Tell whether this is a class of models; `Model` itself describes no document."""
    return isinstance(type_, type) and issubclass(type_, Model) and type_ is not Model


def is_open_enum(type_: object) -> bool:
    """Tell whether this is a vocabulary."""
    return isinstance(type_, type) and issubclass(type_, OpenEnum)


def _field(attribute: attrs.Attribute[Any], hint: Any) -> Field:
    nullable = hint is Any
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        (hint,) = (part for part in typing.get_args(hint) if part is not type(None))
        nullable = True
    many = typing.get_origin(hint) is tuple
    if many:
        hint, _ = typing.get_args(hint)
    provenance = attribute.metadata.get("provenance", Provenance.SPEC)
    required, identifies = attribute.metadata.get("required", False), attribute.name == "id"
    lenient = identifies or attribute.metadata.get("lenient", False)
    field = Field(
        name=attribute.name,
        wire=wire_name(attribute.name),
        type=hint,
        many=many,
        # None stands for an identifier that is missing; no source shows a null.
        nullable=nullable and not identifies,
        promised=provenance is Provenance.SPEC,
        required=required,
        strict=required or (provenance is Provenance.SPEC and not lenient),
        identifies=identifies,
        names=hint is str and attribute.name.rpartition("_")[2] == "id",
    )
    if not (hint in SCALARS or hint in (Any, datetime) or is_model(hint) or is_open_enum(hint)):
        raise TypeError(f"{attribute.name}: {hint!r} has no form on the wire")
    return field
