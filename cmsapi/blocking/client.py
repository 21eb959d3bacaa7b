"""The client for code without an event loop."""
# Written by `make blocking` from the async classes; do not edit.
# mypy: disable-error-code=no-any-return

from __future__ import annotations

import ssl as ssl_module
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from cmsapi.api.operations import OperationTable
from cmsapi.blocking.jobs import Jobs
from cmsapi.blocking.mirror import ClientMirror
from cmsapi.blocking.resources import (
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
from cmsapi.client import Client as AsyncClient
from cmsapi.config import LaunchPolicy, PollPolicy, RateLimits, RetryPolicy, Timeouts
from cmsapi.guesses import CLIENT_PARAMETERS, guided
from cmsapi.observability.events import Hook
from cmsapi.observability.statistics import Statistics
from cmsapi.ratelimit.rate_limit import RateLimit
from cmsapi.transport.http import SendAwareTransport, Transport

if TYPE_CHECKING:
    from cmsapi.api.models.user import User
    from cmsapi.doctor.diagnosis import Diagnosis


class Client(ClientMirror, of=AsyncClient):
    """Call the Content Marketing Service from code without an event loop.

    The client runs the async client in a thread of its own, which the first call starts. Use it with `with`, or call
    `close()` when you are done. Any number of threads may share it. After a fork it can be used if it was not used
    before.

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

    __slots__ = ()

    @property
    def users(self) -> Users:
        return self._part("users")

    @property
    def workspaces(self) -> Workspaces:
        return self._part("workspaces")

    @property
    def folders(self) -> Folders:
        return self._part("folders")

    @property
    def contents(self) -> Contents:
        return self._part("contents")

    @property
    def pages(self) -> Pages:
        return self._part("pages")

    @property
    def keywords(self) -> Keywords:
        return self._part("keywords")

    @property
    def prompts(self) -> Prompts:
        return self._part("prompts")

    @property
    def brand_voices(self) -> BrandVoices:
        return self._part("brand_voices")

    @property
    def knowledge_documents(self) -> KnowledgeDocuments:
        return self._part("knowledge_documents")

    @property
    def content_ideas(self) -> ContentIdeaSearches:
        return self._part("content_ideas")

    @property
    def credit_usages(self) -> CreditUsages:
        return self._part("credit_usages")

    @property
    def jobs(self) -> Jobs:
        return self._part("jobs")

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
        hooks: Sequence[Hook] = (),
        headers: Mapping[str, str] | None = None,
        proxy: str | None = None,
        ssl: ssl_module.SSLContext | None = None,
        trust_env: bool = False,
        largest_answer: int | None = None,
        allow_http: bool = False,
    ) -> None:
        self._start_with(
            AsyncClient(
                api_key,
                base_url=base_url,
                limits=limits,
                retry=retry,
                polling=polling,
                timeouts=timeouts,
                launch=launch,
                operations=operations,
                state=state,
                transport=transport,
                hooks=hooks,
                headers=headers,
                proxy=proxy,
                ssl=ssl,
                trust_env=trust_env,
                largest_answer=largest_answer,
                allow_http=allow_http,
            )
        )

    def me(self) -> User:
        """Read the user of the key with organisation and credit balances, which verifies the key; one request.

        Raises:
            UnauthorizedError: The key is invalid or revoked.
        """
        return self._call("me")

    def doctor(self) -> Diagnosis:
        """Check the connection to the service; at most four requests, one of which counts in no limit, and no credit.

        It checks the key, permissions, balances, limits and their use by other programs, clock, latency, the table of
        operations against the service's own description, and answers that differed from the specification.

        Returns:
            The findings, with `.checks`, `.ok` and `.adopt()`. A refused key is a finding, not an error.
        """
        return self._call("doctor")

    def request(
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
        return self._call("request", method, path, params=params, json=json, headers=headers, retry=retry)

    @property
    def rate_limit(self) -> RateLimit:
        """The rest of the limits, as far as this process knows; sends nothing."""
        return self._read("rate_limit")

    @property
    def statistics(self) -> Statistics:
        """Counts of what the client has done so far; sends nothing."""
        return self._read("statistics")

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
        return self._call(
            "with_options",
            limits=limits,
            retry=retry,
            polling=polling,
            timeouts=timeouts,
            launch=launch,
            operations=operations,
            hooks=hooks,
            headers=headers,
        )
