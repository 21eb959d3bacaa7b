"""What a job's document means, in the specification's words and in those of similar services."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cmsapi import ContentIdeaSearch, Generation, Keyword, KnowledgeDocument, from_dict
from cmsapi.jobs.kinds import JobKind, LaunchContext, kinds_of
from cmsapi.jobs.words import Phase
from tests.support.spec import spec

LAUNCHED = datetime(2026, 11, 28, 12, tzinfo=UTC)
BEFORE, AFTER = LAUNCHED - timedelta(days=1), LAUNCHED + timedelta(seconds=30)


def launch(age: float = 20.0, **known: Any) -> LaunchContext:
    """Return a launch at noon."""
    return LaunchContext(at=LAUNCHED, age=age, **known)


def keyword(word: str | None, analyzed: datetime | None = None) -> Keyword:
    """Return a keyword as a poll shows it."""
    return Keyword(id="kw", analysis_status=word, last_analyzed_at=analyzed)


@pytest.mark.parametrize(
    ("word", "analyzed", "known", "phase"),
    [
        pytest.param("queued", BEFORE, {}, Phase.RUNNING, id="the first word"),
        pytest.param("success", BEFORE, {}, Phase.RUNNING, id="the success of before"),
        pytest.param("success", BEFORE, {"age": 7200.0}, Phase.RUNNING, id="still as before, for as long as it takes"),
        pytest.param("success", AFTER, {}, Phase.SUCCEEDED, id="a new time"),
        pytest.param("success", LAUNCHED, {}, Phase.SUCCEEDED, id="a time of the second of the launch"),
        pytest.param("success", BEFORE, {"moved": True}, Phase.SUCCEEDED, id="an old time after a running word"),
        pytest.param("success", None, {}, Phase.UNCLEAR, id="neither a time nor a running word, at first"),
        pytest.param("success", None, {"age": 61.0}, Phase.SUCCEEDED, id="neither, after a minute"),
        pytest.param("failed", BEFORE, {}, Phase.RUNNING, id="a failure that may be of before"),
        pytest.param("failed", BEFORE, {"age": 61.0}, Phase.FAILED, id="such a failure, after a minute"),
        pytest.param("failed", BEFORE, {"moved": True}, Phase.FAILED, id="a failure after a running word"),
        pytest.param("failed", AFTER, {}, Phase.FAILED, id="a failure with a new time"),
        pytest.param(None, None, {}, Phase.RUNNING, id="null, as before the first analysis"),
    ],
)
def test_an_analysis_ends_at_an_edge(
    word: str | None, analyzed: datetime | None, known: dict[str, Any], phase: Phase
) -> None:
    """A terminal word counts if it belongs to this launch, not if it may belong to the previous one."""
    assert kinds_of()[JobKind.ANALYSIS].read(keyword(word, analyzed), launch(**known)).phase is phase


@spec("2.6:status")
@pytest.mark.parametrize(
    ("word", "phase"),
    [("pending", Phase.RUNNING), ("success", Phase.SUCCEEDED), ("failed", Phase.FAILED), (None, Phase.UNCLEAR)],
)
def test_the_document_of_a_search_is_its_own(word: str | None, phase: Phase) -> None:
    """A search has its own identifier, so that its word is believed at once."""
    document = from_dict(ContentIdeaSearch, {"id": "cis", "status": word})
    assert kinds_of()[JobKind.SEARCH].read(document, launch(own="cis")).phase is phase


@pytest.mark.parametrize(
    ("document", "phase"),
    [
        ({"id": "gen_1", "status": "queued"}, Phase.RUNNING),
        ({"id": "gen_1", "status": "review"}, Phase.REVIEW),
        ({"id": "gen_1", "status": "applied"}, Phase.SUCCEEDED),
        ({"id": "gen_1", "status": "failed"}, Phase.FAILED),
        ({"id": "gen_2", "status": "review"}, Phase.UNCLEAR),
    ],
)
def test_a_generation_is_known_by_its_identifier(document: dict[str, str], phase: Phase) -> None:
    """The state of another generation of the content says nothing about this one."""
    seen = kinds_of()[JobKind.GENERATION].read(from_dict(Generation, document), launch(own="gen_1"))
    assert seen.phase is phase


@pytest.mark.parametrize(("before", "shown"), [(None, True), ("gen_0", True), ("gen_1", False)])
def test_a_generation_that_was_not_there_before_shows_the_launch(before: str | None, shown: bool) -> None:
    """A lost launch is adopted only if the content shows a different generation than before."""
    document = from_dict(Generation, {"id": "gen_1", "status": "queued"})
    assert kinds_of()[JobKind.GENERATION].shows(document, launch(before=before)) is shown


@pytest.mark.parametrize(
    ("word", "analyzed", "shown"), [("queued", BEFORE, True), ("success", AFTER, True), ("success", BEFORE, False)]
)
def test_a_lost_analysis_is_shown_by_its_keyword(word: str, analyzed: datetime, shown: bool) -> None:
    """A running word, or an end after the launch, shows that the launch was accepted."""
    assert kinds_of()[JobKind.ANALYSIS].shows(keyword(word, analyzed), launch()) is shown


def test_what_has_no_document_before_its_answer_is_never_shown() -> None:
    """Searches and documents whose identifier was lost cannot be found again."""
    document = from_dict(KnowledgeDocument, {"id": "doc", "status": "success"})
    assert not kinds_of()[JobKind.KNOWLEDGE_DOCUMENT].shows(document, launch())
