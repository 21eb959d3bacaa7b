"""Models back to documents, exactly as they came, and arguments to JSON values."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, overload

from cmsapi.mismatch import read_time
from cmsapi.models.model import Model
from cmsapi.shape import shape

__all__ = ["encode", "to_dict"]


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
    return _document(value) if isinstance(value, Model) else [_document(each) for each in value]


def encode(value: Any) -> Any:
    """Return the JSON value of an argument.

    Raises:
        ValueError: A time has no offset, or the value has no form in JSON.
    """
    if isinstance(value, Model):
        return _document(value)
    if isinstance(value, datetime):
        return _spell(value)
    if isinstance(value, str):
        return str(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, dict):
        return {str(name): encode(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [encode(each) for each in value]
    raise ValueError(f"{type(value).__name__} has no form in JSON")


def _document(model: Model) -> dict[str, Any]:
    document: dict[str, Any] = {}
    absent = model._absent
    spelled = iter(model._spelled)
    for field in shape(type(model)):
        value = getattr(model, field.name)
        text = next(spelled, None) if field.type is datetime else None
        if value is None:
            if absent is not None and field.wire not in absent:
                document[field.wire] = None
        elif value == () and absent is not None and field.wire in absent:
            continue
        elif text is not None and _means(text, value):
            document[field.wire] = text
        else:
            document[field.wire] = encode(value)
    document.update({name: encode(value) for name, value in model.extra.items()})
    return document


def _means(text: str, time: datetime) -> bool:
    read = read_time(text)
    return (read if read.tzinfo else read.replace(tzinfo=UTC)) == time


def _spell(time: datetime) -> str:
    if time.tzinfo is None:
        raise ValueError("a time needs an offset, for example datetime.now(UTC)")
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
