"""Make all runs, in virtual time and on all processors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.fanout import product, schedules
from benchmarks.fanout.batch import Batch, Strategy
from benchmarks.fanout.optimum import Optimum
from benchmarks.fanout.remembered import Remembered
from benchmarks.fanout.work import Outcome, Service, Work
from benchmarks.virtual import in_virtual_time

_LANDMARKS: dict[str, Callable[[Batch, int], Strategy]] = {
    "oracle": schedules.Oracle,
    "optimum": Optimum,
    "naive": schedules.naive,
    "exponential": schedules.exponential,
    "steady": schedules.steady,
}
_PRODUCT = {"cold": product.cold, "warm": product.warm}
STRATEGIES = (*_LANDMARKS, *_PRODUCT)


def run(work: Work, strategy: str, seed: int) -> Outcome:
    """Do a batch of work by a strategy."""
    return in_virtual_time(_run(work, strategy, seed))


async def _run(work: Work, strategy: str, seed: int) -> Outcome:
    if strategy in _PRODUCT:
        return await _PRODUCT[strategy](await Service.open(work, seed, earlier=strategy == "warm"))
    batch = Batch(await Service.open(work, seed))
    return await batch.run(_LANDMARKS[strategy](batch, seed))


def measure(
    works: Iterable[Work], strategies: Sequence[str], seeds: int, processes: int | None, cache: Path | None
) -> dict[str, dict[str, list[Outcome]]]:
    """Do every work by every strategy with every seed.

    Args:
        works: What is done.
        strategies: By whom.
        seeds: How often.
        processes: How many at a time; None for one a processor.
        cache: Where the outcomes of all but the SDK are remembered, or None.

    Returns:
        The outcomes by the name of the work and the strategy.
    """
    runs = [(work, strategy, seed) for work in works for strategy in strategies for seed in range(seeds)]
    with Remembered(cache) as remembered, ProcessPoolExecutor(processes) as pool:
        pending = [each for each in runs if each[1] in _PRODUCT or each not in remembered]
        for each, outcome in zip(pending, pool.map(_unpacked, pending), strict=True):
            remembered[each] = outcome
        figures: dict[str, dict[str, list[Outcome]]] = {}
        for work, strategy, seed in runs:
            figures.setdefault(work.name, {}).setdefault(strategy, []).append(remembered[work, strategy, seed])
    return figures


def _unpacked(each: tuple[Work, str, int]) -> Outcome:
    return run(*each)
