"""One run against the sandbox with odd books: launches of all kinds at once, of which some lose their answers.

The truth is the sandbox's own list of jobs, and what each of them has cost in the end.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import attrs

import cmsapi
from benchmarks.virtual import in_virtual_time
from cmsapi.message import Request
from cmsapi.sandbox import Behaviour, Books, Fault, Faults, Fixed, Limits, Lognormal, Mixture, Sandbox
from tests.support.books.launches import KINDS, LATEST, LAUNCHES, End, Report, launch_all, launcher, report

_PATHS = ("POST /v1/*/analyze", "POST /v1/*/content-idea-searches", "POST /v1/contents/*/atomic")
_WORDS = ("tents", "Tents", "tents for rain", "boots", "rain boots")
_HALF_A_MINUTE_OR_MORE = Mixture([(0.5, Fixed(30.0)), (0.5, Fixed(90.0))])

#: A kind, and what is launched of it.
Target = tuple[str, str]


@attrs.frozen(kw_only=True)
class Service:
    """Say what the sandbox of a run is like.

    Args:
        books: How it books launches.
        behaviour: What else may make a lost launch hard to find.
        lost: Share of the launches whose answer is lost.
        effective: Share of those that take effect all the same.
        ways: How their answers are lost.
        failed: Share of the launches that the service refuses with its own 500 or 503.
        seconds: How long jobs take.
        failures: Share of the jobs that fail.
        foreign: Seconds between the launches of a colleague; 0 for none.
    """

    books: Books = attrs.field(factory=Books)
    behaviour: Behaviour = attrs.field(factory=Behaviour)
    lost: float = 0.05
    effective: float = 0.5
    ways: Sequence[str] = ("drop",)
    failed: float = 0.0
    seconds: Any = _HALF_A_MINUTE_OR_MORE
    failures: float = 0.0
    foreign: float = 0.0


def draw_service(rng: random.Random) -> Service:
    """Draw a service: each setting is ordinary more often than not, so that some go together."""

    def odd(chance: float, ordinary: Any, *others: Any) -> Any:
        return rng.choice(others) if rng.random() < chance else ordinary

    return Service(
        books=Books(
            booked_after=odd(0.3, 0.0, 0.5, 5.0, 61.0, 120.0, 300.0, "end", "end"),
            free=odd(0.3, 0.0, 0.2, 0.5),
            refunded=odd(0.3, 0.0, 0.3, 0.8),
            refunded_after=rng.choice((1.0, 10.0, 60.0, 300.0)),
            refund=rng.choice(("balance", "row", "deleted")),
            user=odd(0.3, "key", "api", "null"),
            keyword=odd(0.35, "same", "decorated", "upper", "other", "null", "absent"),
            refused=rng.random() < 0.1,
            page_size=odd(0.25, None, 1, 3, 10),
            pages=odd(0.15, None, 1, 2),
            oldest_first=rng.random() < 0.15,
        ),
        behaviour=Behaviour(
            charged=odd(0.15, "launch", "completion"),
            refunded=rng.random() < 0.3,
            amounts=odd(0.15, "positive", "negative"),
            replica_lag=odd(0.4, 0.0, 5.0, 20.0, 80.0, 200.0),
            replica_share=rng.choice((0.3, 1.0)),
        ),
        lost=rng.choice((0.1, 0.3, 0.6)),
        effective=rng.choice((0.2, 0.5, 0.8)),
        ways=rng.choice((("drop",), ("502", "504"), ("drop", "504", "slow", "late", "html", "truncated"))),
        failed=odd(0.3, 0.0, 0.1, 0.3),
        seconds=rng.choice((_HALF_A_MINUTE_OR_MORE, Fixed(20.0), Lognormal(150.0))),
        failures=odd(0.2, 0.0, 0.3),
        foreign=odd(0.3, 0.0, 5.0, 40.0),
    )


def run_sandbox(seed: object, service: Service | None = None, *, kind: str | None = None) -> Report:
    """Make one run in virtual time."""
    return in_virtual_time(_run(seed, service, kind))


async def _run(seed: object, service: Service | None, kind: str | None) -> Report:
    rng = random.Random(f"{seed}:sandbox")
    service = service or draw_service(rng)
    box = Sandbox(
        seed=seed,
        keywords=2 * LAUNCHES,
        contents=2 * LAUNCHES,
        limits=Limits.unlimited(),
        durations=service.seconds,
        failures=service.failures,
        faults=Faults(latency=(0.005, 0.15)),
        behaviour=service.behaviour,
        books=service.books,
    )
    kinds = rng.choice((KINDS, *((each,) for each in KINDS)))
    targets = _draw_targets(rng, box, kinds if kind is None else (kind,), LAUNCHES + 3)
    # Some launches that go well, so that there is something to rely on.
    known = rng.choice((0, 1, 3))
    ends: dict[Target, End] = {}
    async with cmsapi.Client(
        box.api_key, base_url=box.base_url, transport=box.transport, limits=cmsapi.RateLimits.unlimited()
    ) as client:
        client._runtime.rng.seed(f"{seed}:jitter")
        launchers = {kind: launcher(client, kind, box.workspace_id) for kind in KINDS}

        async def launch(target: Target) -> Any:
            kind, name = target
            return await launchers[kind](name)

        others = box.keyword_ids[len(targets) :]
        spending = asyncio.create_task(_spend(random.Random(f"{seed}:colleague"), box, service.foreign, others))
        for target in targets[:known]:
            ends[target] = await launch(target)
        await asyncio.sleep(rng.choice((0.0, 20.0, 400.0)))
        for fault in _faults(service):
            box.add_fault(fault)
        ends |= await launch_all(rng, client, launch, targets[known : known + LAUNCHES])
        spending.cancel()
    await asyncio.sleep(LATEST)
    await _send(box, box.api_key, "GET", "/v1/me")
    return report(seed, service, {target: target[0] for target in targets}, ends, _cost(box))


def _draw_targets(rng: random.Random, box: Sandbox, kinds: Sequence[str], number: int) -> list[Target]:
    """Draw what to launch, of one kind or of all."""
    names = {
        "keyword": iter(box.keyword_ids),
        "prompt": iter(box.prompt_ids),
        "article": iter(box.content_ids),
        "search": (f"{rng.choice(_WORDS)}{rng.choice(('', ' '))}{number}" for number in range(number)),
    }
    return [(kind, next(names[kind])) for kind in rng.choices(kinds, k=number)]


def _faults(service: Service) -> list[Fault]:
    """Return the faults of the launches, so that of each way an equal share is lost."""
    faults: list[Fault] = []
    # Of two faults the second one meets what the first one has left.
    left = 1.0
    for way in service.ways:
        for when, share in (("after", service.effective), ("before", 1.0 - service.effective)):
            chance = service.lost * share / len(service.ways)
            faults += [_fault(way, when, path, chance / left) for path in _PATHS]
            left -= chance
    for status in (500, 503):
        chance = service.failed * (1.0 - service.lost) / 2
        faults += [Fault(match=path, status=status, times=None, probability=chance / left) for path in _PATHS]
        left -= chance
    return faults[::-1]


def _fault(way: str, when: Any, path: str, chance: float) -> Fault:
    """Return a fault that loses an answer; what can be lost only after the effect is a 504 before it."""
    how: dict[str, dict[str, Any]] = {
        "drop": {"drop": True},
        "502": {"status": 502},
        "504": {"status": 504},
        "slow": {"slow": 200.0},
        "late": {"late": 20.0, "drop": True},
        "html": {"spoil": "html"},
        "truncated": {"spoil": "truncated"},
    }
    settings = how[way]
    if when == "before" and way in ("slow", "late", "html", "truncated"):
        settings = how["504"]
    moment = {} if "slow" in settings or "spoil" in settings else {"when": when}
    return Fault(match=path, times=None, probability=chance, **settings, **moment)


async def _spend(rng: random.Random, box: Sandbox, every: float, keyword_ids: Sequence[str]) -> None:
    """Have a colleague launch now and then."""
    keywords = iter(keyword_ids)
    while every:
        await asyncio.sleep(rng.expovariate(1 / every))
        if rng.random() < 0.5:
            body = b'{"keyword": "%s"}' % rng.choice(_WORDS).encode()
            await _send(box, box.member_key, "POST", f"/v1/workspaces/{box.workspace_id}/content-idea-searches", body)
        elif (keyword_id := next(keywords, None)) is not None:
            await _send(box, box.member_key, "POST", f"/v1/keywords/{keyword_id}/analyze")


async def _send(box: Sandbox, key: str, method: str, path: str, body: bytes | None = None) -> None:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    # Its answer may be lost as well.
    with contextlib.suppress(ConnectionResetError):
        await box.transport.send(Request(method, box.base_url + path, headers, body))


def _cost(box: Sandbox) -> Counter[Target]:
    """Return what the launches of the administrator have cost in the end."""
    kinds = {"keyword_analysis": "keyword", "prompt_analysis": "prompt", "idea_search": "search"}
    cost = Counter[Target]()
    for job in box.jobs:
        purchase = job.purchase
        if purchase is not None and purchase.user.id == box.user_ids[0]:
            kind = kinds.get(job.kind, "article")
            cost[kind, purchase.keyword if kind == "search" else job.target_id] += purchase.charged
    return cost
