"""Documents become models and come back as they were."""

from __future__ import annotations

import contextlib
import copy
import json
import pickle
from datetime import UTC, datetime
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import cmsapi
from cmsapi.api.model import Model
from cmsapi.api.models.content import Content, ContentSummary
from cmsapi.api.models.folder import Folder
from cmsapi.api.models.idea_search import ContentIdea
from cmsapi.api.models.keyword import Keyword
from cmsapi.api.models.report import Report, ScoreReport
from cmsapi.api.wire.converter import Converter, to_dict
from cmsapi.api.wire.drift import DriftKind
from cmsapi.api.wire.shape import shape
from cmsapi.errors import DecodeError
from tests.support import strategies
from tests.support.examples import examples

converter = Converter()
everywhere = pytest.mark.parametrize("model", strategies.TABLES, ids=lambda model: model.__name__)
thorough = settings(max_examples=examples(3), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def outcome(converter: Converter, model: type[Model], document: Any) -> tuple[Model | None, DecodeError | None]:
    """Give the model, or the error."""
    try:
        return converter.structure(document, model), None
    except DecodeError as error:
        return None, error


def misfits(converter: Converter) -> list[str]:
    """Name the fields whose type was guessed wrongly."""
    return [each.where for each in converter.drift.deviations() if each.kind is DriftKind.MISFIT]


def test_a_model_writes_itself() -> None:
    """The method gives what the function gives, in both styles."""
    keyword = cmsapi.from_dict(Keyword, {"id": "k", "keyword": "tents", "seen": 7})
    assert keyword.to_dict() == {"id": "k", "keyword": "tents", "seen": 7}
    assert keyword.to_dict(style="python") == to_dict(keyword, style="python")


def test_python_style_has_every_field_by_its_name() -> None:
    """Times stay datetimes, words are plain strings, inner models are dictionaries, and unlisted keys are kept."""
    content = converter.structure(
        {"id": "c", "type": "new", "createdAt": "2026-01-31T12:00:00Z", "page": {"id": "p", "rank": [1]}}, Content
    )
    written = to_dict(content, style="python")

    assert list(written) == [field.name for field in shape(Content)]
    assert (written["type"], type(written["type"])) == ("new", str)
    assert written["created_at"] == datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert written["page"] == {"id": "p", "url": None, "last_status_code": None, "extra": {"rank": [1]}}
    page = cmsapi.Page(items=(content,), number=1, limit=1, total=1, has_more=False)
    assert to_dict(page, style="python") == to_dict([content], style="python") == [written]
    assert to_dict(page) == [to_dict(content)]
    with pytest.raises(cmsapi.ArgumentError, match="`style` must be 'wire' or 'python', got 'json'"):
        to_dict(content, style="json")  # type: ignore[call-overload]


@everywhere
@thorough
@given(data=st.data())
def test_python_style_holds_nothing_of_the_model(model: type[Model], data: st.DataObject) -> None:
    """Whatever came, all values are plain, and a change of them changes no model."""
    document = data.draw(strategies.documents(strategies.TABLES[model]))
    read = converter.structure(document, model)
    left: list[Any] = [to_dict(read, style="python")]
    while left:
        value = left.pop()
        assert type(value) in (dict, list, str, int, float, bool, type(None), datetime)
        if isinstance(value, dict | list):
            left += value.values() if isinstance(value, dict) else value
            value.clear()
    assert document == to_dict(read)


def test_every_model_is_drawn_from_a_table() -> None:
    """No model escapes the properties below."""
    public = [getattr(cmsapi, name) for name in cmsapi.__all__]
    expected = {each for each in public if isinstance(each, type) and issubclass(each, Model)} - {Model}

    assert expected == strategies.TABLES.keys()


@everywhere
@thorough
@given(data=st.data())
def test_what_came_in_goes_out(model: type[Model], data: st.DataObject) -> None:
    """Unknown keys, absences, nulls, new words and spellings of times survive the way through a model.

    Models of equal documents are equal, hash alike, and stay so through pickle, copy and evolve.
    """
    document = data.draw(strategies.documents(strategies.TABLES[model]))
    before = copy.deepcopy(document)
    first, second = converter.structure(document, model), converter.structure(before, model)

    assert json.dumps(before, sort_keys=True) == json.dumps(to_dict(first), sort_keys=True)
    assert before == to_dict(first) == document
    assert first == second
    assert hash(first) == hash(second)
    for twin in (pickle.loads(pickle.dumps(first)), copy.copy(first), copy.deepcopy(first), attrs.evolve(first)):  # noqa: S301
        assert type(twin) is model
        assert first == twin
        assert hash(first) == hash(twin)
        assert document == to_dict(twin)


@everywhere
@thorough
@given(data=st.data())
def test_a_wrong_type_is_named(model: type[Model], data: st.DataObject) -> None:
    """One value of a wrong type is an error that names its path, unless the type is a guess: then it is kept."""
    converter = Converter()
    document = data.draw(strategies.documents(strategies.TABLES[model]))
    places = [
        place for place in strategies.places(strategies.TABLES[model], document) if strategies.bare(place[1]) != "any"
    ]
    if not places:
        return
    path, kind, container, key = data.draw(st.sampled_from(places))
    container[key] = data.draw(strategies.misfits(kind))

    read, error = outcome(converter, model, document)

    if read is not None:
        assert document == to_dict(read)
        # What holds it is kept, where that cannot be read without it.
        (where,) = misfits(converter)
        assert f".{where.rpartition('.')[2]}" in path
    else:
        assert error is not None
        assert path == error.path
        assert len(error.excerpt) <= 80
        assert error.__context__ is None


@everywhere
@thorough
@given(document=strategies.json_values)
def test_anything_else_is_a_decode_error(model: type[Model], document: Any) -> None:
    """No JSON value makes the converter raise anything but its own error."""
    with contextlib.suppress(DecodeError):
        assert document == to_dict(converter.structure(document, model))


@everywhere
@thorough
@given(data=st.data())
def test_an_ordinary_document_is_no_drift(model: type[Model], data: st.DataObject) -> None:
    """A document as the tables show it leaves no trace."""
    converter = Converter()
    document = data.draw(strategies.documents(strategies.TABLES[model], odd=False))

    read = converter.structure(document, model)

    assert converter.drift.deviations() == ()
    assert read.extra == {}
    assert document == to_dict(read)


@everywhere
def test_an_identifier_is_required_of_what_is_asked_for_by_it(model: type[Model]) -> None:
    """There one that is null, absent or no name is an error; elsewhere it is None, kept and counted.

    A whole number is the text of it.
    """
    kind = strategies.TABLES[model].get("id")
    odd: list[tuple[dict[str, Any], str, DriftKind]] = [
        ({}, "nothing", DriftKind.ABSENT),
        ({"id": None}, "null", DriftKind.NULL),
        ({"id": 3.5}, "3.5", DriftKind.MISFIT),
        ({"id": True}, "True", DriftKind.MISFIT),
        ({"id": {"$oid": "3"}}, "{'$oid': '3'}", DriftKind.MISFIT),
    ]
    for document, found, drift in odd if kind else ():
        counting = Converter()
        read, error = outcome(counting, model, document)
        if strategies.is_required(kind):
            assert error is not None
            assert ("$.id", found) == (error.path, error.excerpt)
        else:
            assert read is not None
            assert (None, document) == (read.id, to_dict(read))  # type: ignore[attr-defined]
            where = f"{model.__name__}.id"
            assert drift in [each.kind for each in counting.drift.deviations() if each.where == where]
    for identifier in ("x", 3, -(2**127)) if kind else ():
        assert converter.structure({"id": identifier}, model).id == str(identifier)  # type: ignore[attr-defined]
        assert to_dict(converter.structure({"id": identifier}, model)) == {"id": identifier}


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({"id": "c", "contentScore": True}, "$.contentScore"),
        ({"id": "c", "contentScore": 3.0}, "$.contentScore"),
        ({"id": "c", "isStarted": 1}, "$.isStarted"),
        ({"id": "c", "isStarted": "false"}, "$.isStarted"),
        ({"id": "c", "title": 3}, "$.title"),
        ({"id": "c", "type": ["DRAFT"]}, "$.type"),
        ({"id": "c", "dueDate": 1700000000}, "$.dueDate"),
        ({"id": "c", "dueDate": "2024-01-01x00:00:00Z"}, "$.dueDate"),
        ({"id": "c", "folder": []}, "$.folder"),
        ({"id": "c", "page": {"id": "p", "lastStatusCode": "200"}}, "$.page.lastStatusCode"),
    ],
)
def test_nothing_is_coerced(document: dict[str, Any], path: str) -> None:
    """A value that is almost right is wrong."""
    with pytest.raises(DecodeError) as caught:
        converter.structure(document, Content)

    assert path == caught.value.path


@pytest.mark.parametrize(
    ("model", "document", "field"),
    [
        (Keyword, {"id": "k", "searchVolume": "many"}, "search_volume"),
        (Keyword, {"id": "k", "lastAnalyzedAt": 1700000000}, "last_analyzed_at"),
        (Keyword, {"id": "k", "lastAnalyzedAt": "yesterday"}, "last_analyzed_at"),
        (ContentIdea, {"id": "i", "keyword": ["a", "b"]}, "keyword"),
        (Report, {"score": 0.5, "sources": {"by": "domain"}}, "sources"),
        (Report, {"score": 0.5, "sources": ["https://one.example"]}, "sources"),
        (Report, {"score": 0.5, "brands": [{"name": "One"}, None]}, "brands"),
        (ScoreReport, {"chatgpt": "soon"}, "chatgpt"),
        (ContentSummary, {"id": "c", "folder": {"id": "f", "name": 3}}, "folder"),
        (ContentSummary, {"id": "c", "assignedTo": "usr_1"}, "assigned_to"),
    ],
)
def test_a_wrong_guess_makes_nothing_unreadable(model: type[Model], document: dict[str, Any], field: str) -> None:
    """A value whose type is a guess is kept in `extra` when it has another type."""
    converter = Converter()

    read = converter.structure(document, model)

    assert not getattr(read, field)
    assert document == to_dict(read)
    assert len(misfits(converter)) == 1
    assert to_dict(converter.structure({"id": "next", "score": 1}, model)) == {"id": "next", "score": 1}


def test_a_new_value_replaces_a_misfit() -> None:
    """What was set on purpose is written, not what was in its way."""
    read = Converter().structure({"id": "k", "searchVolume": "many"}, Keyword)

    assert to_dict(attrs.evolve(read, search_volume=3)) == {"id": "k", "searchVolume": 3}


def test_a_failed_reading_leaves_nothing_behind() -> None:
    """Misfits of a document that could not be read do not turn up in the next one."""
    converter = Converter()
    with pytest.raises(DecodeError):
        converter.structure({"id": "k", "searchVolume": "many", "analysisStatus": 3}, Keyword)

    assert converter.structure({"id": "k"}, Keyword).extra == {}


def test_numbers_are_left_untouched() -> None:
    """A score may be an integer or a float, and stays what it was."""
    for score in (1, 1.0, 0.5):
        read = converter.structure({"score": score}, Report).score
        assert (type(score), score) == (type(read), read)
    assert converter.structure({"score": True}, Report).extra == {"score": True}


def test_equally_many_unknown_and_absent_keys_are_told_apart() -> None:
    """A count of keys would be fooled by this pair."""
    document = {"id": "f", "name": "n", "depth": 0, "nbAssociatedContents": 0, "colour": "red"}

    folder = converter.structure(document, Folder)

    assert folder.extra == {"colour": "red"}
    assert folder.parent_folder_id is None
    assert document == to_dict(folder)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2024-01-31", datetime(2024, 1, 31, tzinfo=UTC)),
        ("2024-01-31T12:00:00", datetime(2024, 1, 31, 12, tzinfo=UTC)),
        ("2024-01-31T12:00:00.000Z", datetime(2024, 1, 31, 12, tzinfo=UTC)),
        ("2024-01-31T12:00:00+02:00", datetime(2024, 1, 31, 10, tzinfo=UTC)),
        ("2026-02-28T12:00:00z", datetime(2026, 2, 28, 12, tzinfo=UTC)),
        ("2026-02-28t12:00:00.5z", datetime(2026, 2, 28, 12, 0, 0, 500_000, tzinfo=UTC)),
        ("2026-02-28T24:00:00Z", datetime(2026, 3, 1, tzinfo=UTC)),
        ("2026-02-28T24:00:00.000+00:00", datetime(2026, 3, 1, tzinfo=UTC)),
        ("20260228T240000Z", datetime(2026, 3, 1, tzinfo=UTC)),
        ("2026-12-31T24:00", datetime(2027, 1, 1, tzinfo=UTC)),
    ],
)
def test_iso_8601_is_read_in_all_its_forms(text: str, time: datetime) -> None:
    """Without an offset it is UTC; small letters and midnight at the end of a day are fine; texts stay."""
    read = cmsapi.from_dict(cmsapi.Content, {"id": "c", "dueDate": text})
    assert (read.due_date, cmsapi.to_dict(read)) == (time, {"id": "c", "dueDate": text})


@pytest.mark.parametrize(
    "text", ["2026-02-28T24:00:01Z", "2026-02-28T25:00:00Z", "9999-12-31T24:00:00Z", "2026-02-28T24:00:00.1Z"]
)
def test_other_hours_are_no_times(text: str) -> None:
    """Only midnight itself has the hour 24."""
    with pytest.raises(cmsapi.DecodeError):
        cmsapi.from_dict(cmsapi.Content, {"id": "c", "dueDate": text})


def test_a_changed_field_shows_and_the_rest_stays() -> None:
    """Only what `attrs.evolve` changes differs in the document."""
    document = {"id": "c", "title": "old", "html": None, "dueDate": "2024-01-31T12:00:00+02:00", "new": [1]}
    content = converter.structure(document, Content)

    evolved = attrs.evolve(content, title=None, version=3, updated_at=datetime(2024, 2, 1, microsecond=5, tzinfo=UTC))

    expected = {**document, "title": None, "version": 3, "updatedAt": "2024-02-01T00:00:00.000005Z"}
    assert expected == to_dict(evolved)
    assert {**document, "dueDate": "2025-01-01T00:00:00.000Z"} == to_dict(
        attrs.evolve(content, due_date=datetime(2025, 1, 1, tzinfo=UTC))
    )
    assert {**document, "dueDate": None} == to_dict(attrs.evolve(content, due_date=None))


def test_a_model_built_by_hand_writes_what_is_set() -> None:
    """None is left out, because the program did not ask for null."""
    folder = cmsapi.FolderRef(id="f")
    content = Content(id="c", folder=folder, created_at=datetime(2024, 1, 1, tzinfo=UTC), extra={"new": {"a": 1}})

    expected = {"id": "c", "folder": {"id": "f"}, "createdAt": "2024-01-01T00:00:00.000Z", "new": {"a": 1}}
    assert expected == to_dict(content)
    assert [expected, {"id": "f"}] == to_dict([content, folder])
    assert repr(content).startswith("Content(id='c', title=None")


def test_models_are_read_only() -> None:
    """Neither a field nor an unknown key can be changed, and the document of a model is a copy."""
    document = {"id": "c", "new": {"a": [1]}}
    content = converter.structure(document, Content)

    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        content.title = "x"  # type: ignore[misc]
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        del content.title
    with pytest.raises(TypeError):
        content.extra["new"] = 1  # type: ignore[index]
    to_dict(content)["new"]["a"].append(2)
    assert to_dict(content) == {"id": "c", "new": {"a": [1]}}
    assert not hasattr(content, "__dict__")


def test_a_null_list_stays_null() -> None:
    """A list that came as null is None, an absent one is empty, and both go out as they came."""
    for document in ({"score": 1, "sources": None}, {"score": 1}, {"score": 1, "sources": []}):
        report = converter.structure(document, Report)
        assert document == to_dict(report)
        assert document == to_dict(attrs.evolve(report))
    assert to_dict(converter.structure({"chatgpt": None}, ScoreReport)) == {"chatgpt": None}


@pytest.mark.parametrize("value", [{"add": ["hats"]}, ["hats", {"add": 3}], "more hats", 0, None])
def test_what_has_no_shown_shape_is_what_came(value: Any) -> None:
    """Recommendations are whatever JSON came, and no deviation."""
    converter = Converter()
    report = converter.structure({"score": 1, "recommendations": value}, Report)

    assert value == report.recommendations
    assert not misfits(converter)
    assert to_dict(report) == {"score": 1, "recommendations": value}


def test_patterns_of_absent_keys_are_shared() -> None:
    """A thousand models without the same keys remember them once."""
    read = [converter.structure({"id": str(number)}, Content) for number in range(2)]

    assert read[0].absent_keys is read[1].absent_keys


def test_a_model_tells_which_keys_its_document_lacked() -> None:
    """Absent is told from null; neither the text nor the HTML of a model shows what it remembers."""
    read = converter.structure({"id": "p", "url": None}, cmsapi.PageRef)

    assert read.absent_keys == frozenset({"lastStatusCode"})
    assert (read.lacks("lastStatusCode"), read.lacks("url")) == (True, False)
    assert cmsapi.PageRef(id="p").absent_keys is None
    for shown in (repr(read), read._repr_html_()):
        assert "absent" not in shown
        assert "time_texts" not in shown


def test_patterns_of_absent_keys_are_bounded() -> None:
    """A service that omits keys at random does not fill the memory."""
    names = [name for name in strategies.CONTENT if name != "id"][:8]
    for pattern in range(256):
        document = {"id": "c"} | {name: None for bit, name in enumerate(names) if pattern >> bit & 1}
        assert document == to_dict(converter.structure(document, Content))


def test_what_is_not_json_is_refused_too() -> None:
    """A mapping that is no dictionary, or an endless integer, still ends in the converter's own error."""
    with pytest.raises(DecodeError) as caught:
        converter.structure({"id": 10**5000}, Content)
    assert caught.value.excerpt == "int"
    with pytest.raises(DecodeError, match="an object"):
        converter.structure(cmsapi.Content(id="c").extra, Content)


def test_a_field_without_a_form_on_the_wire_is_a_mistake_in_the_model() -> None:
    """A type that no document can hold is refused when the class is first read."""

    @attrs.frozen(kw_only=True)
    class Odd(Model):
        blob: bytes

    with pytest.raises(TypeError, match="blob"):
        shape(Odd)
