"""What is tolerated is counted."""

from __future__ import annotations

from typing import Any

import pytest

from cmsapi.api.models.content import Content, ContentSummary
from cmsapi.api.models.folder import Folder
from cmsapi.api.models.keyword import Keyword, Prompt
from cmsapi.api.models.user import User
from cmsapi.api.wire.converter import Converter
from cmsapi.api.wire.drift import Deviation, Drift, DriftKind
from tests.support import strategies


@pytest.mark.parametrize("model", strategies.TABLES, ids=lambda model: model.__name__)
def test_nulls_are_counted_where_none_is_shown(model: Any) -> None:
    """One count per field whose table shows no null, and none for the others."""
    converter = Converter()
    table = strategies.TABLES[model]
    unshown = {f"{model.__name__}.{name}" for name, kind in table.items() if not strategies.shows_null(kind)}

    converter.structure({name: "x" if name == "id" else None for name in table}, model)

    expected = {(DriftKind.NULL, where, 1) for where in unshown - {f"{model.__name__}.id"}}
    assert expected == {(found.kind, found.where, found.count) for found in converter.drift.deviations()}


@pytest.mark.parametrize(
    ("model", "absent"),
    [
        (Folder, {"name", "depth", "nbAssociatedContents", "parentFolderId"}),
        (Content, strategies.CONTENT.keys() - {"id"}),
        (ContentSummary, set()),
        (Keyword, {"analysisStatus"}),
        (Prompt, set()),
    ],
)
def test_absences_are_counted_where_the_specification_shows_the_key(model: Any, absent: set[str]) -> None:
    """A key that the specification does not show may be absent without a word."""
    converter = Converter()

    converter.structure({"id": "x"}, model)

    expected = {(DriftKind.ABSENT, f"{model.__name__}.{name}", 1) for name in absent}
    assert expected == {(found.kind, found.where, found.count) for found in converter.drift.deviations()}


def test_unknown_keys_words_and_naive_times_are_counted() -> None:
    """Each kind of difference is told with the class, the wire name and an example."""
    converter = Converter()
    whole: dict[str, Any] = dict.fromkeys(strategies.CONTENT) | {"id": "c", "new": 1, "type": "LISTICLE"}
    whole["dueDate"] = "2024-01-31"

    converter.structure([whole, whole], list[Content])

    assert {
        Deviation(DriftKind.UNKNOWN_KEY, "Content.new", 2),
        Deviation(DriftKind.UNKNOWN_WORD, "Content.type", 2, "LISTICLE"),
        Deviation(DriftKind.NAIVE_TIME, "Content.dueDate", 2, "2024-01-31"),
    } == set(converter.drift.deviations())


def test_nested_differences_carry_the_nested_class() -> None:
    """A null inside an organization is the organization's."""
    converter = Converter()

    converter.structure({"id": "u", "organization": {"id": "o", "credits": {"analysis": None}}}, User)

    assert Deviation(DriftKind.NULL, "Credits.analysis", 1) in converter.drift.deviations()


def test_memory_is_bounded() -> None:
    """Of keys that never repeat a thousand are counted, and long names are cut."""
    drift = Drift()
    for number in (*range(2000), 0):
        drift.note(DriftKind.UNKNOWN_KEY, f"Content.{number}" + "x" * 1000)

    assert len(drift.deviations()) == 1000
    assert drift.deviations()[0].count == 2
    assert all(len(found.where) <= 100 for found in drift.deviations())
