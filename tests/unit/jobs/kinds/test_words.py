"""What words of the service mean: in other case, as synonyms, by a setting, and what stays unlisted."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest

import cmsapi
from cmsapi.api.wire.drift import Deviation, DriftKind
from cmsapi.config import PollPolicy
from cmsapi.jobs import Phase
from cmsapi.jobs.kinds.doubt import Doubt
from cmsapi.jobs.kinds.registry import KINDS
from cmsapi.message import Request, Response
from cmsapi.sandbox import Sandbox
from tests.support.jobs import box, client_of

pytestmark = pytest.mark.looptime


@attrs.define
class OtherWords:
    """Carry requests to a sandbox, and show other words for the states of jobs."""

    sandbox: Sandbox
    words: dict[str, str]

    async def send(self, request: Request) -> Response:
        """Carry one request."""
        response = await self.sandbox.transport.send(request)
        if response.status >= 300 or not response.body.startswith(b"{"):
            return response
        document = json.loads(response.body)
        for field in ("status", "analysisStatus"):
            if document.get(field) in self.words:
                document[field] = self.words[document[field]]
        return attrs.evolve(response, body=json.dumps(document).encode())


SHOUTED = {word: f" {word.upper()}\n" for word in ("queued", "pending", "success", "failed", "review", "applied")}


@pytest.mark.parametrize("words", [SHOUTED, {"queued": "In Progress", "pending": "processing", "success": "Completed"}])
async def test_an_analysis_ends_with_other_spelling_and_synonyms(words: dict[str, str]) -> None:
    """Case, outer spaces and common synonyms do not hold an analysis; what came in goes out, and is drift."""
    sandbox = box(30.0)
    async with client_of(sandbox, transport=OtherWords(sandbox, words)) as client:
        keyword = await (await client.keywords.analyze(sandbox.keyword_ids[0])).wait(timeout=60)
        assert words["success"] == cmsapi.to_dict(keyword)["analysisStatus"]
        drift = [each for each in client.statistics.drift if each.kind is DriftKind.UNKNOWN_WORD]
    assert {each.example for each in drift} == {words["pending"], words["success"]}
    assert {each.where for each in drift} == {"Keyword.analysisStatus"}


@pytest.mark.parametrize("words", [SHOUTED, {"pending": "running", "success": "done"}])
async def test_a_search_ends_with_other_spelling_and_synonyms(words: dict[str, str]) -> None:
    """A search whose success is spelled otherwise has its ideas at its end."""
    sandbox = box(30.0)
    async with client_of(sandbox, transport=OtherWords(sandbox, words)) as client:
        job = await client.content_ideas.search(sandbox.workspace_id, "tents")
        assert len(await job.wait(timeout=60)) > 0


@pytest.mark.parametrize("word", ["FAILED", "error", "Failure", "errored", "canceled"])
async def test_a_synonym_of_failure_fails_the_job(word: str) -> None:
    """Words for failure end an analysis as failed."""
    sandbox = box(30.0)
    keyword_id = sandbox.keyword_ids[0]
    sandbox.set_outcome(keyword_id, "failed")
    async with client_of(sandbox, transport=OtherWords(sandbox, {"failed": word})) as client:
        job = await client.keywords.analyze(keyword_id)
        with pytest.raises(cmsapi.JobFailedError):
            await job.wait(timeout=60)
        assert job.status.state == word


@pytest.mark.parametrize("review", ["REVIEW ", "In review", "awaiting-review"])
@pytest.mark.parametrize(("choice", "final"), [("confirm", "Confirmed"), ("cancel", "Cancelled")])
async def test_a_generation_is_decided_in_other_words(review: str, choice: Any, final: str) -> None:
    """A review in another spelling is decided on once, and listed by `jobs.reviews` before."""
    words = {"queued": "Processing", "review": review, "applied": final, "discarded": final}
    sandbox = box(30.0)
    content_id = sandbox.content_ids[0]
    async with client_of(sandbox, transport=OtherWords(sandbox, words)) as client:
        waiting = await (await client.contents.generate(content_id)).wait(timeout=60)
        assert waiting.phase is Phase.REVIEW
        (listed,) = await client.jobs.reviews()
        await getattr(listed, choice)()
        later = await client.contents.review(content_id)
        await getattr(later, choice)()
        assert (listed.decision, later.decision, later.phase) == (choice, "elsewhere", Phase.SUCCEEDED)
    sent = [
        entry.operation for entry in sandbox.ledger if entry.operation in ("confirm_generation", "cancel_generation")
    ]
    assert sent == [f"{choice}_generation"]


@pytest.mark.parametrize("word", ["success", "completed", "done", "finished", "ready", "waiting", "rejected", None, 7])
def test_what_may_mean_two_things_of_a_generation_decides_nothing(word: Any) -> None:
    """Success does not say whether an article was applied or waits for its decision."""
    observation = KINDS["generation"].of_word(word)
    assert (observation.phase, observation.doubt) == (Phase.UNKNOWN, Doubt.UNLISTED)


@pytest.mark.parametrize("kind", ["keyword_analysis", "prompt_analysis", "idea_search", "knowledge_document"])
@pytest.mark.parametrize("word", ["ready", "ok", "review", "applied", "", "constructor", None])
def test_what_no_kind_shows_decides_nothing(kind: str, word: Any) -> None:
    """Words that may mean two things, and those of other kinds, are unlisted."""
    assert KINDS[kind].of_word(word).phase is Phase.UNKNOWN


async def test_a_setting_says_what_a_word_means() -> None:
    """`PollPolicy(words=)` maps words for one kind, in any spelling; for other kinds they stay what they are."""
    words = {"queued": "harvesting", "pending": "harvesting", "success": "ready", "review": "ready"}
    policy = PollPolicy(
        words={"idea_search": {"Harvesting": "running", "READY ": "succeeded"}, "generation": {"ready": "review"}}
    )
    sandbox = box(30.0)
    async with client_of(sandbox, transport=OtherWords(sandbox, words), polling=policy) as client:
        job = await client.content_ideas.search(sandbox.workspace_id, "tents")
        assert (await job.refresh()).phase == "running"
        assert len(await job.wait(timeout=60)) > 0
        review = await (await client.contents.generate(sandbox.content_ids[0])).wait(timeout=60)
        assert review.phase is Phase.REVIEW
        assert (await review.confirm()).version == 2
        analysis = await client.keywords.analyze(sandbox.keyword_ids[0])
        with pytest.raises(cmsapi.JobWaitTimeoutError):
            await analysis.wait(timeout=60)


def test_a_setting_wins_over_what_is_listed() -> None:
    """A service that uses a listed word in its own way can be followed."""
    words = {"generation": {"queued": "failed"}, "idea_search": {"done": "running"}}
    assert KINDS["generation"].of_word("Queued", words).phase is Phase.FAILED
    assert KINDS["idea_search"].of_word("done", words).phase is Phase.RUNNING
    assert KINDS["keyword_analysis"].of_word("done", words).phase is Phase.SUCCEEDED


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ({"analysis": {"ready": "running"}}, "'analysis'"),
        ({"idea_search": {"ready": "done"}}, "'done'"),
        ({"idea_search": {"ready": "review"}}, "'review'"),
        ({"generation": {"ready": "superseded"}}, "'superseded'"),
        ({"generation": {"ready": ["review"]}}, "review"),
        ({"generation": {"": "review"}}, "''"),
        ({"generation": {7: "review"}}, "7"),
        ({"generation": {"ready": "review", "READY": "running"}}, "'ready'"),
        ({"generation": "review"}, "'review'"),
        ({"ready": "review"}, "'ready'"),
        ([("generation", "review")], "review"),
        (None, "None"),
    ],
)
def test_a_wrong_setting_is_refused(words: Any, named: str) -> None:
    """The error names the parameter and what was given; it comes when the policy is made."""
    with pytest.raises(cmsapi.ConfigError, match=r"PollPolicy\.words") as caught:
        PollPolicy(words=words)
    assert named in str(caught.value)


def test_policies_with_words_are_keys() -> None:
    """Policies are equal if their words mean the same, and later changes of the given mapping change nothing."""
    given = {"generation": {" Ready": "review"}}
    policy = PollPolicy(words=given)
    given["generation"]["done"] = "running"
    assert policy == PollPolicy(words={"generation": {"ready": "review"}}) != PollPolicy()
    assert {policy: 1}[PollPolicy(words={"generation": {"ready": "review"}})] == 1


async def test_the_doctor_names_the_words() -> None:
    """The doctor tells how each unlisted word is read, and how to map those that are not understood."""
    words = {"queued": "harvesting", "pending": "harvesting", "success": "Done"}
    sandbox = box(30.0)
    async with client_of(sandbox, transport=OtherWords(sandbox, words)) as client:
        before = {check.name: check for check in (await client.doctor()).checks}["words"]
        job = await client.content_ideas.search(sandbox.workspace_id, "tents")
        await job.wait(timeout=60)
        check = {check.name: check for check in (await client.doctor()).checks}["words"]
        assert Deviation(DriftKind.UNKNOWN_WORD, "ContentIdeaSearch.status", 1, "Done") in client.statistics.drift
    assert (before.verdict, before.advice) == (cmsapi.Verdict.OK, "")
    assert "idea_search 'harvesting': not understood" in check.found
    assert "idea_search 'Done': read as succeeded" in check.found
    assert "PollPolicy(words={'idea_search': {'harvesting': …}})" in check.advice
    assert check.verdict is cmsapi.Verdict.WARNING
