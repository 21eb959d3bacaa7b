"""Pandas tables, tqdm bars, and progress in a notebook."""

from __future__ import annotations

import io
import sys
from datetime import UTC, datetime
from typing import Any

import pandas  # type: ignore[import-untyped]  # noqa: F401  here: within a test it would block the loop
import pytest
from attrs import evolve
from tqdm.asyncio import tqdm  # type: ignore[import-untyped]  # it has no types of its own

from cmsapi import ArgumentError, Client, ConfigError, ContentSummary, Keyword, Progress, WebPage, from_dict, to_pandas
from cmsapi.sandbox import Sandbox

pytestmark = pytest.mark.looptime


@pytest.fixture
def sandbox() -> Sandbox:
    """Return a service whose jobs take a minute."""
    return Sandbox(durations=60)


def test_columns_are_those_of_the_class() -> None:
    """Columns that are missing in all rows still appear; objects are flattened, and times are in UTC."""
    page = WebPage(id="p", url="https://a.example", last_status_code=200)
    frame = to_pandas([ContentSummary(id="c", page=page, created_at=datetime(2026, 1, 1, tzinfo=UTC))])
    assert (frame["page.url"][0], frame["page.last_status_code"][0]) == ("https://a.example", 200)
    assert {"folder.id", "folder.name", "content_status.label"} <= set(frame.columns)
    assert not {"page", "response", "extra"} & set(frame.columns)
    types = {name: str(frame.dtypes[name]) for name in ("created_at", "due_date", "words_count")}
    assert types == {"created_at": "datetime64[us, UTC]", "due_date": "datetime64[us, UTC]", "words_count": "Int64"}
    assert frame["words_count"].isna().all()


def test_unlisted_keys_are_columns() -> None:
    """Keys that the class does not know are kept under their names on the wire."""
    keywords = [from_dict(Keyword, {"id": "a", "cpcEuro": 1.5, "tags": ["x"]}), Keyword(id="b")]
    frame = to_pandas(keywords)
    assert list(frame["id"]) == ["a", "b"]
    assert frame["extra.cpcEuro"][0] == 1.5
    assert frame["extra.tags"][0] == ["x"]


async def test_lists_have_a_table_of_all_pages(client: Client, sandbox: Sandbox) -> None:
    """A list reads all its pages; a page and a search's ideas are lists of models, too."""
    frame = await client.contents.list(sandbox.workspace_id, limit=2).to_pandas()
    assert set(frame["id"]) == set(sandbox.content_ids)
    assert len(to_pandas(await client.contents.list(sandbox.workspace_id, limit=2))) == 2
    ideas = await (await client.content_ideas.search(sandbox.workspace_id, "boots"))
    assert len(to_pandas(ideas)) == len(ideas)


async def test_outcomes_are_rows_also_without_a_result(client: Client, sandbox: Sandbox) -> None:
    """Failed items have a row with the error, and the columns of the results."""
    good, bad = sandbox.keyword_ids[:2]
    sandbox.set_outcome(bad, "failed")
    frame = await client.jobs.map(client.keywords.analyze, [good, bad], ordered=True).to_pandas()
    assert list(frame.columns[:4]) == ["item", "ok", "error", "id"]
    assert list(frame["item"]) == [good, bad]
    assert list(frame["ok"]) == [True, False]
    assert frame["error"][1].startswith("JobFailedError: ")
    assert frame["analysis_status"][0] == "success"
    assert frame[["error", "id"]].isna().values.tolist() == [[True, False], [False, True]]


async def test_without_pandas_nothing_is_launched(
    client: Client, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing package is noticed before the jobs are paid for."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ConfigError, match="pandas"):
        await client.jobs.map(client.keywords.analyze, sandbox.keyword_ids).to_pandas()
    assert not sandbox.ledger.launches


async def test_outcomes_of_models_and_of_other_kinds(client: Client, sandbox: Sandbox) -> None:
    """An item that is a model is shown by its identifier; searches and reviews show their fields."""
    keyword = await client.keywords.get(sandbox.keyword_ids[0])
    outcomes: list[Any] = list(await client.jobs.map(lambda each: client.keywords.analyze(each.id), [keyword]))
    outcomes += await client.jobs.map(lambda each: client.content_ideas.search(sandbox.workspace_id, each), ["boots"])
    outcomes += await client.jobs.map(client.contents.generate, sandbox.content_ids[:1])
    frame = to_pandas(outcomes)
    assert list(frame["item"]) == [keyword.id, "boots", sandbox.content_ids[0]]
    assert (frame["search.status"][1], frame["complete"][1]) == ("success", True)
    assert (frame["content_id"][2], frame["generation.status"][2]) == (sandbox.content_ids[0], "review")
    assert not [name for name in frame.columns if name.startswith("_")]


async def test_what_is_no_list_of_models_is_refused(client: Client, sandbox: Sandbox) -> None:
    """A text, a single model, an unread list and other values are refused by name."""
    for wrong in ("text", Keyword(id="k"), client.workspaces.list(), [{"id": "k"}], {"id": "k"}):
        with pytest.raises(ArgumentError):
            to_pandas(wrong)  # type: ignore[arg-type]  # wrong on purpose
    assert sandbox.ledger.requests == []
    assert to_pandas([]).empty


async def test_tqdm_shows_a_fan_out(client: Client, sandbox: Sandbox) -> None:
    """A tqdm bar takes a fan-out as it is, and counts its outcomes."""
    out, seen = io.StringIO(), 0
    items = sandbox.keyword_ids[:3]
    async for outcome in tqdm(client.jobs.map(client.keywords.analyze, items), total=len(items), file=out):
        seen += outcome.ok
    assert seen == 3
    assert "3/3" in out.getvalue()


def test_progress_is_a_bar_in_a_notebook() -> None:
    """Progress at the end of a cell is rendered; without a total it still shows movement."""
    progress = Progress(total=4, running=2, succeeded=1, failed=1, unknown=0, credits=4, requests=9, seconds_left=None)
    assert 'value="2" max="4"' in progress._repr_html_()
    assert "value" not in evolve(progress, total=None)._repr_html_()
