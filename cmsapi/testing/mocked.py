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
from cmsapi.transport.http import DEPARTING

with needs("testing"):
    from aioresponses import aioresponses


class _Response(aiohttp.ClientResponse):
    """Add the `stream_writer`, if this version of aiohttp has that parameter."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "stream_writer" in inspect.signature(aiohttp.ClientResponse).parameters:
            kwargs.setdefault("stream_writer", SimpleNamespace(output_size=0))
        super().__init__(*args, **kwargs)


class _Answers(aioresponses):
    """Say that a mocked request has left, so that an exception instead of its answer is a lost answer."""

    async def _request_mock(self, *arguments: Any, **named: Any) -> aiohttp.ClientResponse:
        try:
            response = await super()._request_mock(*arguments, **named)
        except Exception as error:
            # With just this class aioresponses refuses a request for which no answer was added.
            if type(error) is not aiohttp.ClientConnectionError:
                DEPARTING.get()()
            raise
        DEPARTING.get()()
        return response


@contextmanager
def mocked_aiohttp() -> Iterator[aioresponses]:
    """Answer the requests of aiohttp with aioresponses, for tests that already use it.

    This replaces `ClientSession._request`, so connections, proxies and the connect timeout are not tested. New tests
    can show more with the sandbox or a `HandlerTransport`. An `exception=` acts as a lost answer, but for a
    `ClientConnectorError`: then nothing was sent.

    Yields:
        The answers, to add to: `answers.get(url, payload=…, status=…)`.
    """
    with mock.patch("aioresponses.core.ClientResponse", _Response), _Answers() as answers:
        yield answers
