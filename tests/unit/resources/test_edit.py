"""Optimistic changes of a content (specification 7, retry rule 3, and 9, rule 4)."""

from __future__ import annotations

import asyncio
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any, cast

import pytest

import cmsapi
from cmsapi.api.models.content import Content
from cmsapi.message import Request, Response
from cmsapi.resources.drafts import holds
from cmsapi.sandbox import Fault, Faults, Sandbox
from tests.support.jobs import Spoiling
from tests.support.resources import Changing, client_of, operations

pytestmark = pytest.mark.looptime


async def test_an_edit_reads_changes_and_saves(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """Without a conflict an edit is two requests and one version."""
    content = await client.contents.edit(sandbox.content_ids[0], lambda c: {"title": f"{c.title}!"})
    assert (content.version, content.title) == (2, "Best running shoes!")
    assert operations(sandbox) == ["get_content", "update_content"]


async def test_an_edit_changes_every_field(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """Each field that can be changed arrives by its Python name, and None clears it."""
    due = datetime(2026, 5, 1, tzinfo=UTC)
    changes: cmsapi.ContentChanges = {
        "html": "<p>New</p>",
        "meta_description": "New",
        "folder_id": sandbox.folder_ids[1],
        "assigned_to_id": sandbox.user_ids[2],
        "content_status_id": sandbox.content_status_ids[2],
        "due_date": due,
    }
    content = await client.contents.edit(sandbox.content_ids[0], lambda _: changes)
    assert content.folder is not None
    assert content.assigned_to is not None
    assert content.content_status is not None
    assert (content.html, content.meta_description, content.due_date) == ("<p>New</p>", "New", due)
    assert (content.folder.id, content.assigned_to.id) == (sandbox.folder_ids[1], sandbox.user_ids[2])
    assert content.content_status.id == sandbox.content_status_ids[2]
    nothing = cast("cmsapi.ContentChanges", dict.fromkeys(changes))
    cleared = await client.contents.edit(sandbox.content_ids[0], lambda _: nothing)
    assert (cleared.html, cleared.meta_description, cleared.due_date, cleared.folder) == ("", None, None, None)
    assert (cleared.assigned_to, cleared.content_status, cleared.version) == (None, None, 3)


async def test_a_conflict_is_read_and_reapplied(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """After a colleague's edit the change is made anew on the fresh content, and no work is lost."""
    content_id = sandbox.content_ids[0]
    seen: list[Content] = []

    async def change(content: Content) -> cmsapi.ContentChanges:
        seen.append(content)
        await asyncio.sleep(1)
        if len(seen) < 3:
            sandbox.touch_content(content_id, metaDescription=f"by a colleague {len(seen)}")
        return {"title": f"{content.title}!"}

    content = await client.contents.edit(content_id, change)
    assert (content.title, content.meta_description) == ("Best running shoes!", "by a colleague 2")
    assert [each.version for each in seen] == [1, 2, 3]
    assert content.version == 4
    assert operations(sandbox) == ["get_content", "update_content"] * 3


async def test_giving_up_shows_both_versions(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """When every try meets a conflict the error has the content as it was and as it is."""
    content_id = sandbox.content_ids[0]

    def change(content: Content) -> cmsapi.ContentChanges:
        sandbox.touch_content(content_id, metaDescription="by a colleague")
        return {"title": "Mine"}

    with pytest.raises(cmsapi.EditConflictError, match="each of 2 attempts") as caught:
        await client.contents.edit(content_id, change, attempts=2)
    error = caught.value
    assert (error.base.version, error.current.version) == (2, 3)
    assert (error.current.title, error.current.meta_description) == ("Best running shoes", "by a colleague")
    assert isinstance(error.__cause__, cmsapi.ConflictError)


async def test_giving_up_after_a_lost_answer_does_not_say_that_nothing_was_saved() -> None:
    """When a try was saved, its answer lost, and the content changed by others, the error leaves open what happened."""
    sandbox = Sandbox(faults=Faults(rules=(Fault(match="PATCH *", drop=True, when="after"),)))
    content_id = sandbox.content_ids[0]
    lost = [True]

    def colleague(request: cmsapi.Request, response: cmsapi.Response) -> cmsapi.Response:
        if request.method == "PATCH" and lost[0]:
            lost[0] = False
            sandbox.touch_content(content_id, title="Theirs")
        return response

    async with client_of(sandbox, transport=Spoiling(sandbox, colleague)) as client:
        with pytest.raises(cmsapi.EditConflictError, match="may have been saved and then overwritten") as caught:
            await client.contents.edit(content_id, lambda _: {"title": "Mine"}, attempts=1)
    assert "Nothing of this edit" not in str(caught.value)
    assert caught.value.current.title == "Theirs"


async def test_giving_up_on_a_content_that_is_gone_is_still_a_conflict() -> None:
    """When the present version cannot be read any more, the conflict is told without it."""

    def conflict(request: cmsapi.Request, response: cmsapi.Response) -> cmsapi.Response:
        if request.method == "PATCH":
            sandbox.forget(sandbox.content_ids[0])
        return response

    sandbox = Sandbox()
    async with client_of(sandbox, transport=Spoiling(sandbox, conflict)) as client:

        def change(content: Content) -> cmsapi.ContentChanges:
            sandbox.touch_content(content.id, metaDescription="by a colleague")
            return {"title": "Mine"}

        with pytest.raises(cmsapi.EditConflictError) as caught:
            await client.contents.edit(sandbox.content_ids[0], change, attempts=1)
        assert (caught.value.base.version, caught.value.current) == (1, None)


async def test_an_empty_change_saves_nothing(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """A change that finds nothing to do costs one reading."""
    content = await client.contents.edit(sandbox.content_ids[0], lambda _: {})
    assert content.version == 1
    assert operations(sandbox) == ["get_content"]


@pytest.mark.parametrize("answer", [None, [], "", "title", 7, [("title", "t")]])
async def test_a_change_gives_values_by_name(client: cmsapi.Client, sandbox: Sandbox, answer: Any) -> None:
    """Anything else is an `ArgumentError`, and nothing is saved."""
    with pytest.raises(cmsapi.ArgumentError) as caught:
        await client.contents.edit(sandbox.content_ids[0], lambda _: answer)
    assert caught.value.parameter == "change"
    assert operations(sandbox) == ["get_content"]


@pytest.mark.parametrize("name", ["version", "content_id", "self", "type", "titel"])
async def test_what_cannot_be_changed_is_refused(client: cmsapi.Client, sandbox: Sandbox, name: str) -> None:
    """A field that is not the caller's to change is an `ArgumentError` that names it, whatever it is called."""
    with pytest.raises(cmsapi.ArgumentError) as caught:
        await client.contents.edit(sandbox.content_ids[0], lambda _: cast("Any", {name: "x"}))
    assert caught.value.parameter == name
    assert operations(sandbox) == ["get_content"]


async def test_a_failing_change_is_the_callers_own(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """What a change raises is raised, and nothing is saved."""
    with pytest.raises(ZeroDivisionError):
        await client.contents.edit(sandbox.content_ids[0], lambda content: {"title": str(1 // 0)})
    assert operations(sandbox) == ["get_content"]


async def test_a_content_without_a_version_is_not_overwritten() -> None:
    """When the service shows no version, a change could overwrite another one, and is not sent."""

    def hide(request: cmsapi.Request, document: Any) -> Any:
        document["version"] = None
        return document

    sandbox = Sandbox()
    async with client_of(sandbox, transport=Changing(sandbox, hide)) as client:
        with pytest.raises(cmsapi.EditConflictError, match="shows no version") as caught:
            await client.contents.edit(sandbox.content_ids[0], lambda _: {"title": "Mine"})
        assert caught.value.current is None
    assert operations(sandbox) == ["get_content"]


async def test_update_needs_the_version(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """`update` is one request and leaves a conflict to its caller."""
    content = await client.contents.update(sandbox.content_ids[0], 1, title="Mine")
    assert content.version == 2
    with pytest.raises(cmsapi.ConflictError) as caught:
        await client.contents.update(sandbox.content_ids[0], 1, title="Mine")
    assert not caught.value.in_doubt
    assert operations(sandbox) == ["update_content"] * 2


LOST = {
    "drop": Fault(match="PATCH *", drop=True, when="after"),
    "502": Fault(match="PATCH *", status=502, when="after"),
    "504": Fault(match="PATCH *", status=504, when="after"),
}
CHANGES: dict[str, cmsapi.ContentChanges] = {
    "title": {"title": "Mine"},
    "html": {"html": "<p>Mine</p>"},
    "cleared": {"html": None, "meta_description": None, "folder_id": None, "due_date": None},
    "references": {"folder_id": "FOLDER", "assigned_to_id": "USER", "content_status_id": "STATUS"},
    "due_date": {"due_date": datetime(2026, 5, 1, 12, tzinfo=UTC)},
    "due_day": {"due_date": date(2026, 5, 1)},
    "due_elsewhere": {"due_date": datetime(2026, 5, 1, 14, tzinfo=timezone(timedelta(hours=2)))},
}


@pytest.mark.parametrize("how", LOST)
@pytest.mark.parametrize("what", CHANGES)
async def test_a_saved_change_whose_answer_is_lost_is_recognised(how: str, what: str) -> None:
    """The conflict with one's own change is a success: exactly one version step, and the change is made once."""
    sandbox = Sandbox(faults=Faults(rules=(LOST[how],)))
    ids = {"FOLDER": sandbox.folder_ids[2], "USER": sandbox.user_ids[2], "STATUS": sandbox.content_status_ids[2]}
    changes: Any = {
        name: ids.get(value, value) if isinstance(value, str) else value for name, value in CHANGES[what].items()
    }
    calls: list[int | None] = []

    def change(content: Content) -> cmsapi.ContentChanges:
        calls.append(content.version)
        return cast("cmsapi.ContentChanges", changes)

    async with client_of(sandbox) as client:
        content = await client.contents.edit(sandbox.content_ids[1], change)
        assert content.version == 2
        assert calls == [1]
    assert operations(sandbox) == ["get_content", "update_content", "update_content", "get_content"]


async def test_a_change_that_was_not_taken_is_repeated() -> None:
    """A request that was lost before it took effect is sent again, and takes effect once."""
    sandbox = Sandbox(faults=Faults(rules=(Fault(match="PATCH *", drop=True, when="before"),)))
    async with client_of(sandbox) as client:
        content = await client.contents.edit(sandbox.content_ids[0], lambda c: {"title": f"{c.title}!"})
        assert (content.version, content.title) == (2, "Best running shoes!")
    assert operations(sandbox) == ["get_content", "update_content", "update_content"]


async def test_a_change_that_lost_against_a_colleague_is_reapplied() -> None:
    """When the answer is lost and the conflict is a colleague's, the change is made anew on theirs."""
    sandbox = Sandbox(faults=Faults(rules=(Fault(match="PATCH *", drop=True, when="before"),)))
    content_id = sandbox.content_ids[0]
    calls: list[int | None] = []

    def change(content: Content) -> cmsapi.ContentChanges:
        calls.append(content.version)
        if len(calls) == 1:
            sandbox.touch_content(content_id, title="Theirs", dueDate="2026-07-01T00:00:00Z")
        return {"title": f"{content.title}!", "due_date": None}

    async with client_of(sandbox) as client:
        content = await client.contents.edit(content_id, change)
        assert (content.title, content.version, calls) == ("Theirs!", 3, [1, 2])


async def test_a_due_date_is_recognised_in_each_spelling(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """A due date is what the service shows, however it was written, and another one is not."""
    content = await client.contents.update(sandbox.content_ids[0], 1, due_date=date(2026, 5, 1))
    elsewhere = datetime(2026, 5, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    for same in (date(2026, 5, 1), elsewhere, datetime(2026, 5, 1, tzinfo=UTC)):
        assert holds(content, {"due_date": same}, 1)
    assert not holds(content, {"due_date": date(2026, 5, 2)}, 1)
    assert not holds(content, {"due_date": None}, 1)
    assert not holds(content, {"due_date": date(2026, 5, 1)}, 2)


async def test_edits_of_many_at_once_all_arrive(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """Ten edits of one content at once are ten versions, and none is lost."""
    content_id = sandbox.content_ids[0]

    async def add(letter: str) -> Content:
        return await client.contents.edit(content_id, lambda c: {"title": f"{c.title}{letter}"}, attempts=20)

    await asyncio.gather(*[add(letter) for letter in "abcdefghij"])
    content = await client.contents.get(content_id)
    assert content.version == 11
    assert content.title is not None
    assert sorted(content.title.removeprefix("Best running shoes")) == list("abcdefghij")


@pytest.mark.parametrize("conflicts", [1, 2], ids=["its own conflict", "a colleague's conflict"])
@pytest.mark.parametrize("status", [404, 429])
async def test_a_change_that_cannot_be_settled_is_unknown(conflicts: int, status: int) -> None:
    """When the answer is lost and the read to settle it fails, the error does not say that nothing was changed."""
    box = Sandbox(faults=Fault(match="PATCH *", status=502, when="after"))
    content_id, reads = box.content_ids[0], [0]

    def spoil(request: Request, response: Response) -> Response:
        if request.method == "PATCH" and conflicts == 2 and response.status == 502:
            box.touch_content(content_id, title="A colleague's")
        if request.method == "GET":
            reads[0] += 1
            if reads[0] > conflicts:
                return Response(status, {}, b"")
        return response

    async with client_of(
        box, transport=Spoiling(box, spoil), retry=cmsapi.RetryPolicy(max_attempts=2, base=0.1)
    ) as client:
        with pytest.raises(cmsapi.OutcomeUnknownError, match="may have been saved") as caught:
            await client.contents.edit(content_id, lambda _: {"title": "Mine"})
    assert isinstance(caught.value.__cause__, cmsapi.APIError)
    assert sum(entry.effect for entry in box.ledger) == 1


async def test_a_conflict_in_doubt_says_so() -> None:
    """Where a colleague's change came after ours, the conflict does not claim that nothing of ours was ever saved."""
    box = Sandbox(faults=Fault(match="PATCH *", drop=True, when="after"))
    content_id = box.content_ids[0]

    def spoil(request: Request, response: Response) -> Response:
        if request.method == "PATCH":
            box.touch_content(content_id, title="A colleague's")
        return response

    async with client_of(box, transport=Spoiling(box, spoil)) as client:
        with pytest.raises(cmsapi.ConflictError, match="An earlier attempt got no clear answer") as caught:
            await client.contents.update(content_id, 1, title="Mine")
    assert caught.value.in_doubt
