"""The table that tells whether a launch in doubt was paid for, row by row, without a request; and how it is read."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Literal

import attrs
import pytest
from hypothesis import given, strategies

import cmsapi
from cmsapi.api.models.credit_usage import CreditUsage
from cmsapi.jobs.journal.unknown_launches import UnknownLaunches
from cmsapi.jobs.kinds.evidence import Verdict, name_of
from cmsapi.jobs.launching.books import Reading
from cmsapi.jobs.launching.verdict import Control, Span, judge, may_be, written
from cmsapi.sandbox import Books, Fault, Limits, Sandbox
from cmsapi.state.entry import Lease
from tests.support.jobs import box, client_of
from tests.support.launches import leave, rely_on_books, scope, sent, state
from tests.support.usages import NOW, usage

SEEN = Control(1.0, "usr_1")
BEFORE = usage(10, keyword="old boots")
nameless: Any = None


def span(*keywords: str, taken: Sequence[str | None] = (), others: Sequence[str | None] = (), **changes: Any) -> Span:
    """Describe what happened since a balance of ten: usages, the newest first."""
    usages = tuple(usage(9 - place, keyword=keyword) for place, keyword in enumerate(reversed(keywords)))[::-1]
    return attrs.evolve(Span(usages, (BEFORE,), 10, taken, others), **changes)


# The verdict


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        (span(), Verdict.ABSENT),
        (span(older=()), Verdict.ABSENT),
        (span("boots", taken=["boots"]), Verdict.ABSENT),
        (span("boots", others=["boots"]), Verdict.ABSENT),
        (span(others=["boots"]), Verdict.ABSENT),
        (span("boots", "caps", taken=["caps", "boots"]), Verdict.ABSENT),
        (span("boots", "boots", taken=["boots", "boots"]), Verdict.ABSENT),
        # One that was taken is not there: these books are late, or it was given back.
        (span(taken=["boots"]), Verdict.UNKNOWN),
        (span("caps", taken=["boots"], others=["caps"]), Verdict.UNKNOWN),
        # One that is there belongs to no launch that is known.
        (span("boots"), Verdict.UNKNOWN),
        (span("boots", "boots", taken=["boots"]), Verdict.UNKNOWN),
        (span("Boots", taken=["boots"]), Verdict.UNKNOWN),
        (span("boots", taken=[None]), Verdict.UNKNOWN),
        # One may be its own.
        (span("tents", taken=["tents"]), Verdict.UNKNOWN),
        (span("TENTS", taken=["TENTS"]), Verdict.UNKNOWN),
        (span("tents"), Verdict.UNKNOWN),
        (span(older=[usage(10)]), Verdict.UNKNOWN),
        # The balance went another way in between.
        (span(launched_at=NOW.timestamp()), Verdict.UNKNOWN),
        (span(launched_at=NOW.timestamp() + 1.0), Verdict.ABSENT),
        (span(older=[usage(11, keyword="boots")]), Verdict.UNKNOWN),
        # A credit came back with the newest usage, so that it may hide one that was charged before.
        (span(older=[BEFORE, usage(11, keyword="caps")]), Verdict.ABSENT),
        (span(older=[BEFORE, usage(9, keyword="caps")]), Verdict.UNKNOWN),
        (span("boots", taken=["boots"], then=11), Verdict.UNKNOWN),
    ],
)
def test_what_the_books_tell(given: Span, verdict: Verdict) -> None:
    """Each usage is that of one launch that is known, each launch that was taken has one, and none may be its own."""
    assert judge(given, "tents", SEEN).verdict is verdict


@pytest.mark.parametrize("control", [None, Control(1.0, "api"), Control(1.0)])
def test_what_was_not_seen_before_proves_nothing(control: Control | None) -> None:
    """Books that were not seen to work, or worked under another user, prove no absence."""
    assert judge(span("boots", taken=["boots"]), "tents", control).verdict is Verdict.UNKNOWN


@given(
    keywords=strategies.lists(strategies.sampled_from(["boots", "caps", "hats", "tents"]), max_size=4),
    taken=strategies.lists(strategies.sampled_from(["boots", "caps", "hats", None]), max_size=4),
    others=strategies.lists(strategies.sampled_from(["boots", "caps", "hats", None]), max_size=3),
)
def test_only_books_that_balance_prove_absence(
    keywords: list[str], taken: list[str | None], others: list[str | None]
) -> None:
    """Absent means that each usage has a launch, each launch that was taken has a usage, and none is the lost one's."""
    counted, sure = Counter[str | None](keywords), Counter(taken)
    balanced = not (sure - counted) and not (counted - sure - Counter(others)) and None not in taken
    finding = judge(span(*keywords, taken=taken, others=others), "tents", SEEN)
    assert (finding.verdict is Verdict.ABSENT) is balanced


def test_what_has_no_name_is_never_absent_beside_usages() -> None:
    """Any usage may be that of a launch of which it is not known how usages call it."""
    assert judge(span(), None, SEEN).verdict is Verdict.UNKNOWN
    assert judge(span("boots", taken=["boots"]), None, SEEN).verdict is Verdict.UNKNOWN
    assert judge(span(older=()), None, SEEN).verdict is Verdict.ABSENT


def test_a_usage_of_several_credits_is_no_launch() -> None:
    """Two credits may be two launches."""
    given = span(taken=["boots"], usages=(usage(8, keyword="boots", amount=2),))
    assert "a launch costs one" in judge(given, "tents", SEEN).why


def test_a_usage_without_a_keyword_may_be_any() -> None:
    """It is explained by no launch, and may be that of each."""
    bare = attrs.evolve(usage(9), keyword=nameless)
    assert written(bare) is None
    assert may_be(bare, "tents")
    assert judge(span(usages=(bare,), taken=["boots"]), "tents", SEEN).verdict is Verdict.UNKNOWN


def test_reasons() -> None:
    """Each verdict says what it rests on."""
    charged = "its credit was charged (usage use_9), and no request tells which job it is"
    assert judge(span("tents"), "tents", None).why == charged
    assert judge(span(), "tents", None).why.startswith("it was not seen yet")
    assert judge(span("boots"), "tents", SEEN).why == "usage use_9 is that of no launch that is known here"
    assert judge(span("boots", taken=["boots"]), "tents", SEEN).why == (
        "nothing was charged for it: each of the 1 usages since is that of another launch"
    )
    missing = "1 launches that the service has taken since then have no usage by their names"
    assert judge(span(taken=["boots"]), "tents", SEEN).why == missing
    perhaps = "usage use_10 may be its own, and no request lists what was launched"
    assert judge(span(older=[usage(10)]), "tents", SEEN).why == perhaps
    of_nobody = attrs.evolve(usage(9, keyword="boots"), user=nameless)
    others = "usages stand under another user than before"
    assert judge(span(usages=(of_nobody,), taken=["boots"]), "tents", SEEN).why == others


@pytest.mark.parametrize(
    ("keyword", "lost", "may"),
    [
        ("tents", " Tents\u00a0", True),
        ("ete", "Été", True),
        ("strasse", "Straße", True),
        ("", "tents", True),
        ("tents for", "Tents for rain", True),
        ("tents for rain", "tents", False),
        ("boots", "tents", False),
        ("boots", name_of("tents " * 200), True),
    ],
)
def test_ways_to_write_a_keyword(keyword: str, lost: str, may: bool) -> None:
    """Case, marks, spaces, composition and length tell no two keywords apart."""
    assert may_be(usage(9, keyword=keyword), lost) is may


# Readings


@pytest.mark.parametrize(
    ("balance", "whole", "number"), [(10, False, 0), (9, False, 1), (8, False, 2), (7, True, 3), (7, False, None)]
)
def test_the_usages_that_lead_to_a_balance(balance: int, whole: bool, number: int | None) -> None:
    """The newest usages are taken until they add up to what left the balance since."""
    usages = tuple(usage(left) for left in (7, 8, 9))
    found = Reading(1, 0.0, 0.0, balance, usages, whole).since(10)
    assert (None if found is None else len(found[0])) == number


@pytest.mark.parametrize(
    ("then", "reaches"),
    # One more usage than was spent: it shows what the balance was before.
    [(7, True), (8, True), (9, True), (10, False)],
)
def test_how_far_back_usages_lead(then: int, reaches: bool) -> None:
    """Usages lead back to a balance when all but the oldest of them add up to what left since."""
    usages = tuple(usage(left) for left in (7, 8, 9))
    assert Reading(1, 0.0, 0.0, 7, usages).reaches(then) is reaches
    # There are no more, the balance is not shown, or they cannot be counted: no further page helps.
    assert Reading(1, 0.0, 0.0, 7, usages, whole=True).reaches(then)
    assert Reading(1, 0.0, 0.0, None, usages).reaches(then)
    assert Reading(1, 0.0, 0.0, 7, None).reaches(then)


def test_usages_that_do_not_add_up() -> None:
    """A balance that has risen, or that fell by less than a usage, is reached by none."""
    usages = (usage(8, amount=2), usage(10))
    assert Reading(1, 0.0, 0.0, 9, usages).since(10) is None
    assert Reading(1, 0.0, 0.0, 11, usages).since(10) is None
    assert Reading(1, 0.0, 0.0, None, usages).since(10) is None
    assert Reading(1, 0.0, 0.0, 10, None).since(10) is None


@given(amounts=strategies.lists(strategies.integers(1, 3), max_size=6), left=strategies.integers(-1, 20))
def test_usages_since_a_balance_add_up_to_what_left_it(amounts: list[int], left: int) -> None:
    """What is found costs exactly what left the balance, and the usages before are the next older ones."""
    usages = tuple(usage(place, amount=amount) for place, amount in enumerate(amounts))
    found = Reading(1, 0.0, 0.0, 10, usages, whole=True).since(10 + left)
    sums = [sum(amounts[:count]) for count in range(len(amounts) + 1)]
    if found is None:
        assert left not in sums
    else:
        since, older = found
        assert sum(each.amount for each in since) == left
        assert (*since, *older) == usages[: len(since) + 2]


@pytest.mark.parametrize(
    ("balance", "keywords", "known", "lost", "may"),
    [
        # As much has left as known launches cost, or less: some cost nothing.
        (10, (), 0, "tents", False),
        (9, ("boots",), 1, "tents", False),
        (9, ("boots",), 2, "tents", False),
        (9, ("boots",), 1, None, False),
        # More has left.
        (9, ("boots",), 0, "tents", True),
        (8, ("boots", "caps"), 1, None, True),
        # A known launch cost nothing, and the credit is that of the lost one.
        (9, ("tents",), 1, "tents", True),
        (8, ("boots", "tents"), 2, "tents", True),
        # Other spellings are no sign, and what is older than the balance is not of this launch.
        (9, ("Tents",), 1, "tents", False),
        (9, ("boots", "tents"), 1, "tents", False),
        # The balance is not shown.
        (None, (), 0, "tents", True),
        (None, (), 9, None, True),
    ],
)
def test_what_may_be_a_charge(
    balance: int | None, keywords: Sequence[str], known: int, lost: str | None, may: bool
) -> None:
    """After a failure of the service's own, a credit beyond those of known launches, or a name, may be a charge."""
    usages = tuple(usage(place, keyword=keyword) for place, keyword in enumerate(keywords))
    assert Reading(1, 0.0, 0.0, balance, usages, whole=True).may_charge(10, known, lost) is may


def test_a_whole_text_is_charged_by_its_digest() -> None:
    """A usage that writes the whole text names the launch of that text."""
    text = "tents for rain " * 100
    reading = Reading(1, 0.0, 0.0, 9, (usage(9, keyword=text),), whole=True)
    assert reading.may_charge(10, 1, text)
    assert not reading.may_charge(10, 1, text[1:])


@pytest.mark.parametrize(
    ("balance", "users", "ours"),
    [
        (10, (), True),
        (9, ("usr_1",), True),
        (9, ("usr_2",), False),
        (8, ("usr_1", "usr_1"), True),
        (8, ("usr_1", "usr_2"), False),
        (8, ("usr_2", "usr_1"), False),
        # What is older does not count.
        (9, ("usr_1", "usr_2"), True),
        # The usages do not lead back to that balance.
        (7, ("usr_1",), False),
        (11, ("usr_1",), False),
    ],
)
def test_whose_the_credits_were(balance: int, users: Sequence[str], ours: bool) -> None:
    """A generation is ours without doubt only if no other user has spent such a credit since."""
    usages = tuple(usage(place, user=user) for place, user in enumerate(users))
    reading = Reading(1, 0.0, 0.0, balance, usages, whole=balance >= 8, user="usr_1")
    assert reading.only_ours(10) is ours


# A failure of the service's own


@pytest.mark.looptime
@pytest.mark.parametrize("status", [500, 503])
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_failure_beside_launches_that_were_taken(status: int, when: Literal["before", "after"]) -> None:
    """The charges of the others are counted: without one beyond them a launch is repeated soon."""
    fault = Fault(match="POST */content-idea-searches", status=status, when=when, times=1)
    sandbox = box(60.0, books=Books(page_size=2))
    async with client_of(sandbox) as client:
        loop = asyncio.get_running_loop()
        await client.content_ideas.search(sandbox.workspace_id, "boots")
        sandbox.add_fault(fault)
        began = loop.time()
        searches = (client.content_ideas.search(sandbox.workspace_id, f"{number} tents") for number in range(4))
        ends = await asyncio.gather(*searches, return_exceptions=True)
        took = loop.time() - began
    unknown = [end for end in ends if isinstance(end, BaseException)]
    assert [type(end) for end in unknown] == ([cmsapi.LaunchUnknownError] if when == "after" else [])
    assert len(sandbox.ledger.launches()) == 5
    # A lost launch would have waited for a minute until it can no longer arrive.
    assert (took < 30.0) is (when == "before")


@pytest.mark.looptime
async def test_a_failure_beside_a_launch_that_draws_on_another_balance() -> None:
    """An analysis explains no credit of searches."""
    sandbox = box(60.0, books=Books(keyword="null"), keywords=1)
    async with client_of(sandbox) as client:
        await client.me()
        await client.keywords.analyze(sandbox.keyword_ids[0])
        sandbox.add_fault(Fault(match="POST */content-idea-searches", status=503, when="after", times=1))
        with pytest.raises(cmsapi.LaunchUnknownError):
            await client.content_ideas.search(sandbox.workspace_id, "tents")
    assert len(sandbox.ledger.launches()) == 2


@pytest.mark.looptime
async def test_a_failure_whose_charge_a_refund_hides() -> None:
    """As much has left as the other launch cost, but the usage names the one that failed: it is not repeated."""
    sandbox = box(60.0)
    async with client_of(sandbox) as client:
        await client.me()
        before = sandbox.credits.content_ideas_searches
        await client.content_ideas.search(sandbox.workspace_id, "boots")
        sandbox.set_credits(content_ideas_searches=before)
        sandbox.add_fault(Fault(match="POST */content-idea-searches", status=503, when="after", times=1))
        with pytest.raises(cmsapi.LaunchUnknownError):
            await client.content_ideas.search(sandbox.workspace_id, "tents")
    assert len(sandbox.ledger.launches()) == 2


@pytest.mark.looptime
async def test_a_failure_where_the_balance_was_not_read() -> None:
    """Without the balance before a launch nothing tells that it cost nothing, and it is not repeated."""
    sandbox = box(60.0, rules=[Fault(match="GET /v1/me", status=403, times=None)])
    async with client_of(sandbox) as client:
        sandbox.add_fault(Fault(match="POST */content-idea-searches", status=503, when="after", times=1))
        with pytest.raises(cmsapi.LaunchUnknownError):
            await client.content_ideas.search(sandbox.workspace_id, "tents")
    assert len(sandbox.ledger.launches()) == 1


# The launches of others


@contextlib.asynccontextmanager
async def beside_a_search(sandbox: Sandbox, folder: Path) -> AsyncIterator[cmsapi.Client]:
    """Make a client that relies on the books, and knows nothing of a search that another one has paid for since."""
    await rely_on_books(sandbox)
    async with client_of(sandbox) as client, client_of(sandbox, state=f"sqlite:///{folder}/apart.db") as apart:
        await client.me()
        await apart.content_ideas.search(sandbox.workspace_id, "boots")
        yield client


@pytest.mark.looptime
@pytest.mark.parametrize(
    ("kind", "target", "changes", "explained"),
    [
        ("idea_search", "boots", {}, True),
        ("idea_search", "boots", {"status": "running", "job_id": "job_1"}, True),
        # The second launch began ten minutes after it at most.
        ("idea_search", "boots", {"age": 500.0}, True),
        ("idea_search", "boots", {"age": 700.0}, False),
        # It was not sent, is of something else, or draws on another balance.
        ("idea_search", "boots", {"status": "intent"}, False),
        ("idea_search", "caps", {}, False),
        ("generation", "boots", {}, False),
        ("of a later version", "boots", {}, False),
    ],
)
async def test_a_charge_of_another_process(
    kind: str, target: str, changes: Any, explained: bool, tmp_path: Path
) -> None:
    """What the journal knows of the launches of other processes explains their usages; a later one explains nothing."""
    sandbox = box(60.0)
    async with beside_a_search(sandbox, tmp_path) as client:
        entry = sent(kind, target, sandbox)
        # From now on, because tests are collected long before they run.
        entry = attrs.evolve(entry, asked_at=entry.asked_at - changes.get("age", 0.0))
        entry = attrs.evolve(entry, **{name: value for name, value in changes.items() if name != "age"})
        await leave(client, sandbox, "of another", entry)
        sandbox.add_fault(Fault(match="POST */content-idea-searches", drop=True, times=1))
        search = client.content_ideas.search(sandbox.workspace_id, "tents")
        (end,) = await asyncio.gather(search, return_exceptions=True)
    assert isinstance(end, cmsapi.LaunchUnknownError) is not explained
    assert len(sandbox.ledger.launches()) == 1 + explained


@pytest.mark.looptime
async def test_the_charge_of_a_launch_that_stayed_unknown_elsewhere(tmp_path: Path) -> None:
    """Another process's launch in doubt, which the state remembers, may have been charged, and explains a usage."""
    sandbox = box(60.0)
    async with beside_a_search(sandbox, tmp_path) as client:
        doubted = UnknownLaunches(state(), time.time)
        await doubted.add(Lease(scope(sandbox), "of another"), sent("idea_search", "boots", sandbox))
        sandbox.add_fault(Fault(match="POST */content-idea-searches", drop=True, times=1))
        await client.content_ideas.search(sandbox.workspace_id, "tents")
    assert len(sandbox.ledger.launches()) == 2


@pytest.mark.looptime
async def test_the_name_of_a_keyword_that_another_process_analyses(tmp_path: Path) -> None:
    """It is read, so that the usage of that analysis is explained."""
    sandbox = box(60.0, keywords=2)
    mine, theirs = sandbox.keyword_ids
    await rely_on_books(sandbox)
    async with (
        client_of(sandbox) as client,
        client_of(sandbox, state=f"sqlite:///{tmp_path}/apart.db") as apart,
    ):
        await client.me()
        await apart.keywords.analyze(theirs)
        await leave(client, sandbox, "of another", sent("keyword_analysis", theirs, sandbox))
        sandbox.add_fault(Fault(match="POST */analyze", drop=True, times=1))
        await client.keywords.analyze(mine)
    assert len(sandbox.ledger.launches()) == 2


# While they are read


@pytest.mark.looptime
async def test_a_reading_that_hangs_holds_launches_for_seconds_only() -> None:
    """Launches wait for a reading of the books, but not for one that does not end."""
    sandbox = box(60.0, rules=[Fault(match="POST */content-idea-searches", drop=True, times=1)])
    await rely_on_books(sandbox)
    async with client_of(sandbox) as client:
        loop = asyncio.get_running_loop()
        lost = asyncio.create_task(client.content_ideas.search(sandbox.workspace_id, "tents"))
        sandbox.add_fault(Fault(match="GET */credit-usages*", slow=25.0))
        # A minute later it can no longer arrive, and its books are being read.
        await asyncio.sleep(65.0)
        began = loop.time()
        await client.content_ideas.search(sandbox.workspace_id, "boots")
        waited = loop.time() - began
        lost.cancel()
        await asyncio.gather(lost, return_exceptions=True)
    assert 5.0 < waited < 15.0


# The control


async def control_of(sandbox: Sandbox, kind: str) -> Any:
    """Return what the state keeps of a kind."""
    return await state().get_document(scope(sandbox), f"books {kind}")


@pytest.mark.looptime
async def test_books_are_learned_at_the_first_doubt() -> None:
    """Of the others of a fan-out it is seen that they are booked at once: what did not happen is sent again."""
    sandbox = box(60.0, rules=[Fault(match="POST */content-idea-searches", drop=True)])
    async with client_of(sandbox) as client:
        searches = (client.content_ideas.search(sandbox.workspace_id, f"{number} tents") for number in range(4))
        jobs = await asyncio.gather(*searches)
    seen = await control_of(sandbox, "idea_search")
    assert (len(jobs), len(sandbox.ledger.launches())) == (4, 4)
    assert (seen["holds"], seen["user"]) == (True, sandbox.user_ids[0])
    assert 0.0 <= seen["within"] < 5.0


@pytest.mark.looptime
async def test_a_worker_learns_once_for_all_its_launches(tmp_path: Path) -> None:
    """The launches of a fan-out share one reading of the books, and the names of those that it finds."""
    sandbox = box(60.0, keywords=12)
    async with client_of(sandbox, state=f"sqlite:///{tmp_path}/jobs.db") as client:
        await asyncio.gather(*map(client.keywords.analyze, sandbox.keyword_ids))
        await asyncio.sleep(1.0)
        count = sandbox.ledger.count
        assert count(operation="list_credit_usages") == 1
        assert 1 <= count(operation="get_keyword") <= 12


@pytest.mark.looptime
async def test_the_first_launch_on_a_state_goes_alone(tmp_path: Path) -> None:
    """A fan-out that is killed at its beginning leaves a state that knows how launches are booked; later ones hurry."""
    # The file's clock is the real one, by which limits are shared: a slow machine sends more in a virtual second.
    sandbox = box(60.0, keywords=24, latency=(0.1, 0.1), limits=Limits(per_second=1000))
    began = asyncio.get_running_loop().time()
    for ids in (sandbox.keyword_ids[:12], sandbox.keyword_ids[12:]):
        async with client_of(sandbox, state=f"sqlite:///{tmp_path}/jobs.db") as client:
            await asyncio.gather(*map(client.keywords.analyze, ids))
    calls = [
        entry.operation for entry in sandbox.ledger if entry.operation in ("analyze_keyword", "list_credit_usages")
    ]
    assert calls == ["analyze_keyword", "list_credit_usages", *["analyze_keyword"] * 23]
    assert asyncio.get_running_loop().time() - began < 5.0


@pytest.mark.looptime
@pytest.mark.parametrize(
    ("fault", "waits"),
    [
        (Fault(match="GET */credit-usages", status=403, times=None), (0.0, 1.0)),
        (Fault(match="GET */credit-usages", slow=60.0, times=None), (9.0, 11.0)),
        (Fault(match="POST */analyze", slow=60.0, times=1), (9.0, 11.0)),
        (Fault(match="POST */analyze", status=404, times=1), (0.0, 1.0)),
        (Fault(match="POST */analyze", spoil="html"), (9.0, 11.0)),
    ],
)
async def test_a_first_launch_that_teaches_nothing_keeps_the_others_for_seconds(
    fault: Fault, waits: tuple[float, float], tmp_path: Path
) -> None:
    """Books that cannot be read, and a first launch without an answer or refused, delay the next by 10 s at most."""
    sandbox = box(300.0, keywords=3, rules=[fault])
    async with client_of(sandbox, state=f"sqlite:///{tmp_path}/jobs.db") as client:
        launches = [asyncio.ensure_future(client.keywords.analyze(each)) for each in sandbox.keyword_ids]
        await asyncio.gather(*launches, return_exceptions=True)
    at = [entry.at for entry in sandbox.ledger if entry.operation == "analyze_keyword"]
    assert waits[0] <= at[1] - at[0] <= waits[1]
    assert at[2] - at[1] < 1.0


@pytest.mark.looptime
async def test_books_are_learned_beside_a_usage_of_the_same_second(tmp_path: Path) -> None:
    """The clock of the service is known to a second: a usage of just before a launch may not be held to be after it."""
    sandbox = box(60.0, keywords=3)
    # Its clock begins here, and the first `Date` is cut.
    assert sandbox.now() == int(sandbox.now())
    await asyncio.sleep(0.7)
    async with client_of(sandbox, state=f"sqlite:///{tmp_path}/other.db") as client:
        await client.keywords.analyze(sandbox.keyword_ids[0])
    async with client_of(sandbox, state=f"sqlite:///{tmp_path}/jobs.db") as client:
        await client.keywords.analyze(sandbox.keyword_ids[1])
        await asyncio.sleep(60.0)
        sandbox.add_fault(Fault(match="POST */analyze", drop=True))
        await (await client.keywords.analyze(sandbox.keyword_ids[2]))
    assert sandbox.ledger.count(operation="analyze_keyword") == 4


@pytest.mark.looptime
async def test_books_that_tell_nothing_are_read_every_ten_minutes(tmp_path: Path) -> None:
    """While no launch is in doubt, a control that cannot be learned costs few requests."""
    sandbox = box(60.0, books=Books(keyword="other"))
    async with client_of(sandbox, state=f"sqlite:///{tmp_path}/jobs.db") as client:
        reads: list[int] = []
        for pause in (1.0, 1.0, 300.0, 300.0, 1.0):
            await client.content_ideas.search(sandbox.workspace_id, f"{len(reads)} tents")
            await asyncio.sleep(pause)
            reads.append(sandbox.ledger.count(operation="list_credit_usages"))
    assert reads == [1, 1, 1, 1, 2]


@pytest.mark.looptime
async def test_what_is_not_so_any_more_is_forgotten(caplog: pytest.LogCaptureFixture) -> None:
    """Books that do not show a launch that was certainly taken are relied on no more, and not learned again at once."""
    caplog.set_level(logging.INFO)
    sandbox = box(30.0)
    await rely_on_books(sandbox)
    async with client_of(sandbox) as client:
        await client.me()
        before = sandbox.credits.content_ideas_searches
        await client.content_ideas.search(sandbox.workspace_id, "boots")
        # It was given back, and its usage is gone.
        await asyncio.sleep(30.0)
        sandbox.set_credits(content_ideas_searches=before)
        sandbox.add_fault(Fault(match="POST */content-idea-searches", drop=True))
        with pytest.raises(cmsapi.LaunchUnknownError):
            await client.content_ideas.search(sandbox.workspace_id, "tents")
    kept = await control_of(sandbox, "idea_search")
    assert kept["holds"] is False
    # So a later process knows for how long.
    assert abs(kept["at"] - time.time()) < 60.0
    assert "does not book each idea_search at once any more" in caplog.text


@pytest.mark.looptime
@pytest.mark.parametrize(
    "document", [7, {"holds": True}, {"holds": True, "within": "1"}, {"holds": True, "within": 99}]
)
async def test_a_damaged_document_is_no_control(document: Any) -> None:
    """What another program has written there is not relied on."""
    sandbox = box(30.0, rules=[Fault(match="POST */content-idea-searches", drop=True)])
    await state().compare_and_set(scope(sandbox), "books idea_search", None, document)
    async with client_of(sandbox) as client:
        with pytest.raises(cmsapi.LaunchUnknownError, match="may have been launched"):
            await client.content_ideas.search(sandbox.workspace_id, "tents")


@pytest.mark.looptime
async def test_new_launches_wait_while_the_books_are_read() -> None:
    """No launch is sent between the reading of the balance and that of the usages."""
    sandbox = box(60.0, rules=[Fault(match="POST */analyze", drop=True, times=3)], latency=(0.2, 0.5), keywords=60)
    async with client_of(sandbox) as client, client.jobs.map(client.keywords.analyze, sandbox.keyword_ids) as outcomes:
        assert [outcome.ok async for outcome in outcomes] == [True] * 60
    calls = [entry.operation for entry in sandbox.ledger]
    for place, operation in enumerate(calls):
        if operation == "list_credit_usages":
            # Names of keywords may be read meanwhile.
            last = place - calls[:place][::-1].index("get_me")
            assert "analyze_keyword" not in calls[last:place]


def test_usages_are_read_in_any_of_two_orders() -> None:
    """A short list with the oldest first is turned round."""
    from cmsapi.jobs.launching.books import _in_order

    old, new = usage(9, after=1.0), usage(8, after=2.0)
    assert _in_order([old, new], whole=True) == _in_order([new, old], whole=True) == (new, old)
    assert _in_order([old, new], whole=False) is None
    uncounted: CreditUsage = attrs.evolve(old, id=None)
    assert _in_order([uncounted], whole=True) is None


async def test_launches_beside_a_failure_are_known_before_the_books_are_read(tmp_path: Path) -> None:
    """A burst in which the service fails five launches is over within seconds: its books show only known launches."""
    failures = Fault(match="POST /v1/keywords/*/analyze", status=503, times=5)
    # In real time, in which the answers of a burst come before they are written down.
    async with (
        box(5.0, rules=[failures], limits=Limits(per_second=1000)) as sandbox,
        cmsapi.Client(sandbox.api_key, base_url=sandbox.base_url, state=f"sqlite:///{tmp_path}/jobs.db") as client,
        asyncio.timeout(20),
    ):
        await asyncio.gather(*map(client.keywords.analyze, sandbox.keyword_ids[:10]))
        assert len(sandbox.ledger.launches()) == 10
