"""Small documents of a state, by name: the same promises in memory, on SQLite, on Redis and on Postgres."""

from __future__ import annotations

import asyncio

import pytest

from cmsapi.state.store import State


@pytest.mark.enable_socket
async def test_small_documents(state: State, other: State) -> None:
    """The first writer wins; a writer that has read what stands may replace it; equal values are equal in any order."""
    assert await state.get_document("scope", "salt") is None
    won = await asyncio.gather(
        *(each.compare_and_set("scope", "salt", None, f"salt {n}") for n, each in enumerate((state, other) * 5))
    )
    assert len(set(won)) == 1
    assert await other.get_document("scope", "salt") == won[0]
    first = {"cells": [1, 0.5], "seen": 3}
    assert await state.compare_and_set("scope", "durations", None, first) == first
    second = {"seen": 4, "cells": [2, 0.25]}
    assert await other.compare_and_set("scope", "durations", {"seen": 3, "cells": [1, 0.5]}, second) == second
    assert await state.compare_and_set("scope", "durations", first, {"lost": True}) == second
    assert await state.compare_and_set("scope", "durations", second, second) == second
    assert await state.compare_and_set("another", "durations", None, first) == first
    assert await state.compare_and_set("scope", "durations", second, None) is None
    assert await other.get_document("scope", "durations") is None
