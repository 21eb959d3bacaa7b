"""Does the range of the seconds that are left hold, and is it narrow enough to be of use?"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from statistics import fmean, median

import attrs

from benchmarks.fanout.durations import Distribution
from benchmarks.fanout.product import client_of, launched
from benchmarks.fanout.work import Service, Work
from cmsapi.sandbox import Fixed, Lognormal, Mixture

# The range is read when this part of the results is in hand; its upper end has a bar from this part on.
_PARTS, _HALF = (0.1, 0.25, 0.5, 0.75), 0.5
# A range of nine in ten, give or take what few runs allow.
_HELD = 0.85, 0.97
# Where several results come at once, the last of them is seconds away or less.
_ROUNDING = 1.0
# So many times the truth, or so many seconds more, may the upper end be.
_TIMES, _MORE = 4.0, 15.0

_KINDS: Mapping[str, Distribution] = {
    "12 s each": Fixed(12),
    "60 s each": Fixed(60),
    "median 15 s": Lognormal(15, 0.4),
    "median 60 s": Lognormal(60, 0.6),
    "half 20 s, half 300 s": Mixture(((0.5, Lognormal(20, 0.25)), (0.5, Lognormal(300, 0.25)))),
}
#: How long the jobs of each case take.
WORKS: Mapping[str, Sequence[Distribution]] = {
    f"{count}, {name}": [each] * count for count in (40, 150) for name, each in _KINDS.items()
}


@attrs.frozen
class Reading:
    """Compare a range with what happened.

    Args:
        part: Part of the results that was in hand when it was read.
        range: The least and the most seconds left, or None if they were not told.
        actual: Seconds that were left.
        refused: Requests that were answered with 429 in the run.
    """

    part: float
    range: tuple[float, float] | None
    actual: float
    refused: int

    @property
    def holds(self) -> bool:
        """Whether what happened is within the range, give or take a second."""
        return self.range is not None and self.range[0] - _ROUNDING <= self.actual <= self.range[1] + _ROUNDING

    @property
    def is_narrow(self) -> bool:
        """Whether the upper end is near enough to what happened."""
        return self.range is not None and self.range[1] <= max(_TIMES * self.actual, self.actual + _MORE)

    @property
    def excess(self) -> float:
        """The upper end as a multiple of what happened; infinite where no range was told."""
        return self.range[1] / max(self.actual, 1.0) if self.range is not None else float("inf")


async def read(work: Work, seed: int, warm: bool) -> tuple[Reading, ...]:
    """Do the work, and read the range when parts of the results are in hand."""
    service = await Service.open(work, seed)
    count, loop = len(service.items), asyncio.get_running_loop()
    moments = {round(part * count): part for part in _PARTS}
    told: list[tuple[float, float, tuple[float, float] | None]] = []
    async with client_of(service, seed=seed) as client:
        outcomes, in_hand = launched(client, service, service.items), 0
        async for outcome in outcomes:
            outcome.result()
            in_hand += 1
            if in_hand in moments:
                told.append((moments[in_hand], loop.time(), outcomes.progress.seconds_left_range))
        end = loop.time()
    refused = service.sandbox.ledger.count(status=429)
    return tuple(Reading(part, told_range, end - moment, refused) for part, moment, told_range in told)


def judged(readings: Sequence[Reading]) -> tuple[dict[str, str], bool]:
    """Return what the ranges came to, and whether that suffices."""
    figures = {}
    for part in _PARTS:
        held = [reading.holds for reading in readings if reading.part == part]
        figures[f"holds at {part:.0%}"] = f"{sum(held)} of {len(held)}"
    late = [reading for reading in readings if reading.part >= _HALF]
    held_all = fmean(reading.holds for reading in readings)
    narrow = sum(reading.is_narrow for reading in late) / len(late)
    figures["all"] = f"{held_all:.0%}"
    figures["upper end by the truth, from a half on"] = f"{median(reading.excess for reading in late):.1f}"
    return figures, _HELD[0] <= held_all and narrow >= 0.5
