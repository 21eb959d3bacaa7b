"""Run the benchmark: `python -m benchmarks.fanout`; `--rows searches --strategies optimum cold --seeds 3` is quick."""

from __future__ import annotations

import argparse
import json
import logging
from pathlib import Path

from benchmarks.fanout import random_work, world_work
from benchmarks.fanout.measuring import STRATEGIES, Selection, measure
from benchmarks.fanout.regimes import REGIMES
from benchmarks.fanout.report import plain, sections
from benchmarks.fanout.rows import ROWS
from benchmarks.fanout.trials import TRIALS

_DRAWN = {"random": random_work.draws, "worlds": world_work.draws}
_OF_DRAWN = ("oracle", "optimum", "cold", "warm")


def _selection(options: argparse.Namespace) -> Selection:
    works = {ROWS[name].work: options.strategies for name in options.rows if name in ROWS}
    by = [name for name in _OF_DRAWN if name in options.strategies]
    works.update({draw.work: by for name, draws in _DRAWN.items() if name in options.rows for draw in draws()})
    return Selection(
        works=works,
        trials=[name for name in options.rows if name in TRIALS],
        regimes=[name for name in options.rows if name in REGIMES],
        modes=[mode for mode in ("cold", "warm") if mode in options.strategies],
        seeds=options.seeds,
        processes=options.jobs,
        cache=options.cache,
    )


def main() -> None:
    """Measure, and print or write down what was measured."""
    rows = [*ROWS, *TRIALS, *REGIMES, *_DRAWN]
    parser = argparse.ArgumentParser(prog="benchmarks.fanout", description=__doc__)
    parser.add_argument("--rows", nargs="+", choices=rows, default=rows, help="what is done", metavar="ROW")
    parser.add_argument("--strategies", nargs="+", choices=STRATEGIES, default=STRATEGIES, help="by whom")
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="how often")
    parser.add_argument("--jobs", type=int, metavar="N", help="processes; one a processor if left out")
    parser.add_argument("--cache", type=Path, metavar="FILE", help="remember the outcomes of all but the SDK there")
    parser.add_argument("--json", action="store_true", help="print JSON instead of Markdown")
    parser.add_argument(
        "--update", type=Path, metavar="PAGE", help="replace the sections of what was measured in a Markdown page"
    )
    options = parser.parse_args()
    # Strategies that use the hour up are told so; here that is a figure, not news.
    logging.getLogger("cmsapi").setLevel(logging.ERROR)
    figures = measure(_selection(options))
    told = sections(figures)
    if options.update is not None:
        for name, report in told.items():
            report.write(options.update, name)
    print(
        json.dumps(plain(figures), indent=2)
        if options.json
        else "\n\n".join(report.details for report in told.values())
    )


if __name__ == "__main__":
    main()
