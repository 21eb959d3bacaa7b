"""What is remembered before launches: balances, in which order they were read, and which launches left since."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import attrs
import pytest

from cmsapi.api.models.user import Credits, Organization, User
from cmsapi.jobs.journal.balances import BalanceReadings
from cmsapi.jobs.kinds.analysis import CREDITS
from cmsapi.state.entry import Entry

pytestmark = pytest.mark.looptime

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def user(analysis: int = 9, **organization: Any) -> User:
    """Make a user with balances."""
    fields: dict[str, Any] = {
        "id": "org_1",
        "name": "Org",
        "created_at": NOW,
        "credits": Credits(analysis=analysis, ai_writing=5, content_ideas_searches=7),
        "users_count": 1,
        "workspaces_count": 1,
        **organization,
    }
    return User(
        id="usr_1",
        first_name="Ada",
        last_name="Lovelace",
        email="ada@example.com",
        job_title="",
        language_code="en",
        created_at=NOW,
        organization=Organization(**fields),
    )


def launch(balances: BalanceReadings, kind: str = "keyword_analysis") -> Entry:
    """Describe a launch that leaves now."""
    return Entry(kind=kind, target="kw_1", asked_at=0.0, facts=balances.leaves(kind))


async def test_a_launch_carries_the_balance_that_it_draws_on() -> None:
    """Each kind has its own, and what draws on none has no mark."""
    balances = BalanceReadings()
    assert not balances.known
    assert launch(balances).facts == {}
    balances.saw(user(), 0.0)
    shown = {
        kind: launch(balances, kind).facts.get("balance")
        for kind in ("keyword_analysis", "prompt_analysis", "idea_search", "generation", "knowledge_document", "?")
    }
    assert shown == {
        "keyword_analysis": 9,
        "prompt_analysis": 9,
        "idea_search": 7,
        "generation": 5,
        "knowledge_document": None,
        "?": None,
    }


async def test_marks_of_one_process_have_an_order() -> None:
    """A launch left after a reading when its own mark is of that reading or a later one; others tell nothing."""
    balances, stranger = BalanceReadings(), BalanceReadings()
    balances.saw(user(), 0.0)
    stranger.saw(user(), 0.0)
    first, same = launch(balances), launch(balances)
    balances.saw(user(8), 1.0)
    later = launch(balances)
    numbers = [balances.number_of(each) for each in (first, same, later, launch(stranger), launch(BalanceReadings()))]
    assert numbers == [1, 1, 2, None, None]
    assert balances.number == 2
    assert balances.number_of(attrs.evolve(first, facts={"mark": "nonsense"})) is None


async def test_a_slow_answer_is_no_news() -> None:
    """Balances that were asked for before those that are known may be older, whenever they come."""
    balances = BalanceReadings()
    balances.saw(user(8), 2.0)
    balances.saw(user(9), 1.0)
    assert launch(balances).facts["balance"] == 8


@pytest.mark.parametrize(("launches", "seconds", "fresh"), [(99, 599.0, True), (100, 0.0, False), (0, 600.0, False)])
async def test_balances_grow_old(launches: int, seconds: float, fresh: bool) -> None:
    """They are read again after a hundred launches or ten minutes."""
    balances = BalanceReadings()
    assert not balances.fresh
    balances.saw(user(), asyncio.get_running_loop().time())
    for _ in range(launches):
        balances.leaves("keyword_analysis")
    await asyncio.sleep(seconds)
    assert balances.fresh is fresh
    balances.saw(user(), asyncio.get_running_loop().time())
    assert balances.fresh


async def test_a_service_may_show_no_balance() -> None:
    """Then there is none to go by."""
    assert CREDITS.of(user(credits=None)) is None
    balances = BalanceReadings()
    balances.saw(user(credits=None), 0.0)
    assert launch(balances).facts["balance"] is None
