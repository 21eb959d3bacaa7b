"""Use aioresponses with aiohttp 3.14 and later, whose responses need a `stream_writer` that it does not pass."""

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


class _Response(aiohttp.ClientResponse):
    """Add the `stream_writer`, if this version of aiohttp has that parameter."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "stream_writer" in inspect.signature(aiohttp.ClientResponse).parameters:
            kwargs.setdefault("stream_writer", SimpleNamespace(output_size=0))
        super().__init__(*args, **kwargs)


@contextmanager
def mocked_aiohttp() -> Iterator[aioresponses]:
    """Answer the requests of aiohttp with aioresponses, for tests that already use it.

    This replaces `ClientSession._request`, so connections, proxies and the connect timeout are not tested. New tests
    can show more with the sandbox or a `HandlerTransport`.

    Yields:
        The answers, to add to: `answers.get(url, payload=…, status=…)`.
    """
    with mock.patch("aioresponses.core.ClientResponse", _Response), aioresponses() as answers:
        yield answers
