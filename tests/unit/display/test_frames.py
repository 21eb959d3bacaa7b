"""Lists, ideas, outcomes and usages as frames of pandas."""

from __future__ import annotations

import asyncio
import typing
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import attrs
import pytest

import cmsapi
from cmsapi.api.model import Model
from cmsapi.sandbox import Fixed, Sandbox
from tests.support.jobs import client_of
from tests.support.strategies import TABLES

pandas: Any = pytest.importorskip("pandas")

UTC_TIMES = "datetime64[us, UTC]"


def columns_of(model: type[Model]) -> list[str]:
    """Return the columns of an empty page."""
    page = cmsapi.Page[Any](items=(), number=1, limit=100, total=0, has_more=False, model=model)
    return list(page.to_pandas().columns)


def flattened(model: type[Model], prefix: str = "") -> Iterator[str]:
    """Name the fields of a class, written a second time: an inner model's fields follow its field's name."""
    hints = typing.get_type_hints(model)
    for name in attrs.fields_dict(model).keys() - attrs.fields_dict(Model).keys():
        parts = [hints[name], *typing.get_args(hints[name])]
        inner = next((each for each in parts if isinstance(each, type) and issubclass(each, Model)), None)
        if inner is None or typing.get_origin(hints[name]) is tuple:
            yield prefix + name
        else:
            yield from flattened(inner, f"{prefix}{name}_")


@pytest.mark.parametrize("model", TABLES, ids=lambda model: model.__name__)
def test_each_field_has_one_column(model: type[Model]) -> None:
    """No two fields share a name, also when models lie inside each other, and an empty list has all columns."""
    expected = list(flattened(model))

    assert sorted(columns_of(model)) == sorted(expected)
    assert len(set(expected)) == len(expected)


def test_types_follow_the_class_and_not_the_data() -> None:
    """Full, empty and half-empty lists have the same types: strings, integers, truth values and times in UTC."""
    local = datetime(2026, 1, 31, 12, tzinfo=timezone(timedelta(hours=2)))
    status = cmsapi.ContentStatus(id="s", label="To do", color="#fff", position=2, is_read_only=True)
    full = cmsapi.Content(
        id="c", type=cmsapi.ContentType("draft"), words_count=3, created_at=local, content_status=status
    )
    frames = [cmsapi.to_pandas(items) for items in ([full], [cmsapi.Content(id="d")], [full, cmsapi.Content(id="d")])]

    kinds = [{name: str(kind) for name, kind in frame.dtypes.items()} for frame in frames]
    assert kinds[0] == kinds[1] == kinds[2]
    named = {
        "id": "string",
        "type": "string",
        "words_count": "Int64",
        "created_at": UTC_TIMES,
        "content_status_is_read_only": "boolean",
    }
    assert named.items() <= kinds[0].items()
    first, second = frames[2].itertuples()
    assert (first.type, type(first.type), first.content_status_position) == ("draft", str, 2)
    assert first.created_at == local
    assert second.created_at is pandas.NaT
    assert second.content_status_label is pandas.NA


def test_unlisted_keys_are_one_column() -> None:
    """The column is there when there are such keys, and a change of a cell changes no model."""
    idea = cmsapi.from_dict(cmsapi.ContentIdea, {"id": "i", "intent": {"words": ["buy"]}})
    frame = cmsapi.to_pandas([idea, cmsapi.ContentIdea(id="j")])

    assert frame["extra"][0] == {"intent": {"words": ["buy"]}}
    frame["extra"][0]["intent"]["words"].append("sell")
    assert idea.extra["intent"] == {"words": ["buy"]}
    assert "extra" not in cmsapi.to_pandas([cmsapi.ContentIdea(id="j")]).columns


def test_lists_and_strange_values_take_a_cell() -> None:
    """A list is a cell with plain values, and a value that pandas cannot hold in the column's type stays itself."""
    source = cmsapi.ReportSource(domain="a.example", position=1)
    frame = cmsapi.to_pandas([cmsapi.Report(score=0.5, sources=(source,), recommendations=[{"a": 1}])])
    large = cmsapi.to_pandas([cmsapi.Keyword(id="k", search_volume=2**80)])

    assert frame["sources"][0][0]["domain"] == "a.example"
    assert frame["recommendations"][0] == [{"a": 1}]
    assert large["search_volume"][0] == 2**80


def test_objects_of_several_classes_share_a_frame() -> None:
    """The columns are those of all classes."""
    usage = cmsapi.UsageKeyword(keyword="hats", country_code="US", language_code="en")
    frame = cmsapi.to_pandas([cmsapi.Keyword(id="k", keyword="tents"), usage])

    assert list(frame["keyword"]) == ["tents", "hats"]
    assert list(frame["id"].isna()) == [False, True]


def test_what_is_no_list_is_refused() -> None:
    """A text is named; an empty list and a tree are fine."""
    lists: list[Any] = ["text", None]
    for wrong in lists:
        with pytest.raises(cmsapi.ArgumentError, match="must be a list of models or outcomes"):
            cmsapi.to_pandas(wrong)
    assert len(cmsapi.to_pandas([])) == 0
    assert len(cmsapi.to_pandas(cmsapi.FolderTree([cmsapi.Folder(id="f", depth=0, nb_associated_contents=0)]))) == 1


@pytest.mark.looptime
async def test_pages_whole_lists_and_ideas() -> None:
    """A page has its own items, a list all pages, a search its ideas; only the list sends requests for its frame."""
    sandbox = Sandbox(contents=12, durations=Fixed(5.0))
    async with client_of(sandbox) as client:
        contents = client.contents.list(sandbox.workspace_id, limit=5)
        page = await contents
        requests = len(sandbox.ledger)
        assert list(page.to_pandas()["id"]) == [content.id for content in page]
        assert len(sandbox.ledger) == requests
        with pytest.raises(cmsapi.ArgumentError, match=r"got Paginator. Await its to_pandas\(\)"):
            cmsapi.to_pandas(contents)  # type: ignore[arg-type]  # checkers refuse it, too
        assert len(await contents.to_pandas()) == 12
        assert len(sandbox.ledger) == requests + 3
        ideas = await (await client.content_ideas.search(sandbox.workspace_id, "tents"))
        assert list(ideas.to_pandas()["keyword"]) == [idea.keyword for idea in ideas]
        folders = await client.folders.list(sandbox.workspace_id)
        assert list(folders.to_pandas()["name"]) == [folder.name for folder in folders]
        statuses = await client.workspaces.content_statuses(sandbox.workspace_id).to_pandas()
        assert len(statuses) == 4
        usages = await client.credit_usages.list("analysis").to_pandas()
        report = (await client.credit_usages.report()).to_pandas()
    assert {"amount", "keyword_keyword", "user_first_name", "workspace_name"} <= set(usages.columns)
    assert list(usages.columns) == list(report.columns)


@pytest.mark.looptime
async def test_outcomes_of_a_fan_out() -> None:
    """Each item is a row: with its value's columns, or with the class and the message of its error."""
    sandbox = Sandbox(durations=Fixed(5.0))
    ids = [*sandbox.keyword_ids[:2], "kwd_none"]
    async with client_of(sandbox) as client:
        frame = await client.jobs.map(client.keywords.analyze, ids).to_pandas()
        jobs = [await client.keywords.analyze(id_) for id_ in sandbox.keyword_ids[2:4]]
        completed = await client.jobs.as_completed(jobs).to_pandas()
        async with client.jobs.batch("nightly") as batch:
            first = await batch.map(client.keywords.analyze, sandbox.keyword_ids[4:6]).to_pandas()
            again = await batch.map(client.keywords.analyze, sandbox.keyword_ids[4:6]).to_pandas()

    assert list(frame.columns[:5]) == ["item", "ok", "error", "error_message", "earlier"]
    assert set(frame["item"]) == set(ids)
    assert set(frame[frame["ok"]]["analysis_status"]) == {"success"}
    (failed,) = frame[~frame["ok"]].itertuples()
    assert (failed.item, failed.error, failed.id) == ("kwd_none", "NotFoundError", pandas.NA)
    assert "not_found" in failed.error_message
    assert list(completed["item"]) == list(completed["id"])
    assert [list(each["earlier"]) for each in (first, again)] == [[False, False], [True, True]]
    assert [str(kind) for kind in first.dtypes] == [str(kind) for kind in frame.dtypes]


async def interrupted(outcomes: cmsapi.jobs.Fanout[str, Any], seconds: float) -> None:
    """Ask for the frame, and press the stop button after some seconds."""
    waiting = asyncio.create_task(outcomes.to_pandas())
    await asyncio.sleep(seconds)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


@pytest.mark.looptime
async def test_an_interrupted_frame_launches_no_more() -> None:
    """The stop button of a notebook ends the launches, and the client goes on."""
    async with Sandbox(keywords=40, durations=Fixed(60)) as sandbox, client_of(sandbox) as client:
        outcomes = client.jobs.map(client.keywords.analyze, sandbox.keyword_ids, in_flight=3)
        await interrupted(outcomes, 100)
        launched = len(sandbox.ledger.launches())
        await asyncio.sleep(1000)
        assert 3 < launched == len(sandbox.ledger.launches()) < 40
        await client.me()


@pytest.mark.looptime
async def test_an_interrupted_frame_withdraws_what_was_not_sent() -> None:
    """Launches that wait for permits are neither sent nor in the journal until outcomes are asked for again."""
    sandbox = Sandbox(keywords=80, durations=Fixed(60))
    async with client_of(sandbox) as client:
        outcomes = client.jobs.map(client.keywords.analyze, sandbox.keyword_ids)
        await interrupted(outcomes, 0.5)
        launched = len(sandbox.ledger.launches())
        other = asyncio.create_task(client.keywords.analyze(sandbox.keyword_ids[launched + 1]))
        await asyncio.sleep(20)
        assert 0 < launched == len(sandbox.ledger.launches()) - 1 < 40
        assert {entry.state for entry in await client.jobs.journal()} == {"running"}
        await other
        assert (await outcomes.to_pandas())["ok"].all()
    assert len(sandbox.ledger.launches()) == 80
    assert outcomes.progress.credits == 79


@pytest.mark.looptime
@pytest.mark.parametrize(
    ("way", "stops"), [("map", (0.0, 0.5, 100.0, 20.0)), ("batch", (0.0, 0.5, 100.0, 20.0)), ("as_completed", (45.0,))]
)
async def test_an_interrupted_frame_goes_on(way: str, stops: tuple[float, ...]) -> None:
    """The cell that is run again has all outcomes, those from before the stop button too, and each is paid once."""
    sandbox = Sandbox(keywords=24, durations=Fixed(60))
    async with client_of(sandbox) as client:
        ids = sandbox.keyword_ids
        outcomes: Any
        if way == "as_completed":
            jobs = [await client.keywords.analyze(each) for each in ids[:12]]
            await asyncio.sleep(30)
            outcomes = client.jobs.as_completed([*jobs, *[await client.keywords.analyze(each) for each in ids[12:]]])
        else:
            fan_outs = client.jobs if way == "map" else client.jobs.batch("nightly")
            outcomes = fan_outs.map(client.keywords.analyze, iter(ids), in_flight=3)
        for seconds in stops:
            waiting = asyncio.create_task(outcomes.to_pandas())
            await asyncio.sleep(seconds)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            launched = len(sandbox.ledger.launches())
            await asyncio.sleep(300)
            assert len(sandbox.ledger.launches()) == launched
        one = await anext(outcomes)
        frame = await outcomes.to_pandas()
    assert sorted([one.item, *frame["item"]]) == sorted(ids)
    assert frame["ok"].all()
    assert len(sandbox.ledger.launches()) == 24
    assert outcomes.progress.done


@pytest.mark.looptime
@pytest.mark.parametrize("way", ["map", "batch", "as_completed"])
async def test_a_cell_that_is_run_again_has_the_same_frame(way: str) -> None:
    """A frame takes no outcome away: the next one has them all again, and so has an iteration."""
    sandbox = Sandbox(durations=Fixed(5.0))
    ids = sandbox.keyword_ids[:3]
    async with client_of(sandbox) as client:
        outcomes: Any
        if way == "as_completed":
            outcomes = client.jobs.as_completed([await client.keywords.analyze(each) for each in ids])
        else:
            fan_outs = client.jobs if way == "map" else client.jobs.batch("nightly")
            outcomes = fan_outs.map(client.keywords.analyze, ids)
        first = await outcomes.to_pandas()
        again = await outcomes.to_pandas()
        taken = [outcome.item async for outcome in outcomes]
    assert sorted(first["item"]) == sorted(ids)
    pandas.testing.assert_frame_equal(first, again)
    assert taken == list(first["item"])
    assert len(sandbox.ledger.launches()) == 3


@pytest.mark.looptime
async def test_the_frame_of_what_an_error_has_ended_is_no_part_of_it() -> None:
    """With `errors="raise"` the cell that is run again raises again, and the outcomes can still be taken."""
    sandbox = Sandbox(durations=Fixed(5.0))
    async with client_of(sandbox) as client:
        ids = [*sandbox.keyword_ids[:2], "kwd_none"]
        outcomes = client.jobs.map(client.keywords.analyze, ids, in_flight=1, errors="raise")
        for _ in range(2):
            with pytest.raises(cmsapi.NotFoundError):
                await outcomes.to_pandas()
        assert [(await anext(outcomes)).item for _ in range(2)] == ids[:2]


@pytest.mark.looptime
async def test_outcomes_with_other_values() -> None:
    """A search has its record and its ideas, an article its generation; a list of outcomes gives the same frame."""
    sandbox = Sandbox(durations=Fixed(5.0))
    async with client_of(sandbox) as client:

        async def search(seed: tuple[str, int]) -> cmsapi.Job[cmsapi.ContentIdeas]:
            return await client.content_ideas.search(sandbox.workspace_id, seed[0])

        outcomes = [outcome async for outcome in client.jobs.map(search, [("tents", 1), ("maps", 2)])]
        ideas = cmsapi.to_pandas(outcomes)
        articles = await client.jobs.map(client.contents.generate, sandbox.content_ids[:2]).to_pandas()
        nothing = await client.jobs.map(client.contents.generate, []).to_pandas()

    assert {seed[0]: seed[1] for seed in ideas["item"]} == {"tents": 1, "maps": 2}
    assert set(ideas["search_status"]) == {"success"}
    assert [len(cell) for cell in ideas["ideas"]] == list(ideas["search_nb_content_ideas"])
    assert set(articles["generation_status"]) == {"review"}
    assert list(articles["content_id"]) == list(articles["item"])
    common = ["item", "ok", "error", "error_message", "earlier"]
    assert list(nothing.columns) == common
    assert nothing.dtypes.to_dict() == articles[common].dtypes.to_dict()
    assert nothing[nothing["ok"] & ~nothing["earlier"]].empty


@attrs.frozen
class Row:
    """An item of a user's own class, whose annotations exist for type checkers only."""

    keyword_id: str
    above: Unknown | None = None  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.looptime
async def test_items_of_a_users_class_are_flattened() -> None:
    """Its fields are columns that begin with `item`."""
    sandbox = Sandbox(durations=Fixed(5.0))
    async with client_of(sandbox) as client:
        outcomes = client.jobs.map(lambda row: client.keywords.analyze(row.keyword_id), [Row(sandbox.keyword_ids[0])])
        frame = await outcomes.to_pandas()
    assert list(frame["item_keyword_id"]) == [sandbox.keyword_ids[0]]
