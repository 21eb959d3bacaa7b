"""The costs of each method: its docstring, the reference and the sandbox agree on them."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import cmsapi
from cmsapi.sandbox import Fixed, Sandbox
from tests.support.costs import CALLS, METHODS, Cost, measured, row
from tools.interface.public import ROOT
from tools.interface.tables import COSTS

pytestmark = pytest.mark.looptime

TABLE = (ROOT / COSTS).read_text()


def test_each_method_is_called_once() -> None:
    """A method that is added is measured, too."""
    assert set(METHODS) == set(CALLS)


@pytest.mark.parametrize("name", METHODS)
async def test_a_method_costs_what_it_says_and_what_the_reference_shows(name: str) -> None:
    """What a docstring says of requests and credits, the sandbox counts, and a row of the reference shows."""
    said = Cost.of(METHODS[name])
    sent, taken = await measured(name)
    assert len(sent) == said.requests
    assert taken == ({said.credits: 1} if said.credits else {})
    assert row(name, sent) in TABLE.splitlines()


@pytest.mark.parametrize("state", ["memory", "shared"])
@pytest.mark.parametrize(
    "name", ["keywords.analyze", "prompts.analyze", "contents.generate", "content_ideas.search"], ids=str
)
async def test_the_first_launch_takes_as_many_requests_as_it_says(name: str, state: str, tmp_path: Path) -> None:
    """What a launch sends that nothing was read before is in its docstring too."""
    said = " ".join((inspect.getdoc(METHODS[name]) or "").split())
    more = re.search(r"(With a shared state the|The) first launch of a client takes one request more", said)
    assert more is not None
    box = Sandbox(durations=Fixed(10))
    url = f"sqlite:///{tmp_path}/state.db" if state == "shared" else "memory:"
    async with cmsapi.Client(box.api_key, base_url=box.base_url, transport=box.transport, state=url) as client:
        await CALLS[name](client, box)
        assert len(box.ledger) == Cost.of(METHODS[name]).requests + (more[1] == "The" or state == "shared")
