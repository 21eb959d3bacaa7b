"""The models' hooks in a `cattrs.Converter`: in the SDK's own, and in any that a user has.

cattrs finds the hook of each class, here and inside other classes, and `cattrs.gen` makes the functions that write the
listed fields of a class. What it cannot know, since it is about one model and not about its class, comes on top: a
document that was read comes out as it came in. Absent keys stay absent, times keep their texts, and unlisted keys are
there, unless a field has another value now.
"""

from __future__ import annotations

import functools
import typing
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Literal, TypeAlias, TypeVar, overload

import attrs
import cattrs
from cattrs.fns import identity
from cattrs.gen import make_dict_unstructure_fn, override

from cmsapi.api.model import NONE_ABSENT, NOTHING_ELSE, Model, OpenEnum, Pagination
from cmsapi.api.wire.drift import Drift, DriftKind
from cmsapi.api.wire.mismatch import excerpt, mismatch, prefix_path
from cmsapi.api.wire.reading import Hook, ModelReader, identifier_of, list_reader, read_scalar
from cmsapi.api.wire.shape import SCALARS, Field, is_model, is_open_enum, shape
from cmsapi.api.wire.times import spell_time
from cmsapi.display.values import copied, plain
from cmsapi.errors import ArgumentError, DecodeError

T = TypeVar("T")
Writer = Callable[[Model], dict[str, Any]]
Style: TypeAlias = Literal["wire", "python"]


def register(converter: cattrs.Converter) -> None:
    """Teach a converter the models, so that attrs classes that hold models become documents and come back.

    Models are read as strictly as answers are and written as they came, whatever other hooks the converter has for
    texts, numbers and times. A `DecodeError` of a model has the path inside the model.

    Args:
        converter: Any converter, for example one of `cattrs.preconf`. A hook that you register afterwards for one of
            our classes comes first, also inside other models.
    """
    # Not at the top: the first client needs no models.
    from cmsapi.api.models.folder import Folder, FolderTree

    _register(converter, Drift())
    folders = list[Folder]
    converter.register_structure_hook(FolderTree, lambda value, _: FolderTree(converter.structure(value, folders)))
    converter.register_unstructure_hook(FolderTree, lambda tree: converter.unstructure(list(tree), folders))


def from_dict(type_: type[T], document: object) -> T:
    """Return the model of a wire document, read as strictly as an answer.

    Args:
        type_: A class of models, or a list of one: `from_dict(list[Keyword], documents)`.
        document: The document as `json.loads` gives it. The model keeps no part of it.

    Raises:
        DecodeError: The document does not fit; the message says where.
    """
    return _converter().structure(document, type_)


@overload
def to_dict(value: Model, *, style: Style = "wire") -> dict[str, Any]: ...
@overload
def to_dict(value: Iterable[Model], *, style: Style = "wire") -> list[dict[str, Any]]: ...
def to_dict(value: Model | Iterable[Model], *, style: Style = "wire") -> dict[str, Any] | list[dict[str, Any]]:
    """Return a model as a dictionary: its wire document, or its fields by their Python names.

    In the wire document, what came in goes out. Unknown keys are there, absent keys are not, nulls are nulls and times
    are spelled as they came, unless a field has another value now. Of a model built by hand, fields that are None are
    left out.

    Args:
        value: A model, or several: a page, a list, a tree of folders.
        style: `"wire"` gives the wire document, which `from_dict` reads. `"python"` gives every field by its name in
            Python, with its value: times stay datetimes, words are plain strings, and models inside are dictionaries.
            Unlisted keys are under `extra`, if there are any.

    Returns:
        A new dictionary, or a list of them.

    Raises:
        ArgumentError: `style` is another word.
    """
    if style not in ("wire", "python"):
        raise ArgumentError(f"`style` must be 'wire' or 'python', got {excerpt(style)}.", parameter="style")
    write = plain if style == "python" else _converter().unstructure
    return write(value) if isinstance(value, Model) else [write(each) for each in value]


class Converter(cattrs.Converter):
    """Read documents into models, and count where they differ from what the specification shows."""

    def __init__(self) -> None:
        super().__init__()
        self.drift: Drift = Drift()
        _register(self, self.drift)
        for scalar in SCALARS:
            self.register_structure_hook(scalar, read_scalar)
        self.register_structure_hook_factory(_is_list, list_reader)

    def structure_resource(self, document: object, model: type[T]) -> T:
        """Read a single resource; one that has an identifier as a rule has one of its listed keys at least.

        Raises:
            DecodeError: The document does not fit.
        """
        resource = self.structure(document, model)
        if isinstance(resource, Model) and (absent := resource.absent_keys):
            listed = shape(type(resource))  # type: ignore[arg-type]  # the cache takes any class
            if any(field.identifies for field in listed) and all(field.wire in absent for field in listed):
                raise mismatch(f"a {model.__name__}", document)
        return resource

    def structure_page(self, document: object, model: type[T]) -> tuple[list[T], Pagination | None]:
        """Read a list of resources: `{data, pagination}`, `{data}` or a bare list (specification, section 1).

        Returns:
            The items, and the place of the page in its list where the service tells it.

        Raises:
            DecodeError: The document does not fit.
        """
        items = list[model]  # type: ignore[valid-type]  # a type that is made at run time
        if type(document) is not dict:
            return self.structure(document, items), None
        for name in document.keys() - {"data", "pagination"}:
            self.drift.note(DriftKind.UNKNOWN_KEY, f"Page.{name}")
        place = document.get("pagination")
        if place is not None and type(place) is not dict:
            self.drift.note(DriftKind.MISFIT, "Page.pagination")
            place = None
        try:
            read = self.structure(document.get("data"), items)
        except DecodeError as error:
            prefix_path(error, ".data")
            raise
        return read, None if place is None else self.structure(place, Pagination)


# What `from_dict` and `to_dict` share.
_converter = functools.cache(Converter)


def _register(converter: cattrs.Converter, drift: Drift) -> None:
    # With the converter as an argument, cattrs passes its copies to the factories as well.
    def read(model: Any, converter: Any) -> Hook:
        return ModelReader(model, converter, drift).read

    converter.register_structure_hook_factory(is_model, read)
    converter.register_unstructure_hook_factory(is_model, _model_writer)
    converter.register_structure_hook(OpenEnum, _read_word)
    converter.register_unstructure_hook(OpenEnum, _write_word)


def _read_word(value: object, vocabulary: type[OpenEnum]) -> OpenEnum:
    return vocabulary(read_scalar(value, str))


def _is_list(type_: Any) -> bool:
    return typing.get_origin(type_) is list


def _model_writer(model: Any, converter: Any) -> Writer:
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
            # A value that did not fit into its field gives way to one that does, but not to its own text.
            kept = {
                wire: each for wire, each in model.extra.items() if document.get(wire) in (None, identifier_of(each))
            }
            document |= copied(kept)
        return document

    return write_losslessly


def _write_word(word: OpenEnum | None) -> str | None:
    """Return the word as a plain string."""
    return None if word is None else word._value_


def _value_writer(field: Field, converter: Any) -> Any:
    if is_open_enum(field.type):
        return _write_word
    if field.type is Any:
        return copied
    if not is_model(field.type):
        return identity
    write = converter.get_unstructure_hook(field.type)
    if field.many:
        return lambda items: None if items is None else [write(item) for item in items]
    return lambda item: None if item is None else write(item)


def _without(absent: frozenset[str] | None, document: dict[str, Any]) -> dict[str, Any]:
    """Leave out keys that were absent and still have no value; of a model built by hand, all keys without a value."""
    if absent is None:
        return {wire: value for wire, value in document.items() if value is not None}
    return {wire: value for wire, value in document.items() if value not in (None, []) or wire not in absent}
