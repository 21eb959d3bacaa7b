"""Lists of resources are read in every shape the service may send."""

from __future__ import annotations

import typing
from typing import Any

import pytest

from cmsapi.api.model import Pagination
from cmsapi.api.models.credit_usage import CreditUsage
from cmsapi.api.models.folder import Folder
from cmsapi.api.wire.converter import Converter
from cmsapi.errors import DecodeError

converter = Converter()


def test_a_page_is_read_in_every_shape() -> None:
    """An envelope with and without `pagination`, and a bare list, give the same items."""
    folder = {"id": "f", "name": "n", "depth": 0, "nbAssociatedContents": 0, "parentFolderId": None}
    place = {"total": 1, "page": 1, "limit": 25, "hasMore": False}
    converter = Converter()

    items, pagination = converter.structure_page({"data": [folder], "pagination": place, "links": {}}, Folder)

    assert [Folder(id="f", name="n", depth=0, nb_associated_contents=0)] == items
    assert Pagination(total=1, page=1, limit=25, has_more=False) == pagination
    assert (items, None) == converter.structure_page({"data": [folder]}, Folder)
    assert (items, None) == converter.structure_page([folder], Folder)
    assert [deviation.where for deviation in converter.drift.deviations()] == ["Page.links"]


@pytest.mark.parametrize(
    ("document", "path"),
    [
        (None, "$"),
        ("data", "$"),
        ({}, "$.data"),
        ({"data": {}}, "$.data"),
        ({"data": [{"id": "u"}, None]}, "$.data[1]"),
        ({"data": [{"id": "u"}, {"id": "v", "keyword": {"keyword": 3}}]}, "$.data[1].keyword.keyword"),
    ],
)
def test_a_page_names_the_path(document: object, path: str) -> None:
    """Paths of errors count from the whole body."""
    with pytest.raises(DecodeError) as caught:
        converter.structure_page(document, CreditUsage)

    assert path == caught.value.path


def test_plain_types_are_read_exactly() -> None:
    """Lists of plain values coerce nothing either."""
    assert converter.structure(["a"], list[str]) == ["a"]
    assert converter.structure([1, 1.5], list[float]) == [1, 1.5]
    for type_, document in ((list[str], [None]), (list[int], [3.7]), (list[bool], ["false"])):
        with pytest.raises(DecodeError) as caught:
            converter.structure(document, typing.cast("Any", type_))
        assert caught.value.path == "$[0]"
