"""The table that tells whether a launch happened, row by row, without a request."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import attrs
import pytest

from cmsapi.jobs.evidence import (
    Charges,
    Finding,
    Verdict,
    name_of,
    nothing_to_go_by,
    of_analysis_shown,
    of_generation,
    of_keyword,
    of_prompt,
    of_search,
    since,
)
from cmsapi.models import (
    AnalysisStatus,
    Credits,
    CreditType,
    CreditUsage,
    Generation,
    GenerationStatus,
    Keyword,
    Organization,
    UsageKeyword,
    User,
    UserRef,
    WorkspaceRef,
)
from cmsapi.state.journal import Entry

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
ENTRY = Entry(kind="keyword_analysis", target="kw_1", asked_at=0.0, served_at=NOW.timestamp())
KEYWORD = Keyword(id="kw_1", keyword="tents", country_code="US", language_code="en")
US = User(
    id="usr_1",
    first_name="Ada",
    last_name="Lovelace",
    email="ada@example.com",
    job_title="",
    language_code="en",
    created_at=NOW,
    organization=Organization(
        id="org_1",
        name="Org",
        created_at=NOW,
        credits=Credits(analysis=0, ai_writing=0, content_ideas_searches=0),
        users_count=1,
        workspaces_count=1,
    ),
)


def usage(
    left: int, after: float = 1.0, *, keyword: str = "tents", user: str = "usr_1", amount: int = 1
) -> CreditUsage:
    """Make a usage that leaves a balance, some seconds after the launch."""
    return CreditUsage(
        id=f"use_{left}",
        created_at=NOW + timedelta(seconds=after),
        amount=amount,
        remaining_credits=left,
        type=CreditType.ANALYSIS,
        keyword=UsageKeyword(keyword=keyword, country_code="US", language_code="en"),
        user=UserRef(id=user, first_name="", last_name=""),
        workspace=WorkspaceRef(id="ws_1", name=""),
    )


def charges(balance: int, *recent: CreditUsage, before: CreditUsage | None = None) -> Charges:
    """Make charges, newest first."""
    return Charges(US, balance, recent, before)


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
    found = of_analysis_shown(ENTRY, attrs.evolve(KEYWORD, **fields), NOW + timedelta(minutes=1))
    assert (found.verdict if found else None) == verdict


def test_a_keyword_of_tomorrow() -> None:
    """An analysis dated later than the service's clock says proves nothing: the clock was set back since."""
    keyword = attrs.evolve(KEYWORD, last_analyzed_at=NOW + timedelta(hours=2))
    assert of_analysis_shown(ENTRY, keyword, NOW + timedelta(minutes=1)).verdict is Verdict.UNKNOWN  # type: ignore[union-attr]
    assert of_analysis_shown(ENTRY, keyword, None).verdict is Verdict.LAUNCHED  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        (charges(9, usage(9)), Verdict.LAUNCHED),
        (charges(8, usage(8), usage(9)), Verdict.UNKNOWN),
        (charges(9, usage(9, user="usr_2")), Verdict.ABSENT),
        (charges(9, usage(9, keyword="boots")), Verdict.ABSENT),
        (charges(9, before=usage(9, -60)), Verdict.ABSENT),
        (charges(8, before=usage(9, -60)), Verdict.UNKNOWN),
        (charges(12, before=usage(9, -60)), Verdict.UNKNOWN),
        (charges(7, usage(7, keyword="boots"), before=usage(9, -60)), Verdict.UNKNOWN),
        (charges(8, usage(8, keyword="boots", amount=-1), before=usage(9, -60)), Verdict.ABSENT),
        (charges(10), Verdict.ABSENT),
    ],
)
def test_what_usages_tell_of_an_analysis(given: Charges, verdict: Verdict) -> None:
    """One usage names it; none does, and the balance agrees; anything else is unknown."""
    assert of_keyword(KEYWORD, given).verdict is verdict


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        (
            {"analysis_status": AnalysisStatus.SUCCESS, "last_analyzed_at": NOW - timedelta(days=1)},
            Finding(
                verdict=Verdict.UNKNOWN,
                why="such an analysis was charged (usage use_9), but the keyword shows only an earlier one",
            ),
        ),
        ({"analysis_status": AnalysisStatus.FAILED, "last_analyzed_at": NOW - timedelta(days=1)}, Verdict.LAUNCHED),
        ({"analysis_status": AnalysisStatus.SUCCESS}, Verdict.LAUNCHED),
        ({}, Verdict.LAUNCHED),
    ],
)
def test_a_charge_may_be_that_of_a_twin(fields: Any, found: Any) -> None:
    """A keyword that shows the success of an earlier analysis has no later one, so the charge is another keyword's."""
    finding = of_keyword(attrs.evolve(KEYWORD, **fields), charges(9, usage(9)))
    assert (finding if isinstance(found, Finding) else finding.verdict) == found


@pytest.mark.parametrize(
    ("given", "explained", "verdict"),
    [
        (charges(9, usage(9)), 0, Verdict.UNKNOWN),
        (charges(9, usage(9)), 1, Verdict.ABSENT),
        (charges(9, usage(9, keyword="boots")), 0, Verdict.ABSENT),
        (charges(8, before=usage(9, -60)), 0, Verdict.UNKNOWN),
    ],
)
def test_what_usages_tell_of_a_search(given: Charges, explained: int, verdict: Verdict) -> None:
    """A charge that no known search explains is a launch that cannot be found; without one there was none."""
    entry = attrs.evolve(ENTRY, kind="idea_search", target="tents", facts={"workspace": "ws_1"})
    assert of_search(entry, given, explained).verdict is verdict
    elsewhere = attrs.evolve(entry, facts={"workspace": "ws_2"})
    assert of_search(elsewhere, given, 0).verdict is not Verdict.UNKNOWN or not given.explained


@pytest.mark.parametrize(
    ("current", "facts", "given", "verdict", "ours"),
    [
        (None, {"baseline": None}, None, Verdict.ABSENT, True),
        ("gen_1", {"baseline": "gen_1"}, None, Verdict.ABSENT, True),
        ("gen_2", {"baseline": "gen_1"}, charges(9, usage(9)), Verdict.LAUNCHED, True),
        ("gen_2", {"baseline": None}, charges(9, usage(9)), Verdict.LAUNCHED, True),
        ("gen_2", {"baseline": "gen_1"}, charges(9, usage(9, user="usr_2")), Verdict.LAUNCHED, False),
        ("gen_2", {"baseline": "gen_1"}, charges(8, usage(8), usage(9, user="usr_2")), Verdict.LAUNCHED, False),
        ("gen_2", {"baseline": "gen_1"}, None, Verdict.LAUNCHED, True),
        ("gen_2", {}, None, Verdict.LAUNCHED, False),
    ],
)
def test_what_a_generation_shows(
    current: str | None, facts: dict[str, Any], given: Charges | None, verdict: Verdict, ours: bool
) -> None:
    """Another identifier than before is a launch, and a colleague's if a colleague has paid since."""
    shown = Generation(id=current, status=GenerationStatus.QUEUED) if current else None
    found = of_generation(attrs.evolve(ENTRY, kind="generation", facts=facts), shown, given)
    assert (found.verdict, found.ours) == (verdict, ours)
    assert found.job_id == (current if verdict is Verdict.LAUNCHED else None)


def test_an_article_without_a_baseline_is_no_proof() -> None:
    """What is over or in review may be from before the launch when nobody has read what there was."""
    over = Generation(id="gen_1", status=GenerationStatus.REVIEW)
    assert of_generation(ENTRY, over, None).verdict is Verdict.UNKNOWN


def test_times_and_names() -> None:
    """Without the service's clock nothing is compared; a keyword that is a whole text is named by a digest."""
    assert since(attrs.evolve(ENTRY, served_at=None)) is None
    assert since(ENTRY) == NOW - timedelta(seconds=2)
    assert name_of("tents") == "tents"
    assert len(name_of("tents " * 500)) == 32


def test_each_finding_says_what_it_rests_on() -> None:
    """A finding tells what was seen in words, whether the job runs, which one it is, and whose."""
    launched, absent, unknown = Verdict.LAUNCHED, Verdict.ABSENT, Verdict.UNKNOWN
    generation = attrs.evolve(ENTRY, kind="generation", facts={"baseline": "gen_1"})
    unread = attrs.evolve(generation, facts={})
    queued, over = (Generation(id="gen_1", status=word) for word in (GenerationStatus.QUEUED, GenerationStatus.APPLIED))
    newer = Generation(id="gen_2", status=GenerationStatus.QUEUED)
    search = attrs.evolve(ENTRY, kind="idea_search", target="tents", facts={"workspace": "ws_1"})
    found = {
        of_analysis_shown(ENTRY, attrs.evolve(KEYWORD, analysis_status=AnalysisStatus.QUEUED), NOW): Finding(
            verdict=launched, why="its analysis runs", running=True
        ),
        of_analysis_shown(ENTRY, attrs.evolve(KEYWORD, last_analyzed_at=NOW), NOW): Finding(
            verdict=launched, why="it was analysed at 2026-01-01T12:00:00+00:00", running=True
        ),
        of_keyword(KEYWORD, charges(9, usage(9))): Finding(
            verdict=launched, why="the credit of its analysis was charged (usage use_9)", running=True
        ),
        of_keyword(KEYWORD, charges(8, usage(8), usage(9))): Finding(
            verdict=unknown, why="2 analyses of such a keyword were charged, and nothing tells them apart"
        ),
        of_keyword(KEYWORD, charges(10)): Finding(
            verdict=absent, why="nothing was charged for it, and the balance of 10 agrees with the usages"
        ),
        of_keyword(KEYWORD, charges(8, before=usage(9, -60))): Finding(
            verdict=unknown, why="no usage names it, but the balance of 8 does not agree with the usages"
        ),
        of_prompt(): Finding(
            verdict=unknown, why="the prompt shows no analysis since, and usages of credits do not name prompts"
        ),
        of_search(search, charges(9, usage(9)), 0): Finding(
            verdict=unknown, why="its credit was charged (usage use_9), and no request lists searches by name"
        ),
        of_generation(generation, None, None): Finding(verdict=absent, why="the content has no generation"),
        of_generation(generation, queued, None): Finding(verdict=absent, why="the content still has generation gen_1"),
        of_generation(unread, over, None): Finding(
            verdict=unknown, why="the content has generation gen_1, and nobody read which one it had before"
        ),
        of_generation(unread, queued, None): Finding(
            verdict=launched,
            why="generation gen_1 runs, and nobody read which one there was before",
            job_id="gen_1",
            ours=False,
        ),
        of_generation(generation, newer, charges(10)): Finding(
            verdict=launched, why="the content has a new generation, gen_2", job_id="gen_2"
        ),
        nothing_to_go_by("no trace"): Finding(verdict=unknown, why="no trace"),
    }
    assert list(found) == list(found.values())


@pytest.mark.parametrize("status", [GenerationStatus.APPLIED, GenerationStatus.DISCARDED, GenerationStatus.FAILED])
def test_what_is_over_is_no_proof(status: GenerationStatus) -> None:
    """Each word for an end may be from before the launch."""
    assert of_generation(ENTRY, Generation(id="gen_1", status=status), None).verdict is Verdict.UNKNOWN


def test_the_longest_name_is_itself() -> None:
    """A name of five hundred characters is a name, a longer one a digest of its own."""
    assert name_of("x" * 500) == "x" * 500
    one, other = name_of("x" * 501), name_of("y" * 501)
    assert len(one) == len(other) == 32
    assert one != other
