"""CPU time to read a page of 100 contents with cmsapi, plain cattrs on the same classes, pydantic and JSON parsers."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

import attrs
import orjson
from cattrs import Converter
from cattrs.gen import make_dict_structure_fn, override
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from benchmarks.table import show, take_turns
from cmsapi.models import ContentSummary
from cmsapi.wire.converter import camel, parse, structure
from cmsapi.wire.paging import Page

_TIME = "2026-11-28T12:00:00.000Z"
_CONTENT: dict[str, Any] = {
    "id": "cnt_01hxy",
    "title": "Trail running shoes",
    "type": "DRAFT",
    "contentScore": 55,
    "wordsCount": 800,
    "createdAt": _TIME,
    "updatedAt": _TIME,
    "contentUpdatedAt": _TIME,
    "publishedAt": None,
    "dueDate": None,
    "assignedTo": {"id": "usr_1", "firstName": "A", "lastName": "B", "email": "a@b.example", "profileImageUrl": None},
    "contentStatus": {"id": "sta_1", "label": "Draft", "color": "#fff", "position": 1, "isReadOnly": False},
    "folder": {"id": "fld_1", "name": "Shoes"},
    "page": {"id": "pag_1", "url": "https://example.com/", "lastStatusCode": 200},
}
BODY = json.dumps(
    {"data": [_CONTENT] * 100, "pagination": {"total": 100, "page": 1, "limit": 100, "hasMore": False}}
).encode()


class _Base(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, extra="allow")


class _User(_Base):
    id: str
    first_name: str | None = None
    last_name: str | None = None
    email: str | None = None
    profile_image_url: str | None = None


class _Status(_Base):
    id: str
    label: str | None = None
    color: str | None = None
    position: int | None = None
    is_read_only: bool | None = None


class _Folder(_Base):
    id: str
    name: str | None = None


class _WebPage(_Base):
    id: str
    url: str | None = None
    last_status_code: int | None = None


class _Content(_Base):
    id: str
    title: str | None = None
    type: str | None = None
    content_score: int | None = None
    words_count: int | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    content_updated_at: datetime | None = None
    published_at: datetime | None = None
    due_date: datetime | None = None
    assigned_to: _User | None = None
    content_status: _Status | None = None
    folder: _Folder | None = None
    page: _WebPage | None = None


class _Page(_Base):
    data: list[_Content]


def plain_cattrs() -> Converter:
    """Return a cattrs converter with default settings, except that it reads camel-case names and parses times."""
    converter = Converter()
    converter.register_structure_hook(datetime, lambda value, _: datetime.fromisoformat(value))

    def renamed(cls: Any) -> Any:
        names: dict[str, Any] = {
            each.name: override(rename=camel(each.name))
            for each in attrs.fields(cls)
            if each.name not in ("extra", "response")
        }
        return make_dict_structure_fn(cls, converter, extra=override(omit=True), **names)

    converter.register_structure_hook_factory(attrs.has, renamed)
    return converter


def timed(read: Callable[[], object]) -> Callable[[], float]:
    """Return a function that calls ``read`` once and returns its CPU time in microseconds."""

    def measure() -> float:
        began = time.process_time()
        read()
        return (time.process_time() - began) * 1e6

    return measure


def main() -> None:
    """Measure all contestants and print their table."""
    plain, contents = plain_cattrs(), tuple[ContentSummary, ...]
    contestants: dict[str, Callable[[], object]] = {
        "plain cattrs": lambda: plain.structure(json.loads(BODY)["data"], contents),
        "cmsapi": lambda: structure(parse(BODY), Page[ContentSummary]),
        "pydantic": lambda: _Page.model_validate_json(BODY),
        "json.loads alone": lambda: json.loads(BODY),
        "orjson.loads alone": lambda: orjson.loads(BODY),
    }
    for read in contestants.values():
        read()
    rounds = take_turns({name: timed(read) for name, read in contestants.items()}, 100)
    show("A page of 100 contents, from bytes to objects", "µs of CPU", rounds)


if __name__ == "__main__":
    main()
