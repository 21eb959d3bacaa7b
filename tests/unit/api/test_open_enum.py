"""Vocabularies take unlisted words."""

from __future__ import annotations

import copy
import json
import pickle

import pytest
from hypothesis import given, strategies as st

import cmsapi
from cmsapi.api.model import OpenEnum
from cmsapi.api.models.credit_usage import CreditType
from cmsapi.api.models.keyword import AnalysisStatus

vocabularies = [
    each
    for each in (getattr(cmsapi, name) for name in cmsapi.__all__)
    if isinstance(each, type) and issubclass(each, OpenEnum) and each is not OpenEnum
]


@pytest.mark.parametrize("vocabulary", vocabularies)
@given(word=st.text())
def test_every_word_behaves_like_its_string(vocabulary: type[OpenEnum], word: str) -> None:
    """A word equals, hashes, prints, pickles and copies like the string, listed or not."""
    value = vocabulary(word)

    assert word == value
    assert hash(word) == hash(value)
    assert word == str(value) == f"{value}" == json.loads(json.dumps(value))
    assert (word in set(vocabulary)) == value.known
    for twin in (pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value), vocabulary(word)):  # noqa: S301
        assert type(twin) is vocabulary
        assert value == twin
        assert value.known == twin.known


def test_unseen_words_leave_no_trace() -> None:
    """A vocabulary does not grow, however many new words come."""
    listed = list(AnalysisStatus)
    members = len(AnalysisStatus._value2member_map_), len(AnalysisStatus._member_map_)

    words = [AnalysisStatus(f"new-{number}") for number in range(1000)]

    assert not any(word.known for word in words)
    assert listed == list(AnalysisStatus) == ["queued", "pending", "success", "failed"]
    assert members == (len(AnalysisStatus._value2member_map_), len(AnalysisStatus._member_map_))
    assert "new-1" not in {word.value for word in AnalysisStatus}


def test_words_are_case_sensitive() -> None:
    """`SUCCESS` is not `success`."""
    assert not AnalysisStatus("SUCCESS").known
    assert AnalysisStatus.SUCCESS is AnalysisStatus("success")


def test_a_word_is_a_string() -> None:
    """Nothing but a string makes a word."""
    for value in (None, 3, b"success", ["success"]):
        with pytest.raises(ValueError, match="not a valid CreditType"):
            CreditType(value)  # type: ignore[arg-type]


def test_an_unseen_word_shows_what_it_is() -> None:
    """The representation names the vocabulary and the word."""
    assert repr(CreditType("gold")) == "<CreditType.gold: 'gold'>"
