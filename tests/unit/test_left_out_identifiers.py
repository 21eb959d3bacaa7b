"""An identifier is required only of what is asked for by it: services leave others out, or write them as numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

import cmsapi
from cmsapi.sandbox import Fixed, Sandbox

pytestmark = pytest.mark.looptime

NAMES = {
    "missing": lambda document: {name: value for name, value in document.items() if name != "id"},
    "null": lambda document: {**document, "id": None},
    "a number": lambda document: {**document, "id": 17},
    "an object": lambda document: {**document, "id": {"$oid": "17"}},
}
# A whole number is read as its text.
READ = {"missing": None, "null": None, "a number": "17", "an object": None}
# What the SDK itself asks by: these answers name a job, or a content and a web page.
NEEDED = ("POST content-idea-searches", "POST contents", "POST pages", "POST knowledge-documents")


@attrs.define
class Nameless:
    """Be a service in whose answers nothing but what is asked for by it has an identifier as specified."""

    sandbox: Sandbox
    change: Callable[[dict[str, Any]], dict[str, Any]]

    async def send(self, request: cmsapi.Request) -> cmsapi.Response:
        """Pass a request on, and change the identifiers in its answer."""
        response = await self.sandbox.transport.send(request)
        last = request.url.partition("?")[0].rpartition("/")[2]
        if not response.body or response.status >= 400 or f"{request.method} {last}" in NEEDED:
            return response
        document = self._changed(json.loads(response.body))
        return attrs.evolve(response, body=json.dumps(document).encode())

    def _changed(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._changed(each) for each in value]
        if not isinstance(value, dict):
            return value
        inner = {name: self._changed(each) for name, each in value.items()}
        return self.change(inner) if "id" in inner and not _is_asked_for(inner) else inner


def _is_asked_for(document: dict[str, Any]) -> bool:
    whole = {"websiteUrl", "createdAt"} <= document.keys() or "htmlSanitized" in document or "wordsCount" in document
    return whole or "nbAssociatedContents" in document or {"url", "title"} <= document.keys()


def client_of(sandbox: Sandbox, change: Callable[[dict[str, Any]], dict[str, Any]]) -> cmsapi.Client:
    """Make a client of the service that changes identifiers so."""
    return cmsapi.Client(sandbox.api_key, base_url=sandbox.base_url, transport=Nameless(sandbox, change))


@pytest.mark.parametrize("odd", NAMES)
async def test_jobs_end_with_their_results(odd: str) -> None:
    """Each kind of job is launched, polled and read, although neither its polls nor its results name anything."""
    sandbox = Sandbox(durations=Fixed(20.0), keywords=2, contents=2)
    async with client_of(sandbox, NAMES[odd]) as client:
        ideas = await client.jobs.run(client.content_ideas.search(sandbox.workspace_id, "hats"))
        assert (len(ideas), {idea.id for idea in ideas}) == (ideas.search.nb_content_ideas, {READ[odd]})
        keyword = await client.jobs.run(client.keywords.analyze(sandbox.keyword_ids[0]))
        assert keyword.id == READ[odd]
        assert keyword.analysis_status == "success"
        review = await client.jobs.run(client.contents.generate(sandbox.content_ids[0]))
        assert (review.generation.id, review.generation.status) == (READ[odd], "review")
        assert (await review.confirm()).html
        made = client.knowledge_documents.create(sandbox.workspace_id, "Sizes", text="S to XL")
        assert (await client.jobs.run(made)).status == "success"
        assert client.statistics.drift


@pytest.mark.parametrize("odd", NAMES)
async def test_lists_are_read(odd: str) -> None:
    """Lists of keywords, prompts, members, usages and contents are read, and give their documents back."""
    sandbox = Sandbox(durations=Fixed(20.0))
    async with client_of(sandbox, NAMES[odd]) as client:
        me = await client.me()
        await client.jobs.run(client.keywords.analyze(sandbox.keyword_ids[0]))
        await client.prompts.create(sandbox.keyword_ids[0], "Which hat is warm?")
        lists: tuple[Any, ...] = (
            client.keywords.list(sandbox.page_ids[0]),
            client.prompts.list(sandbox.keyword_ids[0]),
            client.users.list(),
            client.workspaces.members(sandbox.workspace_id),
            client.workspaces.content_statuses(sandbox.workspace_id),
            client.credit_usages.list("analysis"),
        )
        for listed in lists:
            found = await listed
            assert len(found) > 0
            for each in (me, *found):
                assert each.id == READ[odd]
                assert each.extra.get("id") == NAMES[odd]({"id": "x"}).get("id")
                assert cmsapi.to_dict(each).get("id", "missing") == NAMES[odd]({"id": "x"}).get("id", "missing")
        contents = await client.contents.list(sandbox.workspace_id)
        assert all(content.id and content.page and content.page.id == READ[odd] for content in contents)
        where = {deviation.where for deviation in client.statistics.drift}
    assert where >= {f"{model}.id" for model in ("Keyword", "Prompt", "Member", "CreditUsage", "UserRef", "User")}


async def test_a_document_without_an_identifier_is_no_job() -> None:
    """A job whose target happens to be called like nothing learns nothing from documents that name nothing."""
    sandbox = Sandbox(durations=Fixed(20.0))
    async with client_of(sandbox, NAMES["missing"]) as client:
        await client.jobs.run(client.keywords.analyze(sandbox.keyword_ids[0]))
        job = client.jobs.watch("keyword_analysis", "None")
        job.on(cmsapi.Observed, lambda _: None)
        await client.keywords.list(sandbox.page_ids[0])
        assert (job.status.state, job.name) == (None, None)
        job.detach()


@pytest.mark.parametrize("odd", [odd for odd in NAMES if READ[odd] is None])
async def test_what_is_asked_for_by_its_identifier_needs_one(odd: str) -> None:
    """A content or a new knowledge document without an identifier is an error that names the place."""

    class Odd:
        async def send(self, _: cmsapi.Request) -> cmsapi.Response:
            body = NAMES[odd]({"id": "x", "title": "Hats", "name": "Sizes", "status": "pending"})
            return cmsapi.Response(200, {}, json.dumps(body).encode())

    async with cmsapi.Client("sk_1", base_url="https://odd.example.com", transport=Odd()) as client:
        for call in (
            client.contents.create("wsp_1", "Hats"),
            client.knowledge_documents.create("wsp_1", "Sizes", text="S to XL"),
        ):
            with pytest.raises(cmsapi.DecodeError) as caught:
                await call
            assert caught.value.path == "$.id"


class Numbered:
    """Be a service that names everything by numbers."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.names: list[str] = []

    async def send(self, request: cmsapi.Request) -> cmsapi.Response:
        """Pass a request on by the sandbox's names, and give the answer with numbers."""
        url = re.sub(r"(?<=/)\d+(?=/|$|\?)", lambda found: self.names[int(found[0])], request.url)
        response = await self.sandbox.transport.send(attrs.evolve(request, url=url))
        if not response.body or response.status >= 400:
            return response
        return attrs.evolve(response, body=json.dumps(self.numbered(json.loads(response.body))).encode())

    def numbered(self, value: Any, key: str = "") -> Any:
        """Put numbers into the places of names."""
        if isinstance(value, list):
            return [self.numbered(each) for each in value]
        if isinstance(value, dict):
            return {name: self.numbered(each, name) for name, each in value.items()}
        return self.number(value) if isinstance(value, str) and (key == "id" or key.endswith("Id")) else value

    def number(self, name: str) -> int:
        """Return the number of a name."""
        if name not in self.names:
            self.names.append(name)
        return self.names.index(name)


@pytest.mark.parametrize("kind", ["keyword_analysis", "prompt_analysis", "idea_search", "generation"])
async def test_numbers_name_jobs(kind: str, tmp_path: Path) -> None:
    """A job of each kind is launched once, polled, and found again, by the text of its number."""
    sandbox = Sandbox(durations=Fixed(20.0))
    service = Numbered(sandbox)
    state = f"sqlite:///{tmp_path}/state.db"
    async with cmsapi.Client(sandbox.api_key, base_url=sandbox.base_url, transport=service, state=state) as client:
        match kind:
            case "keyword_analysis":
                job: Any = await client.keywords.analyze(str(service.number(sandbox.keyword_ids[0])))
            case "prompt_analysis":
                job = await client.prompts.analyze(str(service.number(sandbox.prompt_ids[0])))
            case "idea_search":
                job = await client.content_ideas.search(str(service.number(sandbox.workspace_id)), "hats")
            case _:
                job = await client.contents.generate(str(service.number(sandbox.content_ids[0])))
        assert job.id.isdecimal()
        async with cmsapi.Client(sandbox.api_key, base_url=sandbox.base_url, transport=service, state=state) as other:
            (recovered,) = await other.jobs.journal()
            assert recovered.token == job.token
            found = client.jobs.attach(job.token)
            assert found.id == job.id
        result = await job
        for document in result if kind == "idea_search" else [getattr(result, "generation", result)]:
            assert document.id.isdecimal()
            assert str(cmsapi.to_dict(document)["id"]) == document.id != cmsapi.to_dict(document)["id"]
        folders = await client.folders.list(str(service.number(sandbox.workspace_id)))
        assert {folder.parent_folder_id for folder in folders} - {None} <= {folder.id for folder in folders}
    assert len(sandbox.ledger.launches()) == 1
