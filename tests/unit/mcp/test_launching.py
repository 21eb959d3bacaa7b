"""Tools that launch: inside the bound, never twice for the same call, with the job's token to go on."""

from __future__ import annotations

import asyncio
import contextlib
import random
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

import cmsapi
from cmsapi.mcp.server import build_server
from cmsapi.sandbox import Fault, Fixed, Sandbox
from tests.support.assistants import Assistant, assisted
from tests.support.examples import examples

pytestmark = pytest.mark.looptime


@pytest.fixture
def sandbox() -> Sandbox:
    """A service whose jobs take a minute."""
    return Sandbox(durations=Fixed(60))


async def test_a_repeated_call_joins_while_a_job_runs_and_after_it(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """The same analyses again have the same tokens and cost nothing, before and after their ends."""
    ids = list(sandbox.keyword_ids[:3])
    async with assisted(client, max_credits=3) as assistant:
        first = await assistant.call("analyze_keywords", keyword_ids=ids)
        assert [line["state"] for line in first["items"]] == ["launched"] * 3
        assert (first["credits_spent"], first["bound"]) == (3, {"max_credits": 3, "spent": 3, "left": 0})
        again = await assistant.call("analyze_keywords", keyword_ids=ids[::-1])
        assert {line["token"] for line in again["items"]} == {line["token"] for line in first["items"]}
        await assistant.call("wait_for_jobs", seconds=200)
        ended = await assistant.call("analyze_keywords", keyword_ids=ids)
        assert [line["state"] for line in ended["items"]] == ["ended earlier"] * 3
        assert (again["credits_spent"], ended["credits_spent"]) == (0, 0)
    assert len(sandbox.ledger.launches()) == 3


async def test_the_same_search_is_never_paid_twice(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """Two searches for a keyword are two requests of the service, but the same call of a tool is one."""
    arguments = {"workspace_id": sandbox.workspace_id, "keywords": ["trail running", "trail running"]}
    async with assisted(client, max_credits=9) as assistant:
        calls = [assistant.call("search_ideas", **arguments) for _ in range(3)]
        answers = await asyncio.gather(*calls)
        assert len({line["token"] for answer in answers for line in answer["items"]}) == 1
        await assistant.call("wait_for_jobs", seconds=200)
        again = await assistant.call("search_ideas", **arguments)
        assert again["bound"]["spent"] == 1
        more = await assistant.call("search_ideas", **arguments, run=2)
        assert more["credits_spent"] == 1
    assert len(sandbox.ledger.launches()) == 2


async def test_more_than_the_bound_launches_nothing(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """A call that could cost more than what is left is refused as a whole, and says how much is left."""
    async with assisted(client, max_credits=3) as assistant:
        await assistant.call("analyze_keywords", keyword_ids=list(sandbox.keyword_ids[:2]))
        text = await assistant.refused("analyze_keywords", keyword_ids=list(sandbox.keyword_ids[:4]))
        assert "2 jobs for up to 2 credits, and 1 of the 3 credits" in text
        assert "Only the person can raise the bound" in text
        await assistant.call("analyze_keywords", keyword_ids=list(sandbox.keyword_ids[:3]))
        assert "0 of the 3" in await assistant.refused("generate_article", content_id=sandbox.content_ids[0])
    assert len(sandbox.ledger.launches()) == 3


async def test_the_bound_holds_for_calls_at_once_and_for_all_connections(
    client: cmsapi.Client, sandbox: Sandbox
) -> None:
    """Ten calls at once launch no more than the bound allows in all."""
    async with assisted(client, max_credits=4) as assistant:
        calls = [
            assistant.protocol.call_tool("analyze_keywords", {"keyword_ids": [id_]}) for id_ in sandbox.keyword_ids[:10]
        ]
        results = await asyncio.gather(*calls)
        assert sorted(result.is_error for result in results) == [False] * 4 + [True] * 6
    assert len(sandbox.ledger.launches()) == 4


async def test_a_job_of_another_program_is_joined_without_a_credit(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """What runs already costs nothing of the bound."""
    first, second = sandbox.keyword_ids[:2]
    async with assisted(client, max_credits=2) as assistant:
        job = await client.keywords.analyze(first)
        answer = await assistant.call("analyze_keywords", keyword_ids=[first, second])
        assert answer["items"][0]["token"] == job.token
        assert (answer["credits_spent"], answer["bound"]["left"]) == (1, 1)
    assert len(sandbox.ledger.launches()) == 2


async def test_a_refused_launch_costs_nothing(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """One of several is told in its line; all of them are an error of the tool. The bound keeps their credits."""
    async with assisted(client, max_credits=2) as assistant:
        mixed = await assistant.call("analyze_keywords", keyword_ids=[sandbox.keyword_ids[0], "kwd_none"])
        refused = mixed["items"][1]
        assert (refused["state"], refused["token"]) == ("not launched", None)
        assert "Nothing was charged" in refused["problem"]
        assert mixed["bound"]["left"] == 1
        text = await assistant.refused("analyze_keywords", keyword_ids=["kwd_none"])
        assert "NotFoundError" in text
        assert "may have cost: 0." in text


async def test_an_empty_balance_is_told(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """When the service refuses for lack of credits, the error says so, and that nothing was charged."""
    sandbox.set_credits(analysis=0)
    async with assisted(client, max_credits=5) as assistant:
        text = await assistant.refused("analyze_keywords", keyword_ids=list(sandbox.keyword_ids[:2]))
        assert "Nothing was charged" in text
        assert (await assistant.call("show_account"))["bound"]["spent"] == 0


async def test_a_balance_for_some_launches_some(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """When the credits run out in between, each item says whether it was launched, and why not."""
    sandbox.set_credits(analysis=2)
    async with assisted(client, max_credits=60) as assistant:
        plan = await assistant.call("plan_jobs", kind="keyword_analysis", count=20)
        assert "The balance pays for 2 of 20" in plan["next"]
        answer = await assistant.call("analyze_keywords", keyword_ids=list(sandbox.keyword_ids[:20]))
        states = [line["state"] for line in answer["items"]]
        assert (states.count("launched"), states.count("not launched")) == (2, 18)
        assert all("Nothing was" in line["problem"] for line in answer["items"] if line["state"] == "not launched")
        assert answer["bound"]["spent"] == 2
    assert len(sandbox.ledger.launches()) == 2


async def test_without_its_state_nothing_is_launched(sandbox: Sandbox, tmp_path: Path) -> None:
    """A state that cannot be used is an error of the tool before anything is sent."""
    options: dict[str, Any] = {"transport": sandbox.transport, "state": f"sqlite:///{tmp_path}/gone/jobs.db"}
    async with (
        cmsapi.Client(sandbox.api_key, base_url=sandbox.base_url, **options) as client,
        assisted(client, max_credits=5) as assistant,
    ):
        text = await assistant.refused("analyze_keywords", keyword_ids=[sandbox.keyword_ids[0]])
        assert "StateError" in text
        assert "Money: Nothing was charged" in text
    assert sandbox.ledger.launches() == []


async def test_an_unknown_launch_is_not_repeated(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """After a lost answer the call tells that a credit may be spent; the same call again never pays a second one."""
    sandbox.add_fault(Fault(match="POST *content-idea*", drop=True, when="after"))
    arguments = {"workspace_id": sandbox.workspace_id, "keywords": ["trail running"]}
    async with assisted(client, max_credits=5) as assistant:
        early = await assistant.call("search_ideas", **arguments)
        assert early["items"][0]["state"] == "launching"
        assert "same arguments" in early["next"]
        await asyncio.sleep(120)
        for _ in range(2):
            text = await assistant.refused("search_ideas", **arguments)
            assert "A credit may have been spent" in text
        assert (await assistant.call("show_account"))["bound"]["spent"] == 1
    assert len(sandbox.ledger.launches()) == 1


async def test_other_settings_are_another_article(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """A generation with other settings is refused before anything is sent, and needs another run."""
    content_id = sandbox.content_ids[0]
    async with assisted(client, max_credits=5) as assistant:
        await assistant.call("generate_article", content_id=content_id, custom_instructions="Be brief.")
        text = await assistant.refused("generate_article", content_id=content_id, custom_instructions="Be long.")
        assert "run=2" in text
        same = await assistant.call("generate_article", content_id=content_id, custom_instructions="Be brief.")
        assert same["credits_spent"] == 0
        for instructions in ("Be brief.", "Be long."):
            text = await assistant.refused("generate_article", content_id="cnt_none", custom_instructions=instructions)
            assert "NotFoundError" in text, "a refused launch has no settings"
    assert len(sandbox.ledger.launches()) == 1


async def test_a_cancelled_call_loses_nothing(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """A client that gives up while the answer is on its way finds the job with the same call again."""
    sandbox.add_fault(Fault(match="POST *analyze", slow=10))
    async with assisted(client, max_credits=1) as assistant:
        call = asyncio.create_task(assistant.call("analyze_keywords", keyword_ids=[sandbox.keyword_ids[0]]))
        await asyncio.sleep(5)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        again = await assistant.call("analyze_keywords", keyword_ids=[sandbox.keyword_ids[0]])
        assert again["items"][0]["state"] == "launched"
        assert (await assistant.call("show_account"))["bound"]["spent"] == 1
    assert len(sandbox.ledger.launches()) == 1


async def test_a_cancelled_call_launches_no_more(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """What was not sent when the client gives up is not sent afterwards, and can be launched later."""
    slow = client.with_options(limits=cmsapi.RateLimits(per_second=1))
    async with assisted(slow, max_credits=10) as assistant:
        ids = list(sandbox.keyword_ids[:10])
        call = asyncio.create_task(assistant.call("analyze_keywords", keyword_ids=ids))
        await asyncio.sleep(5)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.sleep(60)
        count = len(sandbox.ledger.launches())
        assert 0 < count < 10
        answer = await assistant.call("analyze_keywords", keyword_ids=ids)
        assert answer["credits_spent"] == 10 - count
    assert len(sandbox.ledger.launches()) == 10


async def test_a_new_server_on_the_state_joins_what_runs(sandbox: Sandbox, tmp_path: Path) -> None:
    """A search is recorded for its call, so that a server that starts anew on the same day does not pay again."""
    arguments = {"workspace_id": sandbox.workspace_id, "keywords": ["trail running"]}
    url, transport = sandbox.base_url, sandbox.transport
    state = f"sqlite:///{tmp_path}/jobs.db"
    # The state counts by the real clock, on which the four servers run within one second.
    limits = cmsapi.RateLimits(per_second=100)
    tokens = []
    for wait in (0, 0, 200, 0):
        async with (
            cmsapi.Client(sandbox.api_key, base_url=url, transport=transport, state=state, limits=limits) as client,
            assisted(client, max_credits=2) as assistant,
        ):
            answer = await assistant.call("search_ideas", **arguments)
            tokens.append(answer["items"][0]["token"])
            await assistant.call("wait_for_jobs", tokens=tokens[-1:], seconds=wait)
    assert len(sandbox.ledger.launches()) == 1


async def test_the_policy_holds_where_a_server_counts_wrongly(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """The client's own bound refuses what a server with a larger one would launch."""
    bounded = client.with_options(launch=cmsapi.LaunchPolicy(max_credits=1))
    async with Client(build_server(bounded, max_credits=10)) as protocol:
        assistant = Assistant(protocol)
        await assistant.call("analyze_keywords", keyword_ids=[sandbox.keyword_ids[0]])
        text = await assistant.refused("analyze_keywords", keyword_ids=[sandbox.keyword_ids[1]])
        assert "Nothing was charged for it" in text
        assert "LaunchPolicy" not in text
    assert len(sandbox.ledger.launches()) == 1


@pytest.mark.parametrize("seed", range(examples(2)))
async def test_no_storm_breaks_the_bound(seed: int) -> None:
    """Calls at once, lost answers, errors and clients that give up: nothing is paid twice, or above the bound."""
    dice = random.Random(seed)
    faults = [
        Fault(match="POST *", drop=True, when=dice.choice(["before", "after"]), times=None, probability=0.15),
        Fault(match="POST *", status=503, when=dice.choice(["before", "after"]), times=None, probability=0.15),
        Fault(match="GET *", status=500, times=None, probability=0.05),
    ]
    box = Sandbox(seed=seed, durations=Fixed(60))
    async with (
        cmsapi.Client(box.api_key, base_url=box.base_url, transport=box.transport) as client,
        assisted(client, max_credits=6) as assistant,
    ):
        before = [usage.id async for usage in client.credit_usages.list()]
        for fault in faults:
            box.add_fault(fault)

        async def call() -> None:
            arguments: dict[str, Any]
            await asyncio.sleep(dice.uniform(0, 300))
            if dice.random() < 0.5:
                tool, arguments = "analyze_keywords", {"keyword_ids": dice.sample(box.keyword_ids[:5], 2)}
            else:
                words = dice.sample(["trail", "road", "track"], 1)
                tool, arguments = "search_ideas", {"workspace_id": box.workspace_id, "keywords": words}
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(dice.choice([0.2, 30, 100])):
                    await assistant.protocol.call_tool(tool, arguments)

        await asyncio.gather(*(call() for _ in range(25)))
        await asyncio.sleep(300)
        box.clear_faults()
        bound = (await assistant.call("show_account"))["bound"]
        usages = [usage async for usage in client.credit_usages.list() if usage.id not in before]
    charged = [(usage.type, usage.keyword.keyword) for usage in usages]
    assert len(charged) == len(set(charged)) == len(box.ledger.launches())
    assert 0 < len(charged) <= bound["spent"] <= 6
