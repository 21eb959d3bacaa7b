"""Calls of resources: what users write by guessing is accepted, and each slip is an error of the checkers.

mypy in strict mode takes an unused `type: ignore` for an error, and so does pyright one of its own comments with the
configuration beside this file, so that every expected error has to come.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any, assert_type

import cmsapi


async def change_contents(client: cmsapi.Client) -> None:
    """Create, update and edit."""
    new: cmsapi.NewContent = {"html": "<p></p>", "page_id": "pag_1"}
    content = await client.contents.create("wsp_1", "Title", **new)
    content = await client.contents.create("wsp_1", title="Title", due_date=date(2026, 5, 1), folder_id=None)
    content = await client.contents.update("cnt_1", 1, title="New", due_date=datetime(2026, 5, 1, tzinfo=UTC))
    content = await client.contents.update("cnt_1", 1, html=None)
    content = await client.contents.edit("cnt_1", lambda old: {"title": f"{old.title}!", "due_date": None})
    content = await client.contents.update(content.id, content.version, title="New")
    assert_type(content, cmsapi.Content)

    async def change(old: cmsapi.Content) -> cmsapi.ContentChanges:
        return {"html": old.html}

    await client.contents.edit("cnt_1", change)

    await client.contents.create("wsp_1", "T", titel="x")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    await client.contents.create("wsp_1", "T", due_date=7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await client.contents.update("cnt_1", 1, titel="x")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    await client.contents.update("cnt_1", 1, title=None)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    await client.contents.update("cnt_1", 1, page_id="x")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    await client.contents.update("cnt_1", 1, due_date="2026-05-01")
    await client.contents.edit("cnt_1", lambda _: {"titel": "x"})  # type: ignore[arg-type,return-value]  # pyright: ignore[reportArgumentType]


async def give_one_of_two(client: cmsapi.Client) -> None:
    """Score a content or a text, and make a document of a text or an address."""
    await client.keywords.score("kwd_1", content_id="cnt_1")
    await client.prompts.score("pro_1", title="T", html="<p></p>", meta_description="M")
    await (await client.knowledge_documents.create("wsp_1", "Tone", text="Plain"))

    await client.keywords.score("kwd_1")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    await client.keywords.score("kwd_1", title="T")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    await client.prompts.score("p", content_id="c", html="")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    await client.knowledge_documents.create("wsp_1", "Tone")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]


async def read_lists(client: cmsapi.Client) -> None:
    """Read lists in each way."""
    assert_type(await client.keywords.list("pag_1", page=2), cmsapi.Page[cmsapi.Keyword])
    assert_type(await client.workspaces.content_statuses("wsp_1"), cmsapi.Page[cmsapi.ContentStatus])
    tree = await client.folders.list("wsp_1")
    assert_type(tree, cmsapi.FolderTree)
    assert_type(tree.roots, tuple[cmsapi.Folder, ...])
    async for folder in client.folders.list("wsp_1"):
        assert_type(folder, cmsapi.Folder)
    async for pages in client.folders.list("wsp_1").pages():
        assert_type(pages, cmsapi.FolderTree)
    async for usage in client.credit_usages.list():
        assert_type(usage, cmsapi.CreditUsage)
    client.credit_usages.list("analysis", q="shoes")
    async for keyword in client.keywords.list(workspace_id="wsp_1"):
        assert_type(keyword.to_dict(), dict[str, Any])

    client.keywords.list()  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    client.credit_usages.list("analyses")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    client.keywords.list("pag_1", first=2)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    await client.credit_usages.report(since="2026-01-01")
    for _ in client.keywords.list("pag_1"):  # type: ignore[attr-defined]  # pyright: ignore[reportGeneralTypeIssues,reportUnknownVariableType]
        pass


async def read_properties(client: cmsapi.Client) -> None:
    """Read what sends nothing, and call what sends."""
    assert_type(client.statistics, cmsapi.Statistics)
    assert_type(await client.me(), cmsapi.User)

    await client.statistics  # type: ignore[misc]  # pyright: ignore[reportGeneralTypeIssues]
    client.me()  # type: ignore[unused-coroutine]  # pyright: ignore[reportUnusedCoroutine]
