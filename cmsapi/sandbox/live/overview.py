"""The content of the live page as one JSON document: the true state, not the answers that clients get."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import attrs

from cmsapi.sandbox.domain import generations
from cmsapi.sandbox.service import limits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cmsapi.sandbox.faults.injector import FaultInjector
    from cmsapi.sandbox.service.api_keys import ApiKey
    from cmsapi.sandbox.service.ledger import Ledger
    from cmsapi.sandbox.service.service import Service
    from cmsapi.sandbox.world.jobs import Job
    from cmsapi.sandbox.world.world import World

BARS = 60
MOST_ENTRIES = 200
MOST_RUNNING = 100
MOST_ENDED = 50
_MINUTE = 60.0


def overview(service: Service, injector: FaultInjector, seen: int = 0) -> dict[str, Any]:
    """Describe the present state.

    Args:
        service: The service.
        injector: The faults on the way to it.
        seen: Number of entries of the ledger that the page has read before.
    """
    world, ledger, statistics = service.world, service.ledger, service.statistics
    at = world.clock.seconds()
    service.complete_due_jobs(at)
    first = min(len(ledger), max(seen, len(ledger) - MOST_ENTRIES))
    return {
        "keys": [_key(key, at) for key in service.keys if not key.revoked],
        "requests": len(ledger),
        "rate_limited": statistics.rate_limited,
        "unauthorized": statistics.unauthorized,
        "by_second": _bars(ledger, at, limits.SECOND),
        "by_minute": _bars(ledger, at, _MINUTE),
        "jobs": _jobs(world, at),
        "credits": attrs.asdict(world.bookkeeper.balances),
        "faults": [
            {"kind": fault.kind, "match": fault.match, "remaining": remaining} for fault, remaining in injector.pending
        ],
        "struck": dict(injector.struck),
        "ledger": {
            "first": first,
            "entries": [
                {
                    "moment": world.clock.moment(entry.at),
                    "request": f"{entry.method} {entry.path}",
                    "key": entry.key,
                    "status": entry.status,
                    "outcome": entry.outcome,
                    "charged": entry.charged,
                    "effect": entry.effect,
                }
                for entry in ledger[first:]
            ],
        },
    }


def _key(key: ApiKey, at: float) -> dict[str, Any]:
    window = key.window
    second, hour = window.used(at)
    return {
        "label": key.label,
        "second": {"used": second, "limit": _limit(window.limits.per_second)},
        "hour": {"used": hour, "limit": _limit(window.limits.per_hour)},
        "reset": int(window.headers(at)["X-RateLimit-Reset"]),
    }


def _limit(limit: int) -> int | None:
    return limit if limit < limits.UNLIMITED else None


def _bars(ledger: Ledger, at: float, width: float) -> list[tuple[int, int]]:
    """Count the latest requests by their age, oldest first: all requests, and those refused by the limits."""
    begin = bisect_right(ledger, at - BARS * width, key=attrgetter("at"))
    everything, refused = Counter[int](), Counter[int]()
    for entry in ledger[begin:]:
        bar = BARS - 1 - int((at - entry.at) / width)
        everything[bar] += 1
        refused[bar] += entry.outcome == "rate_limited"
    return [(everything[bar], refused[bar]) for bar in range(BARS)]


def _jobs(world: World, at: float) -> dict[str, Any]:
    jobs = world.jobs.all
    latest = {job.target_id: number for number, job in enumerate(jobs)}
    rows = [(number, job, _word(world, job, at, latest[job.target_id] == number)) for number, job in enumerate(jobs)]
    open_, closed = ([row for row in reversed(rows) if row[1].done is done] for done in (False, True))
    return {
        "words": Counter(word for _, _, word in rows),
        "rows": [
            {
                "number": number,
                "kind": job.kind,
                "target_id": job.target_id,
                "title": _title(world, job),
                "word": word,
                "done": job.done,
                "elapsed": (job.ends_at if job.done else at) - job.launched_at,
                "duration": job.duration,
            }
            for number, job, word in open_[:MOST_RUNNING] + closed[:MOST_ENDED]
        ],
    }


def _word(world: World, job: Job, at: float, is_latest: bool) -> str:
    if not job.done:
        return job.word(at, "queued", "running")
    if job.dropped:
        return "dropped"
    if job.kind == generations.KIND and is_latest:
        content = world.store.contents.get(job.target_id)
        if content is not None and content.generation is not None:
            return content.generation.word
    return job.outcome


def _title(world: World, job: Job) -> str:
    store = world.store
    titles: tuple[tuple[Mapping[str, object], str], ...] = (
        (store.keywords, "keyword"),
        (store.prompts, "prompt"),
        (store.idea_searches, "keyword"),
        (store.contents, "title"),
        (store.knowledge_documents, "name"),
    )
    return next(
        (getattr(records[job.target_id], name) for records, name in titles if job.target_id in records), "deleted"
    )
