"""What a newcomer guesses wrong: each message says what to write instead, and that nothing was sent."""

from __future__ import annotations

import gc
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import cmsapi
import cmsapi.blocking  # its classes give advice, too
from cmsapi.guesses import CLIENT_PARAMETERS, MAP_PARAMETERS, RESULT_PARAMETERS
from cmsapi.sandbox import Sandbox

pytestmark = pytest.mark.looptime

Guess = Callable[[cmsapi.Client], Any]


def table() -> Any:
    """Return a table with identifiers."""
    return pytest.importorskip("pandas").DataFrame({"id": ["kwd_1"]})


# The guess, and what its message says.
GUESSES: dict[str, tuple[Guess, str]] = {
    "map of a call": (
        lambda c: c.jobs.map(c.keywords.analyze("kwd_1"), ["kwd_1"]),  # type: ignore[arg-type]
        "without parentheses.* client.jobs.map(client.keywords.analyze, keyword_ids)",
    ),
    "map with its arguments swapped": (
        lambda c: c.jobs.map(["kwd_1"], c.keywords.analyze),  # type: ignore[arg-type]
        "client.jobs.map(client.keywords.analyze, keyword_ids)",
    ),
    "map over a whole table": (
        lambda c: c.jobs.map(c.keywords.analyze, table()),
        "`items` must be a list or another iterable, got DataFrame. Pass one column, such as frame['id'].",
    ),
    "a batch over a whole table": (
        lambda c: c.jobs.batch("nightly").map(c.keywords.analyze, table()),
        "got DataFrame. Pass one column, such as frame['id'].",
    ),
    "a batch over one identifier": (
        lambda c: c.jobs.batch("nightly").map(c.keywords.analyze, "kwd_1"),
        "`items` must be a list or another iterable, got 'kwd_1'.",
    ),
    "edit with the new values": (
        lambda c: c.contents.edit("cnt_1", {"title": "T"}),  # type: ignore[arg-type]
        "lambda content: {'title': 'New'}",
    ),
    "gather of a list": (
        lambda c: c.jobs.gather([]),  # type: ignore[arg-type]
        "got list. `client.jobs.gather(*jobs)` takes the jobs of a list.",
    ),
    "an identifier as a token": (lambda c: c.jobs.attach("kwd_1"), "`client.jobs.watch(kind, id)`"),
    "a document of nothing": (
        lambda c: c.knowledge_documents.create("wsp_1", "brief"),  # type: ignore[call-overload]
        "Exactly one of `text` and `url` must be given, got neither.",
    ),
    "an empty identifier": (lambda c: c.keywords.analyze(""), "`keyword_id` must not be empty, got ''."),
}


@pytest.mark.parametrize("name", GUESSES)
async def test_a_wrong_argument_tells_the_right_one(client: cmsapi.Client, sandbox: Sandbox, name: str) -> None:
    """The message shows the right call; no coroutine is left behind for Python to complain about."""
    guess, advice = GUESSES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(cmsapi.ArgumentError) as caught:
            await guess(client)
        gc.collect()
    for part in (*advice.split(".* "), "Nothing was sent."):
        assert part in str(caught.value)
    assert len(sandbox.ledger) == 0


@pytest.mark.parametrize(
    ("key", "advice"),
    [("https://api.example.com", "pass it as `base_url`"), ("Bearer sk_live_1", "Leave 'Bearer' out")],
)
def test_a_key_of_another_place_tells_the_right_one(key: str, advice: str) -> None:
    """An address and a whole header are common in the place of the key; the message does not repeat them."""
    with pytest.raises(cmsapi.ConfigError, match=advice) as caught:
        cmsapi.Client(key)
    assert key not in str(caught.value)


async def test_a_resource_that_does_not_exist_is_shown(client: cmsapi.Client) -> None:
    """Swapped arguments show in the address of the request, which the message has."""
    with pytest.raises(cmsapi.NotFoundError, match=r"The request was POST https://.*/v1/workspaces/kitchen/"):
        await client.content_ideas.search("kitchen", "wsp_1")


async def test_a_conflict_of_two_editors_names_edit(client: cmsapi.Client, sandbox: Sandbox) -> None:
    """The message of a stale version tells which method takes care of versions; it says nothing about the route."""
    content = await client.contents.get(sandbox.content_ids[0])
    await client.contents.update(content.id, content.version, title="Of one")
    with pytest.raises(cmsapi.ConflictError, match=r"`contents\.edit` reads the content") as caught:
        await client.contents.update(content.id, content.version, title="Of the other")
    assert "is assumed" not in str(caught.value)


@pytest.mark.parametrize(
    ("guess", "advice"),
    [
        (lambda c: c.credits, r"'credits'. Use \(await client.me\(\)\).organization.credits"),
        (lambda c: c.close, r"'close'. Use await client.aclose\(\)"),
        (lambda c: c.jobs.get, r"Use client.jobs.attach\(token\)."),
        (lambda c: c.keywords.update, "'Keywords' object .* It has analyze, create, get, list, score."),
        (lambda c: c.knowledge_documents.upload, r"Use create\(workspace_id, name, text="),
        (lambda c: c.users.list().first, r"Use \(await "),
        (lambda c: cmsapi.Page(items=(1,)).data, "Use page.items"),  # type: ignore[attr-defined]
        (lambda c: cmsapi.Keyword(id="kwd_1").text, "It has .*, keyword, "),  # type: ignore[attr-defined]
        (lambda c: cmsapi.RateLimitError, "'RateLimitError'. Use RateLimitedError."),  # type: ignore[attr-defined]
    ],
)
async def test_a_guessed_name_tells_the_right_one(client: cmsapi.Client, guess: Guess, advice: str) -> None:
    """The error of a name that does not exist gives the one that was meant, or all that there are."""
    with pytest.raises(AttributeError, match=advice) as caught:
        guess(client)
    assert caught.value.name is not None
    assert caught.value.obj is not None


@pytest.mark.parametrize(
    ("guess", "advice"),
    [
        ({"max_retries": 3}, r"'max_retries'\. Use retry=cmsapi\.RetryPolicy\(max_attempts=…\)"),
        ({"timeout": 3}, r"Use timeouts=cmsapi\.Timeouts\(request=…\)"),
        ({"colour": "red"}, "unexpected keyword argument 'colour'$"),
    ],
)
@pytest.mark.parametrize("kind", [cmsapi.Client, cmsapi.blocking.Client])
def test_a_guessed_parameter_tells_the_right_one(kind: type, guess: dict[str, Any], advice: str) -> None:
    """Parameters of other libraries are answered with the one that does that here; others fail as ever."""
    with pytest.raises(TypeError, match=advice):
        kind("sk_1", **guess)


async def test_a_guessed_parameter_of_a_fan_out_tells_the_right_one(client: cmsapi.Client) -> None:
    """The bound of a pool is called `in_flight` here."""
    with pytest.raises(TypeError, match=r"'concurrency'\. Use in_flight=…"):
        client.jobs.map(client.keywords.analyze, ["kwd_1"], concurrency=5)  # type: ignore[call-arg]


@pytest.mark.parametrize("kind", [cmsapi.Job, cmsapi.blocking.Job])
def test_a_result_with_a_timeout_is_a_wait(kind: Any) -> None:
    """Futures of threads wait in `result(timeout=)`; jobs do in `wait(timeout=)`."""
    with pytest.raises(TypeError, match=r"'timeout'\. Use wait\(timeout=…\)\."):
        kind.result(None, timeout=5)


def test_each_guessed_parameter_is_one_that_is_missing() -> None:
    """A parameter that comes to exist takes its advice along."""
    for function, meant in (
        (cmsapi.Client.__init__, CLIENT_PARAMETERS),
        (cmsapi.Client.with_options, CLIENT_PARAMETERS),
        (cmsapi.Jobs.map, MAP_PARAMETERS),
        (cmsapi.Job.result, RESULT_PARAMETERS),
    ):
        assert not inspect.signature(function).parameters.keys() & meant.keys()


def test_a_client_without_async_is_shown_both_ways() -> None:
    """A plain `with` tells of `async with` and of the blocking client."""
    client: Any = cmsapi.Client("sk_1", base_url="https://api.example.com")
    with pytest.raises(TypeError, match=r"`async with cmsapi\.Client.*`with cmsapi\.blocking\.Client"), client:
        pass


async def test_private_names_fail_as_ever(client: cmsapi.Client) -> None:
    """Python, copies and notebooks ask objects for names of their own, and get no advice."""
    with pytest.raises(AttributeError, match=r"'Client' object has no attribute '_ipython_display_'$"):
        client._ipython_display_  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("guess", [lambda users: users[0], list, lambda users: next(iter(users))])
async def test_a_list_is_awaited_before_it_is_indexed(client: cmsapi.Client, guess: Callable[[Any], Any]) -> None:
    """Each page is a request: without an `await`, a list has no first item, and the message says so."""
    with pytest.raises(TypeError, match="`async for item in …`, or its first page with `await`"):
        guess(client.users.list())


def test_each_advice_is_about_a_name_that_is_missing() -> None:
    """A name that comes to exist takes its advice along."""
    from cmsapi.guesses import MEANT

    for owner, names in MEANT.items():
        place = cmsapi if owner == "cmsapi" else owners()[owner]
        assert not {name for name in names if name in dir(place)}


def owners() -> dict[str, type]:
    """Return the classes that give advice."""
    from cmsapi.guesses import Hinting

    found: list[type] = [Hinting]
    for each in found:
        found.extend(each.__subclasses__())
    blocking = "cmsapi.blocking."
    return {f"{'blocking.' * each.__module__.startswith(blocking)}{each.__name__}": each for each in found}
