"""What belongs to a client cannot be pickled, and the error says what can."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import cmsapi
from cmsapi import blocking
from cmsapi.sandbox import Fixed, Sandbox

CLIENT, JOB = "Make a client in each process", r"Pass `job.token`.*client.jobs.attach\(token\)"


@pytest.mark.looptime
@pytest.mark.parametrize("way", [pickle.dumps, copy.deepcopy], ids=["pickle", "deepcopy"])
async def test_the_error_says_what_to_pass(way: Callable[[Any], Any]) -> None:
    """A token, an identifier or a value crosses to another process, and a client is made there."""
    box = Sandbox(durations=Fixed(5.0))
    async with cmsapi.Client(box.api_key, base_url=box.base_url, transport=box.transport) as client:
        outcomes = client.jobs.map(client.keywords.analyze, box.keyword_ids[:1])
        (outcome,) = [each async for each in outcomes]
        job = await client.contents.generate(box.content_ids[0])
        objects: list[tuple[object, str]] = [
            (client, CLIENT),
            (client.with_options(), CLIENT),
            (client.jobs, CLIENT),
            (client.keywords, CLIENT),
            (client.keywords.list(box.page_ids[0]), CLIENT),
            (outcomes, CLIENT),
            (client.jobs.batch("nightly"), CLIENT),
            (job, JOB),
            ([outcome], r"Pass `job.token`.*`item` and `value`"),
            (await job, "Pass its `content_id`, and read the review there again"),
        ]
        for each, said in objects:
            with pytest.raises(TypeError, match=said):
                way(each)
        assert copy.copy(job) is job
        assert copy.copy(outcome) == outcome
        again = pickle.loads(pickle.dumps((job.token, outcome.item, outcome.value)))  # noqa: S301  its own
        assert again == (job.token, outcome.item, outcome.value)


def test_the_blocking_classes_say_the_same() -> None:
    """A program without an event loop is told what to pass as well."""
    box = Sandbox(durations=Fixed(0.01))
    with blocking.Client(box.api_key, base_url=box.base_url, transport=box.transport) as client:
        job = client.keywords.analyze(box.keyword_ids[0])
        for each, said in ((client, CLIENT), (client.jobs, CLIENT), (job, JOB)):
            with pytest.raises(TypeError, match=said):
                pickle.dumps(each)
