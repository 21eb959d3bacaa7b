"""The service's clock and calendar."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

import pytest
from freezegun import freeze_time

from cmsapi.sandbox import Sandbox
from tests.support.spec import spec
from tests.support.strict import virtually
from tests.unit.sandbox.conftest import CheckedWire

pytestmark = pytest.mark.looptime


async def date_and_created(wire: CheckedWire) -> tuple[datetime, datetime]:
    """Return a response's Date and the timestamp of what it creates."""
    answer = await wire.send("POST", f"{wire.workspace}/contents", {"title": "x"})
    return parsedate_to_datetime(answer.headers["date"]), datetime.fromisoformat(answer.json()["createdAt"])


@spec("1.6")
async def test_date_and_timestamps_move_with_the_loop(wire: CheckedWire) -> None:
    """Both start at the real time, or ahead of it if so chosen, and advance by the loop's seconds."""
    date, created = await date_and_created(wire)
    assert abs(created - datetime.now(UTC)) < timedelta(seconds=60)
    assert timedelta() <= created - date < timedelta(seconds=1)
    ahead, _ = await date_and_created(CheckedWire(Sandbox(clock_skew=3600)))
    assert timedelta(minutes=59) < ahead - date < timedelta(minutes=61)
    await asyncio.sleep(86_400)
    assert await date_and_created(wire) == (date + timedelta(days=1), created + timedelta(days=1))


async def test_a_frozen_clock_does_not_stop_the_service() -> None:
    """A test that freezes time still sees timestamps move with the loop."""
    with freeze_time("2020-01-01", real_asyncio=True):
        wire = CheckedWire(Sandbox())
        await date_and_created(wire)
        await asyncio.sleep(30)
        assert (await date_and_created(wire))[1].isoformat() == "2020-01-01T00:00:30+00:00"


def test_time_goes_on_in_another_loop() -> None:
    """A sandbox that is used in a second loop, whose time starts at zero, does not go back."""
    wire = CheckedWire(Sandbox(epoch=0.0))

    async def after(seconds: float) -> float:
        await asyncio.sleep(seconds)
        return (await date_and_created(wire))[1].timestamp()

    assert [virtually(after(100)), virtually(after(0)), virtually(after(50))] == [0, 0, 50]
