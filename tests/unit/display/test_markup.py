"""Objects as HTML: complete and escaped."""

from __future__ import annotations

import inspect
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import attrs
import pytest
from hypothesis import given, strategies as st

import cmsapi
from cmsapi.display import markup
from cmsapi.sandbox import Sandbox
from tests.support.markup import HARMLESS, Tags, check

MOMENT = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
NASTY = "<script>alert('$1$')</script><img src=x onerror=alert(1)>"


@given(st.text(max_size=100))
def test_every_text_is_only_text(text: str) -> None:
    """Any text stays text in HTML."""
    page = markup.table(text, [text], [[text]])
    assert Tags(page).tags <= HARMLESS


@pytest.mark.looptime
async def test_all_objects_have_html(sandbox: Sandbox, client: cmsapi.Client) -> None:
    """Models, pages, trees, jobs, results, forecasts, statistics and errors show their contents, escaped."""
    content_id = sandbox.content_ids[0]
    sandbox.touch_content(content_id, title=NASTY)
    job = await client.keywords.analyze(sandbox.keyword_ids[0])
    search = await client.content_ideas.search(sandbox.workspace_id, NASTY)
    with pytest.raises(cmsapi.NotFoundError) as caught:
        await client.keywords.get("kwd_missing")
    caught.value.add_note(NASTY)
    things: list[tuple[Any, str]] = [
        (await client.me(), "ada.moreau@northwind.example"),
        (await client.contents.get(content_id), NASTY),
        (await client.contents.list(sandbox.workspace_id), NASTY),
        (await client.folders.list(sandbox.workspace_id), "Guides"),
        (job, job.token),
        (job.status, "running"),
        (await search, NASTY),
        (await (await client.contents.generate(content_id)), "review"),
        (await client.jobs.plan("keyword_analysis", 300), "300"),
        (client.jobs.statistics, "2"),
        (client.jobs.show(), sandbox.keyword_ids[0]),
        (client.statistics, "requests"),
        (client.rate_limit, "1000"),
        (await client.doctor(), "operations"),
        (await client.credit_usages.report(), "analysis"),
        (caught.value, NASTY),
    ]
    for thing, text in things:
        check(thing._repr_html_(), text)
        assert sandbox.api_key not in thing._repr_html_()


MODELS = [
    found
    for found in (getattr(cmsapi, name) for name in cmsapi.__all__)
    if isinstance(found, type) and issubclass(found, cmsapi.Model)
]
ERRORS = [
    found
    for found in (getattr(cmsapi, name) for name in cmsapi.__all__)
    if isinstance(found, type) and issubclass(found, cmsapi.CMSError)
]


@pytest.mark.parametrize("model", MODELS)
def test_every_model_is_escaped(model: type[cmsapi.Model]) -> None:
    """The values of all fields, and of unlisted keys, are shown as text."""
    fields = [field for field in attrs.fields(model) if not field.name.startswith("_")]
    values: dict[str, Any] = {field.name: {NASTY: NASTY} if field.name == "extra" else NASTY for field in fields}
    thing = model(**values)
    check(cmsapi.Page((thing,), number=1, limit=1, total=1, has_more=False)._repr_html_())
    check(thing._repr_html_(), NASTY, model.__name__)


@pytest.mark.parametrize("error", ERRORS)
def test_every_error_is_escaped(error: type[cmsapi.CMSError]) -> None:
    """The message and the notes of each kind of error are shown as text."""
    needed: dict[str, Any] = {"parameter": NASTY, "available_in": 1.0, "operation": NASTY, "attempts": 1, "sent": True}
    needed |= {"kind": "generation", "target": NASTY, "evidence": {NASTY: NASTY}, "base": None}
    known = inspect.signature(error.__init__).parameters
    thing: cmsapi.CMSError
    if issubclass(error, cmsapi.APIError):
        thing = error(status=500, message=NASTY)
    else:
        thing = error(NASTY, **{name: value for name, value in needed.items() if name in known})
    thing.add_note(f"note {NASTY}")
    check(thing._repr_html_(), error.__name__, NASTY, f"note {NASTY}")


async def test_limits_and_open_launches_have_html(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """The remaining limits, and the launches whose jobs have not finished."""
    await client.content_ideas.search(sandbox.workspace_id, NASTY)
    check(client.rate_limit._repr_html_(), "Rate limit", "remaining", str(client.rate_limit.remaining))
    (entry,) = await client.jobs.journal()
    check(entry._repr_html_(), NASTY)


@pytest.mark.looptime
async def test_an_overview_tells_what_it_holds(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """The use of the limits is shown in numbers, and a running job by what it works on; no name of a class stands."""
    job = await client.keywords.analyze(sandbox.keyword_ids[0])
    page = (await client.jobs.overview())._repr_html_()
    check(page, "per hour: 1000", job.target)
    assert "RequestUse" not in page
    assert "RunningJob" not in page


def test_deep_folders_need_no_deep_stack() -> None:
    """A tree of a thousand levels needs no deep stack."""
    folders = [
        cmsapi.Folder(
            id=f"f{n}", name=NASTY, depth=n, nb_associated_contents=0, parent_folder_id=f"f{n - 1}" if n else None
        )
        for n in range(2000)
    ]
    check(cmsapi.FolderTree(folders)._repr_html_(), NASTY)


def test_numbers_stand_below_each_other() -> None:
    """A column of numbers is aligned to the right with its title; no line breaks inside a number or a time."""
    page = markup.table("", ["score", "at"], [[7, MOMENT], [None, MOMENT]])
    assert page.count("text-align:right") == 3
    assert page.count("white-space:nowrap") == 3


def test_what_people_call_an_object_comes_first() -> None:
    """The first column is the title, then the identifier; columns without a value are left out."""
    page = Tags(markup.listing("", [cmsapi.Content(id="cnt_1", title="Boots", meta_description="")])).text
    assert page == "titleidBootscnt_1"


def test_times_have_a_zone() -> None:
    """A time is shown with its zone; one without a zone as it is."""
    assert markup.brief(MOMENT) == "2026-03-29 01:30:00 UTC"
    assert markup.brief(MOMENT.astimezone(timezone(timedelta(hours=2)))) == "2026-03-29 03:30:00 UTC+02:00"
    assert markup.brief(MOMENT.replace(tzinfo=None)) == "2026-03-29 01:30:00"


def test_a_long_word_is_broken() -> None:
    """A token or an address does not make a table wider than the page, and a narrow column keeps its words whole."""
    page = markup.facts("", [("token", "x" * 300), ("name", "trail running")])
    assert page.count("overflow-wrap:anywhere") == 1
    assert "min-width:7.8em" in page


def test_long_values_are_cut() -> None:
    """A long text shows its beginning, a table its first rows, a list its first items."""
    content = cmsapi.Content(id="c", html="x" * 100_000)
    assert len(content._repr_html_()) < 5000
    page = markup.table("", ["n"], [[n] for n in range(1000)])
    assert "… and 800 more" in page
    assert markup.brief(list(range(9))) == "0, 1, 2, 3, 4 … and 4 more"
