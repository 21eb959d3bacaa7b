"""A service's words for the status of a job."""

from __future__ import annotations

import pytest

from cmsapi import PollPolicy
from cmsapi.jobs.words import Phase, observe
from cmsapi.sandbox import Sandbox
from tests.support.box import client_of


@pytest.mark.parametrize("word", ["queued", "pending", " Pending ", "in_progress"])
def test_a_running_word_says_that_the_job_moves(word: str) -> None:
    """Its case does not matter; a job seen at work may later end with an old time, so observations record it."""
    seen = observe(word, {}, reviewed=False)
    assert (seen.phase, seen.moving) == (Phase.RUNNING, True)


@pytest.mark.parametrize(("word", "reviewed"), [("hatching", True), ("review", False), (None, True)])
def test_a_word_that_is_not_listed_is_unclear_and_named(word: str | None, reviewed: bool) -> None:
    """A word that is unknown for jobs of its kind means neither success nor failure."""
    seen = observe(word, {}, reviewed=reviewed)
    assert (seen.phase, (word or "no status") in str(seen.reason)) == (Phase.UNCLEAR, True)


@pytest.mark.looptime
async def test_words_of_a_service_can_be_added(sandbox: Sandbox) -> None:
    """`PollPolicy.words` defines the meaning of an unlisted word."""
    sandbox.set_outcome(sandbox.keyword_ids[0], "Hatched")
    async with client_of(sandbox, polling=PollPolicy(words={"hatched": "succeeded"})) as client:
        assert (await (await client.keywords.analyze(sandbox.keyword_ids[0]))).analysis_status == "Hatched"
