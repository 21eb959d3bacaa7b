"""Run the benchmark: `python -m benchmarks.fanout [--rows …] [--strategies …] [--seeds 5] [--json] [--update PAGE]`."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

from benchmarks.fanout.measuring import STRATEGIES, measure
from benchmarks.fanout.report import markdown
from benchmarks.fanout.rows import ROWS


def main() -> None:
    """Measure, and print or write down what was measured."""
    parser = argparse.ArgumentParser(prog="benchmarks.fanout", description=__doc__)
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS), help="what is done")
    parser.add_argument("--strategies", nargs="+", choices=STRATEGIES, default=list(STRATEGIES), help="and by whom")
    parser.add_argument("--seeds", type=int, default=5, help="how often")
    parser.add_argument("--jobs", type=int, metavar="N", help="processes; one a processor by default")
    parser.add_argument("--cache", type=Path, metavar="FILE", help="remember there what does not depend on the SDK")
    options = parser.parse_args()
    # That naive strategies wait for the limit is what is measured.
    logging.getLogger("cmsapi").setLevel(logging.ERROR)
    works = [ROWS[name].work for name in options.rows]
    figures = measure(works, options.strategies, options.seeds, options.jobs, options.cache)
    print(markdown(figures))


if __name__ == "__main__":
    main()
