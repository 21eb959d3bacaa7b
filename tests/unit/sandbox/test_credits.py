"""Credits: what launches cost, when they are charged, and the usages that record it."""

from __future__ import annotations

import pytest

from cmsapi.sandbox import Choices, Sandbox
from tests.support.spec import spec
from tests.unit.sandbox.conftest import CheckedWire

pytestmark = pytest.mark.looptime

BALANCES = [("analysis", "analysis"), ("prompt", "analysis"), ("generation", "aiWriting")]
# What is chosen, how the job ends, and the credits that it has cost while it ran and after its end.
CHARGES = "launch failed 1 1,completion success 0 1,completion failed 0 0,refunded success 1 1,refunded failed 1 0"


@spec("7:409")
@pytest.mark.parametrize(("kind", "balance"), BALANCES)
async def test_a_launch_costs_a_credit_and_runs_alone(wire: CheckedWire, kind: str, balance: str) -> None:
    """A launch while another is running, or without a credit, gives a 409 and costs nothing."""
    wire.sandbox.credits = {balance: 1}
    statuses = [await wire.launch(kind), await wire.launch(kind)]
    assert [wire.sandbox.finish(), wire.sandbox.finish()] == [1, 0]
    if kind == "generation":
        statuses.append(await wire.launch(kind))  # in review, which must be decided first
        await wire.post(f"{wire.path(kind)}/cancel")
    statuses.append(await wire.launch(kind))
    assert (set(statuses[1:]), wire.sandbox.credits[balance]) == ({409}, 0)
    wire.sandbox.credits[balance] = 5
    assert await wire.launch(kind) == 202
    assert [(each.number, each.credits) for each in wire.sandbox.ledger.launches] == [(1, 1), (2, 1)]
    assert (await wire.get("/v1/me"))["organization"]["credits"][balance] == 4


@pytest.mark.parametrize("row", CHARGES.split(","))
async def test_when_credits_are_charged(row: str) -> None:
    """The balance changes at launch or at the end, as chosen, and usages record it."""
    charged, outcome, running, ended = row.split()
    choices = Choices(charged=charged)  # type: ignore[arg-type]  # the words of the table
    wire = CheckedWire(Sandbox(credits={"analysis": 10}, choices=choices))
    wire.sandbox.set_outcome(wire.sandbox.keyword_ids[0], outcome)
    await wire.launch("analysis")
    assert wire.sandbox.credits["analysis"] == 10 - int(running)
    wire.sandbox.finish()
    assert wire.sandbox.credits["analysis"] == 10 - int(ended)
    usages = (await wire.get("/v1/credit-usages?type=analysis"))["data"]
    assert sum(usage["amount"] for usage in usages) == wire.sandbox.ledger.launches[0].credits == int(ended)


def test_refuses_misspelt_balances() -> None:
    """An unknown balance is refused when the sandbox is created."""
    with pytest.raises(ValueError, match="aiwriting"):
        Sandbox(credits={"aiwriting": 3})
