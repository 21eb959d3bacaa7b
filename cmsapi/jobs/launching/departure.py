"""Whether a launch can still be called back.

While it waits for quota, cancelling it costs nothing. Once the transport has it, it may be executed and charged, and
only its answer tells which job that is. When it was not sent, or answered with 429, nothing happened: until the next
try it can be called back again.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable

import attrs

from cmsapi.errors import LeaseLostError, NotSentError
from cmsapi.transport.caller import OperationCaller
from cmsapi.transport.http import SendAwareTransport, Transport
from cmsapi.transport.message import Request, Response


class Departure:
    """Note when a request is handed to the transport.

    Connecting counts as departed too: a transport that cannot tell when bytes leave must be taken at its worst.
    """

    def __init__(self) -> None:
        self.departed: bool = False
        #: Awaited before each request is handed over; what it raises keeps the request here.
        self.before: Callable[[], Awaitable[None]] | None = None
        #: Awaited when a request was certainly not executed.
        self.undone: Callable[[], Awaitable[None]] | None = None
        #: Loop time at which the first request that may have been executed left, or None.
        self.left_at: float | None = None
        #: Loop time after which the last such request can no longer arrive, or None.
        self.settles_at: float | None = None
        #: Seconds within which what has left may still take effect, counted from when its attempt was over; or None.
        self.commits: float | None = None
        #: Loop time after which no byte may leave any more, because others may have taken it for dead.
        self.until: float = math.inf

    async def answer(self, send: Callable[[], Awaitable[Response]]) -> Response:
        """Send and wait for an answer; one that says that nothing happened lets the launch be called back again."""
        if self.before is not None:
            await self.before()
        self.departed = True
        try:
            response = await send()
        except (NotSentError, LeaseLostError):
            await self._stays()
            raise
        finally:
            self._is_over()
        if response.status == 429:
            await self._stays()
        return response

    def _is_over(self) -> None:
        """Count from now when the request can no longer arrive: no byte of it leaves any more."""
        if self.commits is not None and self.settles_at is not None:
            self.settles_at = min(self.settles_at, asyncio.get_running_loop().time() + self.commits)

    def depart(self, departing: Callable[[], None]) -> None:
        """Let the first byte leave, unless it comes too late.

        Raises:
            LeaseLostError: It does; nothing was sent.
        """
        if asyncio.get_running_loop().time() > self.until:
            raise LeaseLostError(
                "This process stood still between writing a launch down and sending it, for so long that another one "
                "may have sent it instead. Nothing was sent here; launch again to join it."
            )
        departing()

    async def _stays(self) -> None:
        self.departed = False
        if self.undone is not None:
            await self.undone()

    def watching(self, caller: OperationCaller) -> OperationCaller:
        """Return a core whose requests are noted here."""
        carrier = caller.pipeline.transport
        noted = _Telling(carrier, self) if isinstance(carrier, SendAwareTransport) else _Plain(carrier, self)
        return attrs.evolve(caller, pipeline=attrs.evolve(caller.pipeline, transport=noted))


@attrs.frozen
class _Plain:
    carrier: Transport
    departure: Departure

    async def send(self, request: Request) -> Response:
        return await self.departure.answer(lambda: self.carrier.send(request))


class _Telling:
    def __init__(self, carrier: SendAwareTransport, departure: Departure) -> None:
        self._carrier = carrier
        self._departure = departure

    async def send_aware(self, request: Request, departing: Callable[[], None]) -> Response:
        departure = self._departure
        return await departure.answer(lambda: self._carrier.send_aware(request, lambda: departure.depart(departing)))
