"""The blocking classes are written from the async ones."""

from __future__ import annotations

import inspect
import re

import pytest

import cmsapi.blocking
from cmsapi.blocking.mirror import Mirror
from tools.blocking.classes import FILES
from tools.blocking.writing import PACKAGE, written

# What only async code has, or is spelt another way.
ONLY_ASYNC = {
    "Client": {"aclose"},
    "Job": {"tracked"},
    "Jobs": {"run", "show"},
    "GenerationReview": {"follow", "on_decided"},
    "Fanout": {"aclose"},
    "AsCompleted": {"aclose"},
    "BatchOutcomes": {"aclose"},
}
SET_BY_INIT = {"Batch": ["name"]}
ONLY_BLOCKING = {"asynchronous", "thread", "mirrors", "copies", "close", "first_page"}


@pytest.mark.parametrize("name", FILES)
def test_the_files_are_fresh(name: str) -> None:
    """`make blocking` would change nothing."""
    assert (PACKAGE / name).read_text() == written(name), "run `make blocking`"


@pytest.mark.parametrize("name", FILES)
def test_no_docstring_speaks_of_coroutines(name: str) -> None:
    """A docstring of the async client that shows `await` needs other words here."""
    text = (PACKAGE / name).read_text().replace("`async def send(request) -> Response`", "")
    for doc in re.findall(r'""".*?"""', text, re.DOTALL):
        assert re.search(r"\basync (?!client)|await|coroutine|(?<!without an )event loop", doc) is None, doc


def public(kind: type) -> set[str]:
    """Return the public names of a class."""
    return {name for name in dir(kind) if not name.startswith("_")}


@pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.__name__) for kind in Mirror.mirrors])
def test_each_class_has_what_the_async_class_has(kind: type) -> None:
    """No public name is forgotten, and none is made up."""
    ours = public(Mirror.mirrors[kind]) - ONLY_BLOCKING
    theirs = (public(kind) | set(SET_BY_INIT.get(kind.__name__, ()))) - ONLY_ASYNC.get(kind.__name__, set())
    assert ours == theirs


def test_each_public_class_of_jobs_and_resources_is_mirrored() -> None:
    """A new class with coroutines is not forgotten."""
    kinds = {**vars(cmsapi.jobs), **vars(cmsapi.resources), "Paginator": cmsapi.Paginator, "Client": cmsapi.Client}
    with_coroutines = {
        kind
        for kind in kinds.values()
        if inspect.isclass(kind)
        and any(inspect.iscoroutinefunction(each) or inspect.isasyncgenfunction(each) for each in vars(kind).values())
    }
    assert with_coroutines
    assert set() == with_coroutines - set(Mirror.mirrors)
