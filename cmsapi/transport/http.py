"""The aiohttp transport: send a request at most once, and classify failures by whether the request may have arrived.

This module is imported only when a client needs it, because importing aiohttp takes long.
"""

from __future__ import annotations

import select
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import aiohttp
from yarl import URL

from cmsapi.config import Connect
from cmsapi.errors import ClientClosedError, ConfigError, NotSentError, OutcomeUnknownError, TransportError
from cmsapi.messages import Request, Response

_MAX_HEADER = 65_536  # bytes of one header line; some gateways send more than aiohttp's default of 8,190

_NOT_CONNECTED = aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.ClientHttpProxyError


class AiohttpTransport:
    """Transport that uses aiohttp, and keeps connections open between requests.

    Args:
        connect: Proxy, TLS context, and the caller's session, if any.
        connect_timeout: Maximum seconds for making a connection.
    """

    def __init__(self, connect: Connect, connect_timeout: float) -> None:
        self._connect = connect
        self._session = connect.session
        self._closed = False
        self._options: dict[str, Any] = {
            "allow_redirects": False,
            "raise_for_status": False,
            "timeout": aiohttp.ClientTimeout(total=None, sock_connect=connect_timeout, connect=connect_timeout),
            "middlewares": (_send_once,),
        }
        if connect.proxy:
            self._options["proxy"] = connect.proxy
        if connect.ssl is not None:
            self._options["ssl"] = connect.ssl

    async def send(self, request: Request) -> Response:
        """Send a request at most once, and return the response, whatever its status.

        Raises:
            NotSentError: No connection could be made, so nothing was sent.
            OutcomeUnknownError: The request may have arrived, but no complete response came.
            ClientClosedError: The transport or its session is closed; nothing was sent.
            ConfigError: aiohttp refuses the request or the proxy's address; nothing was sent.
        """
        if self._closed or (self._session is not None and self._session.closed):
            raise ClientClosedError("the connections are closed; nothing was sent")
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=_LookingConnector(limit=0),  # the limiter bounds the requests under way
                cookie_jar=aiohttp.DummyCookieJar(),
                max_line_size=_MAX_HEADER,
                max_field_size=_MAX_HEADER,
            )
        # Without a body, aiohttp would still send a Content-Type for most methods; servers that check it answer 415.
        failure: TransportError | ConfigError
        try:
            async with self._session.request(
                request.method,
                URL(request.url, encoded=True),
                headers=request.headers,
                data=request.body,
                skip_auto_headers=None if request.method == "GET" else ("Content-Type",),  # skipping costs time
                **self._options,
            ) as response:
                headers = {name.lower(): value for name, value in response.headers.items()}
                return Response(response.status, headers, await response.read())
        except ValueError as error:  # also for a proxy's address, which may contain a password
            why = "the proxy is no URL" if isinstance(error, aiohttp.InvalidURL) else str(error)
            failure = ConfigError(f"aiohttp refuses the request, perhaps because of ~/.netrc; nothing was sent: {why}")
        except (aiohttp.ClientError, _DroppedError, OSError) as error:
            failure = self._failure(error, request.headers.get("Authorization", "Bearer ?").removeprefix("Bearer "))
        # Raised outside the handler: aiohttp's exceptions contain the request's headers, and thus the key.
        raise failure

    async def aclose(self) -> None:
        """Close the transport, and its connections unless they belong to the caller's session."""
        self._closed = True
        if self._session is not None and self._connect.session is None:
            await self._session.close()

    def _failure(self, error: Exception, key: str) -> TransportError:
        # Classified by type, because aiohttp reports an unreadable status line as status 400.
        reason = (str(error) if isinstance(error, _DroppedError) else _reason(error)).replace(key, "sk_***")
        if isinstance(error, _NOT_CONNECTED):
            return NotSentError(f"no connection: {reason}; nothing was sent{self._proxy_hint()}")
        return OutcomeUnknownError(f"no complete response: {reason}; the service may have carried out the request")

    def _proxy_hint(self) -> str:
        if self._connect.proxy or self._connect.session is not None:
            return ""
        from urllib.request import getproxies_environment

        names = ", ".join(f"{name.upper()}_PROXY" for name in getproxies_environment() if name != "no")
        return f". {names} is set and not used; pass trust_env=True to use it" if names else ""


class _DroppedError(Exception):
    """Raised when a connection is dropped. If aiohttp saw its own exception instead, it might repeat the request."""


async def _send_once(
    request: aiohttp.ClientRequest, handler: Callable[[aiohttp.ClientRequest], Awaitable[aiohttp.ClientResponse]]
) -> aiohttp.ClientResponse:
    try:
        return await handler(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise _DroppedError(_reason(error)) from None


class _LookingConnector(aiohttp.TCPConnector):
    """Connector that checks an idle connection before reusing it, and closes it if it is readable.

    A readable idle connection cannot be reused. Usually the server has closed it, and asyncio has not noticed yet.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._looks: WeakKeyDictionary[object, Callable[[], object]] = WeakKeyDictionary()

    async def connect(self, req: Any, traces: Any, timeout: Any) -> Any:  # noqa: ASYNC109  the signature is aiohttp's
        while True:
            connection: Any = await super().connect(req, traces, timeout)
            is_readable = self._looks.get(connection.protocol)
            if is_readable is None:  # it is new, and TLS may make it readable at once
                self._looks[connection.protocol] = _look_at(connection.protocol.transport)
                return connection
            if not (connection.protocol.should_close or is_readable()):  # the former: an unexpected response came
                return connection
            connection.close()


def _look_at(transport: Any) -> Callable[[], object]:
    """Return a function that returns a true value if the connection of ``transport`` is readable or lost."""
    socket = transport and transport.get_extra_info("socket")
    if not socket or socket.fileno() < 0:
        return lambda: True
    if not hasattr(select, "poll"):  # Windows
        return lambda: select.select([socket], [], [], 0)[0]
    poll = select.poll()
    poll.register(socket, select.POLLIN)
    return partial(poll.poll, 0)


def _reason(error: BaseException) -> str:
    if isinstance(error, aiohttp.ClientResponseError):
        return f"{type(error).__name__}: {error.message}"  # its text contains the URL, its arguments the headers
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
