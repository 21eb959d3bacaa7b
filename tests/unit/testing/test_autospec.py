"""Mocks that ``unittest.mock.create_autospec`` makes of the client."""

from __future__ import annotations

from typing import Any
from unittest.mock import AsyncMock, NonCallableMock, create_autospec

import pytest

from cmsapi import Client, Keyword
from cmsapi.sandbox import Sandbox


@pytest.fixture(params=["instance", "class"])
def mock(request: pytest.FixtureRequest) -> Any:
    """Return a mock client, created in each of the two ways."""
    return create_autospec(Client, instance=True) if request.param == "instance" else create_autospec(Client)("sk_1")


async def test_methods_of_resources_are_asynchronous_mocks(mock: Any) -> None:
    """They return what the test specifies, and record the call."""
    mock.keywords.get.return_value = Keyword(id="kwd_1")
    assert (await mock.keywords.get("kwd_1")).id == "kwd_1"
    mock.keywords.get.assert_awaited_once_with("kwd_1")
    assert isinstance(mock.jobs.run, AsyncMock)


async def test_a_list_is_iterated(mock: Any) -> None:
    """A list's items are set as for any asynchronous iterator."""
    mock.keywords.list.return_value.__aiter__.return_value = [Keyword(id="kwd_1")]
    assert [keyword.id async for keyword in mock.keywords.list("pag_1")] == ["kwd_1"]


def test_arguments_and_names_are_checked(mock: Any) -> None:
    """A call that the client would not accept fails with the mock, too."""
    with pytest.raises(TypeError):
        mock.keywords.analyze()
    with pytest.raises(TypeError):
        mock.jobs.map(mock.keywords.analyze, [], in_flights=3)
    with pytest.raises(AttributeError):
        _ = mock.keywords.analyse


def test_each_resource_of_a_client_is_mocked(sandbox: Sandbox, mock: Any) -> None:
    """Each of a client's resources exists in its mock, with the same class."""
    client = Client(sandbox.api_key, base_url=sandbox.base_url, transport=sandbox.transport)
    names = [name for name in vars(client) if not name.startswith("_")]
    assert len(names) == 12
    for name in names:
        assert isinstance(getattr(mock, name), type(getattr(client, name)))
        assert isinstance(getattr(mock, name), NonCallableMock)
