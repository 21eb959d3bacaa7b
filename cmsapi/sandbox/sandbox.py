"""The class `Sandbox`: a simulated Content Marketing Service, in this process or on a socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from random import Random

from cmsapi.errors import NotSentError, OutcomeUnknownError
from cmsapi.messages import Request, Response
from cmsapi.sandbox.clock import Clock
from cmsapi.sandbox.credits import Credits
from cmsapi.sandbox.durations import Distribution
from cmsapi.sandbox.faults import Dropped, Fault, Faults
from cmsapi.sandbox.initial_data import populate
from cmsapi.sandbox.jobs import Jobs, Outcome
from cmsapi.sandbox.ledger import Ledger
from cmsapi.sandbox.limits import Limits
from cmsapi.sandbox.service import Service
from cmsapi.sandbox.store import ALPHABET, Choices, Store

KEYWORDS = 20  # keywords that were never analyzed, in a new sandbox
CONTENTS = 5  # contents in a new sandbox
KEY_CHARACTERS = 32  # number of characters in a key after sk_
IN_PROCESS_URL = "http://127.0.0.1:9"  # nothing listens there, so a client without `transport` cannot connect


class Transport:
    """Transport to a sandbox in the same process; no socket is involved."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._tasks: set[asyncio.Task[Response]] = set()

    async def send(self, request: Request) -> Response:
        """Send ``request`` to the service and return the response. If latency is set, cancelled requests still arrive.

        Raises:
            NotSentError: A fault refuses the connection.
            OutcomeUnknownError: A fault closes the connection; the request may have been carried out.
        """
        try:
            if not self._service.faults.latency:
                return await self._service.handle(request)
            # A request that has left the client will arrive, even if the client stops waiting.
            task = asyncio.create_task(self._service.handle(request))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return await asyncio.shield(task)
        except Dropped as dropped:
            if dropped.sent:
                raise OutcomeUnknownError("The sandbox dropped the connection; the request may have arrived.") from None
            raise NotSentError("The sandbox refused the connection; nothing was sent.") from None

    async def aclose(self) -> None:
        """Do nothing: there is no connection to close."""


class Sandbox:
    """A simulated service. The same seed and requests give the same identifiers, keys, durations and faults.

    Connect in process with ``transport``, or through a socket with `serve`. Durations, limits and faults follow the
    event loop's clock. The sandbox's time starts at creation or, if no event loop is running then, at first use in one.

    Args:
        seed: Seed of all random values.
        keywords: Number of keywords that were never analyzed, or their texts.
        contents: Number of contents, each on a page whose keyword has been analyzed, so that a generation can start.
        limits: Rate limits for each key.
        durations: Durations of jobs: a distribution or a number of seconds, for all jobs or by kind (``analysis``,
            ``prompt``, ``search``, ``generation``, ``knowledge_document``); other kinds raise ValueError.
        faults: Faults and latency between client and service.
        credits: Initial balances (``analysis``, ``aiWriting``, ``contentIdeasSearches``); other names raise ValueError.
        choices: Behaviour of the service where the specification is silent.
        clock_skew: Seconds added to the service's calendar.
        epoch: Calendar time at the start, without ``clock_skew``, in seconds since 1970; None for the time of creation.

    Attributes:
        transport: Transport for ``Client(transport=)``.
        base_url: Address for ``Client(base_url=)``; while `serve` is open, the URL of the server.
        api_key: Key of an administrator.
        member_key: Key of a member, who can neither see the private workspace nor use operations reserved for an Admin.
        workspace_id: Workspace of the pages, keywords and other records listed below.
        private_workspace_id: Workspace that only the administrator sees.
        user_ids: Users of the organization, the administrator first.
        page_ids: Pages; those of the contents come first.
        keyword_ids: Keywords not yet analyzed when the sandbox is created.
        analyzed_keyword_ids: Keywords already analyzed when the sandbox is created: one per content, and at least one.
        prompt_ids: Prompts not yet analyzed when the sandbox is created.
        content_ids: Contents.
        folder_ids: Folders.
        content_status_ids: Workflow statuses.
        brand_voice_ids: Brand voices.
        knowledge_document_ids: Knowledge documents, all processed successfully.
        ledger: Requests and accepted launches so far.
        faults: Faults and latency, which may be changed at any time.
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        keywords: int | Sequence[str] = KEYWORDS,
        contents: int = CONTENTS,
        limits: Limits | None = None,
        durations: Distribution | float | Mapping[str, Distribution | float] | None = None,
        faults: Faults | Fault | Iterable[Fault] | None = None,
        credits: Mapping[str, int] | None = None,  # noqa: A002 - the specification's word
        choices: Choices | None = None,
        clock_skew: float = 0.0,
        epoch: float | None = None,
    ) -> None:
        self.ledger: Ledger = Ledger()
        rules = [faults] if isinstance(faults, Fault) else faults or ()
        self.faults: Faults = rules if isinstance(rules, Faults) else Faults(list(rules))
        self._clock = Clock(epoch, clock_skew)
        store = Store(seed, self._clock, choices or Choices())
        self._jobs = Jobs(seed, store, Credits(store, credits), self.ledger, durations)
        ids = populate(store, keywords, contents)
        rng = Random(f"{seed} keys")  # noqa: S311 - a sandbox's keys protect nothing
        faults_rng = Random(f"{seed} faults")  # noqa: S311 - made-up faults
        self.api_key: str = "sk_" + "".join(rng.choices(ALPHABET, k=KEY_CHARACTERS))
        self.member_key: str = "sk_" + "".join(rng.choices(ALPHABET, k=KEY_CHARACTERS))
        admin, member, *_ = (store.tables["users"][user] for user in ids["users"])
        keys = {self.api_key: admin, self.member_key: member}
        self._service = Service(store, self._jobs, limits or Limits(), self.faults, self.ledger, keys, faults_rng)
        self.transport: Transport = Transport(self._service)
        self.base_url: str = IN_PROCESS_URL
        self.workspace_id: str = ids["workspaces"][0]
        self.private_workspace_id: str = ids["workspaces"][1]
        self.user_ids: tuple[str, ...] = ids["users"]
        self.page_ids: tuple[str, ...] = ids["pages"]
        self.content_ids: tuple[str, ...] = ids["contents"]
        self.prompt_ids: tuple[str, ...] = ids["prompts"]
        self.folder_ids: tuple[str, ...] = ids["folders"]
        self.content_status_ids: tuple[str, ...] = ids["statuses"]
        self.brand_voice_ids: tuple[str, ...] = ids["voices"]
        self.knowledge_document_ids: tuple[str, ...] = ids["knowledge"]
        analyzed = max(1, contents)
        self.analyzed_keyword_ids: tuple[str, ...] = ids["keywords"][:analyzed]
        self.keyword_ids: tuple[str, ...] = ids["keywords"][analyzed:]

    def __repr__(self) -> str:
        return f"<Sandbox at {self.base_url}>"

    @property
    def credits(self) -> dict[str, int]:
        """The current credit balances by name. Change them in place, or assign a mapping that contains some of them."""
        self._jobs.advance(self._clock.now())
        return self._jobs.credits.balances

    @credits.setter  # noqa: A003 - the same
    def credits(self, balances: Mapping[str, int]) -> None:
        self._jobs.credits.balances.update(balances)

    def set_outcome(
        self, target: str, outcome: str | None, *, duration: float | None = None, ideas: int | None = None
    ) -> None:
        """Set the outcome of running and later jobs for ``target``. A later call with the same ``target`` replaces it.

        Args:
            target: Identifier of a keyword, prompt or content; seed keyword of a search; or name of a document. It need
                not exist yet. The ID of a search, generation or document selects one job and takes precedence.
            outcome: ``success`` (shown as ``review`` for a generation), ``failed``, or another status; None for null.
            duration: Duration in seconds of jobs launched after this call; None samples it.
            ideas: Number of ideas that a search finds; None samples it.
        """
        self._jobs.outcomes[target] = Outcome(outcome, duration, ideas)

    def finish(self, target: str | None = None) -> int:
        """End all running jobs now, or only those for ``target`` (see `set_outcome`); return how many ended."""
        return self._jobs.finish(target)

    @asynccontextmanager
    async def serve(self, port: int = 0, host: str = "127.0.0.1") -> AsyncIterator[str]:
        """Serve on a socket while the context is open; set ``base_url`` to the server's URL, and yield that URL.

        Args:
            port: Port to listen on; 0 for a free one.
            host: Address to listen on.
        """
        from cmsapi.sandbox.server import listen  # aiohttp is slow to import

        async with listen(self._service, host, port) as base_url:
            self.base_url = base_url
            try:
                yield base_url
            finally:
                self.base_url = IN_PROCESS_URL
