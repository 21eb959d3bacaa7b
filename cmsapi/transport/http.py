"""Send requests with aiohttp; the only module that imports its client.

aiohttp is loaded with the first transport, not with the package: it is most of the import time.
"""

from __future__ import annotations

import copy
import ssl as ssl_module
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

from cmsapi.config import Timeouts
from cmsapi.errors import ClientClosedError, ConfigError, DecodeError, NotSentError, OutcomeUnknownError, TransportError
from cmsapi.message import Headers, Request, Response
from cmsapi.transport.connecting import no_answer, no_connection
from cmsapi.user_line import user_line, warn

if TYPE_CHECKING:
    import aiohttp
    from aiohttp.connector import Connection

# A connection that idled longer may be closed at the other end, and a request on it would get no answer:
# for a paid launch that is the commonest way not to know whether it happened.
KEEP_ALIVE = 5.0
# Connections that are closed for one request, because bytes came on them that were not asked for.
_TRIES = 10
# A page of a hundred drafts is a few megabytes; what is larger is a mistake or an attack.
LARGEST_ANSWER = 32 * 1024 * 1024


class Transport(Protocol):
    """Carry one request to the service and bring its answer back.

    A transport raises `NotSentError` when nothing has left this machine and `OutcomeUnknownError` when a request was
    sent and got no answer; any `OSError` counts as the latter. It may have `async def aclose(self) -> None`.
    """

    async def send(self, request: Request) -> Response:
        """Send a request and return its answer, whatever its status."""
        ...


@runtime_checkable
class SendAwareTransport(Protocol):
    """Carry requests and tell when their bytes may leave, so that a request that is still connecting is not in flight.

    A request that ends before `departing` was called counts as not sent. A transport that cannot be sure of the moment
    must not have this method.
    """

    async def send_aware(self, request: Request, departing: Callable[[], None]) -> Response:
        """Send a request, calling `departing` just before its first byte may leave."""
        ...


class AiohttpTransport:
    """Send requests over a pool of connections, and tell when their bytes may leave.

    A session that the caller made and closes does not tell that moment, so that a request counts as sent unless it
    certainly was not.

    Args:
        timeouts: How long to wait for a connection; the request timeout is kept by the caller.
        session: The caller's session, whose middlewares, timeouts and `raise_for_status` are not used; None for one of
            its own.
        proxy: Proxy URL.
        ssl: TLS context, for private certificate authorities or client certificates.
        trust_env: Read proxies from the environment; makes every request several times as expensive.
        largest_answer: Bytes of a body, unpacked, beyond which an answer is not read on; None for 32 MiB.

    Raises:
        ConfigError: `ssl` is not a context (verification cannot be switched off by a flag), `proxy` is not a URL,
            `session` is not a session or goes with `trust_env`, or `largest_answer` is not a number of bytes.
    """

    def __init__(
        self,
        timeouts: Timeouts,
        *,
        session: aiohttp.ClientSession | None = None,
        proxy: str | None = None,
        ssl: ssl_module.SSLContext | None = None,
        trust_env: bool = False,
        largest_answer: int | None = None,
    ) -> None:
        import aiohttp
        from yarl import URL

        self._largest = LARGEST_ANSWER if largest_answer is None else largest_answer
        if not isinstance(self._largest, int) or isinstance(self._largest, bool) or self._largest < 1:
            raise ConfigError(f"`largest_answer` must be a whole number of bytes from 1 on, got {largest_answer!r}.")
        if session is not None and not callable(getattr(session, "request", None)):
            raise ConfigError(f"`session` must be an aiohttp.ClientSession, got {type(session).__name__}.")
        if session is not None and trust_env:
            raise ConfigError(
                "`trust_env` cannot be combined with `session`; use aiohttp.ClientSession(trust_env=True)."
            )
        if ssl is not None and not isinstance(ssl, ssl_module.SSLContext):
            raise ConfigError(
                f"`ssl` must be an ssl.SSLContext, got {type(ssl).__name__}. Load a private authority into a context."
            )
        if proxy is not None and not (isinstance(proxy, str) and proxy.startswith(("http://", "https://"))):
            raise ConfigError("`proxy` must be a URL, for example 'http://proxy.example.com:3128'.")
        self._pool = _Pool(session, trust_env)
        self._aiohttp, self._url = aiohttp, URL
        self.timeout: aiohttp.ClientTimeout = aiohttp.ClientTimeout(total=None, connect=timeouts.connect)
        self._options: dict[str, Any] = {
            "allow_redirects": False,
            "raise_for_status": False,
            "middlewares": (_send_once(aiohttp),),
        }
        if proxy is not None:
            self._options["proxy"] = proxy
        if ssl is not None:
            self._options["ssl"] = ssl

    def with_timeouts(self, timeouts: Timeouts) -> Self:
        """Make a copy with other timeouts that shares the connections."""
        twin = copy.copy(self)
        twin.timeout = self._aiohttp.ClientTimeout(total=None, connect=timeouts.connect)
        return twin

    async def aclose(self) -> None:
        """Send nothing any more, and close the session unless the caller made it."""
        await self._pool.aclose()

    async def send_aware(self, request: Request, departing: Callable[[], None]) -> Response:
        """Send a request, calling `departing` just before its first byte may leave.

        Raises:
            NotSentError: Nothing has left this machine.
            OutcomeUnknownError: The request may have reached the service, and no whole answer came.
            DecodeError: The service said 2xx, and the body is larger than an answer may be.
            ClientClosedError: The connections are closed.
            ConfigError: The session's or the environment's settings cannot go with the request.
        """
        departed = False

        def depart() -> None:
            nonlocal departed
            departed = True
            departing()

        DEPARTING.set(depart)
        if not self._pool.own:
            depart()
        try:
            async with self._pool.session().request(
                request.method,
                self._url(request.url, encoded=True),
                headers=request.headers.folded,
                data=request.body,
                timeout=self.timeout,
                **self._options,
            ) as answer:
                self._pool.answered = True
                return Response(answer.status, Headers(answer.headers), await self._body(answer))
        except (self._aiohttp.ClientError, _DroppedError, OSError) as error:
            failure = self._failure(error, request, departed)
        except DecodeError:
            raise
        except ValueError as error:
            # A session or a .netrc brings credentials of its own.
            raise ConfigError(f"aiohttp refuses the request: {error}") from None
        # Outside the handler, so that the failure holds nothing that holds the request and its key.
        raise failure

    async def _body(self, answer: aiohttp.ClientResponse) -> bytes:
        """Read a body while it stays within bounds; beyond them an error answer keeps its status only."""
        length = answer.content_length
        if length is not None and length <= self._largest and "Content-Encoding" not in answer.headers:
            return await answer.read()
        if (length or 0) <= self._largest:
            pieces, left = [], self._largest
            # Counted as it comes: there may be no length, or that of what unpacks to a thousand times as much.
            async for piece in answer.content.iter_any():
                left -= len(piece)
                if left < 0:
                    break
                pieces.append(piece)
            else:
                return b"".join(pieces)
        answer.close()
        if not 200 <= answer.status < 300:
            return b""
        raise DecodeError(f"Expected an answer of at most {self._largest:,} bytes, and it goes on")

    def _failure(self, error: Exception, request: Request, departed: bool) -> TransportError:
        # By type and by what has left, never by a status: aiohttp calls a garbage status line a 400.
        aiohttp = self._aiohttp
        cause = (error.__cause__ if isinstance(error, _DroppedError) else None) or error
        failure: TransportError
        if not departed or isinstance(cause, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
            failure = NotSentError(no_connection(request.url, cause, by_proxy="proxy" in self._options))
        else:
            failure = OutcomeUnknownError(no_answer(request.url, cause, answered=self._pool.answered))
        # An error about an answer holds the request's headers.
        if not isinstance(cause, aiohttp.ClientResponseError):
            failure.__cause__ = without_frames(cause)
        return failure


class _Pool:
    """Hold the session: the caller's, or one that is made for the first request."""

    def __init__(self, given: aiohttp.ClientSession | None, trust_env: bool) -> None:
        self._session = given
        self.own: bool = given is None
        #: Whether a request had an answer.
        self.answered: bool = False
        self._trust_env = trust_env
        self._closed = False
        self._made_at = user_line()

    def __del__(self) -> None:
        # Without a session no connection was opened.
        if self.own and self._session is not None and not self._session.closed:
            warn(
                "The client that this line made was not closed, and its connections stay open. Its jobs go on at the "
                "service, and nothing is lost. Make it with `async with`, or end it with `aclose()`, which is awaited.",
                ResourceWarning,
                self._made_at,
            )

    def session(self) -> aiohttp.ClientSession:
        if self._closed or (self._session is not None and self._session.closed):
            whose = "The connections are" if self.own or self._closed else "The aiohttp session given to the client is"
            raise ClientClosedError(f"{whose} closed; nothing was sent.")
        if self._session is None:
            import aiohttp

            self._session = aiohttp.ClientSession(
                connector=_telling_connector(),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=self._trust_env,
            )
        return self._session

    async def aclose(self) -> None:
        self._closed = True
        if self.own and self._session is not None:
            await self._session.close()


def without_frames(error: BaseException) -> BaseException:
    """Take the tracebacks from an error and all that led to it: the frames of a network library hold the key."""
    known: set[int] = set()
    links: list[BaseException | None] = [error]
    while links:
        link = links.pop()
        if link is not None and id(link) not in known:
            known.add(id(link))
            link.__traceback__ = None
            links += (link.__cause__, link.__context__)
    return error


class _DroppedError(Exception):
    """Hide a dropped connection from aiohttp, which would silently send the request a second time."""


def _send_once(aiohttp: Any) -> Callable[[Any, Callable[[Any], Awaitable[Any]]], Awaitable[Any]]:
    async def middleware(request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        try:
            return await handler(request)
        except aiohttp.ClientConnectorError:
            raise
        except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
            raise _DroppedError from error

    return middleware


#: What the request of this task calls when it has a connection. Not an argument: testing tools copy those deeply.
DEPARTING: ContextVar[Callable[[], None]] = ContextVar("cmsapi_departing", default=lambda: None)


def _telling_connector() -> aiohttp.TCPConnector:
    import aiohttp

    class TellingConnector(aiohttp.TCPConnector):
        """Tell when a request gets its connection: from then on its bytes may leave. A trace would cost far more.

        A connection on which bytes came that were not asked for is closed instead of being used.
        """

        async def connect(
            self,
            req: aiohttp.ClientRequest,
            traces: list[Any],
            timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109  theirs
        ) -> Connection:
            for _ in range(_TRIES):
                connection = await super().connect(req, traces, timeout)
                # aiohttp asks this when a connection goes back to the pool, not when it is taken out again. An answer
                # that came meanwhile would be taken for the answer to this request.
                if connection.protocol is None or not connection.protocol.should_close:
                    DEPARTING.get()()
                    return connection
                connection.close()
            raise aiohttp.ClientConnectionError("bytes came on each connection before a request was sent")

    return TellingConnector(keepalive_timeout=KEEP_ALIVE)
