"""JSON text is taken strictly, and every refusal is a decode error."""

from __future__ import annotations

import contextlib
import json
import time
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, strategies as st

from cmsapi.errors import DecodeError
from cmsapi.models import Content, CreditType, FolderRef, GenerationSettings
from cmsapi.wire.converter import Converter, encode, to_dict
from cmsapi.wire.jsontext import dumps, loads
from tests import strategies


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "the body is empty"),
        (b" \n", "the body is empty"),
        (b"\xef\xbb\xbf", "the body is empty"),
        (b"[1,]", r"line 1, column [34]"),
        (b"{}x", "line 1, column 3"),
        (b"NaN", "NaN is not a JSON number"),
        (b"[-Infinity]", "-Infinity is not a JSON number"),
        (b"[1e999]", "too large"),
        (b'{"a": 1, "b": 2, "a": 3}', "the key 'a' is repeated"),
        (b'[{"a": {"a": 1, "\\u0061": 1}}]', "the key 'a' is repeated"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b"9" * 5000, "digits"),
        (b'"\xff"', "invalid UTF-8 at byte 1"),
        ("{}".encode("utf-16"), "invalid UTF-8 at byte 0"),
        (b'"\\ud800"', "half of a surrogate pair"),
        (b'"a\nb"', "line 1, column 3"),
        (b"<html>" * 1000, "line 1, column 1"),
    ],
)
def test_hostile_text_is_refused(body: bytes, words: str) -> None:
    """Each liberty of Python's parser, each bomb and each broken text ends in the same kind of error, at once."""
    started = time.perf_counter()

    with pytest.raises(DecodeError, match=words) as caught:
        loads(body)

    assert caught.value.path == "$"
    assert len(caught.value.excerpt) <= 80
    assert caught.value.__context__ is None
    assert time.perf_counter() - started < 1


@given(st.binary())
def test_any_bytes_are_json_or_a_decode_error(body: bytes) -> None:
    """No body makes the parser raise anything else."""
    with contextlib.suppress(DecodeError):
        loads(body)


@given(strategies.json_values)
def test_text_goes_there_and_back(document: Any) -> None:
    """What is written is read back, with and without a byte order mark, and as others would write it."""
    text = dumps(document)

    assert document == loads(text) == loads(b"\xef\xbb\xbf" + text) == loads(json.dumps(document, indent=1).encode())


def test_text_is_compact_utf8() -> None:
    """No spaces and no escapes that UTF-8 makes unnecessary."""
    assert '{"é":[1,null]}'.encode() == dumps({"é": [1, None]})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, object(), "\ud800"])
def test_what_has_no_form_in_json_is_refused(value: object) -> None:
    """Nothing is written that a strict reader would refuse."""
    with pytest.raises(ValueError, match=r"."):
        dumps([value])


def test_a_circle_is_refused() -> None:
    """A list that contains itself has no form in JSON."""
    circle: list[Any] = []
    circle.append(circle)

    with pytest.raises(ValueError, match="Circular"):
        dumps(circle)


def test_deep_unknown_values_are_kept() -> None:
    """What the parser takes, a model gives back, although nobody could walk it recursively."""
    body = b'{"id":"c","new":' + b"[" * 700 + b"]" * 700 + b"}"

    document = to_dict(Converter().decode(Content, loads(body)))

    assert body == dumps(document)


def test_arguments_become_json_values() -> None:
    """Times get a `Z`, words become strings, models their documents, and containers are gone through."""
    moment = datetime(2024, 1, 31, 12, tzinfo=timezone(timedelta(hours=2)))

    assert encode(moment) == "2024-01-31T10:00:00.000Z"
    assert str is type(encode(CreditType.ANALYSIS))
    assert encode({"a": (1, 2.5, None, True, "x"), "b": FolderRef(id="f")}) == {
        "a": [1, 2.5, None, True, "x"],
        "b": {"id": "f"},
    }


def test_arguments_without_a_form_are_refused() -> None:
    """A time without offset is ambiguous, and an object is no JSON."""
    with pytest.raises(ValueError, match="offset"):
        encode(datetime(2024, 1, 31))  # noqa: DTZ001  the mistake under test
    with pytest.raises(ValueError, match="set has no form"):
        encode({1})
    with pytest.raises(ValueError, match="UTC"):
        encode(datetime.min.replace(tzinfo=timezone(timedelta(hours=2))))
    assert encode(datetime.max.replace(tzinfo=UTC)) == "9999-12-31T23:59:59.999999Z"


def test_unset_settings_are_not_sent() -> None:
    """Only what is set goes out, false included, and unlisted settings with it."""
    settings = GenerationSettings(brand_voice_id="v", fact_checking_enabled=False, extra={"tone": "dry"})

    assert encode(settings) == {"brandVoiceId": "v", "factCheckingEnabled": False, "tone": "dry"}
    assert encode(GenerationSettings()) == {}
    with pytest.raises(TypeError):
        GenerationSettings("v")  # type: ignore[call-arg, arg-type]
