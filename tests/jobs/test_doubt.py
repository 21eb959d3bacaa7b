"""What callers are told of a launch that may have happened."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

import attrs
import pytest

import cmsapi
from cmsapi.config import LaunchPolicy

from .support import box, client_of
from .test_resume import leave, sent

pytestmark = pytest.mark.looptime


@pytest.mark.parametrize(("asked", "told"), [(-3600.0, 3600.0), (100.0, 0.0)], ids=["an hour ago", "by a fast clock"])
async def test_a_doubt_tells_when_the_launch_was_asked_for(asked: float, told: float) -> None:
    """The evidence has the time on the service's clock; a clock that ran ahead does not put it into the future."""
    sandbox = box(30.0)
    prompt_id = sandbox.prompt_ids[0]
    async with client_of(sandbox) as client:
        await client.me()
        entry = attrs.evolve(sent("prompt_analysis", prompt_id, sandbox), asked_at=time.time() + asked)
        await leave(client, sandbox, f"prompt_analysis {prompt_id}", entry)
        with pytest.raises(cmsapi.LaunchUnknownError) as caught:
            await client.prompts.analyze(prompt_id)
        evidence = caught.value.evidence
        assert sandbox.now() - datetime.fromisoformat(evidence["asked_at"]).timestamp() == pytest.approx(told, abs=0.9)
    assert datetime.fromisoformat(evidence["asked_at"]).tzinfo is UTC
    assert (evidence["operation"], evidence["said"]) == (
        "analyze_prompt",
        "the process that sent it ended before its answer",
    )
    assert "usages of credits do not name prompts" in evidence["found"]


async def test_a_function_that_decides_is_shown_the_doubt() -> None:
    """`on_unknown` gets the error that is raised when it does not wish the launch to be repeated."""
    heard: list[Any] = []

    def decide(error: cmsapi.LaunchUnknownError) -> str:
        heard.append(error)
        return "raise"

    sandbox = box(30.0)
    prompt_id = sandbox.prompt_ids[0]
    async with client_of(sandbox, launch=LaunchPolicy(on_unknown=decide)) as client:
        await client.me()
        await leave(client, sandbox, f"prompt_analysis {prompt_id}", sent("prompt_analysis", prompt_id, sandbox))
        with pytest.raises(cmsapi.LaunchUnknownError) as caught:
            await client.prompts.analyze(prompt_id)
    (error,) = heard
    assert (error.kind, error.target, error.evidence) == (
        caught.value.kind,
        prompt_id,
        caught.value.evidence,
    )
    assert sandbox.ledger.launches() == []
