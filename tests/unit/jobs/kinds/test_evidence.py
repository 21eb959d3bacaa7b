"""What the documents of jobs show of a launch, row by row, without a request."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import attrs
import pytest

from cmsapi.api.models.generation import Generation, GenerationStatus
from cmsapi.api.models.keyword import AnalysisStatus, Keyword
from cmsapi.jobs.kinds.evidence import Finding, Verdict, is_digest, name_of
from cmsapi.jobs.kinds.generation import ArticleGeneration
from cmsapi.jobs.kinds.idea_search import IdeaSearch
from cmsapi.jobs.kinds.keyword_analysis import KeywordAnalysis
from cmsapi.state.entry import Entry
from tests.support.usages import NOW

judge_shown = KeywordAnalysis().judge_shown
ENTRY = Entry(kind="keyword_analysis", target="kw_1", asked_at=1000.0, served_at=NOW.timestamp())
GENERATION = attrs.evolve(ENTRY, kind="generation", facts={"baseline": "gen_1"})
KEYWORD = Keyword(id="kw_1", keyword="tents", country_code="US", language_code="en")


def of_generation(entry: Entry, shown: Generation | None) -> Finding | None:
    """Judge a generation."""
    return ArticleGeneration().judge_shown(entry, shown, NOW)


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ({"analysis_status": AnalysisStatus.QUEUED}, Verdict.LAUNCHED),
        ({"analysis_status": AnalysisStatus.PENDING}, Verdict.LAUNCHED),
        ({"analysis_status": AnalysisStatus.SUCCESS, "last_analyzed_at": NOW}, Verdict.LAUNCHED),
        ({"analysis_status": AnalysisStatus.SUCCESS, "last_analyzed_at": NOW - timedelta(seconds=1)}, None),
        ({"analysis_status": AnalysisStatus.FAILED}, None),
        ({}, None),
    ],
)
def test_what_a_keyword_shows(fields: dict[str, Any], verdict: Verdict | None) -> None:
    """A running word or a later analysis is proof; an old word is none."""
    found = judge_shown(ENTRY, attrs.evolve(KEYWORD, **fields), NOW + timedelta(minutes=1))
    assert (found.verdict if found else None) == verdict


def test_a_keyword_of_tomorrow() -> None:
    """An analysis dated later than the service's clock says proves nothing: the clock was set back since."""
    keyword = attrs.evolve(KEYWORD, last_analyzed_at=NOW + timedelta(hours=2))
    assert judge_shown(ENTRY, keyword, NOW + timedelta(minutes=1)).verdict is Verdict.UNKNOWN  # type: ignore[union-attr]
    assert judge_shown(ENTRY, keyword, None).verdict is Verdict.LAUNCHED  # type: ignore[union-attr]


def test_an_unlisted_word_may_mean_that_it_runs() -> None:
    """A keyword in an unlisted state is not found absent, whatever the books say."""
    odd = attrs.evolve(KEYWORD, analysis_status=AnalysisStatus("reticulating"))
    found = judge_shown(ENTRY, odd, NOW)
    assert found == Finding.unknown("it shows the word reticulating, which may mean that its analysis runs")


def test_a_search_shows_nothing() -> None:
    """No request lists searches by name."""
    assert IdeaSearch().judge_shown(ENTRY, None, NOW) is None


@pytest.mark.parametrize(
    ("current", "facts", "verdict", "ours"),
    [
        (None, {"baseline": None}, None, None),
        ("gen_1", {"baseline": "gen_1"}, None, None),
        ("gen_2", {"baseline": "gen_1"}, Verdict.LAUNCHED, True),
        ("gen_2", {"baseline": None}, Verdict.LAUNCHED, True),
        ("gen_2", {}, Verdict.LAUNCHED, False),
    ],
)
def test_what_a_generation_shows(
    current: str | None, facts: dict[str, Any], verdict: Verdict | None, ours: bool | None
) -> None:
    """Another identifier than before is a launch, and perhaps a colleague's if none was read before."""
    shown = Generation(id=current, status=GenerationStatus.QUEUED) if current else None
    found = of_generation(attrs.evolve(GENERATION, facts=facts), shown)
    assert (found and found.verdict, found and found.ours) == (verdict, ours)
    assert (found and found.job_id) == (current if verdict is Verdict.LAUNCHED else None)


@pytest.mark.parametrize(
    "status", [GenerationStatus.REVIEW, GenerationStatus.APPLIED, GenerationStatus.DISCARDED, GenerationStatus.FAILED]
)
def test_an_article_without_a_baseline_is_no_proof(status: GenerationStatus) -> None:
    """A finished or reviewed generation may be older than the launch when none was read before it."""
    found = of_generation(attrs.evolve(GENERATION, facts={}), Generation(id="gen_1", status=status))
    why = "the content has generation gen_1, and it was not read which one it had before"
    assert found == Finding.unknown(why)


def test_a_generation_without_an_identifier() -> None:
    """It may be the one of before, unless there was none."""
    nameless = Generation(status=GenerationStatus.QUEUED)
    assert of_generation(GENERATION, nameless) == Finding.unknown(
        "the content has a generation without an identifier, which may be the one of before"
    )
    found = of_generation(attrs.evolve(GENERATION, facts={"baseline": None}), nameless)
    assert found is not None
    assert found.verdict is Verdict.LAUNCHED


def test_what_findings_rest_on() -> None:
    """A finding tells in words what was seen, and whether the job runs."""
    queued = attrs.evolve(KEYWORD, analysis_status=AnalysisStatus.QUEUED)
    assert judge_shown(ENTRY, queued, NOW) == Finding(verdict=Verdict.LAUNCHED, why="its analysis runs", running=True)
    assert judge_shown(ENTRY, attrs.evolve(KEYWORD, last_analyzed_at=NOW), NOW) == Finding(
        verdict=Verdict.LAUNCHED, why="it was analysed at 2026-01-01T12:00:00+00:00", running=True
    )
    newer = Generation(id="gen_2", status=GenerationStatus.QUEUED)
    assert of_generation(GENERATION, newer) == Finding(
        verdict=Verdict.LAUNCHED, why="the content has a new generation, gen_2", job_id="gen_2"
    )
    unread = "generation gen_2 runs, and it was not read which one there was before"
    assert of_generation(attrs.evolve(GENERATION, facts={}), newer) == Finding(
        verdict=Verdict.LAUNCHED, why=unread, job_id="gen_2", ours=False
    )


def test_names() -> None:
    """A keyword of more than five hundred characters is a whole text, named by a digest of its own."""
    assert name_of("x" * 500) == "x" * 500
    one, other = name_of("x" * 501), name_of("y" * 501)
    assert one != other
    assert is_digest(one)
    assert not is_digest("tents")
