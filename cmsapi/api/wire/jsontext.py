"""JSON text in and out, without the liberties of Python's parser.

`json.loads` takes NaN, Infinity, numbers that overflow to it, repeated keys and halves of surrogate pairs. It answers a
bomb with a `RecursionError` or a plain `ValueError`. Here each of them is a `DecodeError`, like any other text that is
not JSON (RFC 8259).

orjson, where it is installed, is several times as fast, but it takes the last of repeated keys, makes floats of
integers beyond 64 bits, writes NaN as null and objects that Python's writer refuses as texts. So what it reads counts
only if it writes the same bytes again, and what it writes only if it reads the same value again. Everything else is
left to Python's parser, also a correct text that is written in another way, for example with spaces. orjson thus
changes the time that reading and writing take, and nothing else.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from cmsapi.api.wire.mismatch import excerpt
from cmsapi.errors import DecodeError

try:
    import orjson
except ImportError:
    orjson = None  # type: ignore[assignment]  # an extra brings it

_BOM = b"\xef\xbb\xbf"
# Bytes of a body that an error may show.
_SHOWN = 100


def loads(body: bytes) -> Any:
    """Parse JSON in UTF-8; a byte order mark is skipped.

    Raises:
        DecodeError: The body is not JSON; the message names the position.
    """
    if orjson is not None:
        try:
            document = orjson.loads(body)
            if orjson.dumps(document) == body:
                return document
        except (ValueError, TypeError):
            pass
    return loads_strictly(body)


def dumps(value: Any) -> bytes:
    """Write a JSON value, compactly and in UTF-8.

    Raises:
        ValueError: The value has no form in JSON.
    """
    if orjson is not None:
        try:
            text = orjson.dumps(value)
            if orjson.loads(text) == value:
                return text
        except (ValueError, TypeError, RecursionError):
            pass
    return dumps_strictly(value)


def loads_strictly(body: bytes) -> Any:
    """Parse a body as `loads` does, without orjson."""
    body = body.removeprefix(_BOM)
    try:
        document = _DECODER.decode(str(body, "utf-8"))
        if b"\\" in body and b"\\u" in body:
            # Refuses halves of surrogate pairs.
            _ENCODER.encode(document).encode()
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


def dumps_strictly(value: Any) -> bytes:
    """Write a JSON value as `dumps` does, without orjson."""
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


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_constant, parse_float=_finite)
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
