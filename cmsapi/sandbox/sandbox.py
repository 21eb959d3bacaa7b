"""The whole service in a box, and the strings to pull on it."""

from __future__ import annotations

import asyncio
import itertools
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Literal, Self

from cmsapi.sandbox.domain import drafts, generations
from cmsapi.sandbox.faults.rules import Fault, Faults, Weather, as_faults
from cmsapi.sandbox.initial_data import populate
from cmsapi.sandbox.randomness import seeded
from cmsapi.sandbox.randomness.distributions import Durations, by_kind, known_kinds
from cmsapi.sandbox.service.api_keys import Keys
from cmsapi.sandbox.service.completion import complete, settle
from cmsapi.sandbox.service.limits import Limits
from cmsapi.sandbox.service.service import Service, Statistics
from cmsapi.sandbox.serving.exchange import Exchange
from cmsapi.sandbox.serving.transport import SandboxTransport
from cmsapi.sandbox.world import jobs
from cmsapi.sandbox.world.behaviour import Behaviour
from cmsapi.sandbox.world.billing import Accounts, Credits
from cmsapi.sandbox.world.clock import LoopClock
from cmsapi.sandbox.world.jobs import Failures, Job, Jobs
from cmsapi.sandbox.world.store import Store
from cmsapi.sandbox.world.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import TracebackType

    from cmsapi.sandbox.service.ledger import Ledger
    from cmsapi.sandbox.world.records import Content

_numbers = itertools.count(1)
_COLLEAGUE = 2


class Sandbox:
    """Be the whole service, in this process: `transport` answers without a socket, `async with` serves on loopback.

    Two sandboxes with the same seed have the same identifiers, keys, data and durations. Time is the running loop's,
    starting at 2026-01-01T00:00:00Z, or at the present once it is served in real time.

    Args:
        seed: Seed of everything.
        keywords: How many keywords that were never analysed.
        contents: How many contents ready for a generation.
        limits: Rate limits of every key.
        durations: How long jobs take: a number of seconds or a distribution for all, or a mapping that overrides
            some kinds.
        faults: Delays and faults on the way; one `Fault` or several stand for `Faults(rules=…)`.
        credits: Balances to start with.
        behaviour: What the specification leaves open.
        failures: Fraction of the jobs that fail, for all or by kind, or a callable `(kind, random.Random) -> bool`.
        api_key: Key of the administrator; None for one that depends on the seed. The other keys and the identifier of
            the organisation then depend on it: two services with different keys share nothing that a client remembers.

    Raises:
        ValueError: A setting makes no sense; the message says which.
    """

    def __init__(
        self,
        *,
        seed: object = 0,
        keywords: int = 20,
        contents: int = 10,
        limits: Limits | None = None,
        durations: Durations | None = None,
        faults: Faults | Fault | Iterable[Fault] | None = None,
        credits: Credits | None = None,  # noqa: A002 - the domain's word
        behaviour: Behaviour | None = None,
        failures: Failures = None,
        api_key: str | None = None,
    ) -> None:
        behaviour = behaviour or Behaviour()
        balances = credits or Credits()
        # The balances live on, the setting does not change.
        self.credits: Credits = Credits(
            analysis=balances.analysis,
            ai_writing=balances.ai_writing,
            content_ideas_searches=balances.content_ideas_searches,
        )
        store = Store(seed, odd_identifiers=behaviour.identifiers == "odd")
        self._clock = LoopClock()
        self._world = World(
            seed=seed,
            clock=self._clock,
            store=store,
            accounts=Accounts(self.credits, store, 1 if behaviour.amounts == "positive" else -1),
            jobs=Jobs(seed, by_kind(durations), _checked(failures)),
            behaviour=behaviour,
        )
        names = populate(self._world, keywords=keywords, contents=contents)
        self.workspace_id: str = names.workspace_id
        self.foreign_workspace_id: str = names.foreign_workspace_id
        self.user_ids: tuple[str, ...] = names.user_ids
        self.content_status_ids: tuple[str, ...] = names.content_status_ids
        self.folder_ids: tuple[str, ...] = names.folder_ids
        self.page_ids: tuple[str, ...] = names.page_ids
        self.keyword_ids: tuple[str, ...] = names.keyword_ids
        self.analyzed_keyword_ids: tuple[str, ...] = names.analyzed_keyword_ids
        self.prompt_ids: tuple[str, ...] = names.prompt_ids
        self.content_ids: tuple[str, ...] = names.content_ids
        self.brand_voice_ids: tuple[str, ...] = names.brand_voice_ids
        self.knowledge_document_ids: tuple[str, ...] = names.knowledge_document_ids
        self.api_key: str = seeded.api_key(seed, "admin") if api_key is None else seeded.checked_api_key(api_key)
        source = seed if api_key is None else api_key
        self.member_key: str = seeded.api_key(source, "member")
        self.revoked_key: str = seeded.api_key(source, "revoked")
        if api_key is not None:
            # A client keeps launches by organisation, because keys are rotated.
            store.users[self.user_ids[0]].organization.id = seeded.Identifiers(api_key).new("org")
        keys, users = Keys(limits or Limits()), store.users
        keys.add(self.api_key, "admin", users[self.user_ids[0]])
        keys.add(self.member_key, "member", users[self.user_ids[1]])
        keys.add(self.revoked_key, "revoked", users[self.user_ids[0]], revoked=True)
        self._service = Service(self._world, keys)
        self._exchange = Exchange(self._service, Weather(as_faults(faults), seed))
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
        """Listen on a socket as well, and return the new `base_url`; on loopback it is also a page to watch and use.

        Args:
            host: Address to listen on.
            port: Port to listen on; 0 for any that is free.

        Raises:
            OSError: The address is taken.
        """
        from cmsapi.sandbox.page.site import Site
        from cmsapi.sandbox.serving.server import served

        self._clock.follow_wall_clock()
        site = Site(self, self._service, self._exchange.weather, host)
        port = await self._serving.enter_async_context(served(self._exchange, site, host, port))
        self.base_url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        return self.base_url

    async def aclose(self) -> None:
        """Stop listening; `transport` keeps answering."""
        self.base_url = self._home
        await self._serving.aclose()

    @property
    def ledger(self) -> Ledger:
        """Every request seen, in order of arrival."""
        return self._service.ledger

    @property
    def statistics(self) -> Statistics:
        """A snapshot of the counters of requests."""
        return self._service.statistics

    @property
    def faults_struck(self) -> Mapping[str, int]:
        """How many faults have struck, by kind."""
        return dict(self._exchange.weather.struck)

    @property
    def jobs(self) -> tuple[Job, ...]:
        """Every job launched, in order: the ground truth that clients can only poll for."""
        return tuple(self._world.jobs.all)

    def durations_of(self, kind: str) -> list[float]:
        """Return the seconds that the jobs of a kind take, in order of their launches."""
        known_kinds({kind: None})
        return [job.duration for job in self._world.jobs.all if job.kind == kind]

    def now(self) -> float:
        """Return the present moment of the sandbox, in epoch seconds."""
        return self._world.now

    def finish(self, target_id: str, outcome: Literal["success", "failed", "review"] = "success") -> None:
        """End the job that runs on a target, now.

        Args:
            target_id: Keyword, prompt, search, content or knowledge document.
            outcome: `failed`, or `success`, which for a generation is the same as `review`.

        Raises:
            LookupError: No job runs there.
        """
        at = self._settled()
        ended = jobs.FAILED if outcome == jobs.FAILED else jobs.SUCCESS
        complete(self._world, self._world.jobs.end_now(target_id, ended, at))

    def set_outcome(self, target_id: str, outcome: Literal["success", "failed"] | None) -> None:
        """Fix the outcome of the jobs launched on a target from now on; None leaves it to chance again.

        Raises:
            ValueError: There is no such outcome.
        """
        if outcome not in (jobs.SUCCESS, jobs.FAILED, None):
            raise ValueError(f"outcome is 'success', 'failed' or None, not {outcome!r}")
        _put(self._world.jobs.outcomes, target_id, outcome)

    def set_status_word(self, target_id: str, word: str | None) -> None:
        """Show a word, or null, instead of the true status of a target."""
        self._world.status_words[target_id] = word

    def clear_status_word(self, target_id: str) -> None:
        """Show the true status of a target again."""
        self._world.status_words.pop(target_id, None)

    def set_credits(
        self,
        *,
        analysis: int | None = None,
        ai_writing: int | None = None,
        content_ideas_searches: int | None = None,
    ) -> None:
        """Set some of the balances."""
        for name, balance in (
            ("analysis", analysis),
            ("ai_writing", ai_writing),
            ("content_ideas_searches", content_ideas_searches),
        ):
            if balance is not None:
                setattr(self.credits, name, balance)

    def add_fault(self, fault: Fault) -> None:
        """Let a fault strike from now on, before those that are there."""
        self._exchange.weather.add(fault)

    def clear_faults(self) -> None:
        """Let no fault strike from now on; delays and steps of the clock stay."""
        self._exchange.weather.clear()

    def revoke(self, api_key: str) -> None:
        """Revoke an API key: 401 from now on."""
        self._service.keys[api_key].revoked = True

    def restore(self, api_key: str) -> None:
        """Make a revoked API key valid again."""
        self._service.keys[api_key].revoked = False

    def step_clock(self, seconds: float) -> None:
        """Set the service's clock forward, or back by negative seconds; intervals stay as they are."""
        self._clock.step(seconds)

    def forget(self, target_id: str) -> None:
        """Let a resource be not found from now on."""
        self._world.forgotten.add(target_id)

    def remember(self, target_id: str) -> None:
        """Let a forgotten resource be found again."""
        self._world.forgotten.discard(target_id)

    def supersede_generation(self, content_id: str) -> str:
        """Let a colleague throw the current generation away and launch another; return its identifier."""
        content = self._content(content_id)
        self._world.drop(content.id)
        content.generation = None
        colleague = self._world.store.users[self.user_ids[_COLLEAGUE]]
        return generations.launch(self._world, content, colleague, {}).id

    def confirm_elsewhere(self, content_id: str) -> None:
        """Let a colleague confirm the generation in review."""
        generations.confirm(self._world, self._content(content_id), self.user_ids[_COLLEAGUE])

    def cancel_elsewhere(self, content_id: str) -> None:
        """Let a colleague discard the generation in review."""
        generations.cancel(self._world, self._content(content_id))

    def touch_content(self, content_id: str, **fields: Any) -> int:
        """Let a colleague edit a content, by the names of fields in a body; return its new `version`."""
        content = self._content(content_id)
        drafts.apply(self._world, content, fields, self.user_ids[_COLLEAGUE])
        return content.version

    def _content(self, content_id: str) -> Content:
        self._settled()
        return self._world.store.contents[content_id]

    def _settled(self) -> float:
        at = self._clock.seconds()
        settle(self._world, at)
        return at


async def serve_forever(
    sandbox: Sandbox,
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    started: Callable[[str], object] | None = None,
) -> None:
    """Serve a sandbox until cancelled.

    Args:
        sandbox: What to serve.
        host: Address to listen on.
        port: Port to listen on; 0 for any that is free.
        started: Called with the base URL once it listens.

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


def _checked(failures: Failures) -> Failures:
    if failures is not None and not isinstance(failures, float | int) and not callable(failures):
        known_kinds(failures)
    return failures


def _put(table: dict[str, str], key: str, value: str | None) -> None:
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value
