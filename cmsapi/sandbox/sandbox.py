"""The whole service in a box."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, ClassVar, Self

import attrs

from cmsapi.sandbox.controls import Controls
from cmsapi.sandbox.faults.injector import FaultInjector
from cmsapi.sandbox.faults.rules import Fault, Faults, as_faults
from cmsapi.sandbox.interface.routes import ROUTES, Route
from cmsapi.sandbox.live.page import LivePage
from cmsapi.sandbox.randomness import identifiers
from cmsapi.sandbox.service.api_keys import ApiKeys
from cmsapi.sandbox.service.job_kinds import JOB_KINDS, Durations, JobKind, check_kinds, durations_by_kind
from cmsapi.sandbox.service.limits import Limits
from cmsapi.sandbox.service.service import Service
from cmsapi.sandbox.serving.exchange import Exchange
from cmsapi.sandbox.serving.transport import SandboxTransport
from cmsapi.sandbox.world.behaviour import Behaviour
from cmsapi.sandbox.world.billing import Credits
from cmsapi.sandbox.world.books import Books
from cmsapi.sandbox.world.clock import Clock
from cmsapi.sandbox.world.initial_data import populate, populate_foreign
from cmsapi.sandbox.world.jobs import Failures, Jobs
from cmsapi.sandbox.world.store import Store
from cmsapi.sandbox.world.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType

_numbers = itertools.count(1)
_COLLEAGUE = 2


class Sandbox(Controls):
    """The whole service in this process: `transport` answers without a socket, `async with` serves on loopback.

    Two sandboxes with the same seed have the same identifiers, keys, data and durations. The clock is the running
    loop's. It starts at 2026-01-01T00:00:00Z, or shows the present time if the sandbox is served in real time.

    Args:
        seed: Seed of all random choices.
        keywords: Number of keywords that were never analysed.
        contents: Number of contents that are ready for a generation.
        limits: Rate limits of each key.
        durations: Durations of jobs: a number of seconds or a distribution for all, or a mapping that overrides some
            kinds.
        faults: Delays and faults between client and service; one `Fault` or several are short for `Faults(rules=…)`.
        credits: Initial balances.
        behaviour: Choices where the specification is silent.
        books: How the service books launches: when, what, under whom, and in which words.
        failures: Fraction of the jobs that fail, for all or by kind, or a callable `(kind, random.Random) -> bool`.
        api_key: Key of the administrator; None for one that depends on the seed. With a chosen key the other keys and
            the identifier of the organisation depend on it, so clients share no state between two services with
            different keys.

    Raises:
        ValueError: A setting is out of its range; the message says what must be true.
        TypeError: A duration is neither a number nor a distribution.
    """

    routes: ClassVar[tuple[Route, ...]] = ROUTES
    """The operations; a subclass may add others."""
    job_kinds: ClassVar[Mapping[str, JobKind]] = JOB_KINDS
    """The kinds of jobs by name; a subclass may add others."""

    def __init__(
        self,
        *,
        seed: object = 0,
        keywords: int = 20,
        contents: int = 10,
        limits: Limits | None = None,
        durations: Durations | None = None,
        faults: Faults | Fault | Iterable[Fault] | None = None,
        credits: Credits | None = None,  # noqa: A002 - the name in the domain
        behaviour: Behaviour | None = None,
        books: Books | None = None,
        failures: Failures = None,
        api_key: str | None = None,
    ) -> None:
        behaviour, books = behaviour or Behaviour(), books or Books()
        if isinstance(failures, Mapping):
            check_kinds(self.job_kinds, failures)
        # The balances change, and the setting stays as it is.
        self.credits: Credits = attrs.evolve(credits or Credits())
        store = Store(seed, odd_identifiers=behaviour.identifiers == "odd")
        self._clock = Clock()
        world = World(
            seed=seed,
            clock=self._clock,
            store=store,
            balances=self.credits,
            jobs=Jobs(seed, durations_by_kind(self.job_kinds, durations), failures),
            behaviour=behaviour,
            books=books,
        )
        self.workspace_id: str = populate(world, keywords=keywords, contents=contents).id
        self.user_ids: tuple[str, ...] = tuple(store.users)
        self.content_status_ids: tuple[str, ...] = tuple(store.content_statuses)
        self.folder_ids: tuple[str, ...] = tuple(store.folders)
        self.page_ids: tuple[str, ...] = tuple(store.pages)
        self.keyword_ids: tuple[str, ...] = tuple(each.id for each in store.keywords.values() if not each.analyzed)
        self.analyzed_keyword_ids: tuple[str, ...] = tuple(each.id for each in store.keywords.values() if each.analyzed)
        self.prompt_ids: tuple[str, ...] = tuple(store.prompts)
        self.content_ids: tuple[str, ...] = tuple(store.contents)
        self.brand_voice_ids: tuple[str, ...] = tuple(store.brand_voices)
        self.knowledge_document_ids: tuple[str, ...] = tuple(store.knowledge_documents)
        self.foreign_workspace_id: str = populate_foreign(world).id
        self.api_key: str = (
            identifiers.api_key(seed, "admin") if api_key is None else identifiers.checked_api_key(api_key)
        )
        source = seed if api_key is None else api_key
        self.member_key: str = identifiers.api_key(source, "member")
        self.revoked_key: str = identifiers.api_key(source, "revoked")
        if api_key is not None:
            # A client keeps launches by organisation, because keys are rotated.
            store.users[self.user_ids[0]].organization.id = identifiers.Identifiers(api_key).new("org")
        keys, users = ApiKeys(limits or Limits()), store.users
        keys.add(self.api_key, "admin", users[self.user_ids[0]])
        keys.add(self.member_key, "member", users[self.user_ids[1]])
        keys.add(self.revoked_key, "revoked", users[self.user_ids[0]], revoked=True)
        service = Service(world, keys, self.routes, self.job_kinds)
        super().__init__(service, FaultInjector(as_faults(faults), seed), self.user_ids[_COLLEAGUE])
        self._exchange = Exchange(self._service, self._injector, identifiers.RequestIds(seed))
        self._serving = AsyncExitStack()
        self._home = f"https://sandbox-{next(_numbers)}.invalid"
        self.base_url: str = self._home
        self.transport: SandboxTransport = SandboxTransport(self._exchange)

    def __repr__(self) -> str:
        return f"<Sandbox at {self.base_url}>"

    async def __aenter__(self) -> Self:
        await self.serve()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def serve(self, host: str = "127.0.0.1", port: int = 0) -> str:
        """Listen on a socket, too, and return the new `base_url`; on loopback it is also the address of the live page.

        Args:
            host: Address to listen on.
            port: Port to listen on; 0 for any free one.

        Raises:
            OSError: The address is in use.
        """
        from cmsapi.sandbox.serving.server import listen  # aiohttp is imported only to serve

        self._clock.follow_wall_clock()
        site = LivePage(self, self._service, self._injector, self._exchange.log, self._examples(), host)
        port = await self._serving.enter_async_context(listen(self._exchange, site, host, port))
        self.base_url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        return self.base_url

    def _examples(self) -> dict[str, Any]:
        """Return values for the fields of the reference: API keys by label, and identifiers by parameter."""
        identifiers = {
            "workspaceId": (self.workspace_id,),
            "folderId": self.folder_ids,
            "contentId": self.content_ids,
            "pageId": self.page_ids,
            "keywordId": self.keyword_ids,
            "promptId": self.prompt_ids,
            "brandVoiceId": self.brand_voice_ids,
            "knowledgeDocumentId": self.knowledge_document_ids,
            "contentStatusId": self.content_status_ids,
            "assignedToId": self.user_ids,
        }
        return {
            "keys": {"admin": self.api_key, "member": self.member_key, "revoked": self.revoked_key},
            "values": {name: ids[0] for name, ids in identifiers.items() if ids},
        }

    async def aclose(self) -> None:
        """Stop listening; `transport` still answers."""
        self.base_url = self._home
        await self._serving.aclose()


async def serve_forever(
    sandbox: Sandbox,
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    started: Callable[[str], object] | None = None,
) -> None:
    """Serve a sandbox until cancelled.

    Args:
        sandbox: The sandbox.
        host: Address to listen on.
        port: Port to listen on; 0 for any free one.
        started: Called with the base URL when the sandbox listens.

    Raises:
        OSError: The address is taken.
    """
    try:
        base_url = await sandbox.serve(host, port)
        if started is not None:
            started(base_url)
        await asyncio.Event().wait()
    finally:
        await sandbox.aclose()
