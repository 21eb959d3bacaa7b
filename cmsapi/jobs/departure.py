"""Whether a launch can still be called back.

While it waits for quota, cancelling it costs nothing. Once the transport has it, it may be executed and charged, and
only its answer tells which job that is. When it was not sent, or answered with 429, nothing happened: until the next
try it can be called back again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import attrs

from cmsapi.core import Core
from cmsapi.errors import NotSentError
from cmsapi.transport.http import TellingTransport, Transport
from cmsapi.transport.message import Request, Response


class Departure:
    """Note when a request is handed to the transport.

    Connecting counts as departed too: a transport that cannot tell when bytes leave must be taken at its worst.
    """

    def __init__(self) -> None:
        self.departed: bool = False

    async def answer(self, sending: Awaitable[Response]) -> Response:
        """Wait for an answer; one that says that nothing happened lets the launch be called back again."""
        self.departed = True
        try:
            response = await sending
        except NotSentError:
            self.departed = False
            raise
        if response.status == 429:
            self.departed = False
        return response

    def watching(self, core: Core) -> Core:
        """Return a core whose requests are noted here."""
        carrier = core.pipeline.transport
        noted = _Telling(carrier, self) if isinstance(carrier, TellingTransport) else _Plain(carrier, self)
        return attrs.evolve(core, pipeline=attrs.evolve(core.pipeline, transport=noted))


@attrs.frozen
class _Plain:
    carrier: Transport
    departure: Departure

    async def send(self, request: Request) -> Response:
        return await self.departure.answer(self.carrier.send(request))


class _Telling:
    def __init__(self, carrier: TellingTransport, departure: Departure) -> None:
        self._carrier = carrier
        self._departure = departure

    async def send_telling(self, request: Request, departing: Callable[[], None]) -> Response:
        return await self._departure.answer(self._carrier.send_telling(request, departing))
