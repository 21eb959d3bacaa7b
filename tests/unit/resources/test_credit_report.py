"""Credit usages added up."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

import cmsapi
from cmsapi.sandbox import Behaviour, Sandbox

WORKSPACES = (
    cmsapi.WorkspaceRef(id="w1", name="Shop"),
    cmsapi.WorkspaceRef(id="w2", name="Shop"),
    cmsapi.WorkspaceRef(id="w3", name="$Blog$"),
)


def usage(day: int, amount: int, type_: str, workspace: cmsapi.WorkspaceRef) -> cmsapi.CreditUsage:
    """Make a usage on a day of 2026."""
    return cmsapi.CreditUsage(
        id=f"u{day}",
        created_at=datetime(2026, 1, 1, 12, tzinfo=UTC) + timedelta(days=day),
        amount=amount,
        remaining_credits=0,
        type=cmsapi.CreditType(type_),
        keyword=cmsapi.UsageKeyword(keyword="shoes", country_code="US", language_code="en"),
        user=cmsapi.UserRef(id="a", first_name="Ada", last_name="Moreau"),
        workspace=workspace,
    )


usages = st.builds(
    usage,
    st.integers(0, 40),
    st.integers(0, 5),
    st.sampled_from(["analysis", "ai_writing", "a new word"]),
    st.sampled_from(WORKSPACES),
)


@given(st.lists(usages, max_size=30), st.sampled_from([1, -1]))
def test_every_way_to_add_up_has_the_same_total(entries: list[cmsapi.CreditUsage], sign: int) -> None:
    """Types, days and workspaces each add up to the total, whatever sign the service uses, and days have no gaps."""
    turned = tuple(usage(e.created_at.day, sign * e.amount, e.type, e.workspace) for e in entries)
    report = cmsapi.CreditReport(turned)
    total = sum(entry.amount for entry in entries)
    assert report.total == total
    assert sum(report.by_type.values()) == sum(report.by_workspace.values()) == sum(report.by_day.values()) == total
    days = list(report.by_day)
    assert all(later - earlier == timedelta(days=1) for earlier, later in itertools.pairwise(days))


def test_workspaces_of_one_name_are_told_apart() -> None:
    """A repeated name carries the identifier."""
    report = cmsapi.CreditReport(tuple(usage(0, 1, "analysis", workspace) for workspace in WORKSPACES))
    assert set(report.by_workspace) == {"Shop (w1)", "Shop (w2)", "$Blog$"}


def test_figures_and_frames(tmp_path: object) -> None:
    """The plot has three panels and draws service text as text; the frame has a row for each usage."""
    report = cmsapi.CreditReport(tuple(usage(day, 2, "analysis", WORKSPACES[2]) for day in range(3)))
    figure = report.plot()
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert len(figure.axes) == 3
    frame = report.to_pandas()
    assert list(frame["amount"]) == [2, 2, 2]
    assert list(frame["workspace_name"]) == ["$Blog$"] * 3


def test_nothing_spent_is_a_report_too() -> None:
    """Without usages everything is empty, and can still be shown."""
    report = cmsapi.CreditReport(())
    assert (report.total, dict(report.by_day), dict(report.by_type)) == (0, {}, {})
    report.plot().canvas.draw()
    assert len(report.to_pandas()) == 0


@pytest.mark.looptime
async def test_the_report_reads_no_further_than_asked() -> None:
    """`since` and `until` bound the entries; times without offset are refused before anything is sent."""
    box = Sandbox(behaviour=Behaviour(amounts="negative"))
    async with cmsapi.Client(box.api_key, base_url=box.base_url, transport=box.transport) as client:
        whole = await client.credit_usages.report()
        launched = datetime.fromtimestamp(box.now(), UTC)
        await client.keywords.analyze(box.keyword_ids[0])
        since = await client.credit_usages.report(since=launched)
        until = await client.credit_usages.report(until=launched)
        requests = len(box.ledger)
        with pytest.raises(cmsapi.ArgumentError):
            await client.credit_usages.report(since=datetime(2026, 1, 1))  # noqa: DTZ001
    assert (since.total, len(since.entries)) == (1, 1)
    assert until.entries == whole.entries
    assert len(box.ledger) == requests
