"""Models to documents: a document that was read comes out as it came in.

`cattrs.gen` makes the functions that write the listed fields of a class. What it cannot know, since it is about one
model and not about its class, comes on top: absent keys stay absent, times keep their texts, and unlisted keys are
there, unless a field has another value now.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import attrs
from cattrs.fns import identity
from cattrs.gen import make_dict_unstructure_fn, override

from cmsapi.api.model import NONE_ABSENT, NOTHING_ELSE, Model, OpenEnum
from cmsapi.api.wire.shape import Field, is_model, is_open_enum, shape
from cmsapi.api.wire.times import spell_time

Writer = Callable[[Model], dict[str, Any]]


def model_writer(model: Any, converter: Any) -> Writer:
    """Make the hook that writes models of a class; the converter has the hooks for the models inside."""
    fields = shape(model)
    overrides: dict[str, Any] = dict.fromkeys(attrs.fields_dict(Model), override(omit=True))
    for field in fields:
        overrides[field.name] = override(rename=field.wire, unstruct_hook=_value_writer(field, converter))
    write: Any = make_dict_unstructure_fn(model, converter, **overrides)
    times = [field.wire for field in fields if field.type is datetime]
    places = [(wire, 2 * number) for number, wire in enumerate(times)]
    no_texts = (None, None) * len(times)

    def write_losslessly(model: Model) -> dict[str, Any]:
        document: dict[str, Any] = write(model)
        if places:
            texts = model.time_texts or no_texts
            for wire, place in places:
                time = document[wire]
                if time is texts[place]:
                    document[wire] = texts[place + 1]
                elif time is not None:
                    document[wire] = spell_time(time)
        if model.absent_keys is not NONE_ABSENT:
            document = _without(model.absent_keys, document)
        if model.extra is not NOTHING_ELSE:
            # A value that did not fit into its field gives way to one that does.
            document |= {wire: copied(value) for wire, value in model.extra.items() if document.get(wire) is None}
        return document

    return write_losslessly


def write_word(word: OpenEnum | None) -> str | None:
    """Return the word itself, which is no member of anything."""
    return None if word is None else word._value_


def _value_writer(field: Field, converter: Any) -> Any:
    if is_open_enum(field.type):
        return write_word
    if field.type is Any:
        return copied
    if not is_model(field.type):
        return identity
    write = converter.get_unstructure_hook(field.type)
    if field.many:
        return lambda items: None if items is None else [write(item) for item in items]
    return lambda item: None if item is None else write(item)


def _without(absent: frozenset[str] | None, document: dict[str, Any]) -> dict[str, Any]:
    """Leave out what was absent and still has no value; of a model built by hand, all that has no value."""
    if absent is None:
        return {wire: value for wire, value in document.items() if value is not None}
    return {wire: value for wire, value in document.items() if value not in (None, []) or wire not in absent}


def copied(value: Any) -> Any:
    """Copy nested lists and objects, however deep, so that no change of them changes a model."""
    holder = [value]
    holders: list[Any] = [holder]
    while holders:
        around = holders.pop()
        for place, each in around.items() if type(around) is dict else enumerate(around):
            if type(each) is dict or type(each) is list:
                around[place] = each.copy()
                holders.append(around[place])
    return holder[0]
