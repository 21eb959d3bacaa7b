"""Jobs: words, durations, outcomes and credits."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cmsapi.sandbox import Choices, Fixed, Lognormal, Mixture, Sandbox
from tests.support.spec import spec
from tests.support.wire import Wire
from tests.unit.sandbox.conftest import CheckedWire

pytestmark = pytest.mark.looptime

ANALYSIS = ["queued", "pending", "success"]
WORDS = {"analysis": ANALYSIS, "prompt": ANALYSIS, "generation": ["queued", "queued", "review"]}
BALANCES = [("analysis", "analysis"), ("prompt", "analysis"), ("generation", "aiWriting")]
# What is chosen, how the job ends, and the credits that it has cost while it ran and after its end.
CHARGES = "launch failed 1 1,completion success 0 1,completion failed 0 0,refunded success 1 1,refunded failed 1 0"
SEVENS: list[Any] = [Fixed(7), 7, {"analysis": 7}, {"analysis": Mixture([(1, Lognormal(7, 0))])}]


async def launch(wire: CheckedWire, kind: str) -> int:
    """Launch a job of a kind and return the status of the answer."""
    if kind == "generation":
        return await wire.status("POST", f"/v1/contents/{wire.sandbox.content_ids[0]}/atomic", {"settings": {}})
    return await wire.status("POST", f"{path_of(wire.sandbox, kind)}/analyze")


async def word(wire: CheckedWire, kind: str) -> Any:
    """Return the status of the job."""
    return (await wire.get(path_of(wire.sandbox, kind)))["status" if kind == "generation" else "analysisStatus"]


def path_of(sandbox: Sandbox, kind: str) -> str:
    """Return the path of what shows the job's status."""
    return {
        "analysis": f"/v1/keywords/{sandbox.keyword_ids[0]}",
        "prompt": f"/v1/prompts/{sandbox.prompt_ids[0]}",
        "generation": f"/v1/contents/{sandbox.content_ids[0]}/generation",
    }[kind]


@spec("4.5:analyze_keyword", "4.5:get_keyword", "3:generation-start")
@spec("4.4:generate_content", "4.4:get_generation", "4.4.3")
@pytest.mark.parametrize("kind", WORDS)
async def test_words_of_a_job(kind: str) -> None:
    """A status moves by itself while time passes."""
    wire, seen = CheckedWire(Sandbox(durations={kind: 100})), []
    assert await launch(wire, kind) == 202
    for seconds in (0, 10, 90):
        await asyncio.sleep(seconds)
        seen.append(await word(wire, kind))
    assert seen == WORDS[kind]


@spec("7:409")
@pytest.mark.parametrize(("kind", "balance"), BALANCES)
async def test_a_launch_costs_a_credit_and_runs_alone(wire: CheckedWire, kind: str, balance: str) -> None:
    """A launch while one runs, or without a credit, is a 409 that costs nothing."""
    wire.sandbox.credits = {balance: 1}
    statuses = [await launch(wire, kind), await launch(wire, kind)]
    assert [wire.sandbox.finish(), wire.sandbox.finish()] == [1, 0]
    if kind == "generation":
        statuses.append(await launch(wire, kind))  # in review, which must be decided first
        await wire.post(f"{path_of(wire.sandbox, kind)}/cancel")
    statuses.append(await launch(wire, kind))
    assert (set(statuses[1:]), wire.sandbox.credits[balance]) == ({409}, 0)
    wire.sandbox.credits[balance] = 5
    assert await launch(wire, kind) == 202
    assert [(each.number, each.credits) for each in wire.sandbox.ledger.launches] == [(1, 1), (2, 1)]
    assert (await wire.get("/v1/me"))["organization"]["credits"][balance] == 4


@pytest.mark.parametrize(("choices", "is_new"), [(Choices(), False), (Choices(failed_analysis_timestamp="new"), True)])
async def test_the_timestamp_of_a_failure(choices: Choices, is_new: bool) -> None:
    """A failed analysis leaves the timestamp of the last success, or sets its own if that is chosen."""
    wire = CheckedWire(Sandbox(choices=choices))
    identifier = wire.sandbox.analyzed_keyword_ids[0]
    before = await wire.get(f"/v1/keywords/{identifier}")
    wire.sandbox.set_outcome(identifier, "failed")
    await wire.post(f"/v1/keywords/{identifier}/analyze")
    wire.sandbox.finish()
    after = await wire.get(f"/v1/keywords/{identifier}")
    assert (before["analysisStatus"], after["analysisStatus"]) == ("success", "failed")
    assert (before["lastAnalyzedAt"] != after["lastAnalyzedAt"]) is is_new


@pytest.mark.parametrize("outcome", ["failed", "Cancelled by the provider", None])
async def test_outcomes_are_shown_as_they_are(wire: CheckedWire, outcome: str | None) -> None:
    """A job may end in any word, until another outcome is set."""
    content = wire.sandbox.content_ids[0]
    wire.sandbox.set_outcome(content, outcome, duration=5)
    await launch(wire, "generation")
    await asyncio.sleep(5)
    answer = await Wire(wire.sandbox).send("GET", path_of(wire.sandbox, "generation"))
    assert answer.json()["status"] == outcome
    wire.sandbox.set_outcome(content, "success", duration=0)
    await launch(wire, "generation")
    assert await word(wire, "generation") == "review"


@pytest.mark.parametrize("row", CHARGES.split(","))
async def test_when_credits_are_charged(row: str) -> None:
    """The balance moves at the launch or at the end, as chosen, and usages explain it."""
    charged, outcome, running, ended = row.split()
    choices = Choices(charged=charged)  # type: ignore[arg-type]  # the words of the table
    wire = CheckedWire(Sandbox(credits={"analysis": 10}, choices=choices))
    wire.sandbox.set_outcome(wire.sandbox.keyword_ids[0], outcome)
    await launch(wire, "analysis")
    assert wire.sandbox.credits["analysis"] == 10 - int(running)
    wire.sandbox.finish()
    assert wire.sandbox.credits["analysis"] == 10 - int(ended)
    usages = (await wire.get("/v1/credit-usages?type=analysis"))["data"]
    assert sum(usage["amount"] for usage in usages) == wire.sandbox.ledger.launches[0].credits == int(ended)


@pytest.mark.parametrize("durations", SEVENS)
async def test_durations_are_given_for_all_or_by_kind(durations: Any) -> None:
    """A number, a distribution and a mapping of kinds are durations."""
    wire = CheckedWire(Sandbox(durations=durations))
    await launch(wire, "analysis")
    await asyncio.sleep(6.9)
    assert await word(wire, "analysis") == "pending"
    await asyncio.sleep(0.2)
    assert await word(wire, "analysis") == "success"


async def test_durations_are_drawn_from_the_seed() -> None:
    """Jobs of one seed end at the same times in each sandbox, however late they are read; others end at others."""
    ends = []
    for seed in (1, 1, 2):
        wire = CheckedWire(Sandbox(seed=seed, epoch=0.0))
        for keyword in wire.sandbox.keyword_ids[:2]:
            await wire.post(f"/v1/keywords/{keyword}/analyze")
        await asyncio.sleep(10_000)
        ends += [(await wire.get(f"/v1/keywords/{each}"))["lastAnalyzedAt"] for each in wire.sandbox.keyword_ids[:2]]
    assert ends[:2] == ends[2:4]
    assert len(set(ends)) == 4


@pytest.mark.parametrize("settings", [{"durations": {"analyses": 3}}, {"credits": {"aiwriting": 3}}])
def test_refuses_misspelt_names(settings: Any) -> None:
    """An unknown kind or balance is refused when the sandbox is made."""
    with pytest.raises(ValueError, match="unknown"):
        Sandbox(**settings)
