"""What was learned about durations outlives the process that has learned it."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

import cmsapi
from cmsapi.jobs.kinds.kind import JobKind
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.jobs.planning.duration_store import DurationModels, DurationStore
from cmsapi.jobs.planning.durations import DurationModel, step_after, step_before
from cmsapi.sandbox import Fixed, Limits, Lognormal, Sandbox
from cmsapi.state.memory import MemoryState
from tests.support.command import command
from tests.support.memory import ProcessState

KIND = KINDS[JobKind.KEYWORD_ANALYSIS]


def learned(*ages: float) -> DurationModel:
    """Learn from jobs that ended at these ages, each seen running a little before."""
    durations = DurationModel(60.0)
    for age in ages:
        durations.saw_running(0, step_before(age * 0.8))
        durations.saw_end(step_before(age * 0.8), step_after(age))
    return durations


@pytest.mark.looptime
async def test_another_process_believes_the_same() -> None:
    """Who reads what was written believes what the writer does."""
    memory = MemoryState()
    writer = learned(*(200.0 + number for number in range(30)))
    await DurationStore(ProcessState(memory), "service", DurationModels({KIND: writer})).write()
    reader = DurationModel(60.0)
    duration_store = DurationStore(ProcessState(memory), "service", DurationModels({KIND: reader}))
    duration_store.recall()
    await duration_store.aclose()
    assert reader.curve().ended == pytest.approx(writer.curve().ended, abs=0.02)
    assert reader.ends == 30
    # What was read is not written again.
    assert not reader.unwritten


@pytest.mark.looptime
async def test_writers_add_up() -> None:
    """Of processes that write at the same time none overwrites what another has written."""
    memory = MemoryState()
    writers = [learned(*[50.0 + 10 * number] * 5) for number in range(6)]
    await asyncio.gather(
        *(DurationStore(ProcessState(memory), "service", DurationModels({KIND: each})).write() for each in writers)
    )
    reader = DurationModel(60.0)
    duration_store = DurationStore(ProcessState(memory), "service", DurationModels({KIND: reader}))
    duration_store.recall()
    await duration_store.aclose()
    assert reader.ends == 30


@pytest.mark.looptime
@pytest.mark.parametrize(
    "nonsense", [3, "text", ["3 4"], {"3": 1}, {"4 3": 1}, {"3 4": "x"}, {"3 4": -1}, {"3 400": 1}]
)
async def test_nonsense_in_the_state_is_no_knowledge(nonsense: object) -> None:
    """A document that is not one of these teaches nothing and does no harm."""
    state = ProcessState()
    await state.compare_and_set("service", "durations keyword_analysis", None, nonsense)
    reader = DurationModel(60.0)
    duration_store = DurationStore(state, "service", DurationModels({KIND: reader}))
    duration_store.recall()
    await duration_store.aclose()
    assert reader.ends == 0


@pytest.mark.looptime
async def test_old_knowledge_fades() -> None:
    """However much is written, what stands counts as four hundred ends at the most."""
    state = ProcessState()
    for age in (20.0, 200.0, 2000.0):
        durations = DurationModel(60.0)
        durations.unwritten = Counter({(step_before(age), step_after(age) + 1): 300})
        await DurationStore(state, "service", DurationModels({KIND: durations})).write()
    document = await state.get_document("service", "durations keyword_analysis")
    assert sum(document.values()) <= 400
    assert max(document, key=document.__getitem__).startswith(str(step_before(2000.0)))


async def test_a_client_finds_what_another_one_learned(tmp_path: Path) -> None:
    """On one file, the next client knows how long jobs take before it has seen one."""
    sandbox = Sandbox(durations=Fixed(0.05))
    url = f"sqlite:///{tmp_path / 'state.db'}"
    polling = cmsapi.PollPolicy(min_interval=0.2, max_interval=0.4)

    def client_of(sandbox: Sandbox) -> cmsapi.Client:
        options = {"base_url": sandbox.base_url, "transport": sandbox.transport}
        return cmsapi.Client(sandbox.api_key, polling=polling, state=url, **options)  # type: ignore[arg-type]

    async with client_of(sandbox) as client:
        jobs = [await client.content_ideas.search(sandbox.workspace_id, f"topic {number}") for number in range(3)]
        waiting = asyncio.gather(*jobs)
        await asyncio.sleep(0.3)
        for job in jobs:
            # A document that shows its end hastens the poll of a job.
            await client.content_ideas.get(job.target)
        await waiting
        assert (await client.jobs.plan("idea_search", 1)).learned_from == 3

    async def later() -> int:
        async with client_of(sandbox) as client:
            return (await client.jobs.plan("idea_search", 1)).learned_from

    # On a loop of its own, where nothing is known but what the state tells.
    assert await asyncio.to_thread(asyncio.run, later()) == 3


async def test_a_plan_knows_the_hour_before_the_first_request(tmp_path: Path) -> None:
    """What other processes have used of the hour counts in the first thing that a client does."""
    sandbox = Sandbox()
    url = f"sqlite:///{tmp_path / 'state.db'}"
    limits = cmsapi.RateLimits(per_second=None, per_hour=60)

    def client_of() -> cmsapi.Client:
        return cmsapi.Client(
            sandbox.api_key, base_url=sandbox.base_url, transport=sandbox.transport, limits=limits, state=url
        )

    async with client_of() as client:
        for _ in range(50):
            await client.me()

    async def later() -> bool:
        async with client_of() as client:
            return (await client.jobs.plan("keyword_analysis", 5)).fits

    assert not await asyncio.to_thread(asyncio.run, later())


async def test_a_plan_sees_the_jobs_of_other_processes(tmp_path: Path) -> None:
    """Running jobs in the journal of the state count, although this process does not poll them."""
    sandbox = Sandbox(durations=Fixed(600.0))
    url = f"sqlite:///{tmp_path / 'state.db'}"

    def client_of() -> cmsapi.Client:
        return cmsapi.Client(sandbox.api_key, base_url=sandbox.base_url, transport=sandbox.transport, state=url)

    async def later() -> int:
        async with client_of() as client:
            return (await client.jobs.plan("idea_search", 5)).running

    async with client_of() as client:
        for keyword_id in sandbox.keyword_ids[:3]:
            await client.keywords.analyze(keyword_id)
        assert await asyncio.to_thread(asyncio.run, later()) == 3


@pytest.mark.slow
@pytest.mark.looptime
@pytest.mark.parametrize("seed", [1, 2])
async def test_a_new_process_plans_what_then_happens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], seed: int
) -> None:
    """After 101 analyses another process plans from them before its first job, in a program and on the command line."""
    limits, url = cmsapi.RateLimits(per_second=None, per_hour=5000), f"sqlite:///{tmp_path / 'state.db'}"
    allowed = Limits(per_second=5000, per_hour=5000)
    async with Sandbox(seed=seed, keywords=161, durations=Lognormal(40.0, 0.5), limits=allowed) as sandbox:
        monkeypatch.setenv("CMSAPI_STATE", url)
        monkeypatch.setenv("CMSAPI_API_KEY", sandbox.api_key)
        monkeypatch.setenv("CMSAPI_BASE_URL", sandbox.base_url)

        async def plan() -> cmsapi.Forecast:
            async with cmsapi.Client(state=url, limits=limits) as client:
                return await client.jobs.plan("keyword_analysis", 60)

        async with cmsapi.Client(state=url, limits=limits) as client:

            async def analyse(items: Sequence[str]) -> float:
                began = asyncio.get_running_loop().time()
                async for outcome in client.jobs.map(client.keywords.analyze, items):
                    outcome.result()
                return asyncio.get_running_loop().time() - began

            await analyse(sandbox.keyword_ids[:101])
        # On loops of their own, where nothing is known but what the state tells.
        forecast = await asyncio.to_thread(asyncio.run, plan())
        typed = ["analyze", *sandbox.keyword_ids[101:], "--dry-run", "--json"]
        assert await asyncio.to_thread(asyncio.run, command(*typed)) == 0
        shown = capsys.readouterr()
        before = len(sandbox.ledger)
        async with cmsapi.Client(state=url, limits=limits) as client:
            took = await analyse(sandbox.keyword_ids[101:])
        requests = len(sandbox.ledger) - before
    assert (forecast.learned_from, forecast.basis) == (101, "101 keyword analyses seen")
    assert 0.65 <= requests / forecast.requests <= 1.5
    fewest, most = forecast.requests_range
    assert 0.9 * fewest <= requests <= 1.1 * most
    assert 0.8 * forecast.seconds_range[0] <= took <= 1.25 * forecast.seconds_range[1]
    assert "101 keyword analyses seen" in shown.err
    assert json.loads(shown.out)["learnedFrom"] == 101


async def test_a_plan_does_not_guess_what_a_lost_state_knows(tmp_path: Path) -> None:
    """When the state cannot be read, a plan says so and sends nothing."""
    sandbox = Sandbox()
    url = f"sqlite:///{tmp_path / 'not' / 'there' / 'state.db'}"
    async with cmsapi.Client(
        sandbox.api_key, base_url=sandbox.base_url, transport=sandbox.transport, state=url
    ) as client:
        with pytest.raises(cmsapi.StateError):
            await client.jobs.plan("keyword_analysis", 5)
    assert not len(sandbox.ledger)
