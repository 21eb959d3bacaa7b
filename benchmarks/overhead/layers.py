"""One call of this package, each row with one layer more around the row before."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import cmsapi
from benchmarks.overhead.contestants import BARE, CONTESTANTS, ID, Call, Open, client_of
from cmsapi.api.models.content import Content
from cmsapi.transport.call import CallOptions

_PARAMETERS = {"contentId": ID}


def _layer(make: Callable[[cmsapi.Client], Call]) -> Open:
    @contextlib.asynccontextmanager
    async def opened(url: str) -> AsyncIterator[Call]:
        async with client_of(url) as client:
            # Grown, so that the documents that are read are shown to jobs.
            await client.contents.get(ID)
            yield make(client)

    return opened


def _transport(client: cmsapi.Client) -> Call:
    caller = client._caller
    transport: Any = caller.pipeline.transport
    request = caller.builder.build("GET", f"/v1/contents/{ID}")
    return lambda: transport.send_aware(request, lambda: None)


def _turn(client: cmsapi.Client) -> Call:
    caller = client._caller
    transport: Any = caller.pipeline.transport
    request = caller.builder.build("GET", f"/v1/contents/{ID}")

    async def call() -> object:
        limiter = caller.open()
        permit = await limiter.acquire()

        def departing() -> None:
            permit.stage = "departed"

        answer = await transport.send_aware(request, departing)
        limiter.end(permit, "answered")
        return answer

    return call


def _sent(client: cmsapi.Client) -> Call:
    caller = client._caller
    request, operation, options = (
        caller.builder.build("GET", f"/v1/contents/{ID}"),
        caller.operations["get_content"],
        CallOptions(),
    )
    return lambda: caller.pipeline.send(operation, request, options, caller.open())


def _built(client: cmsapi.Client) -> Call:
    return lambda: client._caller.exchange("get_content", _PARAMETERS)


def _read(client: cmsapi.Client) -> Call:
    caller = client._caller

    async def call() -> object:
        return caller.read(await caller.exchange("get_content", _PARAMETERS), Content)

    return call


LAYERS: dict[str, Open] = {
    BARE: CONTESTANTS[BARE],
    "its transport: own headers, bounded body, told when bytes leave": _layer(_transport),
    "and a turn of the limiter": _layer(_turn),
    "and the loop of attempts: times, limit headers, the service's clock, JSON": _layer(_sent),
    "and the operation's row, path, request": _layer(_built),
    "and the model": _layer(_read),
    "and jobs that poll for free: the whole call": _layer(lambda client: lambda: client.contents.get(ID)),
}
