"""Send requests with aiohttp; the only module that imports its client.

aiohttp is loaded with the first transport, not with the package: it is most of the import time.
"""

from __future__ import annotations

import ssl as ssl_module
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from cmsapi.config import Timeouts
from cmsapi.errors import ConfigError, NotSentError, OutcomeUnknownError
from cmsapi.transport.message import Headers, Request, Response

if TYPE_CHECKING:
    import aiohttp

# A connection that idled longer may be closed at the other end, and a request on it would get no answer:
# for a paid launch that is the commonest way not to know whether it happened.
KEEP_ALIVE = 5.0


class Transport(Protocol):
    """Carry one request to the service and bring its answer back.

    A transport raises `NotSentError` when nothing has left this machine and `OutcomeUnknownError` when a request was
    sent and got no answer; any `OSError` counts as the latter. It may have `async def aclose(self) -> None`.
    """

    async def send(self, request: Request) -> Response:
        """Send a request and return its answer, whatever its status."""
        ...


@runtime_checkable
class TellingTransport(Protocol):
    """Carry requests and tell when their bytes may leave, so that connecting does not count as being under way."""

    async def send_telling(self, request: Request, departing: Callable[[], None]) -> Response:
        """Send a request, calling `departing` just before its first byte may leave."""
        ...


class AiohttpTransport:
    """Send requests over a pool of connections.

    Args:
        timeouts: How long to wait for a connection; the request timeout is kept by the caller.
        session: A session to use instead of an own one; it is not closed here, and it cannot tell when bytes leave.
            Its middlewares are not used.
        proxy: Proxy URL.
        ssl: TLS context, for private certificate authorities or client certificates.
        trust_env: Read proxies from the environment; makes every request several times as expensive.

    Raises:
        ConfigError: `ssl` is not a context; verification cannot be switched off by a flag.
    """

    def __init__(
        self,
        timeouts: Timeouts,
        *,
        session: aiohttp.ClientSession | None = None,
        proxy: str | None = None,
        ssl: ssl_module.SSLContext | None = None,
        trust_env: bool = False,
    ) -> None:
        import aiohttp

        if ssl is not None and not isinstance(ssl, ssl_module.SSLContext):
            raise ConfigError("ssl is an ssl.SSLContext; to trust a private authority, load it into a context.")
        self._aiohttp = aiohttp
        self._given = session
        self._session = session
        self._trust_env = trust_env
        self._options: dict[str, Any] = {
            "allow_redirects": False,
            "timeout": aiohttp.ClientTimeout(total=None, connect=timeouts.connect),
            "middlewares": (self._send_once,),
        }
        if proxy is not None:
            self._options["proxy"] = proxy
        if ssl is not None:
            self._options["ssl"] = ssl

    async def send_telling(self, request: Request, departing: Callable[[], None]) -> Response:
        """Send a request, calling `departing` just before its first byte may leave.

        Raises:
            NotSentError: Nothing has left this machine.
            OutcomeUnknownError: The request may have reached the service, and no whole answer came.
        """
        from yarl import URL

        aiohttp = self._aiohttp
        flight = SimpleNamespace(departed=self._session is self._given and self._given is not None)

        def depart() -> None:
            flight.departed = True
            departing()

        try:
            async with self._open_session().request(
                request.method,
                URL(request.url, encoded=True),
                headers=request.headers,
                data=request.body,
                trace_request_ctx=depart,
                **self._options,
            ) as answer:
                body = await answer.read()
                return Response(answer.status, Headers(iter(answer.headers.items())), body)
        except (aiohttp.ClientError, _DroppedError, OSError) as error:
            # By type and by what has left, never by a status: aiohttp calls a garbage status line a 400.
            cause = error.__cause__ if isinstance(error, _DroppedError) else error
            said = type(cause).__name__
            never_sent = isinstance(cause, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError)
            if never_sent or not flight.departed:
                raise NotSentError(
                    f"No connection to the service ({said}). Nothing was sent, so nothing was changed or charged."
                ) from cause
            raise OutcomeUnknownError(f"The request was sent, but no whole answer came back ({said}).") from cause

    async def send(self, request: Request) -> Response:
        """Send a request."""
        return await self.send_telling(request, lambda: None)

    async def aclose(self) -> None:
        """Close the pool, unless the session was given."""
        session, self._session = self._session, self._given
        if session is not None and session is not self._given:
            await session.close()

    async def _send_once(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        aiohttp = self._aiohttp
        try:
            return await handler(request)
        except aiohttp.ClientConnectorError:
            raise
        except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
            raise _DroppedError from error

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            aiohttp = self._aiohttp
            tracing = aiohttp.TraceConfig()
            tracing.on_request_headers_sent.append(_tell_departure)
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(keepalive_timeout=KEEP_ALIVE),
                cookie_jar=aiohttp.DummyCookieJar(),
                trace_configs=[tracing],
                trust_env=self._trust_env,
            )
        return self._session


class _DroppedError(Exception):
    """Hide a dropped connection from aiohttp, which would silently send the request a second time."""


async def _tell_departure(session: Any, context: SimpleNamespace, params: Any) -> None:
    context.trace_request_ctx()
