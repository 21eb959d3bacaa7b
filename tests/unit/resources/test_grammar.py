"""One grammar for the methods of all resources, found by introspection: a resource that is added follows it, too."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from typing import Any

import pytest

import cmsapi
from cmsapi.sandbox import Fixed, Sandbox
from tests.support.resources import client_of, resources

pytestmark = pytest.mark.looptime

RESOURCES = resources()
METHODS: dict[str, Callable[..., Any]] = {
    f"{resource}.{name}": each
    for resource, owner in RESOURCES.items()
    for name, each in inspect.getmembers(owner)
    if not name.startswith("_")
}
# Calls read better when these few stay positional; every other argument that can be left out is named.
OPTIONAL_POSITIONAL = {"contents.generate settings", "credit_usages.list type", "keywords.list page_id"}
LISTS = {name: each for name, each in METHODS.items() if "Paginator" in str(inspect.signature(each).return_annotation)}


def parameters_of(name: str) -> list[inspect.Parameter]:
    """Return the parameters of a method without `self`."""
    return list(inspect.signature(METHODS[name]).parameters.values())[1:]


def test_every_resource_is_found() -> None:
    """The walk covers all eleven resources and at least one list of each."""
    assert len(RESOURCES) == 11
    assert {name.partition(".")[0] for name in LISTS} == set(RESOURCES)


@pytest.mark.parametrize("name", METHODS)
def test_a_method_that_sends_is_async_and_a_list_is_plain(name: str) -> None:
    """A list is a plain method that gives a paginator; all else is `async` and gives no list; nothing is a property."""
    method, result = METHODS[name], str(inspect.signature(METHODS[name]).return_annotation)
    assert inspect.isfunction(method)
    assert inspect.iscoroutinefunction(method) is (name not in LISTS)
    assert not inspect.isasyncgenfunction(method)
    if name in LISTS:
        assert name.endswith(("s", ".list"))
    else:
        assert not name.endswith(".list")
        assert not any(word in result for word in ("Iterator", "Iterable", "list[", "tuple[", "Sequence"))


@pytest.mark.parametrize("name", METHODS)
def test_arguments_are_ordered_and_named_alike(name: str) -> None:
    """What a call cannot do without comes first, beginning with an identifier; what it can is named."""
    parameters = parameters_of(name)
    for each in parameters:
        if each.kind is each.POSITIONAL_OR_KEYWORD and each.default is not each.empty:
            assert f"{name} {each.name}" in OPTIONAL_POSITIONAL
        assert each.kind is not each.VAR_POSITIONAL
        assert each.kind is not each.VAR_KEYWORD or "Unpack[" in str(each.annotation)
        assert each.annotation is not each.empty
        assert "Any" not in str(each.annotation)
    required = [each.name for each in parameters if each.default is each.empty and each.kind is not each.VAR_KEYWORD]
    assert all(word.endswith("_id") for word in required[:1])
    assert not {each.name for each in parameters} & {"id", "first", "number", "offset", "per_page", "page_number"}


@pytest.mark.parametrize("name", METHODS)
def test_a_method_says_what_it_costs(name: str) -> None:
    """The documentation of each method counts its requests."""
    assert "request" in (METHODS[name].__doc__ or "")


@pytest.mark.parametrize("name", LISTS)
def test_pages_are_asked_for_alike(name: str) -> None:
    """A list that the service pages takes `page` and `limit` by name, from 1 and of 100; another one takes neither."""
    found = {each.name: each for each in parameters_of(name)}
    assert ("page" in found) is ("limit" in found) is (name not in {"folders.list", "workspaces.content_statuses"})
    if "page" in found:
        assert (found["page"].default, found["limit"].default) == (1, 100)
        assert {found["page"].kind, found["limit"].kind} == {inspect.Parameter.KEYWORD_ONLY}


@pytest.mark.parametrize("name", LISTS)
async def test_every_list_is_the_same_kind_of_thing(name: str) -> None:
    """A list sends nothing when it is made; it gives a page, pages and items, which agree, each time it is asked."""
    sandbox = Sandbox(durations=Fixed(5.0))
    async with client_of(sandbox) as client:
        found = await (await client.content_ideas.search(sandbox.workspace_id, "tents"))
        ids = {
            "workspace_id": sandbox.workspace_id,
            "page_id": sandbox.page_ids[0],
            "keyword_id": sandbox.keyword_ids[0],
            "content_idea_search_id": found.search.id,
        }
        await client.prompts.create(sandbox.keyword_ids[0], "Which tent?")
        resource, method = name.split(".")
        needed = [each for each in parameters_of(name) if each.default is each.empty] or parameters_of(name)[:1]
        arguments = [ids[each.name] for each in needed if each.name in ids]
        before = len(sandbox.ledger)
        paginator = getattr(getattr(client, resource), method)(*arguments)
        assert isinstance(paginator, cmsapi.Paginator)
        assert len(sandbox.ledger) == before
        assert "list_" in repr(paginator)
        first, again = await paginator, await paginator
        pages = [page async for page in paginator.pages()]
        items = [item async for item in paginator]
        assert isinstance(first, cmsapi.Page)
        assert type(pages[0]) is type(first) is type(again)
        assert list(first) == list(again) == list(pages[0])
        assert items == [item for page in pages for item in page] != []
        assert (pages[0].number, pages[-1].has_more, pages[0].total) == (1, False, len(items))
        assert [item async for item in paginator.items(prefetch=1)] == items


def test_the_types_of_lists_are_complete() -> None:
    """Each list names the types of its items and of its pages, and the names can be resolved."""
    for name, method in LISTS.items():
        hints = typing.get_type_hints(method, vars(inspect.getmodule(method)) | {"list": list})
        item, page = typing.get_args(hints["return"])
        assert issubclass(item, cmsapi.Model), name
        assert issubclass(typing.get_origin(page) or page, cmsapi.Page), name


async def test_what_is_no_call_sends_nothing() -> None:
    """Every attribute of the client, of `client.jobs`, of a job and of a list can be read without a request."""
    sandbox = Sandbox()
    async with client_of(sandbox) as client:
        job = await client.keywords.analyze(sandbox.keyword_ids[0])
        before = len(sandbox.ledger)
        for thing in (client, client.jobs, job, client.contents.list(sandbox.workspace_id)):
            for name in dir(type(thing)):
                assert not inspect.isawaitable(each := getattr(thing, name)), each
        assert len(sandbox.ledger) == before
        job.detach()
