"""aioresponses, repaired for aiohttp 3.14 and later, whose responses want a `stream_writer` that it does not give."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest import mock

import aiohttp

from cmsapi.extras import needs

with needs("testing"):
    from aioresponses import aioresponses


class _Repaired(aiohttp.ClientResponse):
    """Be given what aioresponses does not give, where this version of aiohttp takes it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "stream_writer" in inspect.signature(aiohttp.ClientResponse).parameters:
            kwargs.setdefault("stream_writer", SimpleNamespace(output_size=0))
        super().__init__(*args, **kwargs)


@contextmanager
def mocked_aiohttp() -> Iterator[aioresponses]:
    """Answer the requests of aiohttp from a list, for tests that have such lists already.

    It replaces `ClientSession._request`, so that connections, proxies and the connect timeout never play a part. For
    tests of your own the sandbox or a `HandlerTransport` shows more.

    Yields:
        The list: `answers.get(url, payload=…, status=…)`.
    """
    with mock.patch("aioresponses.core.ClientResponse", _Repaired), aioresponses() as answers:
        yield answers
