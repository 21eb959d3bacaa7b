"""Jobs: durations, failures and the ground truth about them."""

from __future__ import annotations

import asyncio
import random
import statistics
from collections.abc import Callable
from typing import Any

import pytest

from cmsapi.sandbox import Fixed, Limits, Lognormal, Mixture, Sandbox, Weibull
from tests.support.calling import Caller

pytestmark = pytest.mark.looptime


@pytest.mark.parametrize(
    ("distribution", "median"),
    [
        (Lognormal(60.0), 60.0),
        (Fixed(7.0), 7.0),
        (Weibull(100.0, 1.5), 100.0 * 0.6931471805599453 ** (1 / 1.5)),
        (Mixture([(1, Fixed(5.0)), (3, Fixed(9.0))]), 9.0),
    ],
)
def test_distributions_have_their_median(distribution: Callable[[random.Random], float], median: float) -> None:
    """Half of the draws lie below the median."""
    rng = random.Random(1)
    assert pytest.approx(median, rel=0.05) == statistics.median(distribution(rng) for _ in range(4000))


@pytest.mark.parametrize("make", [lambda: Lognormal(0), lambda: Fixed(-1), lambda: Weibull(1, 0), lambda: Mixture([])])
def test_impossible_distributions_are_refused(make: Callable[[], object]) -> None:
    """The parameters of a distribution must be positive."""
    with pytest.raises(ValueError, match=r"must be|Length"):
        make()


@pytest.mark.parametrize("setting", [{"durations": {"analyses": Fixed(1)}}, {"failures": {"analyses": 1.0}}])
def test_unknown_kinds_are_refused(setting: dict[str, Any]) -> None:
    """A misspelt kind is an error that lists the kinds."""
    with pytest.raises(ValueError, match="idea_search"):
        Sandbox(**setting)


async def analyze(box: Sandbox, order: list[str]) -> dict[str, float]:
    """Launch analyses in an order and return each duration."""
    for keyword_id in order:
        await Caller(box)("POST", f"/v1/keywords/{keyword_id}/analyze")
        await asyncio.sleep(0.3)
    return {job.target_id: job.duration for job in box.jobs}


async def test_durations_depend_on_the_target_not_on_the_order() -> None:
    """Two strategies against one seed meet the same durations; another seed gives others."""
    ids = list(Sandbox().keyword_ids)
    forwards, backwards = await analyze(Sandbox(), ids), await analyze(Sandbox(), ids[::-1])
    assert forwards == pytest.approx(backwards)
    assert len(ids) == len(set(forwards.values()))
    other = Sandbox(seed=1)
    assert set(forwards.values()).isdisjoint((await analyze(other, list(other.keyword_ids))).values())


async def test_ground_truth_is_readable() -> None:
    """`jobs` and `durations_of` have the truth about jobs, in seconds of the loop."""
    box = Sandbox(durations={"keyword_analysis": Fixed(30.0)})
    started = asyncio.get_running_loop().time()
    await analyze(box, list(box.keyword_ids[:2]))
    assert box.durations_of("keyword_analysis") == [30.0, 30.0]
    assert box.durations_of("generation") == []
    (first, _) = box.jobs
    assert ("keyword_analysis", box.keyword_ids[0], started, started + 30.0, "success", False) == (
        first.kind,
        first.target_id,
        first.launched_at,
        first.ends_at,
        first.outcome,
        first.done,
    )
    with pytest.raises(ValueError, match="must be one of"):
        box.durations_of("analyses")


@pytest.mark.parametrize(
    "failures", [0.5, {"keyword_analysis": 0.5}, lambda kind, rng: kind == "keyword_analysis" and rng.random() < 0.5]
)
async def test_a_fraction_of_jobs_fails(failures: Any) -> None:
    """Failures are seeded and as frequent as set; a setting may name only some kinds."""
    box = Sandbox(keywords=200, failures=failures, limits=Limits.unlimited())
    await analyze(box, list(box.keyword_ids))
    failed = [job.target_id for job in box.jobs if job.outcome == "failed"]
    assert 70 < len(failed) < 130
    again = Sandbox(keywords=200, failures=failures, limits=Limits.unlimited())
    await analyze(again, list(again.keyword_ids))
    assert failed == [job.target_id for job in again.jobs if job.outcome == "failed"]


async def test_jobs_can_be_ended_at_once() -> None:
    """`finish` ends the running job now, with either outcome; without a running job it is an error."""
    box = Sandbox(durations=Fixed(100.0))
    call, path = Caller(box), f"/v1/keywords/{box.keyword_ids[0]}"
    for outcome in ("failed", "success"):
        await call("POST", f"{path}/analyze")
        await asyncio.sleep(5)
        box.finish(box.keyword_ids[0], outcome)
        assert outcome == (await call.get(path))["analysisStatus"]
    assert (await call.get(path))["lastAnalyzedAt"] == "2026-01-01T00:00:10.000Z"
    await asyncio.sleep(500)
    assert (await call.get(path))["lastAnalyzedAt"] == "2026-01-01T00:00:10.000Z"
    with pytest.raises(LookupError, match=box.keyword_ids[0]):
        box.finish(box.keyword_ids[0])


async def test_jobs_end_in_order_each_at_its_own_moment() -> None:
    """Jobs that end between two requests end in order, each at its own moment."""
    box = Sandbox()
    await analyze(box, list(box.keyword_ids[:5]))
    await asyncio.sleep(10_000)
    call = Caller(box)
    moments = [(await call.get(f"/v1/keywords/{job.target_id}"))["lastAnalyzedAt"] for job in box.jobs]
    by_end = sorted(zip((job.ends_at for job in box.jobs), moments, strict=True))
    assert sorted(moments) == [moment for _, moment in by_end]
    assert len(set(moments)) == 5


async def test_a_pause_holds_jobs_up() -> None:
    """Running jobs end later by the pause, those launched in it begin after it, and requests are answered."""
    box = Sandbox(durations=60.0)
    call, (early, late, later, *_) = Caller(box), box.keyword_ids
    await call("POST", f"/v1/keywords/{early}/analyze")
    await asyncio.sleep(20.0)
    box.pause(600.0)
    await asyncio.sleep(100.0)
    box.pause(550.0)
    await call("POST", f"/v1/keywords/{late}/analyze")
    await asyncio.sleep(560.0)
    await call("POST", f"/v1/keywords/{later}/analyze")
    assert [job.duration for job in box.jobs] == pytest.approx([710.0, 610.0, 60.0])
    assert (await call.get(f"/v1/keywords/{early}"))["analysisStatus"] == "pending"
    await asyncio.sleep(40.0)
    assert (await call.get(f"/v1/keywords/{early}"))["analysisStatus"] == "success"


async def test_a_pause_that_ends_before_another_one_changes_nothing(box: Sandbox) -> None:
    """Of two pauses that overlap, the one that ends later counts; one of less than no time is refused."""
    await Caller(box)("POST", f"/v1/keywords/{box.keyword_ids[0]}/analyze")
    before = box.jobs[0].duration
    box.pause(600.0)
    box.pause(300.0)
    assert box.jobs[0].duration == pytest.approx(before + 600.0)
    with pytest.raises(ValueError, match="`seconds` must be 0 or more, got -1"):
        box.pause(-1)
