"""Make all runs, those in virtual time on all processors, those of real time alone."""

from __future__ import annotations

import os
import platform
from concurrent.futures import Future, ProcessPoolExecutor

import attrs

from benchmarks.limiter import cost
from benchmarks.limiter.cancelling import lost_turns
from benchmarks.limiter.contestants import CONTESTANTS, ONE_AIOLIMITER, OURS, REMEMBERED, Contestant
from benchmarks.limiter.scenario import (
    Outcome,
    Scenario,
    heavy_tail,
    run,
    silence,
    slow_always,
    slow_now_and_then,
    stuck_now_and_then,
)

SEEDS = 5
_MAIN = Scenario()
# Callers as many as the bar names, long enough for what is left of the hour's thousand.
_SILENCE = Scenario(seconds=180.0, callers=100)


@attrs.frozen
class Hardship:
    """Name a run that is harder than the main one.

    Args:
        title: As the table shows it.
        scenario: The run, without its seed.
        silent: Whether nothing passes between 10 s and 35 s.
        seeds: How often it is run.
    """

    title: str
    scenario: Scenario
    silent: bool = False
    seeds: int = SEEDS


HARDSHIPS = {
    "plain": Hardship("the main run", _MAIN),
    "answers": Hardship("2 % of the answers take 1 to 6 s more", attrs.evolve(_MAIN, handling=slow_now_and_then)),
    "tail": Hardship("2 % of the delays, each way, are 1 to 6 s", attrs.evolve(_MAIN, delay=heavy_tail)),
    "slow": Hardship("every request is handled for 5 s", attrs.evolve(_MAIN, handling=slow_always)),
    "stuck": Hardship("2 % of the requests are handled for 25 s", attrs.evolve(_MAIN, handling=stuck_now_and_then)),
    "day": Hardship("24 hours", attrs.evolve(_MAIN, seconds=24 * 3600.0), seeds=1),
    "silence": Hardship("25 s of silence, 100 callers that wait", _SILENCE, silent=True),
    "dies": Hardship("the same; callers give up after 10 s", attrs.evolve(_SILENCE, patience=10.0), silent=True),
    "arrives": Hardship(
        "the same; what was given up arrives all the same",
        attrs.evolve(_SILENCE, patience=10.0, given_up="arrives"),
        silent=True,
    ),
}


@attrs.frozen
class Row:
    """Hold the figures of one limiter in the main run.

    Args:
        title: Name and version.
        outcome: Of the main run.
        strict: Requests accepted when the service counts what it refuses.
        lost: Turns lost by 200 cancelled waiters.
        ratio: Cost of a turn, as a ratio to one acquire of aiolimiter; None without aiolimiter.
    """

    title: str
    outcome: Outcome
    strict: int
    lost: int
    ratio: float | None


@attrs.frozen
class Figures:
    """Hold all that was measured.

    Args:
        environment: Where.
        rows: The main run of every limiter.
        missing: Limiters that are not installed.
        hardships: Outcomes of our limiter by name of the run and mode, one for each seed.
        microseconds: Cost of a turn by name.
        memory: Bytes of our limiter.
    """

    environment: str
    rows: tuple[Row, ...]
    missing: tuple[str, ...]
    hardships: dict[str, dict[str, list[Outcome]]]
    microseconds: dict[str, float]
    memory: int


def _hardship(name: str, contestant: Contestant) -> list[Outcome]:
    hardship = HARDSHIPS[name]
    outcomes = []
    for seed in range(hardship.seeds):
        scenario = attrs.evolve(hardship.scenario, seed=seed)
        if hardship.silent:
            scenario = attrs.evolve(scenario, delay=silence(10.0, 35.0))
        outcomes.append(run(contestant, scenario))
    return outcomes


def _main(number: int, rejected_count: bool) -> Outcome:
    return run(CONTESTANTS[number], attrs.evolve(_MAIN, rejected_count=rejected_count))


def _lost(number: int) -> int:
    return lost_turns(CONTESTANTS[number])


def _ours(name: str, number: int) -> list[Outcome]:
    return _hardship(name, OURS[number])


def measure() -> Figures:
    """Measure everything that can be measured here."""
    with ProcessPoolExecutor() as pool:
        mains: dict[int, tuple[Future[Outcome], Future[Outcome], Future[int]]] = {}
        for number, contestant in reversed(list(enumerate(CONTESTANTS))):
            if contestant.installed:
                mains[number] = (
                    pool.submit(_main, number, False),
                    pool.submit(_main, number, True),
                    pool.submit(_lost, number),
                )
        hard = {
            name: {ours.name: pool.submit(_ours, name, number) for number, ours in enumerate(OURS)}
            for name in HARDSHIPS
        }
        outcomes = {number: (a.result(), b.result(), c.result()) for number, (a, b, c) in mains.items()}
        hardships = {name: {mode: each.result() for mode, each in modes.items()} for name, modes in hard.items()}
    microseconds = cost.microseconds()
    rows = [
        Row(CONTESTANTS[number].title, plain, strict.accepted, lost, ratio(microseconds, CONTESTANTS[number].name))
        for number, (plain, strict, lost) in sorted(outcomes.items())
    ]
    return Figures(
        environment=f"{platform.python_implementation()} {platform.python_version()}, {os.cpu_count()} processors",
        rows=tuple(rows),
        missing=tuple(each.name for each in CONTESTANTS if not each.installed),
        hardships=hardships,
        microseconds=microseconds,
        memory=cost.memory(),
    )


def ratio(microseconds: dict[str, float], name: str) -> float | None:
    """Return the cost of a turn as a ratio to one acquire of aiolimiter."""
    measure_of_all = microseconds.get(ONE_AIOLIMITER.name)
    # Both modes of ours are the same code.
    own = microseconds.get(REMEMBERED.name if name in {ours.name for ours in OURS} else name)
    return None if measure_of_all is None or own is None else own / measure_of_all
