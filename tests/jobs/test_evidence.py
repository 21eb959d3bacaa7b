"""The table that tells whether a launch happened, row by row, without a request."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import attrs
import pytest

from cmsapi.jobs.evidence import (
    Charges,
    Verdict,
    name_of,
    of_analysis_shown,
    of_generation,
    of_keyword,
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
    found = of_analysis_shown(ENTRY, attrs.evolve(KEYWORD, **fields))
    assert (found.verdict if found else None) == verdict


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
