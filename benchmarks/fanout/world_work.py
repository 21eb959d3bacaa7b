"""Work drawn at random for worlds that do not stand still: its durations are those of the families of random work."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping

from benchmarks.fanout.durations import Distribution, age_at
from benchmarks.fanout.random_work import FAMILIES, MEDIANS, Draw, between
from benchmarks.fanout.work import Kind, Work
from benchmarks.fanout.worlds import Pause, Stranger

DRAWS = 40
#: The names of such work begin like this.
NAME = "world "
_FEWEST = 60
# So many fit into the hour, and so many beside a stranger.
_MOST = {Kind.SEARCH: 300, Kind.ANALYSIS: 450}
_MOST_BESIDE = {Kind.SEARCH: 200, Kind.ANALYSIS: 300}
_LAUNCHES_A_SECOND = 18.0


def draws(count: int = DRAWS) -> list[Draw]:
    """Draw work, the same every time."""
    return [_draw(number) for number in range(count)]


def _draw(number: int) -> Draw:
    name = f"{NAME}{number}"
    rng = random.Random(name)
    world = list(_WORLDS)[number % len(_WORLDS)]
    told, work = _WORLDS[world](rng, name, rng.choice(list(Kind)))
    return Draw(number, world, told, work)


class _Durations:
    """Draw durations of one family, with any median.

    Args:
        rng: Source of chance.
        count: How many jobs there are.
    """

    def __init__(self, rng: random.Random, count: int) -> None:
        self._family = FAMILIES[rng.choice(list(FAMILIES))]
        self._seed, self._count = rng.random(), count

    def around(self, median: float) -> tuple[str, tuple[Distribution, ...]]:
        """Return what durations with a median are like, and those of all jobs."""
        told, jobs = self._family(random.Random(self._seed), self._count, median)
        return told, tuple(jobs)


def _pause(rng: random.Random, name: str, kind: Kind) -> tuple[str, Work]:
    count = rng.randint(_FEWEST, _MOST[kind])
    told, jobs = _Durations(rng, count).around(between(rng, *MEDIANS))
    after = round(rng.uniform(0.0, count / _LAUNCHES_A_SECOND + age_at(jobs[-1], 0.9)), 1)
    return f"after {after:g} s; {told}", Work(name=name, kind=kind, jobs=jobs, world=Pause(after), once=True)


def _stranger(rng: random.Random, name: str, kind: Kind) -> tuple[str, Work]:
    count = rng.randint(_FEWEST, _MOST_BESIDE[kind])
    told, jobs = _Durations(rng, count).around(between(rng, *MEDIANS))
    # Half of them have begun less than an hour ago, so that their share of the hour still grows.
    since = round(rng.choice((3600.0, rng.uniform(0.0, 3600.0))), 1)
    return f"since {since:g} s; {told}", Work(name=name, kind=kind, jobs=jobs, world=Stranger(since), once=True)


def _hour_of_day(rng: random.Random, name: str, kind: Kind) -> tuple[str, Work]:
    durations = _Durations(rng, rng.randint(_FEWEST, _MOST[kind]))
    median = between(rng, MEDIANS[0], MEDIANS[1] / 2.0)
    before, now = (2.5 - 1.5 * math.cos(rng.uniform(0.0, 2.0 * math.pi)) for _ in range(2))
    told, jobs = durations.around(median * now)
    return f"{now / before:.2f} times as long as learned; {told}", Work(
        name=name, kind=kind, jobs=jobs, earlier=durations.around(median * before)[1], once=True
    )


def _jump(rng: random.Random, name: str, kind: Kind) -> tuple[str, Work]:
    count = rng.randint(_FEWEST, _MOST[kind])
    durations, median = _Durations(rng, count), between(rng, *MEDIANS)
    factor = between(rng, 3.0, 8.0) ** rng.choice((-0.5, 0.5))
    in_flight = rng.choice((None, rng.randint(20, 80)))
    limited = f", {in_flight} in flight" if in_flight else ""
    (told, first), (_, second) = durations.around(median / factor), durations.around(median * factor)
    jobs = first[: count // 2] + second[count // 2 :]
    return f"{factor**2:.2f} times as long from the middle on{limited}; {told}", Work(
        name=name, kind=kind, jobs=jobs, in_flight=in_flight, once=True
    )


_WORLDS: Mapping[str, Callable[[random.Random, str, Kind], tuple[str, Work]]] = {
    "pause": _pause,
    "stranger": _stranger,
    "hour of day": _hour_of_day,
    "jump": _jump,
}
