"""The table that tells whether a launch happened, row by row, without a request."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, TypeAlias

import attrs
import pytest

from cmsapi.api.models.credit_usage import CreditUsage, UsageKeyword
from cmsapi.api.models.generation import Generation, GenerationStatus
from cmsapi.api.models.keyword import AnalysisStatus, Keyword, Prompt
from cmsapi.api.models.user import Credits, Organization, User
from cmsapi.jobs.kinds.evidence import Charges, Finding, Verdict, may_be, name_of
from cmsapi.jobs.kinds.generation import ArticleGeneration
from cmsapi.jobs.kinds.idea_search import IdeaSearch
from cmsapi.jobs.kinds.keyword_analysis import KeywordAnalysis
from cmsapi.jobs.kinds.prompt_analysis import PromptAnalysis
from cmsapi.state.entry import Entry
from tests.support.usages import NOW, usage

Others: TypeAlias = Mapping[str, Any]
judge_shown = KeywordAnalysis().judge_shown
of_generation = ArticleGeneration().judge

ENTRY = Entry(kind="keyword_analysis", target="kw_1", asked_at=1000.0, served_at=NOW.timestamp())
PROMPT = Prompt(id="pr_1", prompt="Which tents?")
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


def charges(*since: CreditUsage, proven: bool = True) -> Charges:
    """Make charges, newest first."""
    return Charges(US, 9, since if proven else None)


def of_search(entry: Entry, given: Charges, others: Others) -> Finding:
    """Judge a search."""
    return IdeaSearch().judge(entry, None, attrs.evolve(given, **others))


def of_keyword(entry: Entry, keyword: Keyword, given: Charges, others: Others) -> Finding:
    """Judge the analysis of a keyword."""
    return KeywordAnalysis().judge(entry, keyword, attrs.evolve(given, **others))


def other(target: str = "boots", **changes: Any) -> Entry:
    """Describe another launch."""
    return Entry(kind="idea_search", target=target, asked_at=1.0, facts={"workspace": "ws_1"}, **changes)


TENTS, BOOTS, LOWER = usage(9), usage(8, keyword="boots"), usage(7, keyword="cosy tents")
NONE: Others = {}
ONE_SURE: Others = {"sure": (other(),)}
ONE_PERHAPS: Others = {"perhaps": (other(),)}


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


@pytest.mark.parametrize(
    ("given", "others", "verdict"),
    [
        (charges(), NONE, Verdict.ABSENT),
        (charges(proven=False), ONE_SURE, Verdict.UNKNOWN),
        (charges(usage(9)), NONE, Verdict.LAUNCHED),
        (charges(usage(8), usage(9)), NONE, Verdict.UNKNOWN),
        (charges(usage(9, user="usr_2")), NONE, Verdict.ABSENT),
        (charges(usage(9, keyword="boots")), NONE, Verdict.UNKNOWN),
        (charges(usage(9, keyword="boots")), ONE_SURE, Verdict.ABSENT),
        (charges(usage(9, keyword="boots")), ONE_PERHAPS, Verdict.ABSENT),
        (charges(usage(8, keyword="boots"), usage(9, keyword="caps")), ONE_PERHAPS, Verdict.UNKNOWN),
        (charges(usage(9, keyword="Tents ")), ONE_SURE, Verdict.UNKNOWN),
        (charges(usage(9, keyword="te")), ONE_SURE, Verdict.UNKNOWN),
    ],
)
def test_what_usages_tell_of_an_analysis(given: Charges, others: Others, verdict: Verdict) -> None:
    """One usage names it; none can be its own, and known analyses explain them; anything else is unknown."""
    assert of_keyword(ENTRY, KEYWORD, given, others).verdict is verdict


def test_codes_mean_the_same_in_either_case() -> None:
    """A usage that writes the country in lower case still names the keyword."""
    lower = attrs.evolve(usage(9), keyword=UsageKeyword(keyword="tents", country_code="us", language_code="EN"))
    assert of_keyword(ENTRY, KEYWORD, charges(lower), NONE).verdict is Verdict.LAUNCHED


def test_a_charge_may_be_for_the_launch_before() -> None:
    """Where the keyword was launched since the balance was read, a charge may be that launch's, and proves nothing."""
    launch = attrs.evolve(ENTRY, facts={"mark": "one:3"})
    for mark, verdict in (("one:2", Verdict.LAUNCHED), ("one:3", Verdict.UNKNOWN), ("other:2", Verdict.UNKNOWN)):
        before = attrs.evolve(ENTRY, asked_at=ENTRY.asked_at - 70.0, facts={"mark": mark})
        for others in ({"sure": (before,)}, {"perhaps": (before,)}):
            assert of_keyword(launch, KEYWORD, charges(usage(9)), others).verdict is verdict


def test_a_keyword_without_a_text_may_be_any() -> None:
    """Where the service shows no text of a keyword, each charge of an analysis may be its own."""
    nameless = attrs.evolve(KEYWORD, keyword=None)
    assert of_keyword(ENTRY, nameless, charges(usage(9)), ONE_SURE).verdict is Verdict.UNKNOWN
    assert of_keyword(ENTRY, nameless, charges(), ONE_SURE).verdict is Verdict.ABSENT


def test_a_usage_that_says_little_may_be_any() -> None:
    """Where the service does not show who has paid, or for what, it may be this launch."""
    missing: dict[str, Any] = {"user": None, "keyword": None, "workspace": None}
    bare = attrs.evolve(usage(9), **missing)
    assert of_keyword(ENTRY, KEYWORD, charges(bare), ONE_SURE).verdict is Verdict.UNKNOWN
    search = attrs.evolve(ENTRY, kind="idea_search", target="tents", facts={"workspace": "ws_1"})
    assert of_search(search, charges(bare), NONE).verdict is Verdict.UNKNOWN


def test_an_unlisted_word_may_mean_that_it_runs() -> None:
    """Where a credit is charged at the end, a keyword in an unlisted state is not found absent."""
    odd = attrs.evolve(KEYWORD, analysis_status=AnalysisStatus("reticulating"))
    assert of_keyword(ENTRY, odd, charges(), NONE).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("written", "keyword", "may"),
    [
        ("tents", "tents", True),
        ("tents", " Tents\u00a0", True),
        ("ete", "Été", True),
        ("\u00e9t\u00e9", "e\u0301te\u0301", True),
        ("strasse", "Straße", True),
        ("fine", "ﬁne", True),
        ("", "tents", True),
        ("tents for", "Tents for rain", True),
        ("tents", None, True),
        ("tents for rain", "tents", False),
        ("boots", "tents", False),
    ],
)
def test_ways_to_write_a_keyword(written: str, keyword: str | None, may: bool) -> None:
    """Case, marks, spaces, composition and length tell no two keywords apart."""
    assert may_be(written, keyword) is may


@pytest.mark.parametrize(
    ("before", "verdict"),
    [
        (TENTS, Verdict.UNKNOWN),
        (usage(9, keyword="TENTS"), Verdict.UNKNOWN),
        (usage(9, user="usr_2"), Verdict.ABSENT),
        (BOOTS, Verdict.ABSENT),
    ],
)
def test_a_charge_may_not_be_from_before(before: CreditUsage, verdict: Verdict) -> None:
    """One that may be its own may follow credits that were given back, although it leads to the balance before."""
    given = Charges(US, 9, (), (before,))
    search = attrs.evolve(ENTRY, kind="idea_search", target="tents", facts={"workspace": "ws_1"})
    assert of_search(search, given, NONE).verdict is verdict
    assert of_keyword(ENTRY, KEYWORD, given, NONE).verdict is verdict


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
    finding = of_keyword(ENTRY, attrs.evolve(KEYWORD, **fields), charges(usage(9)), NONE)
    assert (finding if isinstance(found, Finding) else finding.verdict) == found


@pytest.mark.parametrize(
    ("given", "sure", "perhaps", "verdict"),
    [
        (charges(), [], [], Verdict.ABSENT),
        (charges(proven=False), [], [], Verdict.UNKNOWN),
        (charges(TENTS), [], [], Verdict.UNKNOWN),
        (charges(TENTS), ["tents"], [], Verdict.ABSENT),
        (charges(BOOTS), [], [], Verdict.UNKNOWN),
        (charges(BOOTS), ["boots"], [], Verdict.ABSENT),
        (charges(BOOTS), [], ["boots"], Verdict.ABSENT),
        (charges(TENTS), [], ["tents"], Verdict.UNKNOWN),
        (charges(BOOTS, TENTS), ["boots"], [], Verdict.UNKNOWN),
        (charges(BOOTS, TENTS), ["boots"], ["caps"], Verdict.UNKNOWN),
        # Written in another way: as many charges as searches that were taken leave nothing for this one.
        (charges(LOWER), ["Cosy Tents"], [], Verdict.ABSENT),
        (charges(LOWER, TENTS), ["Cosy Tents"], [], Verdict.UNKNOWN),
        # A search costs one credit at its launch: two credits are two searches, and less is not all of it.
        (charges(usage(9, keyword="Boots", amount=2)), ["boots"], [], Verdict.UNKNOWN),
        (charges(usage(9, keyword="boots", amount=2)), ["boots"], [], Verdict.UNKNOWN),
        # The charge of the other one may be gone from the list, because it was given back.
        (charges(TENTS), ["boots"], [], Verdict.UNKNOWN),
        (charges(TENTS), ["Tents"], [], Verdict.ABSENT),
        (charges(), ["boots"], [], Verdict.UNKNOWN),
        # The same person by another identifier.
        (charges(usage(9, user="mem_1", name="Ada Lovelace")), [], [], Verdict.UNKNOWN),
        (charges(usage(9, user="usr_2", name="Ada Byron")), [], [], Verdict.ABSENT),
        # The charge of one that was taken is not left to one in doubt that is written alike.
        (charges(BOOTS, TENTS), ["Boots"], ["boots"], Verdict.UNKNOWN),
    ],
)
def test_what_usages_tell_of_a_search(given: Charges, sure: list[str], perhaps: list[str], verdict: Verdict) -> None:
    """One charge for each search that was taken; one more may be that of this one, which cannot be found."""
    entry = attrs.evolve(ENTRY, kind="idea_search", target="tents", facts={"workspace": "ws_1"})
    others = {"sure": [other(each) for each in sure], "perhaps": [other(each) for each in perhaps]}
    assert of_search(entry, given, others).verdict is verdict


def test_long_keywords_are_not_told_apart() -> None:
    """Of two keywords that are known by digests only, one may be written as the other one."""
    long = "tents " * 200
    entry = attrs.evolve(ENTRY, kind="idea_search", target=name_of(long.upper()), facts={"workspace": "ws_1"})
    given = charges(usage(9, keyword=long))
    assert of_search(entry, given, {"perhaps": (other(name_of(long)),)}).verdict is Verdict.UNKNOWN
    assert of_search(entry, given, {"sure": (other(name_of(long)),)}).verdict is Verdict.ABSENT


@pytest.mark.parametrize(
    ("current", "facts", "given", "verdict", "ours"),
    [
        (None, {"baseline": None}, None, Verdict.ABSENT, True),
        ("gen_1", {"baseline": "gen_1"}, None, Verdict.ABSENT, True),
        (None, {"baseline": None, "balance": 9}, charges(), Verdict.ABSENT, True),
        ("gen_1", {"baseline": "gen_1", "balance": 10}, charges(usage(9)), Verdict.UNKNOWN, True),
        (None, {"baseline": None, "balance": 10}, charges(usage(9)), Verdict.UNKNOWN, True),
        (None, {"baseline": None, "balance": 10}, charges(usage(9, user="usr_2")), Verdict.ABSENT, True),
        (None, {"baseline": None, "balance": 10}, charges(proven=False), Verdict.UNKNOWN, True),
        (None, {"baseline": None, "balance": None}, charges(proven=False), Verdict.ABSENT, True),
        ("gen_2", {"baseline": "gen_1"}, charges(usage(9)), Verdict.LAUNCHED, True),
        ("gen_2", {"baseline": None}, charges(usage(9)), Verdict.LAUNCHED, True),
        ("gen_2", {"baseline": "gen_1"}, charges(usage(9, user="usr_2")), Verdict.LAUNCHED, False),
        ("gen_2", {"baseline": "gen_1"}, charges(usage(8), usage(9, user="usr_2")), Verdict.LAUNCHED, False),
        ("gen_2", {"baseline": "gen_1"}, None, Verdict.LAUNCHED, True),
        ("gen_2", {"baseline": "gen_1"}, charges(proven=False), Verdict.LAUNCHED, False),
        ("gen_2", {}, None, Verdict.LAUNCHED, False),
    ],
)
def test_what_a_generation_shows(
    current: str | None, facts: dict[str, Any], given: Charges | None, verdict: Verdict, ours: bool
) -> None:
    """Another identifier than before is a launch, and a colleague's if a colleague has paid since.

    Without another one there was none, unless a credit was charged that nothing explains.
    """
    shown = Generation(id=current, status=GenerationStatus.QUEUED) if current else None
    found = of_generation(attrs.evolve(ENTRY, kind="generation", facts=facts), shown, given)
    assert (found.verdict, found.ours) == (verdict, ours)
    assert found.job_id == (current if verdict is Verdict.LAUNCHED else None)


def test_an_article_without_a_baseline_is_no_proof() -> None:
    """A finished or reviewed generation may be older than the launch when none was read before it."""
    over = Generation(id="gen_1", status=GenerationStatus.REVIEW)
    assert of_generation(ENTRY, over, None).verdict is Verdict.UNKNOWN


def test_names() -> None:
    """A keyword that is a whole text is named by a digest."""
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
        judge_shown(ENTRY, attrs.evolve(KEYWORD, analysis_status=AnalysisStatus.QUEUED), NOW): Finding(
            verdict=launched, why="its analysis runs", running=True
        ),
        judge_shown(ENTRY, attrs.evolve(KEYWORD, last_analyzed_at=NOW), NOW): Finding(
            verdict=launched, why="it was analysed at 2026-01-01T12:00:00+00:00", running=True
        ),
        of_keyword(ENTRY, KEYWORD, charges(usage(9)), NONE): Finding(
            verdict=launched, why="the credit of its analysis was charged (usage use_9)", running=True
        ),
        of_keyword(ENTRY, KEYWORD, charges(usage(8), usage(9)), NONE): Finding(
            verdict=unknown, why="2 analyses of such a keyword were charged, and nothing tells them apart"
        ),
        of_keyword(ENTRY, KEYWORD, charges(usage(9, keyword="TENTS")), NONE): Finding(
            verdict=unknown, why="an analysis of a keyword that may be this one was charged (usage use_9)"
        ),
        of_keyword(ENTRY, KEYWORD, charges(), NONE): Finding(
            verdict=absent, why="nothing was charged for it: known launches explain how the balance came to 9"
        ),
        of_keyword(ENTRY, KEYWORD, charges(proven=False), NONE): Finding(
            verdict=unknown, why="the usages do not explain how the balance came to 9"
        ),
        of_keyword(ENTRY, KEYWORD, charges(usage(9, keyword="boots")), NONE): Finding(
            verdict=unknown, why="no launch that is known here explains a charge by this user (usage use_9)"
        ),
        PromptAnalysis().judge(ENTRY, PROMPT, None): Finding(
            verdict=unknown, why="the prompt shows no analysis since, and usages of credits do not name prompts"
        ),
        of_search(search, charges(usage(9)), NONE): Finding(
            verdict=unknown, why="its credit was charged (usage use_9), and no request lists searches by name"
        ),
        of_generation(generation, None, None): Finding(verdict=absent, why="the content has no generation"),
        of_generation(generation, queued, None): Finding(verdict=absent, why="the content still has generation gen_1"),
        of_generation(unread, over, None): Finding(
            verdict=unknown, why="the content has generation gen_1, and it was not read which one it had before"
        ),
        of_generation(unread, queued, None): Finding(
            verdict=launched,
            why="generation gen_1 runs, and it was not read which one there was before",
            job_id="gen_1",
            ours=False,
        ),
        of_generation(generation, newer, charges()): Finding(
            verdict=launched, why="the content has a new generation, gen_2", job_id="gen_2"
        ),
        Finding.unknown("no trace"): Finding(verdict=unknown, why="no trace"),
    }
    assert list(found) == list(found.values())


def test_what_has_no_identifier_proves_no_absence() -> None:
    """A generation without an identifier may be the one of before, and a user without one may be any."""
    nameless = Generation(status=GenerationStatus.QUEUED)
    before = attrs.evolve(ENTRY, kind="generation", facts={"baseline": "gen_1"})
    none_before = attrs.evolve(before, facts={"baseline": None})
    assert of_generation(before, nameless, None).verdict is Verdict.UNKNOWN
    assert of_generation(none_before, nameless, None).verdict is Verdict.LAUNCHED
    theirs, anonymous = usage(9, user="usr_2"), attrs.evolve(US, id=None)  # type: ignore[arg-type]
    assert Charges(US, 9, (theirs,)).ours([theirs]) == []
    assert Charges(anonymous, 9, (theirs,)).ours([theirs]) == [theirs]


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


def test_a_generation_that_is_shown_late_is_not_absent() -> None:
    """A charge that only another launch in doubt would explain may be that of a generation that is not shown yet."""
    launch = attrs.evolve(ENTRY, kind="generation", facts={"baseline": None, "balance": 10})
    in_doubt = attrs.evolve(launch, target="cnt_2", status="unknown")
    given = attrs.evolve(charges(usage(9)), perhaps=(in_doubt,))
    assert of_generation(launch, None, given).verdict is Verdict.UNKNOWN
    taken = attrs.evolve(charges(usage(9)), sure=(in_doubt,))
    assert of_generation(launch, None, taken).verdict is Verdict.ABSENT
