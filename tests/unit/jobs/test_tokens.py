"""Finding jobs again: tokens, `attach` and `watch`."""

from __future__ import annotations

from typing import Any

import pytest

import cmsapi
from cmsapi.jobs import JobKind
from cmsapi.sandbox import Sandbox
from tests.support.jobs import box, client_of, polls
from tests.support.tokens import forged, sealed

pytestmark = pytest.mark.looptime


@pytest.mark.parametrize("kind", ["keyword_analysis", "prompt_analysis", "idea_search", "generation"])
async def test_a_token_finds_the_job_in_another_client(kind: str) -> None:
    """A job's token is turned into the same job by another client without a request, and waits for its end."""
    sandbox = box(60.0)
    async with client_of(sandbox) as client:
        match kind:
            case "keyword_analysis":
                job: Any = await client.keywords.analyze(sandbox.analyzed_keyword_ids[0])
            case "prompt_analysis":
                job = await client.prompts.analyze(sandbox.prompt_ids[0])
            case "idea_search":
                job = await client.content_ideas.search(sandbox.workspace_id, "tents")
            case _:
                job = await client.contents.generate(sandbox.content_ids[0])
        token = job.token
    assert sandbox.api_key not in token
    async with client_of(sandbox, api_key=sandbox.member_key) as other:
        seen = len(sandbox.ledger)
        attached = other.jobs.attach(token)
        assert len(sandbox.ledger) == seen
        assert (attached.kind, attached.id, attached.target, attached.token) == (kind, job.id, job.target, token)
        await attached
        assert attached.status.phase in ("succeeded", "review")
        assert polls(sandbox, kind)[0].at == 0.0


async def test_a_token_remembers_when_the_job_was_launched() -> None:
    """An attached analysis tells an earlier end from its own."""
    sandbox = box(60.0)
    keyword_id = sandbox.analyzed_keyword_ids[0]
    async with client_of(sandbox) as client:
        token = (await client.keywords.analyze(keyword_id)).token
    sandbox.set_status_word(keyword_id, "success")
    async with client_of(sandbox) as other:
        attached = other.jobs.attach(token)
        assert (await attached.refresh()).phase == "running"
        assert (await attached).last_analyzed_at.isoformat().startswith("2026-01-01T00:01:00")


async def test_a_token_remembers_which_generation_it_was() -> None:
    """An attached generation is superseded by a newer one."""
    sandbox = box(60.0)
    async with client_of(sandbox) as client:
        token = (await client.contents.generate(sandbox.content_ids[0])).token
    sandbox.supersede_generation(sandbox.content_ids[0])
    async with client_of(sandbox) as other:
        with pytest.raises(cmsapi.JobSupersededError):
            await other.jobs.attach(token)


async def test_a_token_of_another_kind_than_expected_is_refused() -> None:
    """`attach` with the kind gives the job, and another kind is refused with the right one before anything is sent."""
    sandbox = box(60.0)
    async with client_of(sandbox) as client:
        token = (await client.keywords.analyze(sandbox.keyword_ids[0])).token
        assert (await client.jobs.attach(token, "keyword_analysis")).analysis_status == "success"
        for kind in ("generation", "analysis"):
            with pytest.raises(cmsapi.ArgumentError, match=r"keyword_analysis.* Nothing was sent") as caught:
                client.jobs.attach(token, kind)  # type: ignore[call-overload]
            assert caught.value.parameter == "kind"


async def test_watch_follows_what_others_launched() -> None:
    """A watch sends nothing by itself, and takes any finished word as the end."""
    sandbox = box(60.0)
    async with client_of(sandbox) as client:
        done = client.jobs.watch("keyword_analysis", sandbox.analyzed_keyword_ids[0])
        assert len(sandbox.ledger) == 0
        assert (await done).analysis_status == "success"
        assert len(sandbox.ledger) == 1
        again = client.jobs.attach(done.token)
        assert (await again).analysis_status == "success"
        search = client.jobs.watch("idea_search", (await client.content_ideas.search(sandbox.workspace_id, "a")).id)
        assert len(await search) > 0
        assert [kind.value for kind in JobKind] == [
            "keyword_analysis",
            "prompt_analysis",
            "idea_search",
            "generation",
            "knowledge_document",
        ]


@pytest.mark.parametrize(
    ("kind", "id_", "parameter"),
    [
        ("analysis", "kwd_1", "kind"),
        ("keyword_analysis", "", "id"),
        ("keyword_analysis", "..", "id"),
        ("keyword_analysis", 7, "id"),
    ],
)
async def test_what_cannot_be_watched_is_refused(
    client: cmsapi.Client, sandbox: Sandbox, kind: Any, id_: Any, parameter: str
) -> None:
    """A wrong kind, or what cannot be an identifier, is refused at once instead of being polled for ever."""
    with pytest.raises(cmsapi.ArgumentError) as caught:
        client.jobs.watch(kind, id_)
    assert caught.value.parameter == parameter
    assert len(sandbox.ledger) == 0


async def test_wrong_tokens_are_refused(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """Tampered, cut, foreign, older and newer tokens and any garbage are `ArgumentError`s, and nothing is sent."""
    good = client.jobs.watch("keyword_analysis", sandbox.keyword_ids[0]).token
    prefix, payload, check = good.split(".")
    other = Sandbox()
    wrong: dict[str, Any] = {
        "not a job token": ["", "x", good + ".x", None, b"cmsjob1.a.b", 7, "cmsjob1.\ud800.0", "é" * 9, "." * 5000],
        "of this version": [f"cmsjob0.{payload}.{check}", f"cmsjob2.{payload}.{check}"],
        "changed or cut": [good[:-1], f"{prefix}.{payload[:-4]}.{check}", f"{prefix}.{payload[::-1]}.{check}"],
        "runs at": [forged(other)],
        "does not know: 'analysis'": [forged(sandbox, kind="analysis")],
        "cannot be read": [
            sealed(b"{}"),
            sealed(b"[]"),
            sealed(b"{"),
            sealed(b"\xff"),
            sealed(b"[" * 2000),
            sealed(b""),
            forged(sandbox, kind=None),
            forged(sandbox, target=""),
            forged(sandbox, target=".."),
            forged(sandbox, launched="yesterday"),
            forged(sandbox, launched="0001-01-01T00:00:00+23:00"),
            forged(sandbox, launched="0001-01-01T00:00:00Z"),
            forged(sandbox, launched="9999-12-31T23:59:59-23:00"),
            forged(sandbox, watched="yes"),
            forged(sandbox, job=7),
        ],
    }
    for reason, tokens in wrong.items():
        for token in tokens:
            with pytest.raises(cmsapi.ArgumentError, match=reason) as caught:
                client.jobs.attach(token)
            assert caught.value.parameter == "token"
            assert "Nothing was sent" in str(caught.value)
    assert len(sandbox.ledger) == 0


async def test_a_time_without_an_offset_in_a_token_can_be_compared() -> None:
    """A token made by hand with a bare time does not break the polls."""
    sandbox = box(30.0)
    async with client_of(sandbox) as client:
        await client.keywords.analyze(sandbox.keyword_ids[0])
        attached = client.jobs.attach(forged(sandbox, launched="2026-01-01T00:00:00"))
        assert (await attached).analysis_status == "success"
