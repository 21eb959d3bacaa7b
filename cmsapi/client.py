"""The client: everything put together."""

from __future__ import annotations

import asyncio
import copy
import ssl as ssl_module
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from cmsapi._version import __version__
from cmsapi.api.operations import Operation, OperationTable, Replay
from cmsapi.api.wire.mismatch import excerpt
from cmsapi.config import Account, LaunchPolicy, PollPolicy, RateLimits, RetryPolicy, Timeouts
from cmsapi.errors import ArgumentError, ConfigError
from cmsapi.observability.events import Hook
from cmsapi.observability.statistics import Statistics
from cmsapi.ratelimit.limiter import RateLimit
from cmsapi.runtime.lazy import forget, lazy
from cmsapi.runtime.runtime import Runtime
from cmsapi.runtime.settings import Settings
from cmsapi.state.opening import check_url
from cmsapi.transport.call import CallOptions
from cmsapi.transport.caller import OperationCaller
from cmsapi.transport.http import AiohttpTransport, SendAwareTransport, SessionTransport, Transport
from cmsapi.transport.pipeline import Pipeline
from cmsapi.transport.protocol import RequestBuilder, check_path

if TYPE_CHECKING:
    import aiohttp

    from cmsapi.api.models import User
    from cmsapi.doctor.diagnosis import Diagnosis
    from cmsapi.jobs.namespace import Jobs
    from cmsapi.resources import (
        BrandVoices,
        ContentIdeaSearches,
        Contents,
        CreditUsages,
        Folders,
        Keywords,
        KnowledgeDocuments,
        Pages,
        Prompts,
        Users,
        Workspaces,
    )
    from cmsapi.runtime.jobs import ClientJobs

_REPLAY_BY_METHOD: Mapping[str, Replay] = {
    "GET": Replay.SAFE,
    "PUT": Replay.IDEMPOTENT,
    "DELETE": Replay.IDEMPOTENT,
    "PATCH": Replay.CREATES,
    "POST": Replay.CREATES,
}


class Client:
    """Talk to the Content Marketing Service.

    Use it as an async context manager, or call `aclose()` when done. It binds to the event loop of its first call.

    Args:
        api_key: Key beginning with `sk_`; `CMSAPI_API_KEY` if left out.
        base_url: Address of the service without `/v1`; `CMSAPI_BASE_URL` if left out.
        limits: Requests the key may make (specification 8).
        retry: How often and how patiently to repeat (specification 7).
        polling: How often to look at jobs (specification 8, rule 5).
        timeouts: How long to wait for what.
        launch: What a launch does when the same work is under way.
        operations: The table of operations; `OPERATIONS.override(…)` replaces assumed routes.
        state: Where what must be agreed on is kept: `"memory:"` for one process, `"sqlite:///file.db"` for the
            processes of one host, `"redis://host:6379/0"` or `"rediss://…"` for many hosts. Processes that name the
            same one share the limits of the key and the journal of launches: none of them pays for what another
            one has launched, and each takes up what a dead one has left.
        transport: Carries requests instead of aiohttp: any object with `async def send(request) -> Response`.
        session: An aiohttp session to use; it is not closed here. It cannot tell when bytes leave, so that an own one
            knows better what was never sent. It also uses idle connections on which bytes came that were not asked for.
        hooks: Called with each event of `cmsapi.observability`.
        proxy: Proxy URL.
        ssl: TLS context for private authorities or client certificates.
        trust_env: Read proxies from the environment; makes every request several times as expensive.
        largest_answer: Bytes of a body, unpacked, beyond which an answer is not read on; None for 32 MiB.
        allow_http: Allow `http://` to another host than this one, which shows the key to the network; so does
            `CMSAPI_ALLOW_HTTP=1`.

    Raises:
        ConfigError: A key, URL or option is missing or wrong; nothing was sent.
    """

    users: Users = lazy("cmsapi.resources", "Users", "_caller")
    workspaces: Workspaces = lazy("cmsapi.resources", "Workspaces", "_caller")
    folders: Folders = lazy("cmsapi.resources", "Folders", "_caller")
    contents: Contents = lazy("cmsapi.resources", "Contents", "_jobs.caller", "_jobs.open")
    pages: Pages = lazy("cmsapi.resources", "Pages", "_caller")
    keywords: Keywords = lazy("cmsapi.resources", "Keywords", "_jobs.caller", "_jobs.open")
    prompts: Prompts = lazy("cmsapi.resources", "Prompts", "_jobs.caller", "_jobs.open")
    brand_voices: BrandVoices = lazy("cmsapi.resources", "BrandVoices", "_caller")
    knowledge_documents: KnowledgeDocuments = lazy("cmsapi.resources", "KnowledgeDocuments", "_jobs.caller")
    content_ideas: ContentIdeaSearches = lazy("cmsapi.resources", "ContentIdeaSearches", "_jobs.caller", "_jobs.open")
    credit_usages: CreditUsages = lazy("cmsapi.resources", "CreditUsages", "_caller")
    jobs: Jobs = lazy("cmsapi.jobs.namespace", "Jobs", "_jobs.open")
    _jobs: ClientJobs = lazy("cmsapi.runtime.jobs", "ClientJobs", "_runtime", "_settings", "_caller")

    def __init__(
        self,
        api_key: str | None = None,
        *,
        base_url: str | None = None,
        limits: RateLimits | None = None,
        retry: RetryPolicy | None = None,
        polling: PollPolicy | None = None,
        timeouts: Timeouts | None = None,
        launch: LaunchPolicy | None = None,
        operations: OperationTable | None = None,
        state: str = "memory:",
        transport: Transport | SendAwareTransport | None = None,
        session: aiohttp.ClientSession | None = None,
        hooks: Sequence[Hook] = (),
        proxy: str | None = None,
        ssl: ssl_module.SSLContext | None = None,
        trust_env: bool = False,
        largest_answer: int | None = None,
        allow_http: bool = False,
    ) -> None:
        settings = Settings.of(
            limits=limits, retry=retry, polling=polling, timeouts=timeouts, launch=launch, operations=operations
        )
        check_url(state)
        for name, flag in (("trust_env", trust_env), ("allow_http", allow_http)):
            if not isinstance(flag, bool):
                # A text such as "no" would count as True.
                raise ConfigError(f"{name} is True or False, not {excerpt(flag)}.")
        account = Account.resolve(api_key, base_url, allow_http=allow_http)
        if session is not None and trust_env:
            raise ConfigError("trust_env is for an own session; make yours with aiohttp.ClientSession(trust_env=True).")
        if transport is None:
            if session is not None and not callable(getattr(session, "request", None)):
                raise ConfigError(f"session is an aiohttp.ClientSession, not {type(session).__name__}.")
            transport = (
                AiohttpTransport(
                    settings.timeouts, proxy=proxy, ssl=ssl, trust_env=trust_env, largest_answer=largest_answer
                )
                if session is None
                else SessionTransport(session, settings.timeouts, proxy=proxy, ssl=ssl, largest_answer=largest_answer)
            )
        elif session is not None or proxy is not None or ssl is not None or trust_env or largest_answer is not None:
            raise ConfigError(
                "session, proxy, ssl, trust_env and largest_answer are for the own transport; give them to yours "
                "instead."
            )
        elif not callable(getattr(transport, "send", None)):
            raise ConfigError("transport is an object with `async def send(request) -> Response`.")
        if not isinstance(hooks, Sequence) or not all(callable(hook) for hook in hooks):
            raise ConfigError("hooks is a list of functions that take an event.")
        self._assemble(Runtime(account, transport, hooks, state), settings)

    def _assemble(self, runtime: Runtime, settings: Settings) -> None:
        self._runtime = runtime
        self._settings = settings
        runtime.obey(settings.limits)
        transport = runtime.transport
        pipeline = Pipeline(
            transport=transport.with_timeouts(settings.timeouts)
            if isinstance(transport, SessionTransport)
            else transport,
            clock=runtime.clock,
            retry=settings.retry,
            timeouts=settings.timeouts,
            max_wait=settings.limits.max_wait,
            hooks=runtime.hooks,
            rng=runtime.rng,
            active_calls=runtime.active_calls,
            base_url=runtime.account.base_url,
            counters=runtime.counters,
        )
        builder = RequestBuilder(runtime.account, __version__)
        self._caller = OperationCaller(settings.operations, builder, pipeline, runtime.converter, runtime.open)

    def __repr__(self) -> str:
        return f"<cmsapi.Client at {self._runtime!r}>"

    async def __aenter__(self) -> Self:
        self._runtime.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close connections and stop looking at jobs; whoever waits gets `ClientClosedError`. Jobs go on remotely.

        Raises:
            ClientClosedError: The client belongs to another event loop that still runs.
        """
        await self._runtime.aclose()

    async def me(self) -> User:
        """Read the key's user, organisation and credit balances; one request. Verifies the key.

        Raises:
            UnauthorizedError: The key is invalid or revoked.
        """
        from cmsapi.api.models import User

        self._runtime.open()
        asked_at = asyncio.get_running_loop().time()
        user = await self._caller.call(User, "get_me")
        if self._caller.observer is None:
            self._runtime.saw_user(user, asked_at)
        return user

    async def doctor(self) -> Diagnosis:
        """Find out whether everything between here and the service is as it should be; up to four requests, no credit.

        One of them, for the service's own description, counts in no limit.

        It looks at key, permissions, balances, limits and how much others use of them, clock, latency, the table of
        operations against the service's own description, and where answers differed from the specification.

        Returns:
            What was found, with `.checks`, `.ok` and `.adopt()`. A key that is refused is a finding, not an error.
        """
        from cmsapi.doctor.examination import Examination

        return await Examination(self._caller, lambda: self.rate_limit, lambda: self.statistics.drift).run()

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | Sequence[tuple[str, Any]] | None = None,
        json: Any = None,
        retry: bool | None = None,
    ) -> Any:
        """Call what the SDK has no method for; one request, with limits, retries and errors as always.

        `/health`, `/openapi.json` and `/docs` count in no limit (specification 8, rule 3) and go out without the key.

        Args:
            method: `GET`, `POST`, `PUT`, `PATCH` or `DELETE`.
            path: Path such as `/v1/me`; whole URLs are refused, because the key would go with them.
            params: Query parameters, as a mapping or a list of pairs, which may repeat a name. None is left out, and a
                list becomes `name[]` once per value.
            json: Body; None sends none.
            retry: True repeats also when the outcome is not known, False never. By default only `GET`, `PUT` and
                `DELETE` are repeated then.

        Returns:
            The JSON document, or None for an empty body.

        Raises:
            ArgumentError: Something cannot be sent, or would be sent to another host; nothing was.
        """
        if retry is not None and not isinstance(retry, bool):
            raise ArgumentError(f"retry is True, False or None, not {excerpt(retry)}.", parameter="retry")
        verb = method.upper() if isinstance(method, str) else method
        if not isinstance(verb, str) or verb not in _REPLAY_BY_METHOD:
            raise ArgumentError(
                f"method is one of {', '.join(_REPLAY_BY_METHOD)}, not {excerpt(method)}.", parameter="method"
            )
        limiter = self._runtime.open()
        operation = Operation("request", verb, check_path(path), _REPLAY_BY_METHOD[verb])
        try:
            request = self._caller.builder.build(verb, operation.path, params, json)
        except ArgumentError:
            raise
        except ValueError as error:
            raise ArgumentError(f"json cannot be sent: {error}.", parameter="json") from error
        options = CallOptions(
            repeat=retry is True,
            max_attempts=1 if retry is False else None,
            sent=tuple(json) if isinstance(json, dict) else (),
        )
        return (await self._caller.pipeline.send(operation, request, options, limiter)).document

    @property
    def rate_limit(self) -> RateLimit:
        """What is left of the limits, as this process knows it; sends nothing."""
        return self._runtime.open().snapshot()

    @property
    def statistics(self) -> Statistics:
        """What this client has done so far; sends nothing."""
        return self._runtime.counters.snapshot(self._runtime.converter.drift.deviations())

    def with_options(
        self,
        *,
        limits: RateLimits | None = None,
        retry: RetryPolicy | None = None,
        polling: PollPolicy | None = None,
        timeouts: Timeouts | None = None,
        launch: LaunchPolicy | None = None,
        operations: OperationTable | None = None,
    ) -> Self:
        """Make a twin with other settings that shares connections, limits, launched jobs and life with this one.

        This client goes on as before: a job that both wait for is polled with the settings of this one. Of the limits
        `max_wait` is the twin's own; the strictest counts hold for all clients of the key in this process, also when
        the twin is gone. Closing either closes both.
        """
        settings = Settings.of(
            self._settings,
            limits=limits,
            retry=retry,
            polling=polling,
            timeouts=timeouts,
            launch=launch,
            operations=operations,
        )
        twin: Self = copy.copy(self)
        forget(twin)
        twin._assemble(self._runtime, settings)
        return twin
