"""JSON text is taken strictly, and every refusal is a decode error."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from cmsapi.api.models.content import Content
from cmsapi.api.models.credit_usage import CreditType
from cmsapi.api.models.generation import GenerationSettings
from cmsapi.api.wire.converter import Converter, to_dict
from cmsapi.api.wire.jsontext import dumps, dumps_strictly, loads, loads_strictly
from cmsapi.errors import DecodeError
from tests.support import strategies

Reader = Callable[[bytes], Any]

READERS: dict[str, Reader] = {"strict": loads_strictly, "orjson": loads}
WRITERS: dict[str, Callable[[Any], bytes]] = {"strict": dumps_strictly, "orjson": dumps}

HOSTILE = [
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
]

# What is fine, and what the two parsers read differently.
TRICKY = [
    b"18446744073709551615",
    b"18446744073709551616",
    b"-9223372036854775809",
    b'{"id":"c","extra":[123456789012345678901234567890]}',
    b"-0",
    b"-0.0",
    b"1E400",
    b"1e-400",
    b"0.1000000000000000055511151231257827",
    b"1.0",
    b"1e21",
    b'{"a":1,"a":1}',
    b'{"a":{"b":[{"c":1,"c":2}]}}',
    b'{"":0,"":1}',
    b'"\\ud83d\\ude00"',
    b'"\\ude00\\ud83d"',
    b'"\\u0000\\u007f\\u2028"',
    b'"\xed\xa0\x80"',
    b'"\xc0\x80"',
    b"\xef\xbb\xbf\xef\xbb\xbf1",
    b"\xef\xbb\xbf{}",
    b"01",
    b"+1",
    b".5",
    b"1.",
    b"0x1",
    b"null",
    b"nul",
    b"Infinity",
    b'{"a":NaN}',
    b"'a'",
    b"[1,2,]",
    b"{,}",
    b"//",
    b"[] []",
    b"\x00[]",
    b"[]\x00",
    b'"\x7f"',
    b'"\t"',
    b'{"a":1,}',
    b" [ 1 ] ",
    *(b"[" * depth + b"]" * depth for depth in (200, 253, 254, 255, 256, 700)),
    *(b'{"a":' * depth + b"1" + b"}" * depth for depth in (200, 254, 255, 700)),
    b"[" * 1_000_000 + b"]" * 1_000_000,
]


def outcome(read: Reader, body: bytes) -> tuple[str, str]:
    """Return what reading comes to: the document as text, types told apart, or the whole error."""
    try:
        return "document", json.dumps(read(body))
    except DecodeError as error:
        return str(error), error.excerpt


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
@pytest.mark.parametrize(("body", "words"), HOSTILE)
def test_hostile_text_is_refused(read: Reader, body: bytes, words: str) -> None:
    """Each liberty of Python's parser, each bomb and each broken text ends in the same kind of error, at once."""
    started = time.thread_time()

    with pytest.raises(DecodeError, match=words) as caught:
        read(body)

    assert caught.value.path == "$"
    assert len(caught.value.excerpt) <= 80
    assert caught.value.__context__ is None
    assert time.thread_time() - started < 1


@pytest.mark.parametrize("body", [*(body for body, _ in HOSTILE), *TRICKY], ids=lambda body: repr(body[:40]))
def test_orjson_changes_nothing_but_the_time(body: bytes) -> None:
    """With orjson and without, a body is the same document or the same error with the same words."""
    assert outcome(READERS["strict"], body) == outcome(READERS["orjson"], body)


# Bits of JSON, right and wrong, put together at random: much more of it gets past the first byte than of any bytes.
pieces = st.sampled_from(
    [
        *(b"{", b"}", b"[", b"]", b",", b":", b'"', b'"a"', b'"a":', b'"b":', b"1", b"-", b"0", b".", b"e", b"9" * 20),
        *(b"1e999", b"null", b"true", b"NaN", b" ", b"\n", b"\\", b"\\u0061", b"\\ud800", b"\xff", "é".encode()),
        b"\xef\xbb\xbf",
    ]
)
members = st.lists(st.tuples(st.sampled_from("abc"), strategies.json_values))


@given(st.lists(pieces).map(b"".join) | st.binary())
def test_orjson_changes_nothing_for_any_bytes(body: bytes) -> None:
    """Whatever the bytes are, both readers agree, and raise nothing but decode errors."""
    assert outcome(READERS["strict"], body) == outcome(READERS["orjson"], body)


@given(members, st.booleans(), st.sampled_from([(",", ":"), (", ", ": ")]))
def test_orjson_changes_nothing_for_repeated_keys(
    pairs: list[tuple[str, Any]], escaped: bool, separators: tuple[str, str]
) -> None:
    """Objects whose keys may repeat, in any spelling, are read alike; a repeated key is never passed over."""
    comma, colon = separators
    texts = [json.dumps(name) + colon + json.dumps(value, ensure_ascii=escaped) for name, value in pairs]
    body = f"[{{{comma.join(texts)}}}]".encode()
    read = outcome(READERS["orjson"], body)
    assert read == outcome(READERS["strict"], body)
    assert ("is repeated" in read[0]) == (len(dict(pairs)) < len(pairs))


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("orjson") is None, reason="free-threaded builds of Python have no orjson")
@pytest.mark.parametrize("missing", [False, True])
def test_orjson_is_used_where_it_is_installed(missing: bool) -> None:
    """Without orjson everything is read and written all the same; with it, the strict reader has nothing to do."""
    script = (
        f"import sys\nif {missing}: sys.modules['orjson'] = None\n"
        "from cmsapi.api.wire import jsontext\n"
        "calls = []\nsys.setprofile(lambda frame, event, _: calls.append(frame.f_code.co_name))\n"
        "text = jsontext.dumps(jsontext.loads(b'[1]'))\nsys.setprofile(None)\n"
        "print(text.decode(), 'loads_strictly' in calls, 'dumps_strictly' in calls)"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["[1]", str(missing), str(missing)]


@given(strategies.json_values)
def test_text_goes_there_and_back(document: Any) -> None:
    """What is written is read back, with and without a byte order mark, and as others would write it."""
    text = dumps(document)

    for read in READERS.values():
        assert document == read(text) == read(b"\xef\xbb\xbf" + text) == read(json.dumps(document, indent=1).encode())


def test_text_is_compact_utf8() -> None:
    """No spaces and no escapes that UTF-8 makes unnecessary."""
    assert '{"é":[1,null]}'.encode() == dumps({"é": [1, None]})


@given(strategies.json_values)
def test_both_writers_write_the_same(document: Any) -> None:
    """Whichever writer is installed, the document that is read from its text is the same."""
    assert loads_strictly(WRITERS["orjson"](document)) == loads_strictly(dumps_strictly(document)) == document


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize(
    "value",
    [
        *(float("nan"), float("inf"), {1, 2}, object(), "\ud800"),
        # orjson has a form for these.
        *(UUID(int=1), datetime(2024, 1, 31, tzinfo=UTC), date(2024, 1, 31)),
    ],
)
def test_what_has_no_form_in_json_is_refused(value: object, writer: str) -> None:
    """Nothing is written that a strict reader would refuse, and nothing that only one of the writers knows."""
    with pytest.raises(ValueError, match=r"."):
        WRITERS[writer]([value])


@pytest.mark.parametrize("value", [2**64, (1, 2), {1: None}, {"a": (True, -0.0)}, CreditType.ANALYSIS])
def test_what_one_writer_does_not_know_is_written_all_the_same(value: object) -> None:
    """Large integers, tuples and keys that are no strings look alike with each JSON library."""
    assert WRITERS["orjson"](value) == dumps_strictly(value)


@pytest.mark.parametrize("writer", WRITERS)
def test_a_circle_is_refused(writer: str) -> None:
    """A list that contains itself has no form in JSON."""
    circle: list[Any] = []
    circle.append(circle)

    with pytest.raises(ValueError, match="Circular"):
        WRITERS[writer](circle)


def test_deep_unknown_values_are_kept() -> None:
    """A model gives back what the parser takes, also where it is nested too deeply for recursion."""
    body = b'{"id":"c","new":' + b"[" * 700 + b"]" * 700 + b"}"

    document = to_dict(Converter().structure(loads(body), Content))

    assert body == dumps(document)


def test_unset_settings_are_not_sent() -> None:
    """Only what is set goes out, false included, and unlisted settings with it."""
    settings = GenerationSettings(brand_voice_id="v", fact_checking_enabled=False, extra={"tone": "dry"})

    assert to_dict(settings) == {"brandVoiceId": "v", "factCheckingEnabled": False, "tone": "dry"}
    assert to_dict(GenerationSettings()) == {}
    with pytest.raises(TypeError):
        GenerationSettings("v")  # type: ignore[call-arg, arg-type]
