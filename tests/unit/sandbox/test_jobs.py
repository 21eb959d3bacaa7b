"""Jobs: words, durations and outcomes."""

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
SEVENS: list[Any] = [Fixed(7), 7, {"analysis": 7}, {"analysis": Mixture([(1, Lognormal(7, 0))])}]


async def word(wire: CheckedWire, kind: str) -> Any:
    """Return the status of the job."""
    return (await wire.get(wire.path(kind)))["status" if kind == "generation" else "analysisStatus"]


@spec("4.5:analyze_keyword", "4.5:get_keyword", "3:generation-start")
@spec("4.4:generate_content", "4.4:get_generation", "4.4.3")
@pytest.mark.parametrize("kind", WORDS)
async def test_words_of_a_job(kind: str) -> None:
    """A status changes by itself as time passes."""
    wire, seen = CheckedWire(Sandbox(durations={kind: 100})), []
    assert await wire.launch(kind) == 202
    for seconds in (0, 10, 90):
        await asyncio.sleep(seconds)
        seen.append(await word(wire, kind))
    assert seen == WORDS[kind]


@pytest.mark.parametrize(("choices", "is_new"), [(Choices(), False), (Choices(failed_analysis_timestamp="new"), True)])
async def test_the_timestamp_of_a_failure(choices: Choices, is_new: bool) -> None:
    """A failed analysis leaves the timestamp of the last success, or sets its own if so chosen."""
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
    """A job may end with any word, until another outcome is set."""
    content = wire.sandbox.content_ids[0]
    wire.sandbox.set_outcome(content, outcome, duration=5)
    await wire.launch("generation")
    await asyncio.sleep(5)
    answer = await Wire(wire.sandbox).send("GET", wire.path("generation"))
    assert answer.json()["status"] == outcome
    wire.sandbox.set_outcome(content, "success", duration=0)
    await wire.launch("generation")
    assert await word(wire, "generation") == "review"


@pytest.mark.parametrize("durations", SEVENS)
async def test_durations_are_given_for_all_or_by_kind(durations: Any) -> None:
    """A number, a distribution or a mapping by kind sets the durations."""
    wire = CheckedWire(Sandbox(durations=durations))
    await wire.launch("analysis")
    await asyncio.sleep(6.9)
    assert await word(wire, "analysis") == "pending"
    await asyncio.sleep(0.2)
    assert await word(wire, "analysis") == "success"


async def test_durations_are_drawn_from_the_seed() -> None:
    """Jobs with the same seed end at the same times in each sandbox, however late they are read; others differ."""
    ends = []
    for seed in (1, 1, 2):
        wire = CheckedWire(Sandbox(seed=seed, epoch=0.0))
        for keyword in wire.sandbox.keyword_ids[:2]:
            await wire.post(f"/v1/keywords/{keyword}/analyze")
        await asyncio.sleep(10_000)
        ends += [(await wire.get(f"/v1/keywords/{each}"))["lastAnalyzedAt"] for each in wire.sandbox.keyword_ids[:2]]
    assert ends[:2] == ends[2:4]
    assert len(set(ends)) == 4


def test_refuses_misspelt_kinds() -> None:
    """An unknown kind is refused when the sandbox is created."""
    with pytest.raises(ValueError, match="analyses"):
        Sandbox(durations={"analyses": 3})
