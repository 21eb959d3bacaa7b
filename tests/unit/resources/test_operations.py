"""Every resource through its methods, typed results checked."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

import cmsapi
from cmsapi.api.models.brand_voice import BrandVoice
from cmsapi.api.models.content import Content, ContentStatus, ContentSummary
from cmsapi.api.models.credit_usage import CreditUsage
from cmsapi.api.models.folder import Folder, FolderTree
from cmsapi.api.models.generation import Generation
from cmsapi.api.models.idea_search import ContentIdea, ContentIdeaSearch
from cmsapi.api.models.keyword import Acknowledgement, Keyword, Prompt
from cmsapi.api.models.knowledge_document import KnowledgeDocument
from cmsapi.api.models.report import Report, ScoreReport
from cmsapi.api.models.user import Member, User
from cmsapi.api.models.web_page import WebPage
from cmsapi.api.models.workspace import Workspace
from cmsapi.sandbox import Behaviour, Fixed, Sandbox
from tests.support.resources import Changing, client_of, operations

pytestmark = pytest.mark.looptime


async def test_me_is_the_keys_user(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """`me` gives the user with organisation and balances."""
    me = await client.me()
    assert isinstance(me, User)
    assert me.id == sandbox.user_ids[0]
    assert me.organization.credits.analysis == 10_000


async def test_members_are_listed_twice(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """The organisation's members have the roles of the specification, those of a workspace other words."""
    members = [member async for member in client.users.list()]
    assert all(isinstance(member, Member) for member in members)
    assert {member.role for member in members} == {"Admin", "Member"}
    others = [member async for member in client.workspaces.members(sandbox.workspace_id)]
    assert {member.id for member in others} == {member.id for member in members}
    assert "owner" in {member.role for member in others}
    assert not all(member.role.known for member in others)


async def test_workspaces(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """Workspaces are listed and read; their workflow statuses come in order."""
    (workspace,) = [workspace async for workspace in client.workspaces.list()]
    assert isinstance(workspace, Workspace)
    assert workspace == await client.workspaces.get(sandbox.workspace_id)
    statuses = await client.workspaces.content_statuses(sandbox.workspace_id)
    assert all(isinstance(status, ContentStatus) for status in statuses)
    assert [status.id for status in statuses] == list(sandbox.content_status_ids)
    assert [status.position for status in statuses] == sorted(status.position for status in statuses)


async def test_folders_are_a_tree(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """`folders.list` gives sequence and tree; created folders hang where they were put, deleted ones are gone."""
    tree = await client.folders.list(sandbox.workspace_id)
    assert isinstance(tree, FolderTree)
    assert {folder.id for folder in tree} == set(sandbox.folder_ids)
    guides, reviews, shoes, history, archive = sandbox.folder_ids
    assert {root.id for root in tree.roots} == {guides, reviews, archive}
    assert [folder.id for folder in tree.path(history)] == [guides, shoes, history]
    assert [folder.id for folder in tree.children(shoes)] == [history]
    created = await client.folders.create(sandbox.workspace_id, "Hats", parent_folder_id=reviews)
    assert isinstance(created, Folder)
    assert (created.name, created.depth, created.parent_folder_id) == ("Hats", 1, reviews)
    top = await client.folders.create(sandbox.workspace_id, "Top")
    assert (top.parent_folder_id, top.depth) == (None, 0)
    await client.folders.delete(shoes)
    tree = await client.folders.list(sandbox.workspace_id)
    assert tree.get(shoes) is None
    assert history in {root.id for root in tree.roots}
    assert [folder.id for folder in tree.children(reviews)] == [created.id]


async def test_contents_are_created_with_all_they_can_have(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """Each argument of `create` arrives; due dates are given in any offset or as a day."""
    due = datetime(2026, 3, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    content = await client.contents.create(
        sandbox.workspace_id,
        "All about hats",
        html="<p>Hats</p>",
        meta_description="Hats",
        page_id=sandbox.page_ids[0],
        folder_id=sandbox.folder_ids[0],
        assigned_to_id=sandbox.user_ids[1],
        content_status_id=sandbox.content_status_ids[1],
        due_date=due,
    )
    assert isinstance(content, Content)
    assert (content.title, content.html, content.meta_description) == ("All about hats", "<p>Hats</p>", "Hats")
    assert content.page is not None
    assert content.folder is not None
    assert content.assigned_to is not None
    assert content.content_status is not None
    assert (content.page.id, content.folder.id) == (sandbox.page_ids[0], sandbox.folder_ids[0])
    assert (content.assigned_to.id, content.content_status.id) == (sandbox.user_ids[1], sandbox.content_status_ids[1])
    assert content.due_date == due
    assert (content.version, content.type, content.is_started) == (1, "DRAFT", True)
    assert content == await client.contents.get(content.id)
    blank = await client.contents.create(sandbox.workspace_id, "x" * 255, due_date=date(2026, 3, 1))
    assert blank.page is not None
    assert blank.page.url is None
    assert blank.due_date == datetime(2026, 3, 1, tzinfo=UTC)
    assert blank.is_started is False


async def test_contents_are_listed_short_and_filtered(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """Each filter of the list leaves what it says, alone and together."""

    async def ids(**filters: Any) -> set[str]:
        return {content.id async for content in client.contents.list(sandbox.workspace_id, **filters)}

    contents = [content async for content in client.contents.list(sandbox.workspace_id, limit=3)]
    assert all(isinstance(content, ContentSummary) for content in contents)
    assert [content.id for content in contents] == list(reversed(sandbox.content_ids))
    someone, status = sandbox.user_ids[1], sandbox.content_status_ids[1]
    assigned = {content.id for content in contents if content.assigned_to and content.assigned_to.id == someone}
    assert await ids(assigned_to_id=someone) == assigned != set()
    in_status = {content.id for content in contents if content.content_status and content.content_status.id == status}
    assert await ids(content_status_id=status) == await ids(content_status_id=[status]) == in_status != set()
    assert await ids(content_status_id=sandbox.content_status_ids) == set(sandbox.content_ids)
    assert await ids(assigned_to_id=someone, content_status_id=(status,)) == assigned & in_status
    scores = {content.id: content.content_score for content in contents if content.content_score is not None}
    middle = sorted(scores.values())[len(scores) // 2]
    assert await ids(content_score=middle) == {id_ for id_, score in scores.items() if score == middle}
    assert await ids(content_score_min=middle) == {id_ for id_, score in scores.items() if score >= middle}
    assert await ids(content_score_max=middle) == {id_ for id_, score in scores.items() if score <= middle}
    assert await ids(content_score_min=0, content_score_max=100) == set(scores)
    page = await client.contents.list(sandbox.workspace_id, page=3, limit=4)
    assert (len(page), page.number, page.total, page.has_more) == (2, 3, 10, False)


async def test_contents_are_published_and_deleted(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """Publishing marks with or without an address; deleting is for good."""
    content_id = sandbox.content_ids[0]
    content = await client.contents.publish(content_id)
    assert (content.type, content.version) == ("PUBLISHED", 2)
    assert content.published_by is not None
    content = await client.contents.publish(content_id, url="https://northwind.example/hats")
    assert content.page is not None
    assert content.page.url == "https://northwind.example/hats"
    await client.contents.delete(content_id)
    with pytest.raises(cmsapi.NotFoundError):
        await client.contents.get(content_id)


async def test_generations_are_read(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """A content without a generation has none to find; later there is one."""
    with pytest.raises(cmsapi.NotFoundError):
        await client.contents.generation(sandbox.content_ids[0])
    with pytest.raises(cmsapi.NotFoundError):
        await client.contents.review(sandbox.content_ids[0])
    job = await client.contents.generate(sandbox.content_ids[0])
    generation = await client.contents.generation(sandbox.content_ids[0])
    assert isinstance(generation, Generation)
    assert (generation.id, generation.status) == (job.id, "queued")


async def test_settings_of_a_generation_arrive(sandbox: Sandbox) -> None:
    """Settings go out by wire name, and only those that are set."""
    bodies: list[bytes | None] = []

    def note(request: cmsapi.Request, document: Any) -> Any:
        if request.method == "POST":
            bodies.append(request.body)
        return document

    async with client_of(sandbox, transport=Changing(sandbox, note)) as client:
        voice = sandbox.brand_voice_ids[0]
        settings = cmsapi.GenerationSettings(
            brand_voice_id=voice, fact_checking_enabled=False, extra={"newSetting": {"a": 1}}
        )
        await client.contents.generate(sandbox.content_ids[0], settings)
        await client.contents.generate(sandbox.content_ids[1])
    assert bodies == [
        f'{{"settings":{{"brandVoiceId":"{voice}","factCheckingEnabled":false,"newSetting":{{"a":1}}}}}}'.encode(),
        b'{"settings":{}}',
    ]


async def test_pages(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """Pages are listed, imported, read, crawled and deleted with their contents."""
    pages = [page async for page in client.pages.list(sandbox.workspace_id)]
    assert {page.id for page in pages} == set(sandbox.page_ids)
    page = await client.pages.create(sandbox.workspace_id, "https://northwind.example/hats")
    assert isinstance(page, WebPage)
    assert page.last_status_code is None
    said = await client.pages.crawl(page.id)
    assert isinstance(said, Acknowledgement)
    assert (await client.pages.get(page.id)).last_status_code == 200
    content = await client.contents.create(sandbox.workspace_id, "Hats", page_id=page.id)
    await client.pages.delete(page.id)
    with pytest.raises(cmsapi.NotFoundError):
        await client.contents.get(content.id)


async def test_keywords(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """Keywords are added, listed, read, and scored once they are analysed."""
    content = await client.contents.get(sandbox.content_ids[1])
    assert content.page is not None
    keyword = await client.keywords.create(content.page.id, "felt hats")
    assert isinstance(keyword, Keyword)
    assert (keyword.keyword, keyword.analysis_status, keyword.page_id) == ("felt hats", None, content.page.id)
    assert keyword == await client.keywords.get(keyword.id)
    assert keyword in [each async for each in client.keywords.list(content.page.id)]
    with pytest.raises(cmsapi.ConflictError):
        await client.keywords.score(keyword.id, content_id=content.id)
    report = await client.keywords.score(sandbox.analyzed_keyword_ids[1], content_id=content.id)
    assert isinstance(report, Report)
    assert 0.0 < report.score <= 1.0
    assert report.sources[0].domain
    loose = await client.keywords.score(
        sandbox.analyzed_keyword_ids[1], title="Hats", html="<p>Hats</p>", meta_description="Hats"
    )
    assert loose.score < report.score


async def test_prompts(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """Prompts are added, listed, read, analysed and scored."""
    keyword_id = sandbox.keyword_ids[0]
    prompt = await client.prompts.create(keyword_id, "Which hat?")
    assert isinstance(prompt, Prompt)
    assert (prompt.prompt, prompt.analysis_status, prompt.last_analyzed_at) == ("Which hat?", None, None)
    assert [each async for each in client.prompts.list(keyword_id)] == [prompt]
    assert prompt == await client.prompts.get(prompt.id)
    before = await client.prompts.score(prompt.id, content_id=sandbox.content_ids[1])
    assert isinstance(before, ScoreReport)
    assert before.chatgpt is None
    assert (await (await client.prompts.analyze(prompt.id))).analysis_status == "success"
    after = await client.prompts.score(prompt.id, title="Hats", html="<p>Which hat?</p>")
    assert after.chatgpt is not None
    assert 0.0 <= after.chatgpt.score <= 1.0


async def test_brand_voices(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """Brand voices are listed and read."""
    voices = [voice async for voice in client.brand_voices.list(sandbox.workspace_id)]
    assert all(isinstance(voice, BrandVoice) for voice in voices)
    assert {voice.id for voice in voices} == set(sandbox.brand_voice_ids)
    assert voices[0] == await client.brand_voices.get(voices[0].id)


async def test_knowledge_documents(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """Knowledge documents are made of a text or an address, listed and read."""
    text = await client.knowledge_documents.create(sandbox.workspace_id, "Tone", text="Plain and warm.")
    link = await client.knowledge_documents.create(sandbox.workspace_id, "About", url="https://northwind.example/a")
    assert (text.kind, text.status.state, text.done()) == ("knowledge_document", "pending", False)
    document = await client.knowledge_documents.get(link.id)
    assert isinstance(document, KnowledgeDocument)
    assert (document.type, document.url) == ("url", "https://northwind.example/a")
    listed = [document.id async for document in client.knowledge_documents.list(sandbox.workspace_id)]
    assert set(listed) == {*sandbox.knowledge_document_ids, text.id, link.id}
    done = await text
    assert (done.status, done.summary) == ("success", "Plain and warm.")
    assert done == await client.jobs.watch("knowledge_document", text.id)
    assert done == await client.knowledge_documents.get(text.id)


@pytest.mark.parametrize("shape", ["page", "data", "list"])
async def test_ideas_are_read_in_any_shape(shape: str) -> None:
    """A page, an object with `data` and a bare list of ideas are the same ideas."""
    sandbox = Sandbox(durations=Fixed(5.0))

    def reshape(request: cmsapi.Request, document: Any) -> Any:
        if "/content-ideas?" not in request.url or shape == "page":
            return document
        return {"data": document["data"]} if shape == "data" else document["data"]

    async with client_of(sandbox, transport=Changing(sandbox, reshape)) as client:
        found = await (await client.content_ideas.search(sandbox.workspace_id, "tents"))
        assert isinstance(found.search, ContentIdeaSearch)
        assert all(isinstance(idea, ContentIdea) for idea in found)
        assert len(found) == found.search.nb_content_ideas
        assert [idea async for idea in client.content_ideas.list(found.search.id)] == list(found)


# Credits


async def spend(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """Spend credits of all types, one after another."""
    for index in range(4):
        await (await client.keywords.analyze(sandbox.keyword_ids[index]))
        await (await client.content_ideas.search(sandbox.workspace_id, f"hats {index}"))
        await (await client.contents.generate(sandbox.content_ids[index]))


async def test_usages_of_one_type(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """One type is listed newest first, and searched by text."""
    await spend(client, sandbox)
    usages = [usage async for usage in client.credit_usages.list("content_idea_search", limit=2)]
    assert all(isinstance(usage, CreditUsage) for usage in usages)
    assert [usage.keyword.keyword for usage in usages] == ["hats 3", "hats 2", "hats 1", "hats 0"]
    found = [usage async for usage in client.credit_usages.list(usages[0].type, q="hats 2")]
    assert found == [usages[1]]


@pytest.mark.parametrize("order", ["newest", "oldest"])
@pytest.mark.parametrize("limit", [1, 2, 3, 100])
async def test_all_usages_come_newest_first(order: Any, limit: int) -> None:
    """Without a type the three types are merged newest first, whatever the order and length of the service's pages."""
    sandbox = Sandbox(behaviour=Behaviour(order=order), durations=Fixed(5.0))
    async with client_of(sandbox) as client:
        await spend(client, sandbox)
        usages = [usage async for usage in client.credit_usages.list(limit=limit)]
        times = [usage.created_at for usage in usages]
        assert times == sorted(times, reverse=True)
        assert len(usages) == len({usage.id for usage in usages}) == 4 + 4 + 4 + 10
        assert {usage.type for usage in usages} == {"analysis", "ai_writing", "content_idea_search"}
        found = [usage async for usage in client.credit_usages.list(q="hats", limit=limit)]
        assert "hats 3" in {usage.keyword.keyword for usage in found}


async def test_all_usages_have_pages() -> None:
    """The merged entries are divided into pages like those of one type, and a page behind the last one is empty."""
    sandbox = Sandbox(durations=Fixed(5.0))
    async with client_of(sandbox) as client:
        await spend(client, sandbox)
        whole = await client.credit_usages.list()
        assert (len(whole), whole.total, whole.number, whole.has_more) == (22, 22, 1, False)
        usages = client.credit_usages.list(page=2, limit=6)
        for prefetch in (0, 1):
            pages = [page async for page in usages.pages(prefetch=prefetch)]
            assert [(page.number, len(page), page.total, page.has_more) for page in pages] == [
                (2, 6, 22, True),
                (3, 6, 22, True),
                (4, 4, 22, False),
            ]
            assert [usage for page in pages for usage in page] == list(whole[6:])
        assert list(await usages) == list(whole[6:12])
        empty = await client.credit_usages.list(page=2**40, limit=6)
        assert (len(empty), empty.number, empty.has_more) == (0, 2**40, False)
        assert not usages.total_changed


async def test_all_usages_are_read_as_far_as_they_are_wanted(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """The newest entries take one page of each type."""
    await spend(client, sandbox)
    seen = len(sandbox.ledger)
    async for usage in client.credit_usages.list(limit=2):
        assert usage.type == "ai_writing"
        break
    assert len(sandbox.ledger) - seen <= 4
    assert set(operations(sandbox)[seen:]) == {"list_credit_usages"}


async def test_usages_without_a_time_come_last() -> None:
    """An entry whose time is null does not break the order of the others."""

    def timeless(request: cmsapi.Request, document: Any) -> Any:
        if "type=ai_writing" in request.url:
            for usage in document["data"]:
                usage["createdAt"] = None
        return document

    sandbox = Sandbox(durations=Fixed(5.0))
    async with client_of(sandbox, transport=Changing(sandbox, timeless)) as client:
        await spend(client, sandbox)
        usages = [usage async for usage in client.credit_usages.list()]
        assert [usage.created_at for usage in usages[-4:]] == [None] * 4
        assert len(usages) == 22


async def test_no_usages() -> None:
    """An organisation that has spent nothing has no entries."""

    def nothing(request: cmsapi.Request, document: Any) -> Any:
        return {"data": [], "pagination": {"total": 0, "page": 1, "limit": 100, "hasMore": False}}

    sandbox = Sandbox()
    async with client_of(sandbox, transport=Changing(sandbox, nothing)) as client:
        assert [usage async for usage in client.credit_usages.list()] == []
