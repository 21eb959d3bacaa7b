"""Whether a launch can still be called back.

While it waits for quota, cancelling it costs nothing. Once the transport has it, it may be executed and charged, and
only its answer tells which job that is.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

from cmsapi.core import Core
from cmsapi.transport.http import TellingTransport, Transport
from cmsapi.transport.message import Request, Response


class Departure:
    """Note when a request is handed to the transport.

    Connecting counts as departed too: a transport that cannot tell when bytes leave must be taken at its worst.
    """

    def __init__(self) -> None:
        self.departed = False

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
        self.departure.departed = True
        return await self.carrier.send(request)


class _Telling:
    def __init__(self, carrier: TellingTransport, departure: Departure) -> None:
        self.tells = getattr(carrier, "tells", True)
        self._carrier = carrier
        self._departure = departure

    async def send_telling(self, request: Request, departing: Callable[[], None]) -> Response:
        self._departure.departed = True
        return await self._carrier.send_telling(request, departing)
