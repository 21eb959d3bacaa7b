"""Requests as they are written for the wire."""

from __future__ import annotations

import pytest

from cmsapi.errors import ArgumentError
from cmsapi.transport.requests import query_string


def test_a_query_is_written_for_the_wire() -> None:
    """A blank is %20, a list is repeated with brackets, and what is None is not there; what cannot be sent is named."""
    assert query_string({"q": "a b/c", "no": None, "id": ["x y", "z"], "yes": True}) == (
        "q=a%20b%2Fc&id%5B%5D=x%20y&id%5B%5D=z&yes=true"
    )
    for values in ({"q": "\ud800"}, {"q": ["a", "\ud800"]}):
        with pytest.raises(ArgumentError, match=r"^`q` must be Unicode text, got half a surrogate pair") as caught:
            query_string(values)
        assert caught.value.parameter == "q"
