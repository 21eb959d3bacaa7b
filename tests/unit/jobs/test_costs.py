"""The costs of jobs: each docstring says requests and credits, and the sandbox counts as many."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import cmsapi
from cmsapi.sandbox import Fixed, Sandbox
from tests.support.resources import client_of

PAGE = Path(__file__).parents[3] / "docs/reference/jobs.md"
OWNERS = (cmsapi.Jobs, cmsapi.Job)
METHODS = {
    f"{owner.__name__}.{name}": each
    for owner in OWNERS
    for name, each in vars(owner).items()
    if not name.startswith("_") and inspect.isfunction(each)
}


@pytest.mark.parametrize("name", METHODS)
def test_a_docstring_says_requests_and_credits(name: str) -> None:
    """A method sends nothing, or its docstring speaks of requests and of credits."""
    said = " ".join((inspect.getdoc(METHODS[name]) or "").split())
    assert re.search(r"sends nothing", said) or ("request" in said and "credit" in said)


@pytest.mark.parametrize("name", METHODS)
def test_the_reference_has_a_row_with_the_method(name: str) -> None:
    """The tables of costs of the page on jobs name each method."""
    head = "| on a job |" if name.startswith("Job.") else "| on `client.jobs` |"
    table = PAGE.read_text().partition(head)[2].partition("\n\n")[0]
    assert f"`{name.partition('.')[2]}`" in table


@pytest.mark.looptime
async def test_the_sandbox_counts_as_many_requests_as_the_reference_says() -> None:
    """Reads of the state and of tokens take no more requests than promised, and none takes a credit."""
    box = Sandbox(durations=Fixed(10))
    async with client_of(box) as client:
        await client.jobs.run(client.keywords.analyze(box.keyword_ids[0]))
        job = client.jobs.watch("keyword_analysis", box.keyword_ids[0])
        generation = await client.contents.generate(box.content_ids[0])
        sent = []
        for step in (
            client.jobs.plan("keyword_analysis", 3),
            client.jobs.journal(),
            client.jobs.resume(),
            client.jobs.status(generation.token),
            job.refresh(),
        ):
            before = len(box.ledger)
            await step
            sent.append(len(box.ledger) - before)
        review = await generation
        before = len(box.ledger)
        await review.confirm()
        sent.append(len(box.ledger) - before)
        client.jobs.attach(generation.token)
        client.jobs.show()
    # Its job was launched at this moment, so that the status needs no poll.
    assert sent == [1, 0, 0, 0, 1, 3]
    assert len(box.ledger.launches()) == sum(entry.charged for entry in box.ledger) == 2
