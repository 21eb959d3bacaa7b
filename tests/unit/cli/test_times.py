"""Durations and moments on the command line."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

import cmsapi
from cmsapi.cli.support.times import duration, read_due, read_past
from cmsapi.cli.terminal.exit_codes import Exit
from cmsapi.sandbox import Sandbox
from tests.support.command import command


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30d", timedelta(days=30)),
        ("12h", timedelta(hours=12)),
        ("90m", timedelta(minutes=90)),
        ("45s", timedelta(seconds=45)),
        ("2W", timedelta(weeks=2)),
        ("1.5d", timedelta(hours=36)),
        ("1d12h", timedelta(hours=36)),
        ("30", None),
        ("30 days", None),
        ("-3d", None),
        ("", None),
    ],
)
def test_a_duration_has_units(text: str, expected: timedelta | None) -> None:
    """Each number has one of five units; several add up."""
    assert duration(text) == expected


def test_a_past_moment_is_a_duration_a_date_or_a_time() -> None:
    """A duration counts back from now; a date means its first moment in UTC."""
    now = datetime.now(UTC)
    assert abs(now - timedelta(hours=12) - read_past("--since", "12h")) < timedelta(seconds=5)
    assert read_past("--since", "2026-01-31") == datetime(2026, 1, 31, tzinfo=UTC)
    assert read_past("--since", "2026-01-31T12:00+02:00") == datetime(2026, 1, 31, 10, tzinfo=UTC)


@pytest.mark.parametrize("text", ["30", "5x", "yesterday", "2026-01-31T12:00", "9999999d", "99999999999999d", ""])
def test_other_texts_are_refused(text: str) -> None:
    """The message says what is expected and what was given."""
    for read in (read_past, read_due):
        with pytest.raises(cmsapi.ArgumentError, match=r"`--when` must be a duration such as 30d, 12h or 90m"):
            read("--when", text if text != "9999999d" else "99999999d")


def test_the_future_has_no_past() -> None:
    """A moment to look back to lies in the past; a due date may lie in the future."""
    with pytest.raises(cmsapi.ArgumentError, match="must lie in the past, got 2999-01-01"):
        read_past("--since", "2999-01-01")
    due = read_due("--due-date", "14d")
    assert isinstance(due, datetime)
    assert due > datetime.now(UTC) + timedelta(days=13)


@pytest.mark.looptime
async def test_each_option_with_a_time_takes_durations(box: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
    """The report and due dates take durations, and refuse a number without a unit, unsent."""
    assert await command("credits", "--since", "12h", "--json") == Exit.DONE
    assert await command("contents", "create", box.workspace_id, "New", "--due-date", "14d") == Exit.DONE
    sent = len(box.ledger)
    capsys.readouterr()
    for tokens in (
        ("credits", "--since", "30"),
        ("analyze", box.keyword_ids[0], "--since", "30"),
        ("contents", "create", box.workspace_id, "New", "--due-date", "30"),
        ("sandbox", "--seconds", "30x"),
    ):
        assert await command(*tokens) == Exit.USAGE
        assert f"{tokens[-2]} must be a" in capsys.readouterr().err
    assert len(box.ledger) == sent
