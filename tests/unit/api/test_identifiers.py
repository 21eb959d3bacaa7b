"""Identifiers of the wrong kind: a warning where earlier answers show it, and never an error."""

from __future__ import annotations

import warnings
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import cmsapi
from cmsapi import IdentifierWarning
from cmsapi.api.identifiers import IdentifierPrefixes
from cmsapi.sandbox import Behaviour, Fixed, Sandbox
from tests.support.jobs import client_of

pytestmark = pytest.mark.looptime


async def warned(call: Callable[[], Awaitable[Any]]) -> list[warnings.WarningMessage]:
    """Return the warnings of a call that the service refuses."""
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        with pytest.raises(cmsapi.NotFoundError):
            await call()
    return shown


async def test_a_content_is_not_a_keyword() -> None:
    """The warning names both kinds, comes once, and points to the caller's line; the request is sent."""
    box = Sandbox()
    async with client_of(box) as client:
        (content, *_) = await client.contents.list(box.workspace_id)
        (shown,) = await warned(lambda: client.keywords.get(content.id))
        assert shown.category is IdentifierWarning
        assert str(shown.message) == (
            f"`keyword_id` is {content.id!r}, but in earlier answers each identifier that begins with 'cnt_' was a "
            "`content_id`. The request is sent all the same."
        )
        assert shown.filename == __file__
        assert not await warned(lambda: client.keywords.analyze(content.id))
    assert box.ledger.count(operation="analyze_keyword") == 1


async def test_right_identifiers_cause_no_warning() -> None:
    """Nothing is said of identifiers that fit, of unknown prefixes, or in a body of a name with a word in front."""
    box = Sandbox(durations=Fixed(5.0))
    async with client_of(box) as client:
        folders = await client.folders.list(box.workspace_id)
        contents = await client.contents.list(box.workspace_id)
        await client.folders.create(box.workspace_id, "Spring", parent_folder_id=folders[0].id)
        await client.contents.create(box.workspace_id, "Hats", folder_id=folders[0].id, page_id=box.page_ids[0])
        await client.contents.get(contents[0].id)
        await (await client.keywords.analyze(box.keyword_ids[0]))
        assert not await warned(lambda: client.keywords.get("new_1"))
        assert not await warned(lambda: client.keywords.get("cnt"))


async def test_a_body_is_checked_too() -> None:
    """An identifier of a content in place of a folder's is seen."""
    box = Sandbox()
    async with client_of(box) as client:
        (content, *_) = await client.contents.list(box.workspace_id)
        with pytest.warns(IdentifierWarning, match="`folder_id` is 'cnt_"), pytest.raises(cmsapi.CMSError):
            await client.contents.create(box.workspace_id, "Hats", folder_id=content.id)


async def test_nothing_is_known_before_there_are_answers() -> None:
    """No prefix is written in the package, and identifiers without one are never warned about."""
    box = Sandbox()
    async with client_of(box) as client:
        assert not await warned(lambda: client.keywords.get(box.content_ids[0]))
    odd = Sandbox(behaviour=Behaviour(identifiers="odd"))
    async with client_of(odd) as client:
        (content, *_) = await client.contents.list(odd.workspace_id)
        assert not await warned(lambda: client.keywords.get(content.id))


def test_a_prefix_of_all_kinds_says_nothing() -> None:
    """A prefix that several kinds share belongs to none, and what is remembered of a list is bounded."""
    prefixes, table = IdentifierPrefixes(), cmsapi.OPERATIONS
    content = cmsapi.Content(id="obj_1")
    prefixes.learn(table, "list_contents", {"workspaceId": "obj_2"}, [content])
    assert prefixes.parameters == {"obj": None}

    many = [cmsapi.Keyword(id=f"{'abcdefghij'[place % 10]}{'abcdefghij'[place // 10]}_1") for place in range(100)]
    prefixes.learn(table, "list_keywords", {"pageId": "pag_1"}, many)
    assert len(prefixes.parameters) < 25
    assert prefixes.learned == {"list_contents", "list_keywords"}


async def test_a_warning_that_is_made_an_error_sends_nothing() -> None:
    """A program that turns warnings into errors pays for nothing, and the journal keeps no launch."""
    box = Sandbox()
    async with client_of(box) as client:
        (content, *_) = await client.contents.list(box.workspace_id)
        with warnings.catch_warnings():
            warnings.simplefilter("error", IdentifierWarning)
            # Each time, and not only the first.
            for _ in range(2):
                with pytest.raises(IdentifierWarning):
                    await client.keywords.analyze(content.id)
            ends = [each async for each in client.jobs.map(client.keywords.analyze, [content.id] * 2)]
            assert [type(each.error) for each in ends] == [IdentifierWarning] * 2
        assert box.ledger.count(operation="analyze_keyword") == 0
        assert await client.jobs.journal() == []
