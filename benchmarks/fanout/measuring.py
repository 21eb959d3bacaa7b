"""Make all runs, in virtual time and on all processors."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import attrs

from benchmarks.fanout import product, schedules
from benchmarks.fanout.adaptive import Adaptive
from benchmarks.fanout.batch import Batch, Strategy
from benchmarks.fanout.optimum import Optimum
from benchmarks.fanout.regimes import REGIMES, Tried
from benchmarks.fanout.remembered import Remembered
from benchmarks.fanout.trials import TRIALS, Awaiters, Calls
from benchmarks.fanout.work import Outcome, Service, Work
from benchmarks.virtual import in_virtual_time

_LANDMARKS: Mapping[str, Callable[[Batch, int], Strategy]] = {
    "oracle": schedules.Oracle,
    "optimum": Optimum,
    "naive": schedules.naive,
    "exponential": schedules.exponential,
    "steady": schedules.steady,
    "adaptive": Adaptive,
}
_PRODUCT = {"cold": product.cold, "warm": product.warm}
STRATEGIES = (*_LANDMARKS, *_PRODUCT)


@attrs.frozen
class Figures:
    """Hold all that was measured.

    Args:
        seeds: How often everything was run.
        batches: Outcomes by the name of the work and the strategy, one for each seed.
        trials: Outcomes by the name of the trial and `"cold"` or `"warm"`, one for each seed.
        regimes: What the cases of regimes came to, by the regime, the case and `"cold"` or `"warm"`, one for each seed.
    """

    seeds: int
    batches: Mapping[str, Mapping[str, Sequence[Outcome]]]
    trials: Mapping[str, Mapping[str, Sequence[Calls | Awaiters]]]
    regimes: Mapping[tuple[str, str, str], Sequence[Tried]] = attrs.field(factory=dict)


def run(work: Work, strategy: str, seed: int) -> Outcome:
    """Do a batch of work by a strategy."""
    return in_virtual_time(_run(work, strategy, seed))


async def _run(work: Work, strategy: str, seed: int) -> Outcome:
    if strategy in _PRODUCT:
        return await _PRODUCT[strategy](await Service.open(work, seed, earlier=strategy == "warm"))
    service = await Service.open(work, seed)
    await service.begin()
    batch = Batch(service)
    return await batch.run(_LANDMARKS[strategy](batch, seed))


def _try(name: str, mode: str, seed: int) -> Calls | Awaiters:
    return in_virtual_time(TRIALS[name].run(seed, mode == "warm"))


def meet(regime: str, case: str, mode: str, seed: int) -> Tried:
    """Try a case of a regime."""
    return in_virtual_time(REGIMES[regime].run(REGIMES[regime].cases[case], seed, mode == "warm"))


@attrs.frozen(kw_only=True)
class Selection:
    """Say what is measured.

    Args:
        works: What is done, and by which strategies.
        trials: Names of trials.
        regimes: Names of regimes.
        modes: `"cold"`, `"warm"` or both: how trials and regimes are made.
        seeds: How often.
        processes: How many at a time; None for one a processor.
        cache: Where outcomes that do not depend on the SDK's jobs are remembered, or None.
    """

    works: Mapping[Work, Sequence[str]]
    trials: Sequence[str] = ()
    regimes: Sequence[str] = ()
    modes: Sequence[str]
    seeds: int
    processes: int | None = None
    cache: Path | None = None


def measure(selection: Selection) -> Figures:
    """Measure what was selected."""
    seeds = range(selection.seeds)
    seeds_of = {work: seeds[:1] if work.once else seeds for work in selection.works}
    runs = [(work, by, seed) for work, all_by in selection.works.items() for by in all_by for seed in seeds_of[work]]
    with Remembered(selection.cache) as remembered, ProcessPoolExecutor(selection.processes) as pool:
        outcomes = {each: outcome for each in runs if (outcome := remembered.get(*each)) is not None}
        pending = {each: pool.submit(run, *each) for each in runs if each not in outcomes}
        tries = {each: pool.submit(_try, *each) for each in itertools.product(selection.trials, selection.modes, seeds)}
        cases = {
            (name, case, mode): [pool.submit(meet, name, case, mode, seed) for seed in seeds]
            for name in selection.regimes
            for case, mode in itertools.product(REGIMES[name].cases, REGIMES[name].modes)
            if mode in selection.modes
        }
        for each, future in pending.items():
            outcomes[each] = future.result()
            if each[1] in _LANDMARKS:
                remembered.put(*each, outcomes[each])
        batches = {
            work.name: {by: [outcomes[work, by, seed] for seed in seeds_of[work]] for by in all_by}
            for work, all_by in selection.works.items()
        }
        trials = {
            name: {mode: [tries[name, mode, seed].result() for seed in seeds] for mode in selection.modes}
            for name in selection.trials
        }
        regimes = {key: [future.result() for future in futures] for key, futures in cases.items()}
    return Figures(selection.seeds, batches, trials, regimes)
