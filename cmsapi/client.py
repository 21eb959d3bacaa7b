"""The client, which gives access to the service's resources."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Mapping, Sequence
from ssl import SSLContext
from typing import Any, Self, get_type_hints
from urllib.parse import urlsplit

from attrs import define, evolve

from cmsapi import resources
from cmsapi._version import __version__
from cmsapi.config import MARGIN, ClientSession, Connect, LaunchPolicy, PollPolicy, RateLimits, RetryPolicy, Timeouts
from cmsapi.doctor import Diagnosis, examine
from cmsapi.errors import ArgumentError, ClientClosedError, ConfigError
from cmsapi.jobs.kinds import kinds_of
from cmsapi.jobs.launch import Budget, Launcher
from cmsapi.jobs.namespace import Jobs
from cmsapi.jobs.recovery import Recovery
from cmsapi.limits.limiter import RateLimitStatus
from cmsapi.messages import Request, Response, Transport
from cmsapi.models import User
from cmsapi.observe.events import Emitter, Hook
from cmsapi.observe.log import log_to_stderr
from cmsapi.state.store import check_state
from cmsapi.transport.account import Account, join_account
from cmsapi.transport.address import LOOPBACK, check_api_key, check_base_url, merge_headers
from cmsapi.transport.pipeline import Pipeline
from cmsapi.wire.arguments import query
from cmsapi.wire.converter import dump
from cmsapi.wire.operations import OPERATIONS, OperationTable

_PATH = re.compile(r'/(?!/)[!"$-~]*')  # percent-encoded, without a fragment, on this host
_UNLIMITED = frozenset({"/health", "/openapi.json", "/docs"})  # specification 8, rule 3


class Client:
    """A client of the Content Marketing Service API.

    Use ``async with Client(...) as client``, or call `aclose`. A client belongs to the event loop of its first call.
    Within a loop, clients with the same address, key, state and transport share limits and, by default, connections.

    Args:
        api_key: The key, beginning with ``sk_``; default: the environment variable ``CMSAPI_API_KEY``.
        base_url: Address of the service without ``/v1``; default ``CMSAPI_BASE_URL``.
        state: Where launches are recorded and rate limits shared between processes: ``memory:``, ``sqlite:///file``,
            ``postgresql://host/database`` or ``redis://host``; default ``CMSAPI_STATE``, else ``memory:``.
        limits: Rate limits of the key.
        retry: How often failed requests are repeated.
        polling: How often jobs are polled.
        launch: How launches treat running jobs, lost responses and credits.
        timeouts: Time limits of calls.
        operations: Table of operations, for a service whose routes differ.
        transport: Transport to use instead of aiohttp, for tests; you close it yourself.
        session: An aiohttp session; you close it yourself. Cannot be combined with ``proxy``, ``ssl`` or ``trust_env``.
        hooks: Functions that are called with each event.
        headers: Headers to add to each request.
        proxy: URL of a proxy.
        ssl: TLS context, for private certificate authorities or client certificates.
        trust_env: Use the proxy from ``HTTPS_PROXY``, ``HTTP_PROXY`` or ``ALL_PROXY``, subject to ``NO_PROXY``.
        allow_http: Allow ``http://``, which sends the key unencrypted. ``CMSAPI_ALLOW_HTTP=1`` allows it, too.

    Raises:
        ConfigError: A setting is missing or invalid.
    """

    brand_voices: resources.BrandVoices
    content_ideas: resources.ContentIdeaSearches
    contents: resources.Contents
    credit_usages: resources.CreditUsages
    folders: resources.Folders
    keywords: resources.Keywords
    knowledge_documents: resources.KnowledgeDocuments
    pages: resources.Pages
    prompts: resources.Prompts
    users: resources.Users
    workspaces: resources.Workspaces
    jobs: Jobs

    def __init__(
        self,
        api_key: str | None = None,
        *,
        base_url: str | None = None,
        state: str | None = None,
        limits: RateLimits | None = None,
        retry: RetryPolicy | None = None,
        polling: PollPolicy | None = None,
        launch: LaunchPolicy | None = None,
        timeouts: Timeouts | None = None,
        operations: OperationTable | None = None,
        transport: Transport | None = None,
        session: ClientSession | None = None,
        hooks: Sequence[Hook] = (),
        headers: Mapping[str, str] | None = None,
        proxy: str | None = None,
        ssl: SSLContext | None = None,
        trust_env: bool = False,
        allow_http: bool = False,
    ) -> None:
        key, address = check_api_key(api_key), check_base_url(base_url, allow_http=allow_http)
        limits, timeouts = limits or RateLimits(), timeouts or Timeouts()
        log_to_stderr()
        if session is not None and (ssl or proxy or trust_env):
            raise ConfigError("session brings its own connections: leave out ssl, proxy and trust_env")
        if trust_env and proxy is None:
            proxy = _proxy_of_environment(address)
        if transport is None:
            import cmsapi.transport.http  # noqa: F401  slow to import, so outside the event loop where possible
        digest = hashlib.sha256(f"{address} {key}".encode()).hexdigest()[:32]
        connect, address_of_state = Connect(session, proxy, ssl), check_state(state)
        self._connection = _Connection(digest, address_of_state, limits, timeouts, connect, transport)
        own = {"User-Agent": f"cmsapi/{__version__}", "Accept": "application/json", "Authorization": f"Bearer {key}"}
        pipeline = Pipeline(
            base_url=address,
            headers=merge_headers(own, headers),
            operations=operations or OPERATIONS,
            retry=retry or RetryPolicy(),
            timeouts=timeouts,
            max_wait=limits.max_wait,
            emit=Emitter(hooks),
            account=self._connection.account,
        )
        polling, launch = polling or PollPolicy(), launch or LaunchPolicy()
        recovery = Recovery(pipeline, kinds_of(polling.words), polling)
        self._use(Launcher(pipeline, recovery, launch, Budget(launch.max_credits)))

    def _use(self, launcher: Launcher) -> None:
        self._launcher = launcher
        self._pipeline = launcher.pipeline
        for name, resource in _RESOURCES.items():
            setattr(self, name, resource(launcher))

    def __repr__(self) -> str:
        return f"<Client of {self._pipeline.base_url}>"

    async def __aenter__(self) -> Self:
        self._connection.account()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the client and its copies. Wait for launches already sent; all others fail with `ClientClosedError`."""
        if self._connection.open:
            await self._launcher.aclose()
        await self._connection.aclose()

    @property
    def rate_limit(self) -> RateLimitStatus:
        """Status of the hourly limit, as far as this client knows. Costs no request, but needs a running event loop."""
        return self._connection.account().limiter.status()

    async def me(self) -> User:
        """Return the API key's user, with organization and credits; one request, no credit (specification 2.1, 5.8).

        Raises:
            UnauthorizedError: The key is invalid or revoked.
        """
        return await self._pipeline.call("get_me", User)

    async def doctor(self) -> Diagnosis:
        """Check key, permissions, credits, limits, clock and operations; problems are returned as findings, not raised.

        Costs three requests and no credit; reading ``/openapi.json`` is not counted. Takes up to half a minute.
        """
        return await examine(self._pipeline)

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        json: Any = None,
        headers: Mapping[str, str] | None = None,
        retry: RetryPolicy | None = None,
    ) -> Response:
        """Send a request for which cmsapi has no method, and return the service's response.

        Costs one request per attempt. Retries follow specification 7; after a lost response, only a GET is repeated.

        Args:
            method: HTTP method.
            path: Path that begins with a slash, percent-encoded, e.g. ``/v1/me``.
            params: Query parameters; a list is written as ``name[]=a&name[]=b``.
            json: Value to send as a JSON body; None for no body.
            headers: Headers to add to this request.
            retry: How often this request is repeated; None for the client's policy.

        Raises:
            ArgumentError: An argument is invalid; nothing was sent.
            APIError: The service answered with an error, or with a redirect.
            TransportError: There was no complete response.
            DeadlineError: `Timeouts.deadline` passed first.
            RateLimitWaitError: The rate limits would hold the request back for longer than `RateLimits.max_wait`.
        """
        if not isinstance(path, str) or not _PATH.fullmatch(path):
            raise ArgumentError("path", f"must begin with one slash, be percent-encoded, without #, got {path!r}")
        if params and "?" in path:
            raise ArgumentError("params", "must be left out if the path has a query of its own")
        if not isinstance(method, str) or not method.isalpha() or not method.isascii():
            raise ArgumentError("method", f"must be an HTTP method, got {method!r}")
        pipeline = self._pipeline
        try:
            own = merge_headers(pipeline.headers, headers)
        except ConfigError as error:
            raise ArgumentError("headers", str(error).removeprefix("headers ")) from None
        body = None
        if json is not None:
            own["Content-Type"], body = "application/json", dump(json)
        request = Request(method.upper(), pipeline.base_url + path + query(params), own, body)
        return await pipeline.send(request, None, retry=retry, limited=path not in _UNLIMITED)

    def with_options(
        self,
        *,
        retry: RetryPolicy | None = None,
        polling: PollPolicy | None = None,
        launch: LaunchPolicy | None = None,
        timeouts: Timeouts | None = None,
        max_wait: float | None = None,
        operations: OperationTable | None = None,
        hooks: Sequence[Hook] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Self:
        """Return a copy with other options. Both clients share limits and connections; closing one closes both.

        Args:
            retry: How often failed requests are repeated.
            polling: How jobs are polled. After the first job on the shared connections, only ``words`` takes effect.
            launch: How launches treat running jobs, lost responses and credits.
            timeouts: Time limits of calls; ``connect`` keeps its value.
            max_wait: Maximum seconds that a request may wait for the limits; an invalid value raises `ConfigError`.
            operations: Table of operations.
            hooks: Functions that are called with each event, instead of the client's hooks.
            headers: Headers to add to those of the client; an invalid header raises `ConfigError`.
        """
        changes: dict[str, Any] = {"retry": retry, "timeouts": timeouts, "operations": operations}
        changes["max_wait"] = RateLimits(max_wait=max_wait).max_wait  # checked
        changes["emit"] = None if hooks is None else Emitter(hooks)
        if headers is not None:
            changes["headers"] = merge_headers(self._pipeline.headers, headers)
        pipeline = evolve(self._pipeline, **{name: value for name, value in changes.items() if value is not None})
        recovery = evolve(self._launcher.recovery, pipeline=pipeline)
        if polling is not None:
            recovery = evolve(recovery, polling=polling, kinds=kinds_of(polling.words))
        launcher = evolve(self._launcher, pipeline=pipeline, recovery=recovery)
        if launch is not None:
            launcher = evolve(launcher, policy=launch, budget=Budget(launch.max_credits))
        copy = object.__new__(type(self))
        copy._connection = self._connection
        copy._use(launcher)
        return copy


_RESOURCES: dict[str, type] = get_type_hints(Client)
for _name, _resource in _RESOURCES.items():
    setattr(Client, _name, object.__new__(_resource))  # so that `create_autospec` sees it


def _proxy_of_environment(url: str) -> str | None:
    """Return the proxy that the environment sets for ``url``, or None, by rules similar to those of ``curl``."""
    from urllib.request import getproxies, proxy_bypass  # slow to import

    parts, named = urlsplit(url), getproxies()
    other = named.get("all", "")
    proxy = named.get(parts.scheme) or ("" if other.startswith("socks") else other)
    if not proxy or parts.hostname in LOOPBACK or proxy_bypass(str(parts.hostname)):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


@define
class _Connection:
    """The `Account` shared by a client and its copies. They join it on first use, and leave it when they are closed."""

    digest: str  # of address and key
    state: str
    limits: RateLimits
    timeouts: Timeouts
    connect: Connect
    given: Transport | None  # the caller's, which is not closed
    loop: asyncio.AbstractEventLoop | None = None
    _account: Account | None = None
    _closed: bool = False

    def account(self) -> Account:
        """Join the account if needed, and return it. Raise `ClientClosedError` after `aclose` or in another loop."""
        loop = asyncio.get_running_loop()
        if self._account is not None and self.loop is loop:
            return self._account
        if self._closed:
            raise ClientClosedError("the client is closed; nothing was sent")
        if self.loop is not None and not self.loop.is_closed():
            raise ClientClosedError("the client belongs to another event loop, which still runs; nothing was sent")
        self.loop = loop
        key, seconds = (self.digest, id(self.given) if self.given else None), self.timeouts.request + MARGIN
        self._account = join_account(key, self.connect, self.limits, self.state, seconds, self._make_transport)
        return self._account

    @property
    def open(self) -> bool:
        """True if the client has joined an account in the running event loop and has not left it."""
        return self._account is not None and self.loop is asyncio.get_running_loop()

    async def aclose(self) -> None:
        account, self._account, self._closed = self._account, None, True
        if account is not None and self.loop is asyncio.get_running_loop():
            await account.leave(close=self.given is None)

    def _make_transport(self) -> Transport:
        if self.given is not None:
            return self.given
        from cmsapi.transport.http import AiohttpTransport

        return AiohttpTransport(self.connect, self.timeouts.connect)
