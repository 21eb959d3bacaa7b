"""Models to documents, exactly as they came: one generated function per class. And arguments to JSON values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, cast, overload

from cmsapi.api.model import NONE_ABSENT, Model
from cmsapi.api.wire.shape import Field, is_model, is_open_enum, per_class, shape

__all__ = ["encode", "to_dict"]

Writer = Callable[[Model], dict[str, Any]]


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
    if isinstance(value, Model):
        return _writer(type(value))(value)
    return [_writer(type(each))(each) for each in value]


def encode(value: Any) -> Any:
    """Return the JSON value of an argument.

    Raises:
        ValueError: A time has no offset, or the value has no form in JSON.
    """
    if isinstance(value, Model):
        return to_dict(value)
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


@per_class
def _writer(model: type[Model]) -> Writer:
    fields = shape(model)
    scope: dict[str, Any] = {
        "NONE_ABSENT": NONE_ABSENT,
        "UNSPELLED": (object(),) * 2 * len(fields),
        "complete": _complete,
        "copied": _copied,
        "spell": _spell,
        "without": _without,
    }
    scope |= {f"write_{field.name}": _writer(field.type) for field in fields if is_model(field.type)}
    exec(compile(source(model), f"<cmsapi writes {model.__name__}>", "exec"), scope)  # noqa: S102  made of our own classes
    return cast("Writer", scope["write"])


def source(model: type[Model]) -> str:
    """Return the text of the function that writes documents of a class."""
    fields = shape(model)
    times = [field for field in fields if field.type is datetime]
    return "\n    ".join(
        [
            "def write(model):",
            "spelled = model._spelled or UNSPELLED",
            "document = {",
            *(f"    {field.wire!r}: {_writing(field, times)}," for field in fields),
            "}",
            "if model._absent is not NONE_ABSENT: document = without(model._absent, document)",
            "if model.extra: complete(document, copied(dict(model.extra)))",
            "return document",
        ]
    )


def _writing(field: Field, times: list[Field]) -> str:
    """Return the expression for the JSON value of a field."""
    value = f"model.{field.name}"
    written = value
    if field.type is datetime:
        place = 2 * times.index(field)
        return f"spelled[{place + 1}] if {value} is spelled[{place}] else spell({value})"
    if is_model(field.type):
        written = f"[write_{field.name}(item) for item in {value}]" if field.many else f"write_{field.name}({value})"
    elif is_open_enum(field.type):
        written = f"{value}._value_"
    elif field.type is Any:
        written = f"copied(list({value}))" if field.many else f"copied({value})"
    return value if written == value else f"None if {value} is None else {written}"


def _without(absent: frozenset[str] | None, document: dict[str, Any]) -> dict[str, Any]:
    """Leave out what was absent and still has no value; of a model built by hand, all that has no value."""
    if absent is None:
        return {wire: value for wire, value in document.items() if value is not None}
    return {wire: value for wire, value in document.items() if value not in (None, []) or wire not in absent}


def _complete(document: dict[str, Any], extra: dict[str, Any]) -> None:
    """Add the other keys, and values that had no place in their field unless it has another one now."""
    document.update({wire: value for wire, value in extra.items() if document.get(wire) is None})


def _copied(value: Any) -> Any:
    """Copy nested lists and objects, however deep: nobody shall change a model through its document."""
    holder = [value]
    holders: list[Any] = [holder]
    while holders:
        around = holders.pop()
        for place, each in around.items() if type(around) is dict else enumerate(around):
            if type(each) is dict or type(each) is list:
                around[place] = each.copy()
                holders.append(around[place])
    return holder[0]


def _spell(time: datetime | None) -> str | None:
    if time is None:
        return None
    if time.tzinfo is None:
        raise ValueError("a time needs an offset, for example datetime.now(UTC)")
    precision = "milliseconds" if time.microsecond % 1000 == 0 else "microseconds"
    try:
        return time.astimezone(UTC).replace(tzinfo=None).isoformat(timespec=precision) + "Z"
    except OverflowError as error:
        raise ValueError(f"{time} lies outside the years 1 to 9999 in UTC") from error
