"""The models' hooks in a `cattrs.Converter`: in the SDK's own, and in any that a user has.

cattrs finds the hook of each class, here and inside other classes, and `cattrs.gen` makes the functions that write.
"""

from __future__ import annotations

import functools
import typing
from collections.abc import Iterable
from typing import Any, TypeVar, overload

import cattrs

from cmsapi.api.model import Model, OpenEnum, Pagination
from cmsapi.api.wire.drift import Drift, DriftKind
from cmsapi.api.wire.mismatch import mismatch, prefix_path
from cmsapi.api.wire.reading import Hook, list_reader, model_reader, read_scalar
from cmsapi.api.wire.shape import SCALARS, is_model
from cmsapi.api.wire.writing import model_writer, write_word
from cmsapi.errors import DecodeError

T = TypeVar("T")


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
def to_dict(value: Model) -> dict[str, Any]: ...
@overload
def to_dict(value: Iterable[Model]) -> list[dict[str, Any]]: ...
def to_dict(value: Model | Iterable[Model]) -> dict[str, Any] | list[dict[str, Any]]:
    """Return the wire document of a model: what came in goes out.

    Unknown keys are there, absent keys are not, nulls are nulls and times are spelled as they came, unless a field has
    another value now. Of a model built by hand, fields that are None are left out.

    Args:
        value: A model, or several.

    Returns:
        A new document, or a list of them.
    """
    unstructure = _converter().unstructure
    return unstructure(value) if isinstance(value, Model) else [unstructure(each) for each in value]


class Converter(cattrs.Converter):
    """Read documents into models, and count where they differ from what the specification shows."""

    def __init__(self) -> None:
        super().__init__()
        self.drift: Drift = Drift()
        _register(self, self.drift)
        for scalar in SCALARS:
            self.register_structure_hook(scalar, read_scalar)
        self.register_structure_hook_factory(_is_list, list_reader)

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
        part = "pagination"
        try:
            place = None if document.get(part) is None else self.structure(document[part], Pagination)
            part = "data"
            return self.structure(document.get(part), items), place
        except DecodeError as error:
            prefix_path(error, f".{part}")
            raise


# What `from_dict` and `to_dict` share.
_converter = functools.cache(Converter)


def _register(converter: cattrs.Converter, drift: Drift) -> None:
    # With the converter as an argument, cattrs passes its copies to the factories as well.
    def read(model: Any, converter: Any) -> Hook:
        return model_reader(model, converter, drift)

    converter.register_structure_hook_factory(is_model, read)
    converter.register_unstructure_hook_factory(is_model, model_writer)
    converter.register_structure_hook(OpenEnum, _read_word)
    converter.register_unstructure_hook(OpenEnum, write_word)


def _read_word(value: object, vocabulary: type[OpenEnum]) -> OpenEnum:
    if type(value) is not str:
        raise mismatch("a string", value)
    return vocabulary(value)


def _is_list(type_: Any) -> bool:
    return typing.get_origin(type_) is list
