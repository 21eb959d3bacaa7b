"""Models inside other people's classes: one call teaches any cattrs converter to read and write them."""

from __future__ import annotations

import copy
import importlib.util
from collections import OrderedDict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import attrs
import cattrs
import pytest
from hypothesis import given, settings, strategies as st

import cmsapi
from cmsapi import AnalysisStatus, Content, Credits, DecodeError, FolderTree, Keyword, Report, User, UserRef
from tests.support import strategies
from tests.support.examples import examples

MAKERS: dict[str, Callable[..., cattrs.Converter]] = {"plain": cattrs.Converter}
# Free-threaded builds of Python have no orjson.
if importlib.util.find_spec("orjson") is not None:
    from cattrs.preconf.orjson import make_converter

    MAKERS["orjson"] = make_converter
makers = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


@attrs.frozen
class Campaign:
    """A user's own class that holds models."""

    name: str
    keyword: Keyword
    drafts: list[Content]
    report: Report | None
    status: AnalysisStatus | None
    team: dict[str, UserRef]
    owner: User | None = None


def registered(make: Callable[..., cattrs.Converter], **options: Any) -> cattrs.Converter:
    """Make a converter that knows the models."""
    converter = make(**options)
    cmsapi.register(converter)
    return converter


CONVERTERS = {name: registered(make) for name, make in MAKERS.items()}


def campaign(**changes: Any) -> dict[str, Any]:
    """Return the document of a campaign, with what documents of the service may hold."""
    document = {
        "name": "spring",
        "keyword": {"id": "k", "analysisStatus": "resting", "searchVolume": "many", "colour": {"r": [1]}},
        "drafts": [{"id": "c", "html": None, "dueDate": "2024-01-31T12:00:00+02:00", "createdAt": "2024-01-31"}],
        "report": {"score": 1, "sources": [{"url": "https://one.example"}], "brands": None, "preview": {"a": [2]}},
        "status": "new-word",
        "team": {"zoe": {"id": "u", "firstName": "Zoë", "lastName": "L"}},
        "owner": None,
    }
    return copy.deepcopy(document) | changes


@pytest.mark.parametrize("converter", CONVERTERS.values(), ids=CONVERTERS)
@settings(max_examples=examples(5))
@given(data=st.data())
def test_what_came_in_goes_out_of_a_users_class(converter: cattrs.Converter, data: st.DataObject) -> None:
    """Unknown keys, absences, nulls, new words and spellings of times survive inside lists, options and mappings."""
    name, model = data.draw(st.sampled_from([("keyword", Keyword), ("report", Report), ("owner", User)]))
    document = campaign(**{name: data.draw(strategies.documents(strategies.TABLES[model]))})
    before = copy.deepcopy(document)

    read = converter.structure(document, Campaign)

    assert before == converter.unstructure(read)
    assert before == document
    assert type(converter.unstructure(read)["status"]) is str


@pytest.mark.skipif("orjson" not in MAKERS, reason="free-threaded builds of Python have no orjson")
def test_text_goes_there_and_back_through_orjson() -> None:
    """A preconfigured converter writes and reads text with models inside."""
    from cattrs.preconf.orjson import make_converter

    converter = make_converter()
    cmsapi.register(converter)

    text = converter.dumps(converter.structure(campaign(), Campaign))
    read = converter.loads(text, Campaign)

    assert campaign() == converter.unstructure(read)
    assert read.keyword.analysis_status == "resting"
    assert read.drafts[0].due_date == datetime(2024, 1, 31, 10, tzinfo=UTC)
    assert read.status is not None
    assert not read.status.known


@makers
def test_reading_is_strict(make: Callable[..., cattrs.Converter]) -> None:
    """A wrong value inside a model is the SDK's error with its path, alone or in the group that cattrs makes."""
    document = campaign(drafts=[{"id": "c", "contentStatus": {"id": "s", "position": 2.5}}])

    with pytest.raises(DecodeError) as alone:
        registered(make, detailed_validation=False).structure(document, Campaign)
    with pytest.raises(cattrs.ClassValidationError) as grouped:
        registered(make).structure(document, Campaign)

    assert (alone.value.path, alone.value.excerpt) == ("$.contentStatus.position", "2.5")
    (found,) = cattrs.transform_error(grouped.value)
    assert "$.drafts[0]" in found
    wrong: dict[str, Any]
    for wrong in ({"status": 3}, {"keyword": None}, {"report": [{}]}):
        with pytest.raises(DecodeError):
            registered(make, detailed_validation=False).structure(campaign(**wrong), Campaign)


@makers
def test_other_hooks_do_not_reach_into_models(make: Callable[..., cattrs.Converter]) -> None:
    """Whatever a converter does with texts and times, a model is the document that came."""
    converter = registered(make)
    converter.register_structure_hook(str, lambda value, _: str(value).upper())
    converter.register_unstructure_hook(str, str.lower)
    converter.register_unstructure_hook(datetime, datetime.timestamp)

    read = converter.structure(campaign(name="Spring"), Campaign)

    assert read.name == "SPRING"
    assert read.team["ZOE"].first_name == "Zoë"
    assert campaign(name="spring") == converter.unstructure(read)


@makers
def test_a_hook_registered_later_comes_first(make: Callable[..., cattrs.Converter]) -> None:
    """A user's own hook for one of the models is used wherever that model is, and only in that converter."""
    converter = registered(make)
    converter.register_structure_hook(Credits, lambda *_: Credits(analysis=7, ai_writing=7, content_ideas_searches=7))
    converter.register_unstructure_hook(Credits, lambda value: value.analysis)
    document = {
        "id": "u",
        "organization": {"id": "o", "credits": {"analysis": 1, "ai_writing": 1, "content_ideas_searches": 1}},
    }

    read = converter.structure(document, User)

    assert read.organization.credits.analysis == 7
    assert converter.unstructure(read)["organization"]["credits"] == 7
    assert cmsapi.to_dict(read)["organization"]["credits"]["analysis"] == 7


@makers
def test_a_copied_converter_knows_the_models(make: Callable[..., cattrs.Converter]) -> None:
    """The hooks go along when a converter is copied."""
    converter = registered(make).copy()

    assert campaign() == converter.unstructure(converter.structure(campaign(), Campaign))


@makers
def test_a_folder_tree_is_a_list(make: Callable[..., cattrs.Converter]) -> None:
    """A tree of folders is written as the list that the service sent, and becomes a tree again."""
    converter = registered(make)
    document = [{"id": "child", "parentFolderId": "root", "colour": 1}, {"id": "root", "parentFolderId": None}]

    tree = converter.structure(document, FolderTree)

    assert [folder.id for folder in tree.path("child")] == ["root", "child"]
    assert document == converter.unstructure(tree)


def test_a_document_becomes_a_model() -> None:
    """`from_dict` reads one document or several, as strictly as an answer, and keeps no part of them."""
    document = {"id": "k", "keyword": "shoes", "colour": {"r": [1]}}
    before = copy.deepcopy(document)

    read = cmsapi.from_dict(Keyword, document)
    several = cmsapi.from_dict(list[Keyword], [document, {"id": "l"}])
    document["colour"]["r"].append(2)  # type: ignore[index]
    document.clear()

    assert before == cmsapi.to_dict(read)
    assert [before, {"id": "l"}] == cmsapi.to_dict(several)
    assert read == cmsapi.from_dict(Keyword, OrderedDict(before))
    with pytest.raises(DecodeError, match=r"integer at \$\.version"):
        cmsapi.from_dict(Content, OrderedDict(id="c", version="1"))
    with pytest.raises(DecodeError) as caught:
        cmsapi.from_dict(list[Keyword], [before, {"id": "l", "analysisStatus": 3}])
    assert caught.value.path == "$[1].analysisStatus"


def test_times_are_spelled_as_the_service_does() -> None:
    """A time that was not read is written in UTC, and refused where it has no offset or lies beyond all years."""

    def spelled(time: datetime) -> str:
        due: str = cmsapi.to_dict(Content(id="c", due_date=time))["dueDate"]
        return due

    assert spelled(datetime(2024, 1, 31, 12, tzinfo=timezone(timedelta(hours=2)))) == "2024-01-31T10:00:00.000Z"
    assert spelled(datetime.max.replace(tzinfo=UTC)) == "9999-12-31T23:59:59.999999Z"
    with pytest.raises(ValueError, match="offset"):
        spelled(datetime(2024, 1, 31))  # noqa: DTZ001  the mistake under test
    with pytest.raises(ValueError, match="UTC"):
        spelled(datetime.min.replace(tzinfo=timezone(timedelta(hours=2))))
