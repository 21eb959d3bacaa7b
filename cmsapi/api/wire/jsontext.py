"""JSON text in and out, without the liberties of Python's parser.

`json.loads` takes NaN, Infinity, numbers that overflow to it, repeated keys and halves of surrogate pairs. It answers a
bomb with a `RecursionError` or a plain `ValueError`. Here each of them is a `DecodeError`, like any other text that is
not JSON (RFC 8259).

orjson, where it is installed, reads several times as fast, but takes the last of repeated keys and makes floats of
integers beyond 64 bits. So its reading counts only where it writes the same bytes again: such a text has no repeated
key, no number that changed, and no deep nesting, which orjson does not write. Every other text, wrong or only written
in another way (with spaces, say), is read by the strict reader, so that nothing but speed depends on orjson.

In the same way its writing counts only where it reads the same value again: it writes NaN as null, and objects that
Python's writer refuses as texts.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, NoReturn, Protocol

from cmsapi.api.wire.mismatch import excerpt
from cmsapi.errors import DecodeError

__all__ = ["dumps", "dumps_strictly", "loads", "loads_strictly", "quick_reader", "quick_writer"]

_BOM = b"\xef\xbb\xbf"


class Codec(Protocol):
    """Read and write JSON quickly; `orjson` does, and raises `ValueError` or `TypeError` for what it does not take."""

    def loads(self, text: bytes, /) -> Any:
        """Read a text."""
        ...

    def dumps(self, value: Any, /) -> bytes:
        """Write a value compactly, its keys in order."""
        ...


def loads_strictly(body: bytes) -> Any:
    """Parse a body.

    Args:
        body: JSON in UTF-8; a byte order mark is skipped.

    Returns:
        The document.

    Raises:
        DecodeError: The body is not JSON; the message names the position.
    """
    body = body.removeprefix(_BOM)
    try:
        document = _DECODER.decode(str(body, "utf-8"))
        if b"\\" in body and b"\\u" in body:
            _refuse_surrogates(document)
    except json.JSONDecodeError as error:
        wrong = f"{error.msg} (line {error.lineno}, column {error.colno})" if body.strip() else "the body is empty"
    except UnicodeDecodeError as error:
        wrong = f"invalid UTF-8 at byte {error.start}"
    except UnicodeEncodeError:
        wrong = "half of a surrogate pair"
    except RecursionError:
        wrong = "nested too deeply"
    except ValueError as error:
        wrong = str(error)
    else:
        return document
    # Outside the handlers: the traceback of a bomb is a thousand frames long.
    raise DecodeError(f"Expected JSON, but {wrong}", excerpt=excerpt(body[:_SHOWN]))


def quick_reader(codec: Codec) -> Callable[[bytes], Any]:
    """Return a `loads_strictly` that is quicker on compact texts.

    Args:
        codec: Reads and writes; what it reads is used only if it writes the same bytes again.
    """
    read, write = codec.loads, codec.dumps

    def loads_quickly(body: bytes) -> Any:
        try:
            document = read(body)
            if write(document) == body:
                return document
        except (ValueError, TypeError):
            pass
        return loads_strictly(body)

    return loads_quickly


def quick_writer(codec: Codec) -> Callable[[Any], bytes]:
    """Return a `dumps_strictly` that is quicker on plain values.

    Args:
        codec: Reads and writes; what it writes is used only if it reads the same value again.
    """
    read, write = codec.loads, codec.dumps

    def dumps_quickly(value: Any) -> bytes:
        try:
            text = write(value)
            if read(text) == value:
                return text
        except (ValueError, TypeError, RecursionError):
            pass
        return dumps_strictly(value)

    return dumps_quickly


def _found() -> tuple[Callable[[bytes], Any], Callable[[Any], bytes]]:
    try:
        import orjson
    except ImportError:
        return loads_strictly, dumps_strictly
    return quick_reader(orjson), quick_writer(orjson)


def dumps_strictly(value: Any) -> bytes:
    """Write a JSON value, compactly and in UTF-8.

    Raises:
        ValueError: The value has no form in JSON.
    """
    try:
        return _ENCODER.encode(value).encode()
    except (TypeError, RecursionError) as error:
        raise ValueError(f"no form in JSON: {error}") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in members if names.count(name) > 1)
        raise ValueError(f"the key {excerpt(repeated)} is repeated in one object")
    return members


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"the number {excerpt(text)} is too large")
    return number


def _refuse_surrogates(document: Any) -> None:
    _ENCODER.encode(document).encode()


_SHOWN = 100
_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_constant, parse_float=_finite)
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))

#: The quickest reader and writer that are installed.
loads: Callable[[bytes], Any]
dumps: Callable[[Any], bytes]
loads, dumps = _found()
