"""The client: what users make first, and from which they reach everything else."""

from __future__ import annotations

import ssl as ssl_module
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self

from cmsapi._version import __version__
from cmsapi.api.arguments import one_of, wrong
from cmsapi.api.operations import REPLAY_BY_METHOD, Operation, OperationTable
from cmsapi.api.wire.mismatch import excerpt
from cmsapi.config import Account, LaunchPolicy, PollPolicy, RateLimits, RetryPolicy, Timeouts, log_level
from cmsapi.errors import ConfigError
from cmsapi.guesses import CLIENT_PARAMETERS, Hinting, guided
from cmsapi.observability.events import Hook
from cmsapi.observability.hooks import Hooks
from cmsapi.observability.log import log_to_stderr
from cmsapi.observability.statistics import Statistics
from cmsapi.ratelimit.rate_limit import RateLimit
from cmsapi.runtime.lazy import Lazy, lazy
from cmsapi.runtime.runtime import Runtime
from cmsapi.runtime.settings import Settings
from cmsapi.state.opening import MEMORY, open_state
from cmsapi.transport.call import CallOptions
from cmsapi.transport.caller import OperationCaller
from cmsapi.transport.headers import with_headers
from cmsapi.transport.http import AiohttpTransport, SendAwareTransport, Transport
from cmsapi.transport.pipeline import Pipeline
from cmsapi.transport.requests import RequestBuilder, check_path
from cmsapi.unpicklable import Unpicklable

if TYPE_CHECKING:
    import aiohttp

    from cmsapi.api.models.user import User
    from cmsapi.doctor.diagnosis import Diagnosis
    from cmsapi.jobs.launching.launcher import Launcher
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


class Client(Hinting, Unpicklable):
    """Call the Content Marketing Service.

    Use the client as an async context manager, or call `aclose()` when you are done. It belongs to the event loop of
    its first call.

    Args:
        api_key: The key, which begins with `sk_`; `CMSAPI_API_KEY` by default.
        base_url: Address of the service without `/v1`; `CMSAPI_BASE_URL` by default.
        limits: Requests that the key may make (specification 8).
        retry: How often to repeat a request, and how long to wait in between (specification 7).
        polling: How often to poll jobs (specification 8, rule 5).
        timeouts: How long to wait for connections, answers and whole calls.
        launch: What a launch does when the same work is running, and when its answer is lost.
        operations: The table of operations; `OPERATIONS.override(…)` replaces assumed routes.
        state: Where limits and launches are recorded: `"memory:"` for one process, `"sqlite:///file.db"` for the
            processes of one host, `"postgresql://host/database"`, `"redis://host:6379/0"` or `"rediss://…"` for many
            hosts. Processes with the same state share the limits of the key and the journal of launches: they join
            each other's running jobs instead of paying again, and recover the launches of processes that died.
        transport: Sends the requests instead of aiohttp: any object with `async def send(request) -> Response`.
        session: The aiohttp session to use; the client does not close it. The client's own session reports when the
            bytes of a request leave and drops idle connections with unexpected bytes; a given session does neither.
        hooks: Functions that are called with each event of `cmsapi.observability`.
        headers: Headers to add to each request, for example for a gateway. The client sets `Authorization`, `Host`,
            `Content-Type` and `Content-Length` itself.
        proxy: URL of a proxy.
        ssl: TLS context for private authorities or client certificates.
        trust_env: Read proxies from the environment; each request then costs several times as much CPU.
        largest_answer: Most bytes of an unpacked body that are read; None for 32 MiB.
        allow_http: Allow `http://` to other hosts than this one, which shows the key to the network; so does
            `CMSAPI_ALLOW_HTTP=1`.

    Raises:
        ConfigError: A key, URL or option is missing or wrong; nothing was sent.
    """

    users: Users = lazy("cmsapi.resources", "Users", "_caller", "_open_launcher")
    workspaces: Workspaces = lazy("cmsapi.resources", "Workspaces", "_caller", "_open_launcher")
    folders: Folders = lazy("cmsapi.resources", "Folders", "_caller", "_open_launcher")
    contents: Contents = lazy("cmsapi.resources", "Contents", "_caller", "_open_launcher")
    pages: Pages = lazy("cmsapi.resources", "Pages", "_caller", "_open_launcher")
    keywords: Keywords = lazy("cmsapi.resources", "Keywords", "_caller", "_open_launcher")
    prompts: Prompts = lazy("cmsapi.resources", "Prompts", "_caller", "_open_launcher")
    brand_voices: BrandVoices = lazy("cmsapi.resources", "BrandVoices", "_caller", "_open_launcher")
    knowledge_documents: KnowledgeDocuments = lazy(
        "cmsapi.resources", "KnowledgeDocuments", "_caller", "_open_launcher"
    )
    content_ideas: ContentIdeaSearches = lazy("cmsapi.resources", "ContentIdeaSearches", "_caller", "_open_launcher")
    credit_usages: CreditUsages = lazy("cmsapi.resources", "CreditUsages", "_caller", "_open_launcher")
    jobs: Jobs = lazy("cmsapi.jobs.namespace", "Jobs", "_open_launcher")

    @guided(CLIENT_PARAMETERS)
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
        headers: Mapping[str, str] | None = None,
        proxy: str | None = None,
        ssl: ssl_module.SSLContext | None = None,
        trust_env: bool = False,
        largest_answer: int | None = None,
        allow_http: bool = False,
    ) -> None:
        if (level := log_level()) is not None:
            log_to_stderr(level)
        settings = Settings.of(
            limits=limits,
            retry=retry,
            polling=polling,
            timeouts=timeouts,
            launch=launch,
            operations=operations,
            hooks=hooks,
            headers=headers,
        )
        if state != MEMORY:
            # Refuses a URL that names no state, and a state whose extra is not installed.
            open_state(state)
        for name, flag in (("trust_env", trust_env), ("allow_http", allow_http)):
            if not isinstance(flag, bool):
                # A text such as "no" would count as True.
                raise ConfigError(f"`{name}` must be True or False, got {excerpt(flag)}.")
        account = Account.resolve(api_key, base_url, allow_http=allow_http)
        if transport is None:
            transport = AiohttpTransport(
                settings.timeouts,
                session=session,
                proxy=proxy,
                ssl=ssl,
                trust_env=trust_env,
                largest_answer=largest_answer,
            )
        elif session is not None or proxy is not None or ssl is not None or trust_env or largest_answer is not None:
            raise ConfigError(
                "`transport` cannot be combined with `session`, `proxy`, `ssl`, `trust_env` and `largest_answer`; set "
                "them up in your transport."
            )
        elif not callable(getattr(transport, "send", None)):
            raise ConfigError(
                f"`transport` must have `async def send(request) -> Response`, got {type(transport).__name__}."
            )
        self._assemble(Runtime(account, transport, state), settings)

    def _assemble(self, runtime: Runtime, settings: Settings) -> None:
        self._runtime = runtime
        self._settings = settings
        runtime.obey(settings.limits)
        transport = runtime.transport
        pipeline = Pipeline(
            transport=transport.with_timeouts(settings.timeouts)
            if isinstance(transport, AiohttpTransport)
            else transport,
            clock=runtime.clock,
            retry=settings.retry,
            timeouts=settings.timeouts,
            max_wait=settings.limits.max_wait,
            hooks=Hooks(settings.hooks, runtime.account.api_key),
            rng=runtime.rng,
            active_calls=runtime.active_calls,
            base_url=runtime.account.base_url,
            counters=runtime.counters,
        )
        builder = RequestBuilder(runtime.account, __version__, settings.headers)
        self._caller = OperationCaller(
            settings.operations,
            builder,
            pipeline,
            runtime.converter,
            runtime.open,
            runtime.observe,
            runtime.identifiers,
            settings.polling.words,
        )
        self._launcher: Launcher | None = None

    def _open_launcher(self) -> Launcher:
        """Return the launcher of this client, which is made with its first use in the loop.

        Raises:
            ClientClosedError: The client is closed, belongs to another loop, or no loop is running.
        """
        self._runtime.open()
        if self._launcher is None:
            self._launcher = self._runtime.jobs.launcher(self._settings, self._caller)
        return self._launcher

    def __repr__(self) -> str:
        return f"<cmsapi.Client at {self._runtime!r}>"

    if not TYPE_CHECKING:  # type checkers shall refuse it, too

        def __enter__(self) -> NoReturn:
            """Refuse: the connections are closed with an `await`."""
            raise TypeError(
                "cmsapi.Client is async: `async with cmsapi.Client() as client`. In code without an event loop, "
                "`import cmsapi.blocking` and `with cmsapi.blocking.Client() as client`."
            )

        def __exit__(self, *_: object) -> None:
            """Stand beside `__enter__`, without which Python would not call that."""

    async def __aenter__(self) -> Self:
        self._runtime.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop polling and close the connections; waiters get `ClientClosedError`. Jobs go on at the service.

        Raises:
            ClientClosedError: The client belongs to another event loop that still runs.
        """
        await self._runtime.aclose()

    async def me(self) -> User:
        """Read the user of the key with organisation and credit balances, which verifies the key; one request.

        Raises:
            UnauthorizedError: The key is invalid or revoked.
        """
        from cmsapi.api.models.user import User

        call = await self._caller.exchange("get_me")
        user = self._caller.read(call, User)
        self._runtime.note_user(user, call.sent_at)
        return user

    async def doctor(self) -> Diagnosis:
        """Check the connection to the service; at most four requests, one of which counts in no limit, and no credit.

        It checks the key, permissions, balances, limits and their use by other programs, clock, latency, the table of
        operations against the service's own description, and answers that differed from the specification.

        Returns:
            The findings, with `.checks`, `.ok` and `.adopt()`. A refused key is a finding, not an error.
        """
        from cmsapi.doctor.examination import Examination

        self._runtime.open()
        return await Examination(self._caller).run()

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | Sequence[tuple[str, Any]] | None = None,
        json: Any = None,
        headers: Mapping[str, str] | None = None,
        retry: bool | None = None,
    ) -> Any:
        """Call an operation that has no method here; one request, with the limits, retries and errors of all calls.

        `/health`, `/openapi.json` and `/docs` count in no limit (specification 8, rule 3) and are sent without the key.

        Args:
            method: `GET`, `POST`, `PUT`, `PATCH` or `DELETE`.
            path: Path such as `/v1/me`; a whole URL is refused, because it would get the key.
            params: Query parameters, as a mapping or as a list of pairs, which may repeat a name. A value of None is
                left out, and a list becomes `name[]` once per value.
            json: Body; None for no body.
            headers: Headers to add to those of the client; one of the same name is replaced.
            retry: Whether to repeat the request when its outcome is unknown; False also forbids all other repeats. By
                default only `GET`, `PUT` and `DELETE` are repeated then, whatever `RetryPolicy(repeat_in_doubt=)`
                says, because a `POST` may launch what costs a credit.

        Returns:
            The JSON document, None for an empty body, or the text of a body that is not JSON and whose `Content-Type`
            says so, such as that of `/docs`.

        Raises:
            ArgumentError: An argument cannot be sent, or would be sent to another host; nothing was sent.
        """
        if retry is not None and not isinstance(retry, bool):
            raise wrong("retry", "be True, False or None", excerpt(retry))
        verb = method.upper() if isinstance(method, str) else method
        one_of("method", verb, REPLAY_BY_METHOD)
        limiter = self._runtime.open()
        operation = Operation("request", verb, check_path(path), REPLAY_BY_METHOD[verb])
        request = self._caller.builder.build(verb, operation.path, params, json)
        if headers is not None:
            request = with_headers(request, headers)
        options = CallOptions(repeat=retry is True, max_attempts=1 if retry is False else None, or_text=True)
        return (await self._caller.pipeline.send(operation, request, options, limiter)).document

    @property
    def rate_limit(self) -> RateLimit:
        """The rest of the limits, as far as this process knows; sends nothing."""
        return self._runtime.open().snapshot()

    @property
    def statistics(self) -> Statistics:
        """Counts of what the client has done so far; sends nothing."""
        return self._runtime.counters.snapshot(self._runtime.converter.drift.deviations())

    @guided(CLIENT_PARAMETERS)
    def with_options(
        self,
        *,
        limits: RateLimits | None = None,
        retry: RetryPolicy | None = None,
        polling: PollPolicy | None = None,
        timeouts: Timeouts | None = None,
        launch: LaunchPolicy | None = None,
        operations: OperationTable | None = None,
        hooks: Sequence[Hook] = (),
        headers: Mapping[str, str] | None = None,
    ) -> Self:
        """Make a copy with other settings, which shares connections, limits, jobs and life with this client.

        The settings of the copy change nothing for this client: a job that both wait for is polled with the settings
        of this client, and with the headers of the one that launched it. `hooks` and `headers` are added to those of
        this client; a header of the same name is replaced. `RateLimits.max_wait` holds for the copy alone; the
        strictest counts hold for all clients of the key in this process from now on, also when the copy is gone.
        Closing either client closes both.
        """
        settings = Settings.of(
            self._settings,
            limits=limits,
            retry=retry,
            polling=polling,
            timeouts=timeouts,
            launch=launch,
            operations=operations,
            hooks=hooks,
            headers=headers,
        )
        made: Self = object.__new__(type(self))
        vars(made).update(vars(self))
        for name in tuple(vars(made)):
            if isinstance(getattr(type(made), name, None), Lazy):
                # It belongs to this client.
                delattr(made, name)
        made._assemble(self._runtime, settings)
        return made
