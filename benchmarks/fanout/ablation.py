"""Switch each rule of the policy off in turn, and show what it is worth: `python -m benchmarks.fanout.ablation`.

Work, durations and lots are the same with and without a rule, so that each run is compared with its twin. A ratio
above 1 is what the rule saves; one below 1 is what it costs. The first row switches nothing off, but draws other lots:
what is not farther from 1 than that is chance. `--quick` makes about a tenth of the runs. `--numbers` halves and
doubles the numbers of the rules instead, with few runs each.
"""

from __future__ import annotations

import argparse
import logging
import math
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import fmean
from typing import TypeAlias

import attrs

from benchmarks.fanout import random_work, world_work
from benchmarks.fanout.bars import HOUR, quantile
from benchmarks.fanout.measuring import meet, run
from benchmarks.fanout.numbers import NUMBERS
from benchmarks.fanout.regimes import REGIMES, Beside, Late
from benchmarks.fanout.rows import ROWS
from benchmarks.fanout.rules import AGAIN, RULES
from benchmarks.fanout.work import Work
from benchmarks.tables import Report, table

_DRAWS, _WORLDS, _SEEDS = 60, 40, 3
_QUICK_DRAWS, _QUICK_WORLDS, _QUICK_SEEDS = 20, 8, 1
_NUMBERS_DRAWS, _NUMBERS_WORLDS = 20, 4
_LONG, _STUCK, _LAST = "long jobs", ("stuck", "stuck for an hour"), "last requests"


@attrs.frozen
class Task:
    """Name a run.

    Args:
        group: `"rows"`, `"draws"`, `"worlds"` or the name of a regime.
        name: Name of the work or of the case.
        mode: `"cold"` or `"warm"`.
        seed: Its seed.
    """

    group: str
    name: str
    mode: str
    seed: int


@attrs.frozen
class Reached:
    """Hold what a run came to.

    Args:
        seconds: Mean turnaround, or the worst lateness of a few long jobs.
        end: Seconds until the last result.
    """

    seconds: float
    end: float


Results: TypeAlias = Mapping[Task, Reached]


def _works() -> Mapping[str, Mapping[str, Work]]:
    return {
        "rows": {name: row.work for name, row in ROWS.items()},
        "draws": {draw.work.name: attrs.evolve(draw.work, forecast=False) for draw in random_work.draws(_DRAWS)},
        "worlds": {draw.work.name: draw.work for draw in world_work.draws(_WORLDS)},
    }


_WORKS = _works()


def tasks(modes: Sequence[str], *, quick: bool) -> list[Task]:
    """Name the runs that are made with each rule switched off."""
    draws, worlds, seeds = (_QUICK_DRAWS, _QUICK_WORLDS, _QUICK_SEEDS) if quick else (_DRAWS, _WORLDS, _SEEDS)
    found = [Task("rows", name, mode, seed) for name in ROWS for mode in modes for seed in range(seeds)]
    for group, count in (("draws", draws), ("worlds", worlds)):
        found += [Task(group, name, mode, 0) for name in list(_WORKS[group])[:count] for mode in modes]
    for name in (_LONG, *_STUCK, _LAST):
        regime = REGIMES[name]
        # What was learned of short jobs makes long ones hard, so that these are run in both ways.
        found += [Task(name, case, mode, 0) for case in regime.cases for mode in regime.modes]
    return found


def few_tasks() -> list[Task]:
    """Name the runs that are made with each number changed: cold, one seed, and long jobs after short ones."""
    found = [Task("rows", name, "cold", 0) for name in ROWS]
    for group, count in (("draws", _NUMBERS_DRAWS), ("worlds", _NUMBERS_WORLDS)):
        found += [Task(group, name, "cold", 0) for name in list(_WORKS[group])[:count]]
    found += [Task(_LONG, name, "warm", 0) for name in REGIMES[_LONG].cases if name.startswith(("2 ", "12 "))]
    return [*found, *(Task(_LAST, name, "cold", 0) for name in REGIMES[_LAST].cases)]


def _do(task: Task) -> Reached:
    if task.group in _WORKS:
        outcome = run(_WORKS[task.group][task.name], task.mode, task.seed)
        return Reached(outcome.turnaround, outcome.all_in_hand)
    tried = meet(task.group, task.name, task.mode, task.seed)
    if isinstance(tried, Beside):
        return Reached(tried.beside, tried.beside)
    assert isinstance(tried, Late)
    worst = max(tried.lateness)
    return Reached(worst if task.group == _LONG else tried.turnaround, worst)


def _begin(rule: str | None) -> None:
    """Begin a process: what the rule has been there for is nowhere remembered yet."""
    logging.getLogger("cmsapi").setLevel(logging.ERROR)
    if rule is not None:
        {**RULES, **NUMBERS}[rule].switch_off()


def results(rule: str | None, chosen: Sequence[Task], processes: int | None) -> Results:
    """Make all runs without a rule, or with all of them.

    Args:
        rule: The rule, or None.
        chosen: The runs.
        processes: How many at a time; None for one a processor.
    """
    with ProcessPoolExecutor(processes, initializer=_begin, initargs=(rule,)) as pool:
        return dict(zip(chosen, pool.map(_do, chosen), strict=True))


def _missed(reached: Results) -> set[Task]:
    return {task for task, each in reached.items() if task.group in ("draws", "worlds") and each.end >= HOUR}


def _ratios(full: Results, without: Results, *groups: str) -> list[float]:
    """Compare runs with their twins; a second more or less does not count where little is late."""
    pairs = [(without[task].seconds, full[task].seconds) for task in full if task.group in groups]
    return [(1.0 + max(0.0, one)) / (1.0 + max(0.0, other)) for one, other in pairs]


def _of_rows(full: Results, without: Results) -> list[float]:
    """Compare the means of the seeds, row by row."""

    def mean(reached: Results, name: str, mode: str) -> float:
        return fmean(each.seconds for task, each in reached.items() if (task.name, task.mode) == (name, mode))

    rows = dict.fromkeys((task.name, task.mode) for task in full if task.group == "rows")
    return [mean(without, *row) / mean(full, *row) for row in rows]


def _shares(ratios: Sequence[float]) -> list[str]:
    return [f"{quantile(share, ratios):.2f}" for share in (0.5, 0.95, 1.0)] if ratios else [""] * 3


def _mean(ratios: Sequence[float]) -> str:
    return f"{math.exp(fmean(map(math.log, ratios))):.3f}" if ratios else ""


_HEAD = [
    "without",
    *(f"draws: {name}" for name in ("mean", "median", "95 %", "worst")),
    *(f"rows: {name}" for name in ("mean", "best", "worst")),
    *(f"worlds: {name}" for name in ("mean", "95 %", "worst")),
    "hours missed",
    "long jobs, lateness: mean",
    "long jobs, lateness: worst",
    "beside a job that never ends: mean",
    "few requests left: mean",
]
_SHOWN = [
    "without",
    "draws: mean",
    "draws: worst",
    "rows: worst",
    "worlds: mean",
    "hours missed",
    "long jobs, lateness: mean",
    "few requests left: mean",
]


def row(name: str, full: Results, without: Results) -> list[str]:
    """Show what a rule is worth in one row of the table."""
    draws, rows, worlds = (
        _ratios(full, without, "draws"),
        _of_rows(full, without),
        _ratios(full, without, "worlds"),
    )
    worst = [
        max((each.seconds for task, each in of.items() if task.group == _LONG), default=0.0) for of in (without, full)
    ]
    return [
        name,
        _mean(draws),
        *_shares(draws),
        _mean(rows),
        *(f"{each:.2f}" for each in (min(rows), max(rows))),
        _mean(worlds),
        *_shares(worlds)[1:],
        f"{len(_missed(without)) - len(_missed(full)):+d}",
        _mean(_ratios(full, without, _LONG)),
        f"{(1.0 + worst[0]) / (1.0 + worst[1]):.2f}",
        _mean(_ratios(full, without, *_STUCK)),
        _mean(_ratios(full, without, _LAST)),
    ]


def report(rows: Sequence[Sequence[str]]) -> Report:
    """Show the means and the worst of some work, and below them what each rule says; all of it in the file."""
    kept = [_HEAD.index(name) for name in _SHOWN]
    shown = table(_SHOWN, [[each[place] for place in kept] for each in rows])
    says = "\n".join(f"- *{each[0]}*: {RULES[each[0]].says}." for each in rows)
    return Report(f"{shown}\n\n{says}", table(_HEAD, rows))


def main() -> None:
    """Measure, and print or write down what was measured."""
    parser = argparse.ArgumentParser(prog="benchmarks.fanout.ablation", description=__doc__)
    parser.add_argument(
        "--rules", nargs="+", choices=RULES, default=list(RULES), help="what is switched off", metavar="RULE"
    )
    parser.add_argument(
        "--modes",
        nargs="+",
        choices=("cold", "warm"),
        default=("cold", "warm"),
        help="how rows, random work and worlds are done",
    )
    parser.add_argument("--quick", action="store_true", help="a part of the work, one seed")
    parser.add_argument("--numbers", action="store_true", help="print what comes of each number halved and doubled")
    parser.add_argument("--processes", type=int, metavar="N", help="processes; one a processor if left out")
    parser.add_argument("--update", type=Path, metavar="PAGE", help="replace the section `ablation` of a Markdown page")
    options = parser.parse_args()
    chosen = few_tasks() if options.numbers else tasks(options.modes, quick=options.quick)
    full = results(None, chosen, options.processes)
    rows = []
    for rule in (AGAIN, *NUMBERS) if options.numbers else options.rules:
        rows.append(row(rule, full, results(rule, chosen, options.processes)))
        # A line for each rule as it comes, because all of them take long.
        print(" · ".join(rows[-1]), file=sys.stderr, flush=True)
    if options.numbers:
        print(table(_HEAD, rows))
        return
    found = report(rows)
    if options.update is not None:
        found.write(options.update, "ablation")
    print(found.details)


if __name__ == "__main__":
    main()
