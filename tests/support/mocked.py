"""aioresponses, repaired for aiohttp 3.14, whose responses want a `stream_writer` that it does not give."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest import mock

import aiohttp
from aioresponses import aioresponses


class Repaired(aiohttp.ClientResponse):
    """Be given what aioresponses does not give."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, stream_writer=SimpleNamespace(output_size=0), **kwargs)  # type: ignore[arg-type]


@contextmanager
def mocked() -> Iterator[aioresponses]:
    """Answer the requests of aiohttp from a list.

    It replaces `ClientSession._request`: middlewares, timeouts and connections never run. For decoding and errors only.
    """
    with mock.patch("aioresponses.core.ClientResponse", Repaired), aioresponses() as answers:
        yield answers
