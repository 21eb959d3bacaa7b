"""Who may do what, assumed routes and how to replace them, deletions, and what the service may do otherwise."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

import cmsapi
from cmsapi.api.operations import OPERATIONS
from cmsapi.message import Request, Response
from cmsapi.sandbox import Behaviour, Fault, Faults, Sandbox
from tests.support.resources import client_of, operations

pytestmark = pytest.mark.looptime


async def test_a_member_may_not_do_what_is_for_admins(sandbox: Sandbox) -> None:
    """A member's key gets `ForbiddenError` where the role Admin is needed."""
    async with client_of(sandbox, api_key=sandbox.member_key) as client:
        for call in (
            client.pages.delete(sandbox.page_ids[0]),
            client.folders.delete(sandbox.folder_ids[0]),
            client.users.list(),
        ):
            with pytest.raises(cmsapi.ForbiddenError, match="administrators") as caught:
                await call
            assert caught.value.attempts == 1
        assert (await client.me()).id == sandbox.user_ids[1]


@pytest.mark.parametrize("status", [404, 403])
async def test_a_foreign_workspace_is_hidden_or_forbidden(status: Any) -> None:
    """What lies in a workspace of others does not exist, or is forbidden (specification 5, rules 6 and 7)."""
    error = cmsapi.NotFoundError if status == 404 else cmsapi.ForbiddenError
    sandbox = Sandbox(behaviour=Behaviour(foreign_workspace=status))
    foreign = sandbox.foreign_workspace_id
    async with client_of(sandbox) as client:
        for call in (
            client.workspaces.get(foreign),
            client.workspaces.members(foreign),
            client.folders.list(foreign),
            client.contents.list(foreign),
            client.contents.create(foreign, "Mine"),
            client.content_ideas.search(foreign, "tents"),
        ):
            with pytest.raises(error):
                await call
    assert sandbox.credits.content_ideas_searches == 10_000


async def test_a_refused_key(sandbox: Sandbox) -> None:
    """A revoked key is `UnauthorizedError`, after one request."""
    async with client_of(sandbox, api_key=sandbox.revoked_key) as client:
        with pytest.raises(cmsapi.UnauthorizedError):
            await client.folders.list(sandbox.workspace_id)
    assert len(sandbox.ledger) == 1


async def test_an_error_from_an_assumed_route_says_so(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """Errors of assumed routes tell how to override them, after the identifier; those of stated routes do not."""
    with pytest.raises(cmsapi.NotFoundError) as caught:
        await client.pages.get("pag_0")
    assert "Check the identifier. If it is right: the specification does not show GET /v1/pages/{pageId}." in str(
        caught.value
    )
    assert "assumed" not in str(caught.value)
    assert "OPERATIONS.override(get_page='METHOD /v1/…')" in str(caught.value)
    with pytest.raises(cmsapi.NotFoundError) as caught:
        await client.keywords.get("kwd_0")
    assert "override" not in str(caught.value)


@attrs.frozen
class Moved:
    """Be a service whose routes for reading and confirming are others than the assumed ones."""

    sandbox: Sandbox

    async def send(self, request: Request) -> Response:
        """Carry a request to where the sandbox has it; the assumed routes are not there."""
        url = request.url
        if request.method == "PUT" and url.endswith("/atomic/confirmation"):
            moved = attrs.evolve(request, method="POST", url=url.replace("/atomic/confirmation", "/generation/confirm"))
            return await self.sandbox.transport.send(moved)
        if "/v1/drafts/" in url:
            return await self.sandbox.transport.send(
                attrs.evolve(request, url=url.replace("/v1/drafts/", "/v1/contents/"))
            )
        if url.endswith("/generation/confirm"):
            return Response(404, {}, b'{"error": {"code": "not_found", "message": "no such path"}}')
        return await self.sandbox.transport.send(request)


async def test_an_override_works_end_to_end(sandbox: Sandbox) -> None:
    """A client with the service's real routes does what one with the assumed routes cannot."""
    content_id = sandbox.content_ids[0]
    async with client_of(sandbox, transport=Moved(sandbox)) as client:
        review = await (await client.contents.generate(content_id))
        with pytest.raises(cmsapi.NotFoundError, match="confirm_generation="):
            await review.confirm()
    table = OPERATIONS.override(
        confirm_generation="PUT /v1/contents/{contentId}/atomic/confirmation",
        get_content="GET /v1/drafts/{contentId}",
    )
    async with client_of(sandbox, transport=Moved(sandbox), operations=table) as client:
        review = await client.contents.review(content_id)
        content = await review.confirm()
        assert content.version == 2
    assert OPERATIONS["get_content"].path == "/v1/contents/{contentId}"


# Deletions


@pytest.mark.parametrize("deletion", ["null", "empty"])
@pytest.mark.parametrize("fault", [None, "drop", "502", "504"])
async def test_a_deletion_whose_answer_is_lost_is_a_deletion(deletion: Any, fault: str | None) -> None:
    """A 404 after a deletion without an answer says that it happened; any body of a deletion is fine."""
    rules: tuple[Fault, ...] = ()
    if fault is not None:
        status = None if fault == "drop" else int(fault)
        rules = (Fault(match="DELETE *", status=status, drop=status is None, when="after", times=3, probability=0.7),)
    sandbox = Sandbox(behaviour=Behaviour(deletion=deletion), faults=Faults(rules=rules))
    async with client_of(sandbox) as client:
        await client.contents.delete(sandbox.content_ids[0])
        await client.folders.delete(sandbox.folder_ids[0])
        await client.pages.delete(sandbox.page_ids[1])
        with pytest.raises(cmsapi.NotFoundError):
            await client.contents.delete(sandbox.content_ids[0])


# Behaviour that the specification does not show


@pytest.mark.parametrize("subfolders", ["top_level", "parent"])
@pytest.mark.parametrize("order", ["newest", "oldest"])
async def test_subfolders_of_a_deleted_folder_stay_in_the_tree(subfolders: Any, order: Any) -> None:
    """Wherever the service puts them, and in whatever order it lists them, the tree shows them."""
    sandbox = Sandbox(behaviour=Behaviour(subfolders=subfolders, order=order))
    guides, _, shoes, history, _ = sandbox.folder_ids
    async with client_of(sandbox) as client:
        await client.folders.delete(shoes)
        tree = await client.folders.list(sandbox.workspace_id)
        path = [folder.id for folder in tree.path(history)]
        assert path == ([guides, history] if subfolders == "parent" else [history])


@pytest.mark.parametrize("status", [422, 404])
async def test_unknown_references_are_refused(status: Any) -> None:
    """An identifier in a body that does not exist is refused, and a 422 names the field."""
    sandbox = Sandbox(behaviour=Behaviour(unknown_reference=status))
    async with client_of(sandbox) as client:
        error = cmsapi.ValidationError if status == 422 else cmsapi.NotFoundError
        with pytest.raises(error) as caught:
            await client.contents.create(sandbox.workspace_id, "Mine", folder_id="fld_0")
        if isinstance(caught.value, cmsapi.ValidationError):
            assert caught.value.field == "folderId"
        with pytest.raises(error):
            await client.folders.create(sandbox.workspace_id, "Mine", parent_folder_id="fld_0")
        with pytest.raises(error):
            await client.contents.edit(sandbox.content_ids[0], lambda _: {"assigned_to_id": "usr_0"})
    assert operations(sandbox).count("update_content") == 1


@pytest.mark.parametrize("items", ["full", "status", "bare"])
async def test_keywords_are_listed_however_little_they_show(items: Any) -> None:
    """Items of a list may lack the status and the time of the analysis."""
    sandbox = Sandbox(behaviour=Behaviour(keyword_items=items))
    async with client_of(sandbox) as client:
        page_id = (await client.keywords.get(sandbox.analyzed_keyword_ids[0])).page_id
        assert page_id is not None
        (keyword,) = [keyword async for keyword in client.keywords.list(page_id)]
        assert keyword.id == sandbox.analyzed_keyword_ids[0]
        assert (keyword.analysis_status is None) is (items == "bare")
        assert (keyword.last_analyzed_at is None) is (items != "full")


@pytest.mark.parametrize("limit", [1, 3, 100])
async def test_the_keywords_of_a_workspace_are_one_list(limit: int) -> None:
    """One call gives the keywords of all pages of a website in pages of a list, each of which knows its successor."""
    sandbox = Sandbox(keywords=7)
    async with client_of(sandbox) as client:
        everywhere = client.keywords.list(workspace_id=sandbox.workspace_id, limit=limit)
        ids = [keyword.id async for keyword in everywhere]
        assert set(sandbox.keyword_ids) < set(ids)
        pages = [page async for page in everywhere.pages()]
        assert [keyword.id for page in pages for keyword in page] == ids
        assert [page.has_more for page in pages] == [True] * (len(pages) - 1) + [False]
        assert [page.number for page in pages] == list(range(1, len(pages) + 1))
        last = await client.keywords.list(workspace_id=sandbox.workspace_id, page=len(pages), limit=limit)
        assert [keyword.id for keyword in last] == ids[(len(pages) - 1) * limit :]


@pytest.mark.parametrize("places", [{}, {"page_id": "pag_1", "workspace_id": "wsp_1"}])
async def test_keywords_are_those_of_a_page_or_of_a_workspace(places: Any) -> None:
    """Neither and both are refused before anything is sent."""
    async with client_of(Sandbox()) as client:
        with pytest.raises(cmsapi.ArgumentError, match="`page_id` or `workspace_id`"):
            client.keywords.list(**places)


@pytest.mark.parametrize("amounts", ["positive", "negative"])
@pytest.mark.parametrize("charged", ["launch", "completion"])
async def test_usages_are_listed_whatever_their_sign(amounts: Any, charged: Any) -> None:
    """Entries come as the service writes them, whenever it charges."""
    sandbox = Sandbox(behaviour=Behaviour(amounts=amounts, charged=charged, prompt_analysis_credits=3))
    async with client_of(sandbox) as client:
        await (await client.prompts.analyze(sandbox.prompt_ids[0]))
        usage = await anext(aiter(client.credit_usages.list()))
        assert usage.amount == (3 if amounts == "positive" else -3)
        assert usage.remaining_credits == sandbox.credits.analysis == 9_997


async def test_errors_that_do_not_count_and_refusals_that_do() -> None:
    """However a service counts what it refused, the client goes on."""
    behaviour = Behaviour(count_client_errors=False, count_rejected=True, malformed_query=422)
    sandbox = Sandbox(behaviour=behaviour)
    async with client_of(sandbox) as client:
        for _ in range(30):
            with pytest.raises(cmsapi.NotFoundError):
                await client.keywords.get("kwd_0")
        assert len(await client.contents.list(sandbox.workspace_id)) == 10
    assert sandbox.ledger.count(status=429) == 0
