"""Contents are created, filtered, changed without losing other changes, published and deleted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from cmsapi import (
    ArgumentError,
    Client,
    ConflictError,
    Content,
    EditConflictError,
    NotFoundError,
    OutcomeUnknownError,
    ValidationError,
)
from cmsapi.sandbox import Fault, Sandbox
from tests.support.box import client_of
from tests.support.spec import spec

pytestmark = pytest.mark.looptime


@spec("4.3:create_content", "4.3:title", "4.3:assignedToId", "4.3:contentStatusId", "4.3:dueDate", "4.3:folderId")
@spec("4.3:html", "4.3:metaDescription", "4.3:pageId", "4.3.1", "4.3.3", "1.2", "1.6")
async def test_a_draft_has_what_it_was_created_with(client: Client, sandbox: Sandbox) -> None:
    """Each field passed to a creation comes back in the content."""
    user, folder = await client.me(), await client.folders.create(sandbox.workspace_id, "Guides")
    status, *_ = await client.workspaces.content_statuses(sandbox.workspace_id)
    due = datetime(2031, 5, 1, 12, tzinfo=UTC)
    content = await client.contents.create(
        sandbox.workspace_id,
        "Trail shoes",
        html="<p>Shoes</p>",
        meta_description="Which shoes to buy",
        page_id=sandbox.page_ids[0],
        folder_id=folder.id,
        assigned_to_id=user.id,
        content_status_id=status.id,
        due_date=due,
    )
    assert content.assigned_to is not None
    assert content.content_status == status
    assert content.folder is not None
    assert content.page is not None
    ids = (content.page.id, content.folder.id, content.assigned_to.id)
    assert ids == (sandbox.page_ids[0], folder.id, user.id)
    texts = (content.title, content.html, content.meta_description, content.due_date)
    assert texts == ("Trail shoes", "<p>Shoes</p>", "Which shoes to buy", due)
    assert content == await client.contents.get(content.id)


@spec("4.3.2")
async def test_a_draft_without_a_page_gets_an_empty_one(client: Client, sandbox: Sandbox) -> None:
    """The page that the service creates is named in the content and can be read."""
    content = await client.contents.create(sandbox.workspace_id, "Brief")
    assert content.page is not None
    page = await client.pages.get(content.page.id)
    assert page.url is None


@spec("8:title")
@pytest.mark.parametrize("title", ["", "x" * 256, None])
async def test_a_title_of_the_wrong_length_is_not_sent(client: Client, sandbox: Sandbox, title: Any) -> None:
    """A creation and an update refuse a title that does not have 1 to 255 characters."""
    with pytest.raises(ArgumentError) as creation:
        await client.contents.create(sandbox.workspace_id, title)
    with pytest.raises(ArgumentError) as update:
        await client.contents.update(sandbox.content_ids[0], 1, title=title)
    assert (creation.value.parameter, update.value.parameter) == ("title", "title")
    assert sandbox.ledger.requests == []


async def test_a_model_in_place_of_an_identifier_is_not_sent(client: Client, sandbox: Sandbox) -> None:
    """A folder in place of its id is refused by parameter name."""
    folder: Any = await client.folders.create(sandbox.workspace_id, "Guides")
    with pytest.raises(ArgumentError) as caught:
        await client.contents.create(sandbox.workspace_id, "Title", folder_id=folder)
    assert caught.value.parameter == "folder_id"
    assert sandbox.ledger.count("create_content") == 0


@spec("7:422")
async def test_an_unknown_folder_is_named(client: Client, sandbox: Sandbox) -> None:
    """The service refuses a folder that does not exist, and the error names the field."""
    with pytest.raises(ValidationError) as caught:
        await client.contents.create(sandbox.workspace_id, "Title", folder_id="gone")
    assert caught.value.field == "folderId"


async def test_a_list_has_all_contents_without_their_text(client: Client, sandbox: Sandbox) -> None:
    """Pages of two cover all contents, each once."""
    listed = [content async for content in client.contents.list(sandbox.workspace_id, limit=2)]
    assert sorted(content.id for content in listed) == sorted(sandbox.content_ids)
    assert not hasattr(listed[0], "html")


@spec("8:score")
async def test_filters_by_score(client: Client, sandbox: Sandbox) -> None:
    """Exact, lowest and highest scores select what the scores in the whole list imply."""
    everything = await client.contents.list(sandbox.workspace_id)
    scores = sorted(content.content_score for content in everything if content.content_score is not None)
    middle = scores[len(scores) // 2]

    async def found(**bounds: Any) -> list[int]:
        return sorted([each.content_score or 0 async for each in client.contents.list(sandbox.workspace_id, **bounds)])

    assert await found(content_score=middle) == [score for score in scores if score == middle]
    assert await found(content_score_min=middle) == [score for score in scores if score >= middle]
    assert await found(content_score_max=middle) == [score for score in scores if score <= middle]


async def test_filters_by_user_and_by_one_or_several_statuses(client: Client, sandbox: Sandbox) -> None:
    """Contents are found by their assigned user and by any of several statuses."""
    user = await client.me()
    first, second, third, *_ = await client.workspaces.content_statuses(sandbox.workspace_id)
    mine = [
        await client.contents.create(sandbox.workspace_id, "Title", assigned_to_id=user.id, content_status_id=status.id)
        for status in (first, second, third)
    ]

    async def found(statuses: Any) -> set[str]:
        assert user.id is not None
        contents = client.contents.list(sandbox.workspace_id, assigned_to_id=user.id, content_status_id=statuses)
        return {content.id async for content in contents} & {content.id for content in mine}

    assert await found(None) == {content.id for content in mine}
    assert await found(first.id) == {mine[0].id}
    assert await found([first.id, third.id]) == {mine[0].id, mine[2].id}


@pytest.mark.parametrize(
    ("filters", "parameter"),
    [
        ({"content_score": 101}, "content_score"),
        ({"content_score_min": -1}, "content_score_min"),
        ({"content_score_max": 0.5}, "content_score_max"),
        ({"content_status_id": []}, "content_status_id"),
    ],
)
def test_a_filter_without_a_meaning_is_refused(
    client: Client, sandbox: Sandbox, filters: dict[str, Any], parameter: str
) -> None:
    """Scores outside 0 to 100 and an empty list of statuses are refused by parameter name."""
    with pytest.raises(ArgumentError) as caught:
        client.contents.list(sandbox.workspace_id, **filters)
    assert caught.value.parameter == parameter


async def test_an_update_changes_what_is_given(client: Client, sandbox: Sandbox) -> None:
    """Other fields stay, the version grows, and None takes a content out of its folder."""
    folder = await client.folders.create(sandbox.workspace_id, "Guides")
    old = await client.contents.create(sandbox.workspace_id, "Old", html="<p>Text</p>", folder_id=folder.id)
    assert old.version is not None
    new = await client.contents.update(old.id, old.version, title="New", folder_id=None)
    assert (new.title, new.html, new.folder, old.version < (new.version or 0)) == ("New", "<p>Text</p>", None, True)


@spec("9.4", "7:409")
async def test_a_stale_version_is_a_conflict(client: Client, sandbox: Sandbox) -> None:
    """The second update of one version changes nothing."""
    content = await client.contents.create(sandbox.workspace_id, "Old")
    assert content.version is not None
    await client.contents.update(content.id, content.version, title="First")
    with pytest.raises(ConflictError):
        await client.contents.update(content.id, content.version, title="Second")
    assert (await client.contents.get(content.id)).title == "First"


@pytest.mark.parametrize(
    ("version", "fields", "parameter"),
    [(None, {"title": "New"}, "version"), (1, {}, "title"), (1, {"due_date": "tomorrow"}, "due_date")],
)
async def test_an_update_that_says_too_little_is_not_sent(
    client: Client, sandbox: Sandbox, version: Any, fields: dict[str, Any], parameter: str
) -> None:
    """An update needs a version, something to change, and a valid time."""
    with pytest.raises(ArgumentError) as caught:
        await client.contents.update(sandbox.content_ids[0], version, **fields)
    assert caught.value.parameter == parameter
    assert sandbox.ledger.requests == []


@spec("7.3")
async def test_an_edit_keeps_the_change_that_came_in_between(client: Client, sandbox: Sandbox) -> None:
    """After a conflict the change is made again to the newer content."""
    content = await client.contents.create(sandbox.workspace_id, "Old", meta_description="old")
    titles = []

    async def change(current: Content) -> dict[str, str]:
        titles.append(current.title)
        if len(titles) == 1:
            assert current.version is not None
            await client.contents.update(content.id, current.version, title="Theirs")
        return {"meta_description": f"of {current.title}"}

    edited = await client.contents.edit(content.id, change)
    assert (edited.title, edited.meta_description) == ("Theirs", "of Theirs")
    assert titles == ["Old", "Theirs"]


@spec("7.3")
async def test_edits_at_the_same_time_all_arrive(client: Client, sandbox: Sandbox) -> None:
    """Ten edits that each append a letter lose none and repeat none."""
    content = await client.contents.create(sandbox.workspace_id, "Title", meta_description="+")

    def append(letter: str) -> Callable[[Content], dict[str, str]]:
        return lambda current: {"meta_description": f"{current.meta_description}{letter}"}

    await asyncio.gather(*(client.contents.edit(content.id, append(letter), attempts=20) for letter in "abcdefghij"))
    edited = await client.contents.get(content.id)
    assert sorted(edited.meta_description or "") == list("+abcdefghij")


async def test_an_edit_gives_up_after_its_attempts(client: Client, sandbox: Sandbox) -> None:
    """For a content that changes all the time, edits are refused as often as allowed, and others' changes stay."""
    content = await client.contents.create(sandbox.workspace_id, "Old")

    async def too_late(current: Content) -> dict[str, str]:
        assert current.version is not None
        await client.contents.update(content.id, current.version, title=f"{current.title}!")
        return {"title": "Mine"}

    with pytest.raises(EditConflictError) as caught:
        await client.contents.edit(content.id, too_late, attempts=2)
    assert caught.value.attempts == 2
    assert isinstance(caught.value.__cause__, ConflictError)
    assert (await client.contents.get(content.id)).title == "Old!!"


@pytest.mark.parametrize(
    "fault", [{"drop": "after"}, {"status": 500, "effect": True}, {"status": 502, "body": "foreign", "effect": True}]
)
async def test_an_edit_whose_answer_was_lost_is_found_again(fault: dict[str, Any]) -> None:
    """A change that the service stored without saying so is returned and not made twice."""
    async with faulty(fault) as (client, content):
        edited = await client.contents.edit(content.id, lambda now: {"title": f"{now.title}!"})
        assert (edited.title, edited.version) == ("Old!", (content.version or 0) + 1)
        assert edited == await client.contents.get(content.id)


async def test_a_lost_edit_is_found_again_by_each_kind_of_field() -> None:
    """References, times (here in milliseconds) and cleared fields count as stored, however the service writes them."""
    async with faulty({"drop": "after"}) as (client, content):
        user, due = await client.me(), datetime(2031, 5, 1, 14, 0, 0, 123456, tzinfo=UTC)
        naive = due.replace(tzinfo=None)
        changes = {"assigned_to_id": user.id, "due_date": naive, "html": None, "folder_id": None}
        edited = await client.contents.edit(content.id, lambda _: changes)
        assert edited.assigned_to is not None
        assert (edited.assigned_to.id, edited.due_date) == (user.id, due.replace(microsecond=123_000))


async def test_an_edit_that_may_not_have_arrived_says_so() -> None:
    """A request that was lost on its way is not mistaken for a change."""
    async with faulty({"drop": "before"}) as (client, content):
        with pytest.raises(OutcomeUnknownError):
            await client.contents.edit(content.id, lambda _: {"title": "New"})
        assert content == await client.contents.get(content.id)


@asynccontextmanager
async def faulty(fault: dict[str, Any]) -> AsyncIterator[tuple[Client, Content]]:
    """Yield a client of a service that spoils the first update, and a content."""
    sandbox = Sandbox(faults=[Fault(match="update_content", times=1, **fault)])
    async with client_of(sandbox) as client:
        yield client, await client.contents.create(sandbox.workspace_id, "Old")


async def test_an_edit_without_changes_sends_nothing(client: Client, sandbox: Sandbox) -> None:
    """An empty mapping returns the content as it was read."""
    content = await client.contents.edit(sandbox.content_ids[0], lambda _: {})
    assert content.id == sandbox.content_ids[0]
    assert sandbox.ledger.count("update_content") == 0


async def test_an_edit_that_forgets_to_return_is_refused(client: Client, sandbox: Sandbox) -> None:
    """A function that returns None is refused by parameter name."""
    forgetful: Any = lambda _: None  # noqa: E731  what users pass
    with pytest.raises(ArgumentError) as caught:
        await client.contents.edit(sandbox.content_ids[0], forgetful)
    assert caught.value.parameter == "change"


async def test_publishing_marks_a_content(client: Client, sandbox: Sandbox) -> None:
    """A published content has its type, its time and its address, which is optional."""
    content = await client.contents.create(sandbox.workspace_id, "Title")
    assert (await client.contents.publish(content.id)).type == "PUBLISHED"
    published = await client.contents.publish(content.id, "https://shop.example/shoes")
    assert published.page is not None
    assert published.page.url == "https://shop.example/shoes"
    assert published.published_at is not None


@spec("4.3:delete_content", "7:404")
async def test_a_deleted_content_is_gone(client: Client, sandbox: Sandbox) -> None:
    """A content cannot be read after its deletion."""
    await client.contents.delete(sandbox.content_ids[0])
    with pytest.raises(NotFoundError):
        await client.contents.get(sandbox.content_ids[0])


async def test_a_content_without_a_generation_says_so(client: Client, sandbox: Sandbox) -> None:
    """A draft for which no generation was launched has none."""
    with pytest.raises(NotFoundError):
        await client.contents.generation(sandbox.content_ids[0])
