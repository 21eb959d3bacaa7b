"""How far a fan-out is: counts, credits and requests as the ledger has them, and an estimate of the end."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import pickle
import re
from collections.abc import AsyncIterator
from typing import Any

import attrs
import pytest

import cmsapi
from cmsapi.sandbox import Fault, Fixed, Limits, Lognormal, Sandbox
from tests.support.jobs import box, client_of

pytestmark = pytest.mark.looptime


def charged(sandbox: Sandbox) -> int:
    """Count the credits that the ledger has seen."""
    return sum(entry.charged for entry in sandbox.ledger)


async def test_at_every_outcome_the_counts_are_those_of_the_ledger() -> None:
    """The states add up to the total, the credits are those charged, and the requests those that arrived."""
    sandbox = Sandbox(seed=3, keywords=60, durations=Lognormal(60.0, 0.6))
    sandbox.set_outcome(sandbox.keyword_ids[7], "failed")
    async with client_of(sandbox) as client:
        outcomes = client.jobs.map(client.keywords.analyze, sandbox.keyword_ids, in_flight=25)
        now, seen = outcomes.progress, 0
        async for outcome in outcomes:
            now, seen = outcomes.progress, seen + 1
            assert now.finished + now.running + now.waiting == now.total == 60
            assert now.finished >= seen
            launching = sum(row.state is cmsapi.ItemState.LAUNCHING for row in outcomes.rows())
            assert 0 <= charged(sandbox) - now.credits <= launching
            # The first launch reads the balances for all later ones, too.
            assert now.requests == len(sandbox.ledger)
            assert outcome.ok or outcome.item == sandbox.keyword_ids[7]
        assert (now.finished, now.failed, now.credits, now.stopped) == (60, 1, 60, False)
        assert (outcomes.progress.done, outcomes.progress.seconds_left, outcomes.progress.eta) == (True, 0.0, None)
        assert outcomes.progress.requests_planned == outcomes.progress.requests == len(sandbox.ledger)


async def test_requests_of_other_work_are_not_counted() -> None:
    """What the program reads meanwhile, and what another fan-out sends, belongs to neither."""
    sandbox = box(30.0)

    async def drain(outcomes: Any) -> int:
        async for _ in outcomes:
            await client.keywords.get(sandbox.keyword_ids[19])
        return int(outcomes.progress.requests)

    async with client_of(sandbox) as client:
        maps = [client.jobs.map(client.keywords.analyze, sandbox.keyword_ids[at : at + 3]) for at in (0, 3)]
        first, second = await asyncio.gather(*map(drain, maps))
    assert first + second + 6 == len(sandbox.ledger)
    assert min(first, second) >= 6


async def test_pages_of_lists_that_show_many_jobs_are_counted() -> None:
    """Where polls become rare, one request shows many keywords, and it is counted once."""
    sandbox = Sandbox(seed=1, keywords=90, limits=Limits(per_hour=300), durations=Lognormal(300.0, 0.6))
    async with client_of(sandbox) as client:
        outcomes = client.jobs.map(client.keywords.analyze, sandbox.keyword_ids)
        async for _ in outcomes:
            pass
        assert sandbox.ledger.count(operation="list_keywords") > 0
        assert outcomes.progress.requests == len(sandbox.ledger)


@pytest.mark.parametrize("in_flight", ["auto", 20])
async def test_the_estimate_of_a_learned_fan_out_comes_true(in_flight: Any) -> None:
    """At a quarter and at half of the items, the rest takes about as long, and as many requests, as foretold."""
    sandbox = Sandbox(seed=5, keywords=121, durations=Lognormal(60.0, 0.6))
    loop = asyncio.get_running_loop()
    async with client_of(sandbox) as client:
        async for _ in client.jobs.map(client.keywords.analyze, sandbox.keyword_ids[:51]):
            pass
        await asyncio.sleep(3700.0)
        outcomes = client.jobs.map(client.keywords.analyze, sandbox.keyword_ids[51:], in_flight=in_flight)
        told = []
        async for _ in outcomes:
            if (now := outcomes.progress).finished in (18, 35):
                assert now.seconds_left is not None
                assert now.requests_planned is not None
                assert now.seconds_left_range is not None
                assert now.seconds_left_range[0] < now.seconds_left < now.seconds_left_range[1]
                assert now.eta is not None
                told.append((loop.time() + now.seconds_left, loop.time(), now.requests_planned))
        took = outcomes.progress.requests
    for ends_at, at, planned in told:
        assert 0.6 <= (loop.time() - at) / (ends_at - at) <= 1.6
        # A list that is found later shows many jobs with one request.
        assert 0.4 <= took / planned <= 1.6


async def test_polls_that_wait_for_the_hour_are_part_of_the_estimate() -> None:
    """When the requests of the hour are used up, the estimate is the time until they come back, not zero."""
    sandbox = box(30.0, keywords=8)
    limits = cmsapi.RateLimits(per_hour=20, reserve=0)
    async with client_of(sandbox, limits=limits) as client:
        jobs = [await client.keywords.analyze(keyword_id) for keyword_id in sandbox.keyword_ids[:8]]
        ending = client.jobs.as_completed(jobs)
        first = asyncio.ensure_future(anext(ending))
        while client.rate_limit.remaining:
            await client.me()
        await asyncio.sleep(100.0)
        progress = ending.progress
        first.cancel()
    assert progress.finished == 0
    assert progress.seconds_left is not None
    assert progress.seconds_left == pytest.approx(3500.0, rel=0.02)


async def test_the_total_of_an_async_iterable_is_known_at_its_end() -> None:
    """Until then there is no estimate, and waiting are the items that were taken."""
    sandbox = box(30.0)

    async def items() -> AsyncIterator[str]:
        for keyword_id in sandbox.keyword_ids[:6]:
            yield keyword_id
            await asyncio.sleep(20.0)

    async with client_of(sandbox) as client:
        outcomes = client.jobs.map(client.keywords.analyze, items())
        assert outcomes.progress == cmsapi.Progress()
        async for _ in outcomes:
            now = outcomes.progress
            assert (now.total is None) is (now.seconds_left is None)
            if now.total is None:
                assert str(now).startswith(f"{now.finished} finished, {now.running} running, ")
        assert outcomes.progress.total == 6


async def test_a_bound_of_credits_leaves_items_that_are_not_launched() -> None:
    """They stay in the count, and the text says that they will not be launched."""
    sandbox = box(30.0)
    async with client_of(sandbox) as client:
        outcomes = client.jobs.map(client.keywords.analyze, sandbox.keyword_ids[:10], max_credits=4)
        async for _ in outcomes:
            pass
    now = outcomes.progress
    assert (now.finished, now.failed, now.waiting, now.credits, now.stopped) == (5, 1, 5, 4, True)
    assert str(now).startswith("5 of 10 finished, 0 running, 5 not launched, 1 failed; 4 credits, ")


@pytest.mark.parametrize("earlier", ["read", "skip"])
async def test_a_batch_knows_what_ended_earlier(earlier: Any) -> None:
    """Earlier items are among the finished ones, with what they have cost, and a failed one stays failed."""
    sandbox = box(30.0)
    sandbox.set_outcome(sandbox.keyword_ids[0], "failed")
    async with client_of(sandbox) as client:
        async with client.jobs.batch("nightly") as batch:
            assert batch.progress == cmsapi.Progress()
            async for _ in batch.map(client.keywords.analyze, sandbox.keyword_ids[:4]):
                pass
        async with client.jobs.batch("nightly") as batch:
            assert (batch.progress.finished, batch.progress.total, batch.progress.credits) == (4, 4, 4)
            outcomes = batch.map(client.keywords.analyze, sandbox.keyword_ids[:10], earlier=earlier)
            now = batch.progress
            async for _ in outcomes:
                now = batch.progress
                assert now.finished + now.running + now.waiting == now.total == 10
                assert now.requests == len(sandbox.ledger)
    assert batch.progress == outcomes.progress
    assert (now.finished, now.earlier, now.failed, now.credits) == (10, 4, 1, 10)
    assert "10 of 10 finished (4 earlier)" in str(now)
    if earlier == "read":
        assert {row.item for row in outcomes.rows() if row.earlier} == set(sandbox.keyword_ids[:4])


async def test_rows_have_names_and_come_in_the_order_of_their_states() -> None:
    """Keywords that the client has read are shown by name; what waits comes first, what has failed last."""
    sandbox = box(30.0)
    sandbox.set_outcome(sandbox.keyword_ids[1], "failed")
    async with client_of(sandbox) as client:
        outcomes = client.jobs.map(client.keywords.analyze, sandbox.keyword_ids, in_flight=2)
        assert [row.state for row in outcomes.rows()] == [cmsapi.ItemState.WAITING] * 20
        states: set[cmsapi.ItemState] = set()
        async for _ in outcomes:
            rows = outcomes.rows()
            order = [list(cmsapi.ItemState).index(row.state) for row in rows]
            assert order == sorted(order)
            assert {row.item for row in rows} == set(sandbox.keyword_ids)
            assert all((row.elapsed is None) is (row.state is cmsapi.ItemState.WAITING) for row in rows)
            states |= {row.state for row in rows}
        assert states >= {cmsapi.ItemState.WAITING, cmsapi.ItemState.FINISHED, cmsapi.ItemState.FAILED}
        assert len(outcomes.rows(3)) == 3
        keyword = await client.keywords.get(sandbox.keyword_ids[0])
        assert keyword.keyword in {row.label for row in outcomes.rows()}
        assert not {row.label for row in outcomes.rows()} & set(sandbox.keyword_ids)


async def test_progress_is_followed_to_its_end() -> None:
    """A follower gets the first and the last progress, and not more than one in its interval."""
    sandbox, loop = box(30.0), asyncio.get_running_loop()
    async with client_of(sandbox) as client:
        outcomes = client.jobs.map(client.keywords.analyze, sandbox.keyword_ids, in_flight=3)

        async def follow() -> list[tuple[float, cmsapi.Progress]]:
            return [(loop.time(), progress) async for progress in outcomes.follow(10.0)]

        followers = [asyncio.create_task(follow()) for _ in range(2)]
        async for _ in outcomes:
            pass
        for seen in await asyncio.gather(*followers):
            times = [at for at, _ in seen]
            assert (seen[0][1].finished, seen[-1][1].finished) == (0, 20)
            assert all(later - before >= 10.0 - 1e-6 for before, later in itertools.pairwise(times[:-1]))
            finished = [progress.finished for _, progress in seen]
            assert finished == sorted(finished)
            assert len(seen) > 5
        assert [progress.done async for progress in outcomes.follow()] == [True]


async def test_hooks_are_told_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    """The events are five seconds apart, the last one tells the end, and the log has a line for each."""
    sandbox, loop = box(30.0), asyncio.get_running_loop()
    told: list[tuple[float, cmsapi.ProgressChanged]] = []

    def hook(event: cmsapi.Event) -> None:
        if isinstance(event, cmsapi.ProgressChanged):
            told.append((loop.time(), event))

    caplog.set_level(logging.INFO, "cmsapi")
    async with client_of(sandbox, hooks=[hook]) as client, client.jobs.batch("nightly") as batch:
        async for _ in batch.map(client.keywords.analyze, sandbox.keyword_ids, in_flight=5):
            pass
    times = [at for at, _ in told]
    assert len(told) > 4
    assert all(later - before >= 5.0 - 1e-6 for before, later in itertools.pairwise(times[:-1]))
    assert (told[-1][1].finished, told[-1][1].total, told[-1][1].batch) == (20, 20, "nightly")
    lines = [record.getMessage() for record in caplog.records if record.getMessage().startswith("jobs.progress")]
    assert len(lines) == len(told)
    assert lines[-1].startswith(
        "jobs.progress batch=nightly finished=20 running=0 waiting=0 failed=0 unknown=0 earlier=0 total=20"
    )
    assert re.search(r" seconds_left_range=[\d.]+\.\.[\d.]+ ", lines[1])


async def test_jobs_that_are_launched_already_show_their_progress() -> None:
    """`as_completed` counts the jobs that it was given, and those added later."""
    sandbox = box(30.0)
    async with client_of(sandbox) as client:
        jobs = [await client.keywords.analyze(keyword_id) for keyword_id in sandbox.keyword_ids[:4]]
        before = len(sandbox.ledger)
        ending = client.jobs.as_completed(jobs[:3])
        assert (ending.progress.running, ending.progress.total) == (3, 3)
        ending.add(jobs[3])
        assert (ending.progress.seconds_left or 0.0) > 10.0
        async for _ in ending:
            assert ending.progress.finished + ending.progress.running == ending.progress.total == 4
    assert (ending.progress.finished, ending.progress.credits) == (4, 0)
    assert ending.progress.requests == len(sandbox.ledger) - before


async def test_leaving_early_stops_the_count() -> None:
    """Launched jobs still count as running, and the rest as not launched."""
    sandbox = box(30.0)
    async with client_of(sandbox) as client:
        async with client.jobs.map(client.keywords.analyze, sandbox.keyword_ids, in_flight=5) as outcomes:
            async for _ in outcomes:
                break
        now = outcomes.progress
        assert (now.stopped, now.done) == (True, False)
        assert now.running == len(outcomes.launched)
        assert now.finished + now.running + now.waiting == 20
        assert now.credits == charged(sandbox)


def test_a_progress_is_a_line_a_bar_and_a_document() -> None:
    """The text has the parts that count; all of it goes through JSON and pickle."""
    progress = cmsapi.Progress(
        finished=37,
        running=12,
        waiting=51,
        total=100,
        seconds_left=372.0,
        seconds_left_range=(240.0, 540.0),
        credits=49,
        requests=131,
    )
    assert str(progress) == (
        "37 of 100 finished, 12 running, 51 waiting, 0 failed; about 6 min left (4 min to 9 min); "
        "49 credits, 131 requests"
    )
    assert attrs.evolve(progress, seconds_left_range=None).time_left == "about 6 min left"
    assert attrs.evolve(progress, seconds_left=None).time_left == ""
    assert repr(progress) == f"<Progress {progress}>"
    assert "width:37.00%" in progress._repr_html_()
    assert "about 6 min left" in progress._repr_html_()
    assert pickle.loads(pickle.dumps(progress)) == progress  # noqa: S301  its own pickle
    document = json.loads(json.dumps(progress.to_dict()))
    assert (document["waiting"], document["seconds_left_range"]) == (51, [240.0, 540.0])


async def test_a_snapshot_costs_no_more_with_more_items() -> None:
    """Ten thousand items that wait are not counted for a snapshot."""
    sandbox, counted = box(30.0, keywords=3), 0

    class Items(list[str]):
        def __iter__(self) -> Any:
            nonlocal counted
            for item in super().__iter__():
                counted += 1
                yield item

    async with client_of(sandbox) as client:
        outcomes = client.jobs.map(client.keywords.analyze, Items(sandbox.keyword_ids * 3_334), in_flight=3)
        async with outcomes:
            async for _ in outcomes:
                assert outcomes.progress.total == 10_002
                break
        before = counted
        assert outcomes.progress.waiting >= 9_990
        assert len(outcomes.rows()) == 100
    assert counted == before <= 10


async def test_half_way_the_range_is_narrow_and_holds() -> None:
    """When half of the results are in hand, what is left is in the range, which is seldom much longer."""
    held, wide = 0, 0
    for count in (30, 90):
        for durations in (Fixed(12), Fixed(60), Lognormal(15.0, 0.4), Lognormal(60.0, 0.6)):
            (early, late), left = await half_way(durations, count)
            # Results come to the second.
            held += early - 1.0 <= left <= late + 1.0
            wide += late > max(4.0 * left, left + 15.0)
    assert held >= 7
    assert wide <= 4


async def half_way(durations: Any, count: int) -> tuple[tuple[float, float], float]:
    """Return the range of the seconds left when half of the results of a fan-out are in hand, and what was left."""
    sandbox = Sandbox(seed=3, keywords=count, durations=durations)
    loop = asyncio.get_running_loop()
    told, at = None, 0.0
    async with client_of(sandbox) as client:
        outcomes = client.jobs.map(client.keywords.analyze, sandbox.keyword_ids)
        async for _ in outcomes:
            now = outcomes.progress
            if now.finished >= count / 2 and told is None:
                told, at = now.seconds_left_range, loop.time()
                running = [row.job for row in outcomes.rows() if row.job is not None and not row.job.done()]
                ends = [job.status.eta for job in running]
                assert all(end is None or now.eta is None or end <= now.eta for end in ends)
    assert told is not None
    return told, loop.time() - at


async def test_no_end_is_expected_before_lost_launches_are_settled() -> None:
    """While only launches without an answer are left, the end is not before it can be told what became of them."""
    lost = Fault(match="POST /v1/keywords/*/analyze", drop=True, when="after", times=3)
    sandbox = box(8.0, rules=[lost])
    async with client_of(sandbox) as client:
        outcomes = client.jobs.map(client.keywords.analyze, sandbox.keyword_ids[:10])
        async with outcomes:
            for _ in range(7):
                assert (await anext(outcomes)).ok
            await asyncio.sleep(20)
            began, shown = asyncio.get_running_loop().time(), outcomes.progress
            assert (shown.finished, shown.waiting) == (7, 3)
            assert [outcome.ok async for outcome in outcomes] == [True] * 3
            took = asyncio.get_running_loop().time() - began
            assert took > 25
            assert shown.seconds_left == pytest.approx(took, abs=5)
            assert shown.seconds_left_range is not None
            assert shown.seconds_left_range[0] == pytest.approx(took, abs=5)
