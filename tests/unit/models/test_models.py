"""Models accept whatever the service may send, and lose none of it."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from attrs import fields
from hypothesis import given, strategies as st

from cmsapi.models import (
    Content,
    ContentIdea,
    ContentIdeas,
    ContentIdeaSearch,
    CreditType,
    CreditUsage,
    Keyword,
    Model,
    PromptReport,
)
from cmsapi.wire.converter import from_dict, to_dict
from tests.support.strategies import MODELS, models


@pytest.mark.parametrize("cls", MODELS)
@given(data=st.data())
def test_a_model_survives_json(cls: type[Model], data: st.DataObject) -> None:
    """Writing a model as JSON and reading it gives an equal one, unknown keys included."""
    model = data.draw(models(cls))
    assert model == from_dict(cls, json.loads(json.dumps(to_dict(model))))


@pytest.mark.parametrize("cls", MODELS)
def test_any_field_but_the_identifier_may_be_null_or_missing(cls: type[Model]) -> None:
    """A model without values can be read from nulls and from absent keys alike."""
    required = {field.name: "1" for field in fields(cls) if field.name == "id"}
    empty: Any = from_dict(cls, required)
    assert empty == from_dict(cls, {**dict.fromkeys(to_dict(empty)), **required})


@pytest.mark.parametrize("cls", MODELS)
def test_models_copy_and_pickle(cls: type[Model]) -> None:
    """Models pass through process pools and caches."""
    model = from_dict(cls, {"id": "1", "unknown": [1]})
    assert model == copy.deepcopy(model) == pickle.loads(pickle.dumps(model))  # noqa: S301  our own bytes


def test_models_are_hashable_and_share_nothing() -> None:
    """A model can be a dictionary key, and writing into one's ``extra`` changes no other."""
    assert {Keyword(id="k"): 1}[Keyword(id="k")] == 1
    Keyword(id="k").extra["note"] = 1  # type: ignore[index]  # typed as read-only
    assert not Keyword(id="k").extra


def test_a_listed_word_is_a_member() -> None:
    """A listed type of credit can be compared by identity."""
    assert from_dict(CreditUsage, {"type": "ai_writing"}).type is CreditType.AI_WRITING


def test_a_report_keeps_engines_without_an_attribute() -> None:
    """A report contains ChatGPT's part as a model, and those of other engines as they came."""
    report = from_dict(PromptReport, {"chatgpt": {"score": 1, "brands": [{"name": "Hoka"}]}, "other": {"score": 0.2}})
    assert report.chatgpt is not None
    assert report.chatgpt.brands is not None
    assert (report.chatgpt.score, report.chatgpt.brands[0].name) == (1.0, "Hoka")
    assert report.extra == {"other": {"score": 0.2}}


def test_the_text_of_a_content_does_not_flood_a_log() -> None:
    """The representation shortens an article."""
    assert len(repr(Content(id="1", html="<p>" * 10_000, html_sanitized="<p>" * 10_000))) < 1_000


def test_ideas_are_a_sequence() -> None:
    """Ideas are counted, indexed, sliced and iterated like a list."""
    first, second = ContentIdea(keyword="a"), ContentIdea(keyword="b")
    ideas = ContentIdeas(search=ContentIdeaSearch(id="1"), ideas=(first, second), complete=False)
    assert [first, second] == list(ideas)
    assert (2, second, (first,)) == (len(ideas), ideas[-1], ideas[:1])
    assert second in ideas
