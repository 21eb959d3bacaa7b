"""The smaller resources: users, workspaces, brand voices, knowledge documents, ideas and credit usages."""

from __future__ import annotations

from typing import Any

import pytest

import cmsapi
from cmsapi import ArgumentError, Client, ConflictError, ForbiddenError, Model
from cmsapi.sandbox import Sandbox
from tests.support.spec import spec

pytestmark = pytest.mark.looptime


async def searched(client: Client, sandbox: Sandbox, keyword: str = "trail running") -> str:
    """Return the identifier of a finished search for ideas."""
    path = f"/v1/workspaces/{sandbox.workspace_id}/content-idea-searches"
    search = (await client.request("POST", path, json={"keyword": keyword})).json()
    sandbox.finish(keyword)
    return str(search["id"])


@spec("4.1:get_me", "5.8")
async def test_the_user_of_a_key_has_credits(client: Client) -> None:
    """The user includes the organization and its three balances."""
    user = await client.me()
    assert user.organization is not None
    left = user.organization.credits
    assert left is not None
    assert None not in (left.analysis, left.ai_writing, left.content_ideas_searches)


@spec("5.6", "7:403")
async def test_members_are_listed_for_admins(client: Client, sandbox: Sandbox) -> None:
    """An admin sees the roles of all members; a member is refused."""
    assert {"Admin", "Member"} == {member.role async for member in client.users.list()}
    member = cmsapi.Client(sandbox.member_key, base_url=sandbox.base_url, transport=sandbox.transport)
    async with member:
        with pytest.raises(ForbiddenError):
            await member.users.list()


@spec("4.2:get_workspace", "1.3")
async def test_a_workspace_is_listed_and_has_members(client: Client, sandbox: Sandbox) -> None:
    """A workspace is the same in the list and when read alone, and its members have roles."""
    workspace = await client.workspaces.get(sandbox.workspace_id)
    page = await client.workspaces.list()
    assert workspace in page.data
    assert page.total == len(page)
    members = await client.workspaces.members(sandbox.workspace_id)
    assert all(member.role for member in members)


async def test_a_brand_voice_is_listed_and_read(client: Client, sandbox: Sandbox) -> None:
    """A brand voice is the same in the list and when read alone."""
    voice = (await client.brand_voices.list(sandbox.workspace_id))[0]
    assert voice == await client.brand_voices.get(voice.id)


@spec("4.6b:get_knowledge_document")
async def test_a_knowledge_document_is_listed_and_read(client: Client, sandbox: Sandbox) -> None:
    """A processed document has a summary and its workspace."""
    path = f"/v1/workspaces/{sandbox.workspace_id}/knowledge-documents"
    created = (await client.request("POST", path, json={"name": "Tone", "text": "Short sentences."})).json()
    sandbox.finish()
    document = await client.knowledge_documents.get(created["id"])
    assert (document.status, document.type) == ("success", "text")
    assert document.summary
    assert document in [each async for each in client.knowledge_documents.list(sandbox.workspace_id)]


@spec("4.6:get_content_idea_search", "4.6:list_content_ideas")
async def test_ideas_are_read_after_the_search(client: Client, sandbox: Sandbox) -> None:
    """A finished search lists as many ideas as it announces, over several pages."""
    search_id = await searched(client, sandbox)
    search = await client.content_ideas.get(search_id)
    ideas = [idea async for idea in client.content_ideas.ideas(search_id, limit=3)]
    assert search.status == "success"
    assert len(ideas) == search.nb_content_ideas
    assert all(idea.keyword for idea in ideas)


async def test_ideas_of_a_running_search_are_refused(client: Client, sandbox: Sandbox) -> None:
    """The service lists no ideas while it is searching."""
    path = f"/v1/workspaces/{sandbox.workspace_id}/content-idea-searches"
    search = (await client.request("POST", path, json={"keyword": "trail running"})).json()
    with pytest.raises(ConflictError):
        await client.content_ideas.ideas(search["id"])


@spec("4.7:list_credit_usages", "4.7:type", "4.7:q")
async def test_usages_are_listed_by_type_and_text(client: Client, sandbox: Sandbox) -> None:
    """Each launch has an entry under its type, which can be found by its keyword."""
    for keyword in ("trail running", "winter coats"):
        await searched(client, sandbox, keyword)
    usages = await client.credit_usages.list("content_idea_search")
    assert {usage.keyword.keyword for usage in usages if usage.keyword} == {"trail running", "winter coats"}
    assert {usage.type for usage in usages} == {cmsapi.CreditType.CONTENT_IDEA_SEARCH}
    (found,) = await client.credit_usages.list(cmsapi.CreditType.CONTENT_IDEA_SEARCH, text="winter")
    assert found.amount == 1
    assert len(await client.credit_usages.list("analysis")) == 0


@spec("4.7:limit", "4.7:page", "8:page-size", "1.4")
@pytest.mark.parametrize(
    ("arguments", "parameter"),
    [
        ({"type": "images"}, "type"),
        ({"type": "analysis", "limit": 0}, "limit"),
        ({"type": "analysis", "limit": 101}, "limit"),
        ({"type": "analysis", "limit": True}, "limit"),
        ({"type": "analysis", "page": 0}, "page"),
    ],
)
def test_a_list_that_the_service_would_refuse_is_not_sent(
    client: Client, arguments: dict[str, Any], parameter: str
) -> None:
    """An unlisted type and out-of-range numbers are refused by parameter name when the method is called."""
    with pytest.raises(ArgumentError) as caught:
        client.credit_usages.list(**arguments)
    assert caught.value.parameter == parameter


@pytest.mark.parametrize(
    ("create", "parameter"),
    [
        (lambda client: client.keywords.create("pge_1", ""), "keyword"),
        (lambda client: client.prompts.create("kwd_1", ""), "prompt"),
        (lambda client: client.pages.create("wsp_1", ""), "url"),
        (lambda client: client.folders.create("wsp_1", ""), "name"),
        (lambda client: client.folders.create("wsp_1", "Shoes", 7), "parent_folder_id"),
        (lambda client: client.content_ideas.search("wsp_1", ""), "keyword"),
        (lambda client: client.knowledge_documents.create("wsp_1", "", text="Low."), "name"),
    ],
)
async def test_a_creation_that_the_service_would_refuse_is_not_sent(
    client: Client, sandbox: Sandbox, create: Any, parameter: str
) -> None:
    """Empty texts and invalid identifiers are refused by parameter name."""
    with pytest.raises(ArgumentError) as caught:
        await create(client)
    assert caught.value.parameter == parameter
    assert sandbox.ledger.requests == []


async def test_models_know_each_field_of_the_service(client: Client, sandbox: Sandbox) -> None:
    """Every field that a resource returns has a place in its model, including those of nested objects."""
    workspace, search = sandbox.workspace_id, await searched(client, sandbox)
    await client.folders.create(workspace, "Guides")
    prompt = await client.prompts.create(sandbox.keyword_ids[0], "Which?")
    await client.request("POST", f"/v1/prompts/{prompt.id}/analyze")
    sandbox.finish()
    answers: list[Any] = [
        await client.me(),
        await client.users.list(),
        await client.workspaces.get(workspace),
        await client.workspaces.members(workspace),
        *await client.workspaces.content_statuses(workspace),
        *await client.folders.list(workspace),
        await client.contents.list(workspace),
        await client.contents.publish(sandbox.content_ids[0]),
        await client.pages.list(workspace),
        await client.keywords.list(sandbox.page_ids[0]),
        await client.prompts.get(prompt.id),
        await client.prompts.score(prompt.id, content_id=sandbox.content_ids[0]),
        await client.brand_voices.list(workspace),
        await client.content_ideas.get(search),
        await client.content_ideas.ideas(search),
        await client.credit_usages.list("content_idea_search"),
    ]
    assert [(type(model), dict(model.extra)) for answer in answers for model in parts(answer) if model.extra] == []


def parts(value: Any) -> list[Model]:
    """Return the models in a value, itself included."""
    if isinstance(value, tuple | list):
        return [model for each in value for model in parts(each)]
    return [value, *parts([*vars(value).values()])] if isinstance(value, Model) else []
