"""Storms: random faults drawn from a seed, so that tests meet combinations that no author thought of."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from cmsapi.sandbox.faults.rules import Fault, Faults, Latency, Spoiled, When
from cmsapi.sandbox.randomness.distributions import Lognormal
from cmsapi.sandbox.randomness.seeded import seeded_random

_READS = "GET /v1/*"
_LAUNCHES = ("POST /v1/*/analyze", "POST /v1/*/content-idea-searches", "POST /v1/contents/*/atomic")
_LATENCIES: Sequence[Latency] = (None, (0.0, 0.05), (0.01, 0.8), Lognormal(0.08, 1.2))
_SIDES: Sequence[When] = ("before", "after")
_PLACES: Sequence[When] = ("before", "within", "after")
_SPOILED: Sequence[Spoiled] = ("truncated", "empty", "html", "nested", "digits", "garbage")
_WRONG_STATUSES: Sequence[Spoiled] = ("null status", "unknown status")

_Draw = Callable[[random.Random, float], Fault]


def storm(seed: object, *, lasts: float = 300.0) -> Faults:
    """Draw faults; the same seed gives the same faults.

    A storm has errors and drops before and after the effect, launches that take effect after their client has stopped
    waiting, bursts of 429, broken and slow answers, wrong status words, a key that is refused for some time, and steps
    of the clock. It never lies about the effect in a way that a client cannot detect: a 4xx means that the request had
    no effect.

    Args:
        seed: Seed of the storm.
        lasts: Seconds after the first request at which the storm ends; only the latency stays.

    Returns:
        Faults for a `Sandbox` or a `FaultProxy`.
    """
    rng = seeded_random(seed, "storm")
    rules = [rng.choice(_DRAWS)(rng, lasts) for _ in range(rng.randint(2, 7))]
    steps = [
        (rng.uniform(0, lasts), rng.choice((-1, 1)) * rng.uniform(5, 7200)) for _ in range(rng.choice((0, 0, 1, 2)))
    ]
    return Faults(latency=rng.choice(_LATENCIES), rules=rules, clock_steps=steps)


def _period(rng: random.Random, lasts: float) -> tuple[float, float]:
    begin = rng.choice((0.0, rng.uniform(0, lasts / 2)))
    return begin, rng.uniform(begin + lasts / 20, lasts)


def _probability(rng: random.Random) -> float:
    return rng.choice((0.05, 0.2, 0.5))


def _lasting(rng: random.Random, lasts: float, **fault: Any) -> Fault:
    """Let a fault strike for some time, with some chance."""
    return Fault(times=None, probability=_probability(rng), between=_period(rng, lasts), **fault)


def _failure(rng: random.Random, lasts: float) -> Fault:
    return _lasting(rng, lasts, status=rng.choice((500, 502, 503)), when=rng.choice(_SIDES))


def _drop(rng: random.Random, lasts: float) -> Fault:
    return _lasting(rng, lasts, drop=True, when=rng.choice(_PLACES))


def _burst(rng: random.Random, lasts: float) -> Fault:
    begin = rng.uniform(0, lasts / 2)
    retry_after = rng.choice((None, 1, 5, 30))
    between = (begin, begin + rng.uniform(1, lasts / 10))
    return Fault(status=429, retry_after=retry_after, times=None, between=between)


def _spoiled(rng: random.Random, lasts: float) -> Fault:
    return _lasting(rng, lasts, spoil=rng.choice(_SPOILED))


def _wrong_status(rng: random.Random, lasts: float) -> Fault:
    return _lasting(rng, lasts, match=_READS, spoil=rng.choice(_WRONG_STATUSES))


def _superseded(rng: random.Random, lasts: float) -> Fault:
    return Fault(match="GET /v1/contents/*/generation", spoil="superseded", times=1, probability=_probability(rng))


def _missing(rng: random.Random, lasts: float) -> Fault:
    return Fault(
        match=_READS, status=404, times=rng.randint(1, 3), probability=_probability(rng), between=_period(rng, lasts)
    )


def _refused_key(rng: random.Random, lasts: float) -> Fault:
    begin = rng.uniform(0, lasts / 2)
    return Fault(status=401, times=None, between=(begin, begin + rng.uniform(1, lasts / 10)))


def _slow(rng: random.Random, lasts: float) -> Fault:
    return _lasting(rng, lasts, slow=rng.choice((2.0, 20.0, 120.0)))


def _late(rng: random.Random, lasts: float) -> Fault:
    answer: dict[str, Any] = rng.choice(({}, {"drop": True, "when": "after"}, {"status": 502, "when": "after"}))
    late = lasts * rng.choice((0.01, 0.03, 0.07, 0.15))
    match = rng.choice(_LAUNCHES)
    return Fault(match=match, late=late, times=None, probability=0.5, between=(0.0, lasts), **answer)


_DRAWS: Sequence[_Draw] = (
    _failure,
    _failure,
    _drop,
    _drop,
    _burst,
    _spoiled,
    _spoiled,
    _wrong_status,
    _superseded,
    _missing,
    _refused_key,
    _slow,
    _late,
    _late,
)
