"""What a newcomer guesses wrong: each message says what to write instead, and that nothing was sent."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import cmsapi
from cmsapi.sandbox import Sandbox

pytestmark = pytest.mark.looptime

Guess = Callable[[cmsapi.Client], Any]

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
    "edit with the new values": (
        lambda c: c.contents.edit("cnt_1", {"title": "T"}),  # type: ignore[arg-type]
        "lambda content: {'title': 'New'}",
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
