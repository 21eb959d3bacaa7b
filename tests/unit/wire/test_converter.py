"""JSON becomes models or a `DecodeError`, never anything else."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

import freezegun
import pytest
import time_machine
from cattrs import Converter
from hypothesis import given, strategies as st

from cmsapi import Content, CreditType, CreditUsage, DecodeError, Folder, Keyword, from_dict, register, to_dict
from cmsapi.messages import Response
from tests.support.children import run
from tests.unit.transport.scripted import Scripted

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(["id", "title", "type", "createdAt", "contentStatus", "folder", "version", "lastGeneration"])
CONTENT = {"id": "c", "title": "T", "createdAt": "2026-01-02T03:04:05Z", "folder": {"id": "f"}, "new": [1, {"a": None}]}


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ({"id": 3}, "$.id"),
        ({}, "$.id"),
        ({"id": "c", "version": 1.5}, "$.version"),
        ({"id": "c", "version": True}, "$.version"),
        ({"id": "c", "contentScore": "80"}, "$.contentScore"),
        ({"id": "c", "createdAt": "yesterday"}, "$.createdAt"),
        ({"id": "c", "contentStatus": {"isReadOnly": "no"}}, "$.contentStatus.isReadOnly"),
        ({"id": "c", "folder": []}, "$.folder"),
    ],
)
def test_a_value_of_another_type_is_located(data: dict[str, Any], path: str) -> None:
    """Nothing is coerced; the error contains the value's JSON path."""
    with pytest.raises(DecodeError) as caught:
        from_dict(Content, data)
    assert caught.value.path.startswith(path)


@pytest.mark.parametrize(
    "body",
    [
        *(
            b'{"id": NaN}',
            b"<html>",
            b"",
            b" ",
            b'{"id": "\xff"}',
            b'\xef\xbb\xbf{"id": "k"}',
            b"[]",
            b"null",
            b'"text"',
        ),
        pytest.param(b"[" * 100_000, id="open"),
        pytest.param(b'{"id": "k", "a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", id="nested"),
        pytest.param(b'{"id": ' + b"1" * 5000 + b"}", id="digits"),
    ],
)
@pytest.mark.looptime
async def test_an_unreadable_answer_is_a_decode_error(body: bytes) -> None:
    """Whatever arrives in place of an object, the error is a `DecodeError` with the operation."""
    async with Scripted(Response(200, {}, body)).client() as client:
        with pytest.raises(DecodeError) as caught:
            await client.keywords.get("k")
    assert caught.value.operation == "get_keyword"


@given(st.dictionaries(NAMES | st.text(max_size=5), JSON, max_size=5))
def test_any_object_is_a_model_or_a_decode_error(data: dict[str, Any]) -> None:
    """Arbitrary JSON values give a model or a `DecodeError`."""
    try:
        model = from_dict(Content, data)
    except DecodeError:
        return
    assert model.id == data["id"]


def test_unknown_keys_are_kept() -> None:
    """As many unknown keys as absent fields go into ``extra``, and come back when the model is written."""
    data = {"id": "f", "a": 1, "b": 2, "c": 3, "d": 4}
    folder = from_dict(Folder, data)
    assert folder.extra == {"a": 1, "b": 2, "c": 3, "d": 4}
    assert folder.name is None
    assert data.items() <= to_dict(folder).items()


def test_a_value_of_a_guessed_type_is_kept() -> None:
    """A value of another type does no harm where the specification shows no fields, unless the SDK relies on it."""
    keyword = from_dict(Keyword, {"id": "k", "searchVolume": 12.5, "keyword": "shoes", "new": 1})
    assert (keyword.search_volume, keyword.keyword) == (None, "shoes")
    assert keyword.extra == {"searchVolume": 12.5, "new": 1}
    with pytest.raises(DecodeError, match="analysisStatus"):
        from_dict(Keyword, {"id": "k", "analysisStatus": 1})


def test_models_work_with_a_converter_of_ones_own() -> None:
    """After `register`, a program's converter reads and writes models by the same rules, and others as before."""
    converter = Converter()
    register(converter)
    assert converter.structure("3", int) == 3
    content = converter.structure(CONTENT, Content)
    assert content == from_dict(Content, CONTENT)
    assert converter.unstructure(content)["createdAt"] == CONTENT["createdAt"]


def test_an_unlisted_word_is_taken() -> None:
    """A word that the specification does not list is kept as it came."""
    assert CreditType("brand_new") not in list(CreditType)
    usage = from_dict(CreditUsage, {"id": "u", "type": "brand_new"})
    assert to_dict(usage)["type"] == "brand_new"


@pytest.mark.parametrize("text", ["2026-01-02T03:04:05", "2026-01-02T03:04:05Z", "2026-01-02T04:04:05+01:00"])
def test_a_time_without_a_zone_is_in_utc(text: str) -> None:
    """All times are aware, whatever the service writes."""
    assert from_dict(Content, {"id": "c", "createdAt": text}).created_at == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize("frozen", [freezegun.freeze_time, partial(time_machine.travel, tick=False)])
async def test_a_frozen_clock_changes_nothing(frozen: Callable[[str], Any]) -> None:
    """Tools that replace the clock leave decoding and calls as they are."""
    plain = from_dict(Content, CONTENT)
    with frozen("2001-01-01"):
        assert from_dict(Content, CONTENT) == plain
        async with Scripted(Response(200, {}, b'{"id": "k"}')).client() as client:
            assert (await client.keywords.get("k")).id == "k"


def test_an_import_under_a_frozen_clock_changes_nothing() -> None:
    """Models read times even if cmsapi is imported while freezegun has replaced datetime."""
    program = """
import sys
for name in [name for name in sys.modules if name.startswith("cmsapi")]:
    del sys.modules[name]
import freezegun
with freezegun.freeze_time("2001-01-01"):
    import cmsapi
    inside = cmsapi.from_dict(cmsapi.Content, {"id": "c", "createdAt": "2026-01-02T03:04:05Z"})
outside = cmsapi.from_dict(cmsapi.Content, {"id": "c", "createdAt": "2026-01-02T03:04:05Z"})
print(inside.created_at.year, outside.created_at.year)
"""
    assert run(program).split() == ["2026", "2026"]
